// Package pretrained reads what the folders of all pretrained models have in common, as Hugging Face's
// libraries write them: settings in JSON, and weights in one file of safetensors or several.
package pretrained

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Settings reads the object of a config.json key by key. The first key with a wrong value is its error, and
// all readers give their other value from then on. A null is a key that is not there.
type Settings struct {
	file string
	in   string // "rope_scaling." for an inner object
	keys map[string]json.RawMessage
	asks map[string]bool // keys that somebody has looked for
	err  *error
}

// maxDepth is how deep objects and lists of a configuration may nest.
const maxDepth = 32

// ParseSettings reads the text of a file.
func ParseSettings(file string, text []byte) (*Settings, error) {
	text = finite(text)
	if err := depth(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s := &Settings{file: file, asks: map[string]bool{}, err: new(error)}
	if err := json.Unmarshal(text, &s.keys); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if s.keys == nil {
		return nil, fmt.Errorf("%s: got null, want an object", file)
	}
	return s, nil
}

// SettingsOf are those that ParseSettings reads of the text of keys.
func SettingsOf(file string, keys map[string]any) (*Settings, error) {
	s := &Settings{file: file, keys: make(map[string]json.RawMessage, len(keys)), asks: map[string]bool{}, err: new(error)}
	for key, value := range keys {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		s.keys[key] = text
	}
	return s, nil
}

// depth refuses text that nests too deep, so that decoding needs little stack.
func depth(text []byte) error {
	n, inside := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == '{' || c == '[':
			if n++; n > maxDepth {
				return fmt.Errorf("at byte %d: objects and lists nest deeper than %d", i+1, maxDepth)
			}
		case c == '}' || c == ']':
			n--
		}
	}
	return nil
}

// finite writes the numbers that Python has beside those of JSON as transformers 5 does, as objects.
func finite(text []byte) []byte {
	var b []byte
	from, inside := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == 'I' && bytes.HasPrefix(text[i:], []byte(infinity)):
			b = append(append(b, text[from:i]...), `{"__float__": "Infinity"}`...)
			i += len(infinity) - 1
			from = i + 1
		}
	}
	if from == 0 {
		return text
	}
	return append(b, text[from:]...)
}

const infinity = "Infinity"

// Bounds returns a list of numbers that may be infinite, nil if there is none.
func (s *Settings) Bounds(key string) (list []float64) {
	var raw []json.RawMessage
	s.Read(key, &raw, "a list of numbers")
	for _, r := range raw {
		x := math.Inf(1)
		var o struct {
			Float string `json:"__float__"`
		}
		if json.Unmarshal(r, &x) != nil && (json.Unmarshal(r, &o) != nil || o.Float != infinity) {
			s.Fail(key, "got %s, want a list of numbers", brief(s.keys[key]))
		}
		list = append(list, x)
	}
	return list
}

// Fail makes a key the error, if there is none yet.
func (s *Settings) Fail(key, format string, args ...any) {
	if *s.err == nil {
		*s.err = fmt.Errorf("%s: %s%s: %s", s.file, s.in, key, fmt.Sprintf(format, args...))
	}
}

// Has says whether the key is there and not null.
func (s *Settings) Has(key string) bool {
	s.asks[key] = true
	raw, ok := s.keys[key]
	return ok && string(raw) != "null"
}

// Alias lets keys have the values of others, which folders have in their place.
func (s *Settings) Alias(names [][2]string) {
	for _, p := range names {
		if raw, ok := s.keys[p[1]]; ok {
			s.keys[p[0]] = raw
		}
	}
}

// Asked says whether somebody has looked for the key.
func (s *Settings) Asked(key string) bool { return s.asks[key] }

// Null says whether the key is there and null.
func (s *Settings) Null(key string) bool { return string(s.keys[key]) == "null" }

