// Package pprof adds samples of wall time to the profiles that package runtime/pprof writes: gzipped messages
// of profile.proto (github.com/google/pprof/proto/profile.proto), which `go tool pprof` reads.
package pprof

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// A Sample is a stack and how long it was the one.
type Sample struct {
	Stack []string // names of functions, the outermost first
	Time  time.Duration
}

// The fields of the messages that are read or written.
const (
	profileSampleType, profileSample, profileLocation, profileFunction, profileString, profileDefault = 1, 2, 4, 5, 6, 14

	sampleLocation, sampleValue              = 1, 2
	locationID, locationLine                 = 1, 4
	lineFunction                             = 1
	functionID, functionName, functionSystem = 1, 2, 3
	valueType, valueUnit                     = 1, 2
)

// Add returns a CPU profile of package runtime/pprof with samples of wall time: values of another type,
// "wall", beside "samples" and "cpu". The CPU time is what go tool pprof shows first.
func Add(profile []byte, samples []Sample) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		return nil, err
	}
	m, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	p := &adding{functions: map[string]uint64{}}
	if err := p.copy(m); err != nil {
		return nil, err
	}
	kind, unit := p.text("wall"), p.text("nanoseconds")
	var wall message
	wall.uint(valueType, kind)
	wall.uint(valueUnit, unit)
	p.out.bytes(profileSampleType, wall)
	p.out.uint(profileDefault, p.text("cpu"))
	for _, s := range samples {
		p.sample(s)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(p.out); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// adding is a profile that is copied and added to.
type adding struct {
	out       message
	types     int               // of values that each sample had
	texts     uint64            // strings so far
	last      uint64            // the highest number of a location or a function so far
	functions map[string]uint64 // the numbers of added ones
}

// copy copies all fields of a profile. Its samples get a value 0 of the type that is added: a list of numbers
// may come in several parts.
func (p *adding) copy(m message) error {
	return m.fields(func(field int, number uint64, body message) error {
		switch field {
		case profileSampleType:
			p.types++
		case profileSample:
			body = append(message(nil), body...)
			body.bytes(sampleValue, message{0})
		case profileLocation, profileFunction: // both have their number in the same field
			err := body.fields(func(field int, number uint64, _ message) error {
				if field == locationID {
					p.last = max(p.last, number)
				}
				return nil
			})
			if err != nil {
				return err
			}
		case profileString:
			p.texts++
		case profileDefault:
			return nil
		}
		if body == nil {
			p.out.uint(field, number)
		} else {
			p.out.bytes(field, body)
		}
		return nil
	})
}

// text adds a string.
func (p *adding) text(s string) (index uint64) {
	p.out.bytes(profileString, message(s))
	p.texts++
	return p.texts - 1
}

// function returns the number of a function, which is that of its location as well.
func (p *adding) function(name string) uint64 {
	id, ok := p.functions[name]
	if ok {
		return id
	}
	p.last++
	id = p.last
	p.functions[name] = id
	text := p.text(name)
	var line, location, function message
	line.uint(lineFunction, id)
	location.uint(locationID, id)
	location.bytes(locationLine, line)
	p.out.bytes(profileLocation, location)
	function.uint(functionID, id)
	function.uint(functionName, text)
	function.uint(functionSystem, text)
	p.out.bytes(profileFunction, function)
	return id
}

func (p *adding) sample(s Sample) {
	var sample, locations, values message
	for i := len(s.Stack) - 1; i >= 0; i-- { // the leaf is first
		locations.varint(p.function(s.Stack[i]))
	}
	for range p.types {
		values.varint(0)
	}
	values.varint(uint64(s.Time))
	sample.bytes(sampleLocation, locations)
	sample.bytes(sampleValue, values)
	p.out.bytes(profileSample, sample)
}

// A message is one of protocol buffers', in their wire format.
type message []byte

func (m *message) varint(v uint64) { *m = binary.AppendUvarint(*m, v) }

func (m *message) uint(field int, v uint64) {
	m.varint(uint64(field) << 3)
	m.varint(v)
}

func (m *message) bytes(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	*m = append(*m, b...)
}

var errDamaged = errors.New("pprof: got a damaged profile")

// fields calls f for each field: with a number, or with a body that is not nil.
func (m message) fields(f func(field int, number uint64, body message) error) error {
	for len(m) > 0 {
		key, n := binary.Uvarint(m)
		if n <= 0 {
			return errDamaged
		}
		m = m[n:]
		v, n := binary.Uvarint(m)
		if n <= 0 {
			return errDamaged
		}
		m = m[n:]
		var body message
		switch key & 7 {
		case 0:
		case 2:
			if v > uint64(len(m)) {
				return errDamaged
			}
			body, m = m[:v:v], m[v:]
		default: // profile.proto has no others
			return errDamaged
		}
		if err := f(int(key>>3), v, body); err != nil {
			return err
		}
	}
	return nil
}
