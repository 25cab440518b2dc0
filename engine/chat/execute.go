package chat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// What bounds a running template: work counts steps, and the bytes and items of what is made; depth counts
// expressions, blocks, macros and values in each other.
const (
	maxWork  = 1 << 27
	maxDepth = 1000
	stepWork = 32
)

// run is one rendering.
type run struct {
	out   strings.Builder
	said  []Span // of out, outside of captures
	now   time.Time
	line  int
	work  int
	depth int
}

func (r *run) fail(format string, a ...any) {
	panic(failure{line: r.line, reason: fmt.Sprintf(format, a...)})
}

func (r *run) step(line int) {
	r.line = line
	r.spend(stepWork)
}

func (r *run) spend(n int) {
	if r.work += n; r.work > maxWork {
		r.fail("got a template that computes or writes too much, want one that ends")
	}
}

// spendTimes spends size·n, whatever they are.
func (r *run) spendTimes(size int, n int64) {
	if size > 0 && n > int64(maxWork/size) {
		n, size = 1, maxWork+1
	}
	r.spend(size * int(n))
}

// enter counts nesting; the caller defers what it returns.
func (r *run) enter() func() {
	if r.depth++; r.depth > maxDepth {
		r.fail("got more than %d calls or values in each other, want fewer", maxDepth)
	}
	r.spend(stepWork)
	return func() { r.depth-- }
}

func (r *run) eval(e expression, s *scope) any {
	return unmarked(r.marked(e, s))
}

// marked is eval for operands of +, which tells markup from other text.
func (r *run) marked(e expression, s *scope) any {
	defer r.enter()()
	return e.value(r, s)
}

// write adds to the text.
func (r *run) write(s string) {
	r.spend(len(s))
	r.out.WriteString(s)
}

// capture returns what the body writes.
func (r *run) capture(body []statement, s *scope) string {
	return r.apart(func() { r.block(body, s) })
}

// apart returns what write writes. What it marks as said has no place in the text.
func (r *run) apart(write func()) string {
	outside, said := r.out, r.said
	r.out = strings.Builder{}
	write()
	text := r.out.String()
	r.out, r.said = outside, said
	return text
}

// scope holds the names of a block; what a loop or a macro sets is gone after it.
type scope struct {
	names map[string]any
	outer *scope
}

func (s *scope) find(name string) (any, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.names[name]; ok {
			return v, true
		}
	}
	return nil, false
}

func (s *scope) inner() *scope { return &scope{map[string]any{}, s} }

func (r *run) block(body []statement, s *scope) flow {
	defer r.enter()()
	for _, st := range body {
		if f := st(r, s); f != onward {
			return f
		}
	}
	return onward
}

func (r *run) assign(targets []target, tuple bool, v any, s *scope) {
	values := []any{v}
	if tuple {
		values = r.iterate(v)
		if len(values) != len(targets) {
			r.fail("got %d values for %d names, want as many", len(values), len(targets))
		}
	}
	for i, t := range targets {
		if t.field == "" {
			s.names[t.name] = values[i]
			continue
		}
		of, _ := s.find(t.name)
		n, ok := of.(*namespace)
		if !ok {
			r.fail("got %s.%s set, want a namespace as %s", t.name, t.field, t.name)
		}
		n.fields[t.field] = values[i]
	}
}

// A macro writes text, as a function does.
type macro struct {
	name     string
	params   []string
	defaults []expression // of the last parameters
	body     []statement
}

func (st *macro) bind(s *scope) *callable {
	return &callable{st.name, func(r *run, a args) any { return st.run(r, a, s) }}
}

// run writes a macro's body with its parameters set. Arguments that are too many are found as varargs and
// kwargs.
func (st *macro) run(r *run, a args, defined *scope) any {
	line, s := r.line, defined.inner()
	s.names["varargs"] = &list{items: a.positional[min(len(st.params), len(a.positional)):], tuple: true}
	named := newDict()
	for i, name := range a.names {
		named.set(name, a.named[i])
	}
	if v, ok := named.get("caller"); ok {
		s.names["caller"] = v
	}
	for i, name := range st.params {
		v, isNamed := named.get(name)
		switch first := len(st.params) - len(st.defaults); {
		case i < len(a.positional):
			v = a.positional[i]
		case isNamed:
		case i >= first:
			v = r.eval(st.defaults[i-first], s)
		default:
			v = undefined{name}
		}
		s.names[name] = v
	}
	rest := newDict()
	for i, name := range a.names {
		if !slices.Contains(st.params, name) && name != "caller" {
			rest.set(name, a.named[i])
		}
	}
	s.names["kwargs"] = rest
	text := r.capture(st.body, s)
	r.line = line
	return text
}

