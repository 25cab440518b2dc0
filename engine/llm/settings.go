package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// settings reads the object of a config.json key by key. The first key with a wrong value is its error, and
// all readers give their other value from then on. A null is a key that is not there.
type settings struct {
	file string
	in   string // "rope_scaling." for an inner object
	keys map[string]json.RawMessage
	err  *error
}

// maxDepth is how deep objects and lists of a configuration may nest.
const maxDepth = 32

func parseSettings(file string, text []byte) (*settings, error) {
	if err := depth(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s := &settings{file: file, err: new(error)}
	if err := json.Unmarshal(text, &s.keys); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if s.keys == nil {
		return nil, fmt.Errorf("%s: got null, want an object", file)
	}
	return s, nil
}

// depth refuses text that nests too deep, so that decoding needs little stack.
func depth(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	n := 0
	for {
		t, err := d.Token()
		if err != nil {
			return nil // what decodes it says so better, or it has ended
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if n++; n > maxDepth {
				return fmt.Errorf("at byte %d: objects and lists nest deeper than %d", d.InputOffset(), maxDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			n--
		}
	}
}

func (s *settings) fail(key, format string, args ...any) {
	if *s.err == nil {
		*s.err = fmt.Errorf("%s: %s%s: %s", s.file, s.in, key, fmt.Sprintf(format, args...))
	}
}

// has says whether the key is there and not null.
func (s *settings) has(key string) bool {
	raw, ok := s.keys[key]
	return ok && string(raw) != "null"
}

// read decodes a key's value into to, and says whether there is one.
func (s *settings) read(key string, to any, want string) bool {
	if !s.has(key) {
		return false
	}
	if json.Unmarshal(s.keys[key], to) != nil {
		s.fail(key, "got %s, want %s", brief(s.keys[key]), want)
		return false
	}
	return true
}

func brief(raw []byte) string {
	if text := string(raw); len(text) <= 40 {
		return text
	}
	return string(raw[:37]) + "..."
}

func (s *settings) number(key string, other float64) float64 {
	var x float64
	if !s.read(key, &x, "a number") {
		return other
	}
	return x
}

func (s *settings) int(key string, other int) int {
	var x float64
	if !s.read(key, &x, "an integer") {
		return other
	}
	if x != math.Trunc(x) || math.Abs(x) > 1<<40 {
		s.fail(key, "got %s, want an integer", brief(s.keys[key]))
		return other
	}
	return int(x)
}

// need is int for a key that must be there.
func (s *settings) need(key string) int {
	if !s.has(key) {
		s.fail(key, "is not there, want an integer")
	}
	return s.int(key, 0)
}

func (s *settings) bool(key string, other bool) bool {
	x := other
	if !s.read(key, &x, "true or false") {
		return other
	}
	return x
}

func (s *settings) text(key, other string) string {
	x := other
	if !s.read(key, &x, "a string") {
		return other
	}
	return x
}

func (s *settings) texts(key string) []string {
	var x []string
	s.read(key, &x, "a list of strings")
	return x
}

func (s *settings) numbers(key string) []float64 {
	var x []float64
	s.read(key, &x, "a list of numbers")
	return x
}

// object returns an inner object, nil if there is none.
func (s *settings) object(key string) *settings {
	inner := &settings{file: s.file, in: s.in + key + ".", err: s.err}
	if !s.read(key, &inner.keys, "an object") {
		return nil
	}
	return inner
}

// oneOf returns text that must be one of a few.
func (s *settings) oneOf(key, other string, want ...string) string {
	x := s.text(key, other)
	if !slices.Contains(want, x) {
		s.fail(key, "got %q, want one of %s", x, strings.Join(want, ", "))
	}
	return x
}

// not refuses a switch that would change what the model computes.
func (s *settings) not(key string) {
	if s.bool(key, false) {
		s.fail(key, "got true, which is not supported")
	}
}
