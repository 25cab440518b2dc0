package tuning

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/near"
)

// Example is a file with all keys.
//
//go:embed example.toml
var Example string

// names are the values of keys that are a choice: none, that of a key that is left out, and the others.
var names = map[string][]string{
	"train.method":   {"", "lora", "full", "dpo", "orpo", "kto", "grpo", "distill"},
	"train.spikes":   {"", "note", "skip", "back"},
	"optimizer.name": {"", "adamw", "sgd"},
	"schedule.shape": {"", "cosine", "linear", "constant", "stable"},
	"model.compute":  {"", "f32", "bf16", "f16"},
	"data.kind":      {"", "text", "completion", "chat", "preference", "unpaired"},
	"grpo.kind":      {"", "grpo", "dr_grpo"},
}

// positive are the numbers of which 0 means nothing. Where they are left out they have another value.
var positive = []string{
	"data.length", "data.batch", "train.steps", "train.epochs", "train.accumulate", "train.beta", "lora.rank", "lora.alpha", "optimizer.bits",
	"checkpoints.keep", "kto.desirable", "kto.undesirable", "grpo.group", "grpo.tokens", "grpo.repeat", "grpo.clip", "grpo.clip_high", "distill.temperature",
}

// A use says for which values of another key some keys are, each of which may be a section.
type use struct {
	keys   []string
	of     string
	values []string
}

var uses = []use{
	{[]string{"lora.", "model.bits", "model.shard"}, "train.method", []string{"lora", "dpo", "orpo", "kto", "grpo", "distill"}},
	{[]string{"train.beta"}, "train.method", []string{"dpo", "orpo", "kto", "grpo"}},
	{[]string{"kto."}, "train.method", []string{"kto"}},
	{[]string{"grpo."}, "train.method", []string{"grpo"}},
	{[]string{"distill."}, "train.method", []string{"distill"}},
	{[]string{"eval.", "data.eval", "data.eval_split", "data.share", "data.length", "data.pack", "data.wrap", "data.prompts"}, "train.method",
		[]string{"lora", "full", "dpo", "orpo", "kto", "distill"}},
	{[]string{"optimizer.beta1", "optimizer.beta2", "optimizer.eps", "optimizer.bits"}, "optimizer.name", []string{"adamw"}},
	{[]string{"optimizer.momentum"}, "optimizer.name", []string{"sgd"}},
	{[]string{"schedule.decay"}, "schedule.shape", []string{"stable"}},
	{[]string{"schedule.floor"}, "schedule.shape", []string{"cosine", "linear", "stable"}},
}

// with says whether the keys are for the value that the other one has.
func (u use) with(c *Config) bool {
	return slices.Contains(u.values, cmp.Or(c.value(u.of).String(), names[u.of][1]))
}

// list is the keys, those of sections one by one.
func (u use) list() []string {
	return slices.DeleteFunc(Keys(), func(key string) bool {
		return !slices.ContainsFunc(u.keys, func(k string) bool { return k == key || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k) })
	})
}

// decode reads a text into what c says already, and notes which keys it gives. Its errors begin with line and
// column.
func decode(text []byte, c *Config) error {
	d := toml.NewDecoder(strings.NewReader(string(text)))
	err := d.DisallowUnknownFields().Decode(c)
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		var list []error
		for i, e := range unknown.Errors {
			row, column := e.Position()
			where := fmt.Sprintf("%d:%d: ", row, column)
			if i > 0 {
				where = "line " + where
			}
			list = append(list, fmt.Errorf("%s%w", where, unknownKey(strings.Join(e.Key(), "."))))
		}
		return errors.Join(list...)
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := wrong.Position()
		text := plain(strings.TrimPrefix(wrong.Error(), "toml: "))
		if key := strings.Join(wrong.Key(), "."); key != "" {
			text = key + ": " + text
		}
		return fmt.Errorf("%d:%d: %s", row, column, text)
	}
	if err != nil {
		return err
	}
	var any map[string]any
	if err := toml.Unmarshal(text, &any); err != nil {
		return err
	}
	c.note("", any)
	return nil
}

// note takes down the keys of a section.
func (c *Config) note(section string, values map[string]any) {
	for name, v := range values {
		if list, ok := v.(map[string]any); ok {
			c.note(section+name+".", list)
		} else {
			c.given[section+name] = true
		}
	}
}

// number is the value of a key whose type is one of numbers.
func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// or is the number of a key, and zero where the key is given as 0: for the engine a field that is 0 was left
// out.
func (c *Config) or(key string, zero float64) float64 {
	if x := number(c.value(key)); x != 0 || !c.given[key] {
		return x
	}
	return zero
}