// cursor is the variable loop.
type cursor struct {
	items   []any
	at      int
	depth   int
	last    []any // what loop.changed saw
	recurse *callable
}

// loopFields are what a template asks loop for.
var loopFields = map[string]func(c *cursor) any{
	"index":     func(c *cursor) any { return int64(c.at + 1) },
	"index0":    func(c *cursor) any { return int64(c.at) },
	"revindex":  func(c *cursor) any { return int64(len(c.items) - c.at) },
	"revindex0": func(c *cursor) any { return int64(len(c.items) - c.at - 1) },
	"first":     func(c *cursor) any { return c.at == 0 },
	"last":      func(c *cursor) any { return c.at == len(c.items)-1 },
	"length":    func(c *cursor) any { return int64(len(c.items)) },
	"depth":     func(c *cursor) any { return int64(c.depth + 1) },
	"depth0":    func(c *cursor) any { return int64(c.depth) },
	"previtem":  func(c *cursor) any { return c.item(c.at-1, "previtem") },
	"nextitem":  func(c *cursor) any { return c.item(c.at+1, "nextitem") },
	"cycle":     func(c *cursor) any { return &callable{"cycle", c.cycle} },
	"changed":   func(c *cursor) any { return &callable{"changed", c.changed} },
}

func (c *cursor) item(at int, name string) any {
	if at < 0 || at >= len(c.items) {
		return undefined{name}
	}
	return c.items[at]
}

func (c *cursor) cycle(r *run, a args) any {
	if len(a.positional) == 0 {
		r.fail("loop.cycle: got no values, want some")
	}
	return a.positional[c.at%len(a.positional)]
}

func (c *cursor) changed(r *run, a args) any {
	same := c.last != nil && slices.EqualFunc(c.last, a.positional, r.equal)
	c.last = append([]any{}, a.positional...)
	return !same
}

// A loop is {% for %}.
type loop struct {
	line            int
	target          []target
	tuple           bool
	over, when      expression
	body, otherwise []statement
	recursive       bool
}

func (st *loop) execute(r *run, s *scope) flow {
	r.step(st.line)
	over := r.eval(st.over, s)
	r.line = st.line
	return st.each(r, s, over, 0)
}

func (st *loop) each(r *run, s *scope, over any, depth int) flow {
	c := &cursor{items: st.filter(r, s, r.iterate(over)), depth: depth}
	if st.recursive {
		c.recurse = &callable{"loop", func(r *run, a args) any {
			return r.apart(func() { st.each(r, s, a.want(r, "loop", "iterable")[0], depth+1) })
		}}
	}
	for i, item := range c.items {
		c.at = i
		inner := st.inner(r, s, item)
		inner.names["loop"] = c
		if r.block(st.body, inner) == broken {
			break
		}
	}
	if len(c.items) == 0 {
		return r.block(st.otherwise, s.inner())
	}
	return onward
}

func (st *loop) filter(r *run, s *scope, items []any) []any {
	if st.when == nil {
		return items
	}
	var kept []any
	for _, item := range items {
		if truth(r.eval(st.when, st.inner(r, s, item))) {
			kept = append(kept, item)
		}
	}
	return kept
}

// inner is the scope of an item.
func (st *loop) inner(r *run, s *scope, item any) *scope {
	inner := s.inner()
	r.step(st.line)
	r.assign(st.target, st.tuple, item, inner)
	return inner
}

// args are the values that a function, filter or test is called with.
type args struct {
	positional []any
	names      []string
	named      []any
}

