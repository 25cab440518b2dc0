// Package pprof writes profiles in the form that `go tool pprof` reads: gzipped messages of profile.proto
// (github.com/google/pprof/proto/profile.proto), as far as samples of wall time need it.
package pprof

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"time"
)

// A Sample is a stack and how long it was the one.
type Sample struct {
	Stack []string // names of functions, the outermost first
	Time  time.Duration
}

// Encode writes a profile of wall time. Every is the time between two samples.
func Encode(samples []Sample, total, every time.Duration) ([]byte, error) {
	p := &profile{strings: map[string]uint64{"": 0}, table: []string{""}, functions: map[string]uint64{}}
	var m message
	m.sub(1, p.valueType("samples", "count"))
	m.sub(1, p.valueType("wall", "nanoseconds"))
	for _, s := range samples {
		var sample, locations, values message
		for i := len(s.Stack) - 1; i >= 0; i-- { // the leaf is first
			locations.varint(p.function(s.Stack[i]))
		}
		values.varint(1)
		values.varint(uint64(s.Time))
		sample.bytes(1, locations)
		sample.bytes(2, values)
		m.sub(2, sample)
	}
	for _, name := range p.order { // a location and a function have the same number
		id := p.functions[name]
		var line, location, function message
		line.uint(1, id)
		location.uint(1, id)
		location.sub(4, line)
		m.sub(4, location)
		function.uint(1, id)
		function.uint(2, p.text(name))
		function.uint(3, p.text(name))
		m.sub(5, function)
	}
	period := p.valueType("wall", "nanoseconds")
	for _, s := range p.table {
		m.bytes(6, message(s))
	}
	m.uint(10, uint64(total))
	m.sub(11, period)
	m.uint(12, uint64(every))
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(m); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// A profile numbers strings and functions.
type profile struct {
	strings   map[string]uint64
	table     []string
	functions map[string]uint64 // from 1
	order     []string
}

func (p *profile) text(s string) uint64 {
	i, ok := p.strings[s]
	if !ok {
		i = uint64(len(p.table))
		p.strings[s] = i
		p.table = append(p.table, s)
	}
	return i
}

func (p *profile) function(name string) uint64 {
	id, ok := p.functions[name]
	if !ok {
		id = uint64(len(p.order) + 1)
		p.functions[name] = id
		p.order = append(p.order, name)
		p.text(name)
	}
	return id
}

func (p *profile) valueType(typ, unit string) (m message) {
	m.uint(1, p.text(typ))
	m.uint(2, p.text(unit))
	return m
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

func (m *message) sub(field int, s message) { m.bytes(field, s) }
