package chat

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// filters are what stands after "|".
var filters map[string]func(r *run, v any, a args) any

func init() { // map looks them up while it runs
	filters = map[string]func(r *run, v any, a args) any{
		"trim":       func(r *run, v any, a args) any { return stringMethods["strip"](r, r.text(v), a) },
		"upper":      func(r *run, v any, _ args) any { return strings.ToUpper(r.text(v)) },
		"lower":      func(r *run, v any, _ args) any { return strings.ToLower(r.text(v)) },
		"capitalize": func(r *run, v any, _ args) any { return capitalize(r.text(v)) },
		"title":      func(r *run, v any, _ args) any { return title(r.text(v)) },
		"replace":    func(r *run, v any, a args) any { return replace(r, r.text(v), a) },
		"string":     func(r *run, v any, _ args) any { return r.text(v) },
		"safe":       func(r *run, v any, _ args) any { return markup(r.text(v)) },
		"length":     lengthFilter,
		"count":      lengthFilter,
		"default":    defaultFilter,
		"d":          defaultFilter,
		"int":        intFilter,
		"float":      floatFilter,
		"abs": func(r *run, v any, _ args) any {
			if r.order(v, int64(0)) < 0 {
				return r.arithmetic("-", int64(0), v)
			}
			return v
		},
		"round": roundFilter,
		"list":  func(r *run, v any, _ args) any { return &list{items: r.iterate(v)} },
		"first": func(r *run, v any, _ args) any { return itemAt("first", r.iterate(v), 0) },
		"last":  func(r *run, v any, _ args) any { items := r.iterate(v); return itemAt("last", items, len(items)-1) },
		"reverse": func(r *run, v any, _ args) any {
			items := slices.Clone(r.iterate(v))
			r.spend(16 * len(items))
			slices.Reverse(items)
			if _, ok := v.(string); ok {
				return r.joinItems(&list{items: items}, "")
			}
			return &list{items: items, once: true}
		},
		"unique": func(r *run, v any, _ args) any {
			out := &list{once: true}
			for _, item := range r.iterate(v) {
				if !slices.ContainsFunc(out.items, func(o any) bool { return r.equal(o, item) }) {
					out.items = append(out.items, item)
				}
			}
			return out
		},
		"sum": func(r *run, v any, _ args) any {
			total := any(int64(0))
			for _, item := range r.iterate(v) {
				total = r.arithmetic("+", total, item)
			}
			return total
		},
		"join": func(r *run, v any, a args) any {
			w := a.want(r, "join", "d?", "attribute?")
			if name, ok := w[1].(string); ok {
				v = r.mapItems(v, func(item any) any { return r.path(item, name) })
			}
			return r.joinItems(v, orElse(r, "join", w[0], ""))
		},
		"items": func(r *run, v any, _ args) any {
			switch v := v.(type) {
			case undefined:
				return &list{once: true}
			case *dict:
				l := r.pairs(v)
				l.once = true
				return l
			}
			r.fail("items: got %s, want a dict", typeName(v))
			return nil
		},
		"dictsort": func(r *run, v any, _ args) any {
			d, ok := v.(*dict)
			if !ok {
				r.fail("dictsort: got %s, want a dict", typeName(v))
			}
			l := r.pairs(d)
			r.sort(l.items, func(pair any) any { return fold(pair.(*list).items[0]) })
			return l
		},
		"sort": func(r *run, v any, a args) any {
			w := a.want(r, "sort", "reverse?", "case_sensitive?", "attribute?")
			items := slices.Clone(r.iterate(v))
			r.sort(items, r.folded("sort", w[1], w[2]))
			if orElse(r, "sort", w[0], false) {
				slices.Reverse(items)
			}
			return &list{items: items}
		},
		"min":        extreme("min", -1),
		"max":        extreme("max", 1),
		"map":        mapFilter,
		"select":     chosen(true, false),
		"reject":     chosen(false, false),
		"selectattr": chosen(true, true),
		"rejectattr": chosen(false, true),
		"indent":     indent,
		"tojson":     tojson,
		"from_json": func(r *run, v any, _ args) any {
			text := orElse(r, "from_json", v, "")
			r.spend(16 * len(text))
			value, err := fromJSON([]byte(text))
			if err != nil {
				r.fail("from_json: got %.40q: %v", text, err)
			}
			return value
		},
	}
}

func lengthFilter(r *run, v any, _ args) any {
	n, ok := length(v)
	if !ok {
		r.fail("length: got %s, want something with a length", typeName(v))
	}
	return int64(n)
}