func (a arguments) values(r *run, s *scope) args {
	var v args
	for _, e := range a.positional {
		v.positional = append(v.positional, r.eval(e, s))
	}
	if a.star != nil {
		v.positional = append(v.positional, r.iterate(r.eval(a.star, s))...)
	}
	for i, e := range a.named {
		v.names, v.named = append(v.names, a.names[i]), append(v.named, r.eval(e, s))
	}
	if a.doubleStar != nil {
		d, ok := r.eval(a.doubleStar, s).(*dict)
		if !ok {
			r.fail("got ** of something else, want a dict")
		}
		for i, k := range d.keys {
			v.names, v.named = append(v.names, r.text(k)), append(v.named, d.values[i])
		}
	}
	r.spend(16 * (len(v.positional) + len(v.named)))
	return v
}

// want returns the values of the named parameters; a name that ends in "?" may be left out and is then
// absent.
func (a args) want(r *run, function string, params ...string) []any {
	values := make([]any, len(params))
	if len(a.positional) > len(params) {
		r.fail("%s: got %d arguments, want at most %d", function, len(a.positional), len(params))
	}
	used := 0
	for i, p := range params {
		name := strings.TrimSuffix(p, "?")
		at := slices.Index(a.names, name)
		switch {
		case i < len(a.positional):
			values[i] = a.positional[i]
		case at >= 0:
			values[i] = a.named[at]
			used++
		case name != p:
			values[i] = absent{}
		default:
			r.fail("%s: got no %s, want one", function, name)
		}
	}
	if used < len(a.names) {
		r.fail("%s: got the arguments %s, want %s", function, strings.Join(a.names, ", "), strings.Join(params, ", "))
	}
	return values
}

// absent is an argument that was left out.
type absent struct{}

func orElse[T any](r *run, what string, v any, otherwise T) T {
	switch v := v.(type) {
	case absent:
		return otherwise
	case T:
		return v
	}
	r.fail("%s: got %s, want %s", what, typeName(v), typeName(any(otherwise)))
	return otherwise
}

var builtins = map[string]any{
	"range":           &callable{"range", rangeFunction},
	"raise_exception": &callable{"raise_exception", raise},
	"strftime_now": &callable{"strftime_now", func(r *run, a args) any {
		return strftime(r, r.now, orElse(r, "strftime_now", a.want(r, "strftime_now", "format")[0], ""))
	}},
	"dict": &callable{"dict", func(r *run, a args) any {
		d := newDict()
		for k, v := range fields(r, "dict", a) {
			d.set(k, v)
		}
		return d
	}},
	"namespace": &callable{"namespace", func(r *run, a args) any {
		return &namespace{maps.Collect(fields(r, "namespace", a))}
	}},
}

// fields yields the pairs of a dict and of named arguments.
func fields(r *run, function string, a args) func(func(string, any) bool) {
	return func(yield func(string, any) bool) {
		for _, v := range a.positional {
			d, ok := v.(*dict)
			if !ok {
				r.fail("%s: got %s, want a dict or named arguments", function, typeName(v))
			}
			for i, k := range d.keys {
				if !yield(r.text(k), d.values[i]) {
					return
				}
			}
		}
		for i, name := range a.names {
			if !yield(name, a.named[i]) {
				return
			}
		}
	}
}

func raise(r *run, a args) any {
	panic(failure{line: r.line, reason: r.text(a.want(r, "raise_exception", "message")[0]), raised: true})
}

// rangeFunction gives at most as many numbers as the sandbox of jinja2.
func rangeFunction(r *run, a args) any {
	const most = 100000
	v := a.want(r, "range", "start", "stop?", "step?")
	start, stop, step := int64(0), orElse(r, "range", v[0], int64(0)), orElse(r, "range", v[2], int64(1))
	if _, one := v[1].(absent); !one {
		start, stop = stop, orElse(r, "range", v[1], int64(0))
	}
	if step == 0 {
		r.fail("range: got the step 0, want another")
	}
	l := &list{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; {
		if len(l.items) == most {
			r.fail("range: got more than %d numbers, want fewer", most)
		}
		l.items = append(l.items, i)
		next := i + step
		if (next > i) != (step > 0) {
			break
		}
		i = next
	}
	r.spend(16 * len(l.items))
	return l
}
