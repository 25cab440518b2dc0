package chat

import "strings"

// tests are what stands after "is".
var tests map[string]func(r *run, v any, a args) bool

func init() { // select and map look them up while they run
	tests = map[string]func(r *run, v any, a args) bool{
		"none":      func(_ *run, v any, _ args) bool { return v == nil },
		"true":      func(_ *run, v any, _ args) bool { return v == true },
		"false":     func(_ *run, v any, _ args) bool { return v == false },
		"boolean":   is[bool],
		"string":    is[string],
		"float":     is[float64],
		"integer":   func(r *run, v any, a args) bool { return is[int64](r, v, a) || is[digits](r, v, a) },
		"mapping":   is[*dict],
		"callable":  is[*callable],
		"undefined": is[undefined],
		"defined":   func(r *run, v any, a args) bool { return !is[undefined](r, v, a) },
		"number":    func(r *run, v any, a args) bool { _, number := asFloat(v); return number || is[digits](r, v, a) },
		"sequence":  func(_ *run, v any, _ args) bool { _, is := length(v); return is },
		"iterable":  func(r *run, v any, a args) bool { _, long := length(v); return long || is[*list](r, v, a) },
		"odd":       func(r *run, v any, _ args) bool { return r.equal(r.arithmetic("%", v, int64(2)), int64(1)) },
		"even":      func(r *run, v any, _ args) bool { return r.equal(r.arithmetic("%", v, int64(2)), int64(0)) },
		"divisibleby": func(r *run, v any, a args) bool {
			return !truth(r.arithmetic("%", v, a.want(r, "divisibleby", "num")[0]))
		},
		"lower":  func(r *run, v any, _ args) bool { return isLower(r.text(v)) },
		"upper":  func(r *run, v any, _ args) bool { return isUpper(r.text(v)) },
		"sameas": func(r *run, v any, a args) bool { return r.equal(v, a.want(r, "sameas", "other")[0]) },
	}
	for op, names := range map[string]string{
		"==": "eq equalto ==", "!=": "ne !=", "<": "lt lessthan <", "<=": "le <=", ">": "gt greaterthan >", ">=": "ge >=", "in": "in",
	} {
		for _, n := range strings.Fields(names) {
			tests[n] = func(r *run, v any, a args) bool { return r.compare(op, v, a.want(r, n, "other")[0]) }
		}
	}
}

func is[T any](_ *run, v any, _ args) bool {
	_, ok := v.(T)
	return ok
}
