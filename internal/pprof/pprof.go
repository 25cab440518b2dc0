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
	p := &adding{locations: map[string]uint64{}}
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
	types     int                         // of values that each sample had
	texts     uint64                      // strings so far
	last      [profileFunction + 1]uint64 // by field, the highest number of a location or a function so far
	locations map[string]uint64           // of added functions, by name
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
			of := field
			err := body.fields(func(field int, number uint64, _ message) error {
				if field == locationID {
					p.last[of] = max(p.last[of], number)
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

// location returns the number of a function's location. Locations and functions are numbered apart and
// without gaps: go tool pprof gives a function that it finds by itself the number after their count.
func (p *adding) location(name string) uint64 {
	id, ok := p.locations[name]
	if ok {
		return id
	}
	p.last[profileLocation]++
	p.last[profileFunction]++
	id, f := p.last[profileLocation], p.last[profileFunction]
	p.locations[name] = id
	text := p.text(name)
	var line, location, function message
	line.uint(lineFunction, f)
	location.uint(locationID, id)
	location.bytes(locationLine, line)
	p.out.bytes(profileLocation, location)
	function.uint(functionID, f)
	function.uint(functionName, text)
	function.uint(functionSystem, text)
	p.out.bytes(profileFunction, function)
	return id
}

func (p *adding) sample(s Sample) {
	var sample, locations, values message
	for i := len(s.Stack) - 1; i >= 0; i-- { // the leaf is first
		locations.varint(p.location(s.Stack[i]))
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