// mistyped is what the decoder says of a value of another type: it writes out the Go struct.
var mistyped = lazy.Regexp(`^cannot decode TOML (\w+) into .*type (\w+)$`)

// wanted are the types of keys in words.
var wanted = map[string]string{"int": "a whole number", "uint64": "a whole number of at least 0", "float64": "a number", "bool": "true or false", "string": "a text in quotes"}

// plain is a decoder's message in the words of the file.
func plain(message string) string {
	m := mistyped().FindStringSubmatch(strings.ReplaceAll(message, "\n", " "))
	if m == nil || wanted[m[2]] == "" {
		return message
	}
	return fmt.Sprintf("got a TOML %s, want %s", m[1], wanted[m[2]])
}

// unknownKey says which key may have been meant.
func unknownKey(key string) error {
	section, name := "", key
	if i := strings.LastIndex(key, "."); i >= 0 {
		section, name = key[:i+1], key[i+1:]
	}
	meant := ""
	var beside []string // the names in the section
	for _, k := range Keys() {
		if strings.HasSuffix(k, "."+name) { // the right name in another section
			meant = k
		}
		if rest, ok := strings.CutPrefix(k, section); ok {
			beside = append(beside, rest)
		}
	}
	if meant == "" {
		if meant = near.Name(name, beside); meant != "" {
			meant = section + meant
		} else {
			meant = near.Name(key, Keys())
		}
	}
	if meant != "" {
		return fmt.Errorf("unknown key %s; did you mean %s?", key, meant)
	}
	return fmt.Errorf("unknown key %s; mcs train --example shows all", key)
}

// override sets a value that a command line gives, and returns its key. A value that is none of TOML's is a
// text.
func (c *Config) override(o string) (string, error) {
	key, value, ok := strings.Cut(o, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return "", fmt.Errorf("-p %s: want a key and a value, as train.steps=50", o)
	}
	if !slices.Contains(Keys(), key) {
		return "", fmt.Errorf("-p %s: %w", o, unknownKey(key))
	}
	var any map[string]any
	line := key + " = " + value
	if toml.Unmarshal([]byte(line), &any) != nil {
		line = key + " = '''" + value + "'''"
	}
	if err := decode([]byte(line), c); err != nil {
		_, text, _ := strings.Cut(err.Error(), ": ")
		return "", fmt.Errorf("-p %s: %s", o, text)
	}
	return key, nil
}

// rivals are pairs of keys of which a job has one.
var rivals = [][2]string{{"train.steps", "train.epochs"}, {"data.share", "data.eval"}, {"data.share", "data.eval_split"}, {"model.bits", "model.shard"}}

// excluded are the keys that the value of a key excludes.
func (c *Config) excluded(key string) (list []string) {
	for _, pair := range rivals {
		for i, k := range pair {
			if k == key {
				list = append(list, pair[1-i])
			}
		}
	}
	for _, u := range uses {
		if u.of == key && !u.with(c) {
			list = append(list, u.list()...)
		}
	}
	return list
}

// replace takes back what the file says and what the values of a command line, by their keys, exclude.
func (c *Config) replace(given map[string]string) {
	for _, key := range sortedKeys(given) {
		if c.value(key).IsZero() {
			continue
		}
		var gone []string
		for _, k := range c.excluded(key) {
			if v := c.value(k); given[k] == "" && !v.IsZero() {
				gone = append(gone, fmt.Sprintf("%s = %v", k, v))
				v.SetZero()
				delete(c.given, k)
			}
		}
		if len(gone) > 0 {
			c.replaced = append(c.replaced, fmt.Sprintf("%s, in place of %s", given[key], strings.Join(gone, ", ")))
		}
	}
}

// value is that of a key that there is.
func (c *Config) value(key string) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for name := range strings.SplitSeq(key, ".") {
		for f, field := range v.Fields() {
			if f.Tag.Get("toml") == name {
				v = field
				break
			}
		}
	}
	return v
}

// Keys lists what a file may say: "train.steps".
func Keys() (list []string) {
	var walk func(prefix string, t reflect.Type)
	walk = func(prefix string, t reflect.Type) {
		for f := range t.Fields() {
			if !f.IsExported() {
				continue
			}
			name := prefix + f.Tag.Get("toml")
			if f.Type.Kind() == reflect.Struct {
				walk(name+".", f.Type)
			} else {
				list = append(list, name)
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
	return list
}

// known says whether a value is one of the names, the first of which is that of no value.
func known(key, value string, names []string) error {
	if slices.Contains(names, value) {
		return nil
	}
	if meant := near.Name(value, names); meant != "" {
		return fmt.Errorf("got %s %q; did you mean %q?", key, value, meant)
	}
	return fmt.Errorf("got %s %q, want one of %s", key, value, strings.Join(names[1:], ", "))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
