package chat

import (
	"math"
	"math/bits"
	"strings"
)

func (r *run) compare(op string, a, b any) bool {
	switch op {
	case "==":
		return r.equal(a, b)
	case "!=":
		return !r.equal(a, b)
	case "in":
		return r.contains(b, a)
	case "not in":
		return !r.contains(b, a)
	case "<":
		return r.order(a, b) < 0
	case "<=":
		return r.order(a, b) <= 0
	case ">":
		return r.order(a, b) > 0
	}
	return r.order(a, b) >= 0
}

func (r *run) arithmetic(op string, a, b any) any {
	if x, y, ok := escaped(a, b); ok && op == "+" {
		return markup(r.join(x, y))
	}
	a, b = unmarked(a), unmarked(b)
	if op == "~" {
		return r.join(r.text(a), r.text(b))
	}
	a, b = number(a), number(b)
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return r.integers(op, x, y)
		}
	}
	if x, ok := asFloat(a); ok {
		if y, ok := asFloat(b); ok {
			return r.floats(op, x, y)
		}
	}
	switch op {
	case "+":
		switch x := a.(type) {
		case string:
			if y, ok := b.(string); ok {
				return r.join(x, y)
			}
		case *list:
			if y, ok := b.(*list); ok && x.tuple == y.tuple && !x.once && !y.once {
				r.spend(16 * (len(x.items) + len(y.items)))
				return &list{items: append(x.items[:len(x.items):len(x.items)], y.items...), tuple: x.tuple}
			}
		}
	case "*":
		if n, ok := a.(int64); ok {
			a, b = b, n
		}
		if n, ok := b.(int64); ok {
			if v, ok := r.repeat(a, max(n, 0)); ok {
				return v
			}
		}
	case "%":
		if x, ok := a.(string); ok {
			return r.percent(x, b)
		}
	}
	r.fail("got %s %s %s, want values for which that is defined", typeName(a), op, typeName(b))
	return nil
}

// markup is text of the filter safe, to which + adds other text with what HTML reads escaped, as Python's
// Markup does. Functionary's models were trained on such texts.
type markup string

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

// unmarked is v as the text that it is, if it is markup.
func unmarked(v any) any {
	if text, ok := v.(markup); ok {
		return string(text)
	}
	return v
}

// escaped are two texts of which one is markup at least.
func escaped(a, b any) (x, y string, ok bool) {
	texts, marked := [2]string{}, false
	for i, v := range []any{a, b} {
		switch v := v.(type) {
		case markup:
			texts[i], marked = string(v), true
		case string:
			texts[i] = escaper.Replace(v)
		default:
			return "", "", false
		}
	}
	return texts[0], texts[1], marked
}

func (r *run) join(a, b string) string {
	r.spend(len(a) + len(b))
	return a + b
}

func (r *run) repeat(v any, n int64) (any, bool) {
	switch v := v.(type) {
	case string:
		r.spendTimes(len(v), n)
		if v == "" {
			return "", true
		}
		return strings.Repeat(v, int(n)), true
	case *list:
		if v.once {
			return nil, false
		}
		r.spendTimes(16*len(v.items), n)
		l := &list{tuple: v.tuple}
		for ; n > 0 && len(v.items) > 0; n-- {
			l.items = append(l.items, v.items...)
		}
		return l, true
	}
	return nil, false
}

func (r *run) integers(op string, a, b int64) any {
	overflow := false
	var c int64
	switch op {
	case "+":
		c = a + b
		overflow = (c > a) != (b > 0) && b != 0
	case "-":
		c = a - b
		overflow = (c < a) != (b > 0) && b != 0
	case "*":
		c, overflow = multiply(a, b)
	case "**":
		if b < 0 {
			return r.floats(op, float64(a), float64(b))
		}
		c = 1
		for ; b > 0 && !overflow; b-- {
			if a == 0 || a == 1 || a == -1 { // settled at once, whatever the power
				if a == 0 || a == -1 && b%2 == 1 {
					c = a
				}
				break
			}
			c, overflow = multiply(c, a)
		}
	default:
		return r.divide(op, a, b)
	}
	if overflow {
		r.fail("got %d %s %d, want a result of 64 bits", a, op, b)
	}
	return c
}

func multiply(a, b int64) (c int64, overflow bool) {
	abs := func(x int64) uint64 {
		if x < 0 {
			return -uint64(x)
		}
		return uint64(x)
	}
	high, low := bits.Mul64(abs(a), abs(b))
	return a * b, high != 0 || low > math.MaxInt64
}