func defaultFilter(r *run, v any, a args) any {
	w := a.want(r, "default", "default_value?", "boolean?")
	_, isUndefined := v.(undefined)
	if isUndefined || orElse(r, "default", w[1], false) && !truth(v) {
		if _, none := w[0].(absent); none {
			return ""
		}
		return w[0]
	}
	return v
}

func intFilter(r *run, v any, a args) any {
	otherwise := orElse(r, "int", a.want(r, "int", "default?")[0], int64(0))
	switch v := number(v).(type) {
	case int64, digits:
		return v
	case float64:
		if math.Abs(v) < 1<<63 {
			return int64(v)
		}
	case string:
		s := strings.TrimFunc(v, isSpace)
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<63 {
			return int64(f)
		}
	}
	return otherwise
}

func floatFilter(r *run, v any, a args) any {
	otherwise := orElse(r, "float", a.want(r, "float", "default?")[0], 0.0)
	if f, ok := asFloat(v); ok {
		return f
	}
	if s, ok := v.(string); ok {
		if f, err := strconv.ParseFloat(strings.TrimFunc(s, isSpace), 64); err == nil {
			return f
		}
	}
	return otherwise
}

// path follows "a.b", which may be undefined on the way.
func (r *run) path(v any, name string) any {
	for part := range strings.SplitSeq(name, ".") {
		if i, err := strconv.ParseInt(part, 10, 64); err == nil {
			v = r.item(v, i)
		} else {
			v = r.item(v, part)
		}
	}
	return v
}

// mapItems is a generator, as map, select and their like give: of None, too, as Jinja has it.
func (r *run) mapItems(v any, f func(any) any) *list {
	l := &list{once: true}
	if v == nil {
		return l
	}
	for _, item := range r.iterate(v) {
		r.spend(stepWork)
		l.items = append(l.items, f(item))
	}
	return l
}

func mapFilter(r *run, v any, a args) any {
	if len(a.positional) == 0 {
		w := a.want(r, "map", "attribute", "default?")
		return r.mapItems(v, func(item any) any {
			x := r.path(item, orElse(r, "map", w[0], ""))
			if _, is := x.(undefined); is && w[1] != any(absent{}) {
				return w[1]
			}
			return x
		})
	}
	f := filters[r.text(a.positional[0])]
	if f == nil {
		r.fail("map: got the filter %s, want one of those of chat templates", r.text(a.positional[0]))
	}
	a.positional = a.positional[1:]
	return r.mapItems(v, func(item any) any { return f(r, item, a) })
}

// chosen keeps the items, or drops them, for which a test of theirs or of their field holds.
func chosen(keep, field bool) func(*run, any, args) any {
	return func(r *run, v any, a args) any {
		of := func(item any) any { return item }
		if field {
			if len(a.positional) == 0 {
				r.fail("selectattr: got no attribute, want one")
			}
			name := r.text(a.positional[0])
			of = func(item any) any { return r.path(item, name) }
			a.positional = a.positional[1:]
		}
		test := func(_ *run, v any, _ args) bool { return truth(v) }
		if len(a.positional) > 0 {
			name := r.text(a.positional[0])
			if test = tests[name]; test == nil {
				r.fail("got the test %s, want one of those of chat templates", name)
			}
			a.positional = a.positional[1:]
		}
		l := r.mapItems(v, func(item any) any { return item })
		l.items = slices.DeleteFunc(l.items, func(item any) bool { return test(r, of(item), a) != keep })
		return l
	}
}

// extreme is the first item that comes before all others, or behind them.
func extreme(name string, sign int) func(*run, any, args) any {
	return func(r *run, v any, a args) any {
		w := a.want(r, name, "case_sensitive?", "attribute?")
		by, items := r.folded(name, w[0], w[1]), r.iterate(v)
		best := 0
		for i := 1; i < len(items); i++ {
			r.spend(stepWork)
			if sign*r.order(by(items[i]), by(items[best])) > 0 {
				best = i
			}
		}
		return itemAt(name, items, best)
	}
}

// itemAt is the item at a place, which is not there if there are none.
func itemAt(name string, items []any, at int) any {
	if len(items) == 0 {
		return undefined{name + " of nothing"}
	}
	return items[at]
}

// folded is by what items are compared: by an attribute, if one is given, and in lower case unless case
// counts.
func (r *run) folded(filter string, sensitive, attribute any) func(item any) any {
	return func(item any) any {
		if name, ok := attribute.(string); ok {
			item = r.path(item, name)
		}
		if orElse(r, filter, sensitive, false) {
			return item
		}
		return fold(item)
	}
}