// Read decodes a key's value into to, and says whether there is one.
func (s *Settings) Read(key string, to any, want string) bool {
	if !s.Has(key) {
		return false
	}
	if json.Unmarshal(s.keys[key], to) != nil {
		s.Fail(key, "got %s, want %s", brief(s.keys[key]), want)
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

// Try is Read of a value that may be of another kind, too.
func (s *Settings) Try(key string, to any) bool {
	return s.Has(key) && json.Unmarshal(s.keys[key], to) == nil
}

// valueOf returns a T, other if there is none; want says what it is.
func valueOf[T any](s *Settings, key string, other T, want string) T {
	if x := new(T); s.Read(key, x, want) {
		return *x
	}
	return other
}

// Number returns a number, other if there is none.
func (s *Settings) Number(key string, other float64) float64 {
	return valueOf(s, key, other, "a number")
}

// Int returns an integer, other if there is none.
func (s *Settings) Int(key string, other int) int {
	var x float64
	if !s.Read(key, &x, "an integer") {
		return other
	}
	if x != math.Trunc(x) || math.Abs(x) > 1<<40 {
		s.Fail(key, "got %s, want an integer", brief(s.keys[key]))
		return other
	}
	return int(x)
}

// Need is Int for a key that must be there.
func (s *Settings) Need(key string) int {
	if !s.Has(key) {
		s.Fail(key, "is not there, want an integer")
	}
	return s.Int(key, 0)
}

// Bool returns a switch, other if there is none.
func (s *Settings) Bool(key string, other bool) bool { return valueOf(s, key, other, "true or false") }

// Text returns a string, other if there is none.
func (s *Settings) Text(key, other string) string { return valueOf(s, key, other, "a string") }

// Texts returns a list of strings, nil if there is none.
func (s *Settings) Texts(key string) []string {
	return valueOf[[]string](s, key, nil, "a list of strings")
}

// Numbers returns a list of numbers, nil if there is none.
func (s *Settings) Numbers(key string) []float64 {
	return valueOf[[]float64](s, key, nil, "a list of numbers")
}

// Object returns an inner object, nil if there is none.
func (s *Settings) Object(key string) *Settings {
	inner := &Settings{file: s.file, in: s.in + key + ".", asks: map[string]bool{}, err: s.err}
	if !s.Read(key, &inner.keys, "an object") {
		return nil
	}
	return inner
}

// OneOf returns text that must be one of a few.
func (s *Settings) OneOf(key, other string, want ...string) string {
	x := s.Text(key, other)
	if !slices.Contains(want, x) {
		s.Fail(key, "got %q, want one of %s", x, strings.Join(want, ", "))
	}
	return x
}

// Not refuses a switch that would change what the model computes.
func (s *Settings) Not(key string) {
	if s.Bool(key, false) {
		s.Fail(key, "got true, which is not supported")
	}
}

// NoCodes refuses a folder whose weights are codes. Those of mlx have no name.
func (s *Settings) NoCodes() {
	for _, key := range []string{"quantization_config", "quantization"} {
		q := s.Object(key)
		switch {
		case q == nil:
		case !q.Has("quant_method") && q.Has("bits"):
			s.Fail(key, "weights in codes of mlx (%d bits, groups of %d) are not read: mlx_lm.convert --dequantize makes numbers of them", q.Int("bits", 0), q.Int("group_size", 64))
		default:
			s.Fail(key, "weights in codes of %q are not read", q.Text("quant_method", "?"))
		}
	}
}

// DType is the type in which the folder says that its matrices are.
func (s *Settings) DType() dtype.Type {
	name := s.Text("dtype", s.Text("torch_dtype", "float32"))
	if _, ok := dtypes[name]; !ok {
		s.Fail("dtype", "got %q, want float32, bfloat16 or float16", name)
	}
	return dtypes[name]
}

// Err is the first error of a reader of these settings or of an object in them.
func (s *Settings) Err() error { return *s.err }

// None returns an object of the same file without keys.
func (s *Settings) None() *Settings {
	return &Settings{file: s.file, in: s.in, asks: map[string]bool{}, err: s.err}
}