func (r *run) divide(op string, a, b int64) any {
	switch {
	case b == 0:
		r.fail("got %d %s 0, want a divisor that is not zero", a, op)
	case op == "/":
		return float64(a) / float64(b)
	case b == -1: // the least int has no opposite
		if op == "%" {
			return int64(0)
		}
		return r.integers("-", 0, a)
	}
	quotient, rest := a/b, a%b
	if rest != 0 && (rest < 0) != (b < 0) {
		quotient, rest = quotient-1, rest+b
	}
	if op == "%" {
		return rest
	}
	return quotient
}

func (r *run) floats(op string, a, b float64) any {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "**":
		return math.Pow(a, b)
	}
	if b == 0 {
		r.fail("got %v %s 0, want a divisor that is not zero", a, op)
	}
	switch op {
	case "/":
		return a / b
	case "//":
		return math.Floor(a / b)
	}
	rest := math.Mod(a, b)
	if rest != 0 && (rest < 0) != (b < 0) {
		rest += b
	}
	return rest
}

func (r *run) sign(op string, v any) any {
	switch x := number(v).(type) {
	case int64:
		if op == "-" {
			return r.integers("-", 0, x)
		}
		return x
	case float64:
		if op == "-" {
			return -x
		}
		return x
	}
	r.fail("got %s%s, want a number", op, typeName(number(v)))
	return nil
}

func (r *run) attribute(of any, name string) any {
	if u, ok := of.(undefined); ok {
		r.fail("got .%s of %s, want a value", name, typeName(u))
	}
	if f := method(of, name); f != nil {
		return f
	}
	switch v := of.(type) {
	case *dict:
		if x, ok := v.get(name); ok {
			return x
		}
	case *namespace:
		if x, ok := v.fields[name]; ok {
			return x
		}
	case *cursor:
		if field := loopFields[name]; field != nil {
			return field(v)
		}
	case *callable:
		if name == "name" {
			return v.name
		}
	}
	return undefined{name}
}

func (r *run) item(of, by any) any {
	switch v := of.(type) {
	case undefined:
		r.fail("got an index of %s, want a value", typeName(v))
	case *dict:
		if x, ok := v.get(by); ok {
			return x
		}
	case *list:
		if i, ok := number(by).(int64); ok && !v.once {
			if i < 0 {
				i += int64(len(v.items))
			}
			if i >= 0 && i < int64(len(v.items)) {
				return v.items[i]
			}
		}
	case string:
		if i, ok := number(by).(int64); ok {
			return r.character(v, i)
		}
	}
	if name, ok := by.(string); ok {
		return r.attribute(of, name)
	}
	return undefined{r.repr(by)}
}

func (r *run) character(s string, i int64) any {
	r.spend(len(s))
	n, _ := length(s)
	if i < 0 {
		i += int64(n)
	}
	for _, c := range s {
		if i == 0 {
			return string(c)
		}
		i--
	}
	return undefined{"character of a string"}
}

func (r *run) slice(of any, parts [3]any) any {
	switch v := of.(type) {
	case string:
		var b strings.Builder
		for _, c := range r.cut(r.iterate(v), parts) {
			b.WriteString(c.(string))
		}
		return b.String()
	case *list:
		if !v.once {
			return &list{items: r.cut(v.items, parts), tuple: v.tuple}
		}
	case undefined:
		r.fail("got a part of %s, want a value", typeName(v))
	}
	return undefined{"part of " + typeName(of)}
}

// cut is items[start:stop:step] of Python.
func (r *run) cut(items []any, parts [3]any) []any {
	var at [3]int64
	for i, p := range parts {
		n, ok := number(p).(int64)
		if !ok && p != nil {
			r.fail("got %s in a slice, want an int", typeName(p))
		}
		at[i] = n
	}
	n, step := int64(len(items)), at[2]
	if parts[2] == nil {
		step = 1
	}
	if step == 0 {
		r.fail("got the step 0 in a slice, want another")
	}
	low, high := int64(0), n
	if step < 0 {
		low, high = -1, n-1
	}
	bound := func(i int, missing int64) int64 {
		if parts[i] == nil {
			return missing
		}
		if at[i] < 0 {
			return max(at[i]+n, low)
		}
		return min(at[i], high)
	}
	start, stop := bound(0, low), bound(1, high)
	if step < 0 {
		start, stop = bound(0, high), bound(1, low)
	}
	step = max(min(step, n+1), -n-1)
	var out []any
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		out = append(out, items[i])
	}
	r.spend(16 * len(out))
	return out
}

func (r *run) call(of any, a args) any {
	f, ok := of.(*callable)
	if c, is := of.(*cursor); is && c.recurse != nil {
		f, ok = c.recurse, true
	}
	if !ok {
		r.fail("got a call of %s, want a function", typeName(of))
	}
	defer r.enter()()
	return f.do(r, a)
}