func fold(v any) any {
	if s, ok := v.(string); ok {
		return strings.ToLower(s)
	}
	return v
}

func (r *run) sort(items []any, by func(any) any) {
	r.spend(16 * len(items))
	slices.SortStableFunc(items, func(a, b any) int { return r.order(by(a), by(b)) })
}

func (r *run) sortedByKey(d *dict) *dict {
	pairs := r.pairs(d)
	r.sort(pairs.items, func(pair any) any { return pair.(*list).items[0] })
	sorted := newDict()
	for _, pair := range pairs.items {
		sorted.set(pair.(*list).items[0], pair.(*list).items[1])
	}
	return sorted
}

func indent(r *run, v any, a args) any {
	w := a.want(r, "indent", "width?", "first?", "blank?")
	by, ok := w[0].(string)
	if !ok {
		width := orElse(r, "indent", w[0], int64(4))
		r.spendTimes(1, width)
		by = strings.Repeat(" ", int(max(width, 0)))
	}
	lines := strings.Split(r.text(v), "\n")
	r.spendTimes(len(by), int64(len(lines)))
	for i, line := range lines {
		if (i > 0 || orElse(r, "indent", w[1], false)) && (line != "" || orElse(r, "indent", w[2], false)) {
			lines[i] = by + line
		}
	}
	return strings.Join(lines, "\n")
}

// tojson is that of transformers: json.dumps with ensure_ascii off at first, not the one of Jinja that
// escapes for HTML.
func tojson(r *run, v any, a args) any {
	if l, ok := v.(*list); ok && l.once {
		r.fail("tojson: got a generator, want a value of JSON")
	}
	w := a.want(r, "tojson", "ensure_ascii?", "indent?", "separators?", "sort_keys?")
	style := jsonStyle{item: ", ", key: ": ", sorted: orElse(r, "tojson", w[3], false), ascii: orElse(r, "tojson", w[0], false)}
	if by, ok := w[1].(string); ok {
		style.indent, style.item = &by, ","
	} else if n, ok := w[1].(int64); ok {
		r.spendTimes(1, n)
		by := strings.Repeat(" ", int(max(n, 0)))
		style.indent, style.item = &by, ","
	}
	if l, ok := w[2].(*list); ok && len(l.items) == 2 {
		style.item, style.key = r.text(l.items[0]), r.text(l.items[1])
	}
	return toJSON(r, v, style)
}

// roundFilter rounds to a number of digits behind the point, which may be below 0. The method "common" is
// Python's round: the exact value of the number decides, a tie goes to the even digit, and an integer stays
// one. "ceil" and "floor" multiply, round and divide.
func roundFilter(r *run, v any, a args) any {
	f, ok := asFloat(v)
	if !ok {
		r.fail("round: got %s, want a number", typeName(v))
	}
	given := a.want(r, "round", "precision?", "method?")
	digits := min(max(orElse(r, "round", given[0], int64(0)), -400), 400) // no float64 has more
	p := math.Pow(10, float64(digits))
	n, whole := number(v).(int64)
	switch method := orElse(r, "round", given[1], "common"); {
	case method == "ceil":
		return math.Ceil(f*p) / p
	case method == "floor":
		return math.Floor(f*p) / p
	case method != "common":
		r.fail("round: got the method %q, want \"common\", \"ceil\" or \"floor\"", method)
	case whole && digits >= 0:
		return n
	case math.IsInf(f, 0) || math.IsNaN(f):
		return f
	}
	x := new(big.Rat).SetFloat64(f)
	if whole {
		x.SetInt64(n)
	}
	x = roundEven(x, int(digits))
	if !whole {
		rounded, _ := x.Float64()
		return math.Copysign(rounded, f)
	}
	if !x.Num().IsInt64() {
		r.fail("round: got %d, want a result of at most 64 bits", n)
	}
	return x.Num().Int64()
}

// roundEven rounds x to a number of digits behind the point. A tie goes to the even digit.
func roundEven(x *big.Rat, digits int) *big.Rat {
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(digits, -digits))), nil))
	if digits > 0 {
		unit.Inv(unit)
	}
	half := new(big.Rat).Quo(x, unit)
	half.Add(half, big.NewRat(1, 2))
	q, rest := new(big.Int).DivMod(half.Num(), half.Denom(), new(big.Int))
	if rest.Sign() == 0 && q.Bit(0) == 1 {
		q.Sub(q, big.NewInt(1))
	}
	return new(big.Rat).Mul(unit, new(big.Rat).SetInt(q))
}
