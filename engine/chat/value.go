package chat

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The values of a template are nil (None), bool, int64, float64, string and the types below. All but a
// namespace are never changed once made, so a value can't hold itself.
type (
	undefined struct{ name string }
	digits    string // an integer of JSON beyond 64 bits, which is only written and compared
	list      struct {
		items []any
		tuple bool
		once  bool // what a generator gives: true even if empty, and used up by the first loop
	}
	namespace struct{ fields map[string]any }
	callable  struct {
		name string
		do   func(r *run, a args) any
	}
	// dict keeps its keys in order.
	dict struct {
		keys   []any
		values []any
		at     map[any]int
	}
)

func newDict() *dict { return &dict{at: map[any]int{}} }

// key returns what a map finds a value by, so that 1, 1.0 and true are one key, as in Python.
func key(v any) (k any, ok bool) {
	switch v := v.(type) {
	case nil, string, int64, digits:
		return v, true
	case bool:
		return number(v), true
	case float64:
		if i := int64(v); float64(i) == v {
			return i, true
		}
		return v, true
	}
	return nil, false
}

// set puts a value under a key and says whether the key is of a kind that can be one.
func (d *dict) set(k, v any) bool {
	id, ok := key(k)
	if !ok {
		return false
	}
	if i, known := d.at[id]; known {
		d.values[i] = v
		return true
	}
	d.at[id] = len(d.keys)
	d.keys, d.values = append(d.keys, k), append(d.values, v)
	return true
}

func (d *dict) get(k any) (any, bool) {
	if id, ok := key(k); ok {
		if i, ok := d.at[id]; ok {
			return d.values[i], true
		}
	}
	return nil, false
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case undefined:
		if v.name == "" {
			return "an undefined value"
		}
		return "the undefined " + v.name
	case bool:
		return "a bool"
	case int64:
		return "an int"
	case digits:
		return "an int beyond 64 bits"
	case float64:
		return "a float"
	case string:
		return "a string"
	case *list:
		if v.tuple {
			return "a tuple"
		}
		return "a list"
	case *dict:
		return "a dict"
	case *namespace:
		return "a namespace"
	}
	return "a function"
}

func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *list:
		return v.once || len(v.items) > 0
	case *dict:
		return len(v.keys) > 0
	}
	return true
}

// number returns a bool as an int.
func number(v any) any {
	if b, ok := v.(bool); ok {
		if b {
			return int64(1)
		}
		return int64(0)
	}
	return v
}

func asFloat(v any) (float64, bool) {
	switch v := number(v).(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// equal compares as Python does: by value, numbers of all kinds with each other.
func (r *run) equal(a, b any) bool {
	defer r.enter()()
	switch a := number(a).(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case int64:
		switch b := number(b).(type) {
		case int64:
			return a == b
		case float64:
			return float64(a) == b
		}
	case float64:
		f, ok := asFloat(b)
		return ok && a == f
	case string:
		s, ok := b.(string)
		return ok && a == s
	case digits:
		return a == b
	case *list:
		b, ok := b.(*list)
		return ok && (a == b || a.tuple == b.tuple && !a.once && !b.once && slices.EqualFunc(a.items, b.items, r.equal))
	case *dict:
		b, ok := b.(*dict)
		return ok && r.equalDicts(a, b)
	case *namespace, *callable, *cursor:
		return a == b
	}
	return false
}

func (r *run) equalDicts(a, b *dict) bool {
	if len(a.keys) != len(b.keys) {
		return false
	}
	for i, k := range a.keys {
		v, ok := b.get(k)
		if !ok || !r.equal(a.values[i], v) {
			return false
		}
	}
	return true
}

// order returns below zero, zero or above for values that have an order.
func (r *run) order(a, b any) int {
	defer r.enter()()
	if x, ok := number(a).(int64); ok {
		if y, ok := number(b).(int64); ok {
			return compareNumbers(x, y)
		}
	}
	if x, ok := asFloat(a); ok {
		if y, ok := asFloat(b); ok {
			return compareNumbers(x, y)
		}
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	case *list:
		if y, ok := b.(*list); ok && x.tuple == y.tuple {
			for i := range min(len(x.items), len(y.items)) {
				if !r.equal(x.items[i], y.items[i]) {
					return r.order(x.items[i], y.items[i])
				}
			}
			return compareNumbers(len(x.items), len(y.items))
		}
	}
	r.fail("got %s and %s, want two values with an order", typeName(a), typeName(b))
	return 0
}

func compareNumbers[N int | int64 | float64](a, b N) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// contains is "in".
func (r *run) contains(of, v any) bool {
	switch of := of.(type) {
	case string:
		s, ok := v.(string)
		if !ok {
			r.fail("got %s in a string, want a string", typeName(v))
		}
		r.spend(len(of))
		return strings.Contains(of, s)
	case *dict:
		if _, ok := key(v); !ok {
			r.fail("got %s in a dict, want a key", typeName(v))
		}
		_, ok := of.get(v)
		return ok
	}
	return slices.ContainsFunc(r.iterate(of), func(item any) bool { return r.equal(item, v) })
}

// iterate returns what a loop over the value sees. A generator is empty after it.
func (r *run) iterate(v any) []any {
	switch v := v.(type) {
	case undefined:
		return nil
	case string:
		r.spend(16 * len(v))
		items := make([]any, 0, utf8.RuneCountInString(v))
		for _, c := range v {
			items = append(items, string(c))
		}
		return items
	case *list:
		items := v.items
		if v.once {
			v.items = nil
		}
		return items
	case *dict:
		return v.keys
	}
	r.fail("got %s, want something to loop over", typeName(v))
	return nil
}

// length is len() of Python; ok is false for what has none.
func length(v any) (n int, ok bool) {
	switch v := v.(type) {
	case undefined:
		return 0, true
	case string:
		return utf8.RuneCountInString(v), true
	case *list:
		return len(v.items), !v.once
	case *dict:
		return len(v.keys), true
	}
	return 0, false
}
