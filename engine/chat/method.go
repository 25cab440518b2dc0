package chat

import (
	"slices"
	"strings"
	"unicode"
)

// method returns a function of a value, nil if it has none of that name.
func method(of any, name string) any {
	switch v := of.(type) {
	case string:
		if f := stringMethods[name]; f != nil {
			return &callable{name, func(r *run, a args) any {
				r.spend(len(v))
				return f(r, v, a)
			}}
		}
	case *dict:
		if f := dictMethods[name]; f != nil {
			return &callable{name, func(r *run, a args) any { return f(r, v, a) }}
		}
	case *list:
		if f := listMethods[name]; f != nil {
			return &callable{name, func(r *run, a args) any { return f(r, v, a) }}
		}
	}
	return nil
}

var dictMethods = map[string]func(r *run, d *dict, a args) any{
	"keys":   func(_ *run, d *dict, _ args) any { return &list{items: d.keys} },
	"values": func(_ *run, d *dict, _ args) any { return &list{items: d.values} },
	"copy":   func(_ *run, d *dict, _ args) any { return d },
	"items":  func(r *run, d *dict, _ args) any { return r.pairs(d) },
	"get": func(r *run, d *dict, a args) any {
		v := a.want(r, "get", "key", "default?")
		if x, ok := d.get(v[0]); ok {
			return x
		}
		if _, none := v[1].(absent); none {
			return nil
		}
		return v[1]
	},
}

func (r *run) pairs(d *dict) *list {
	r.spend(64 * len(d.keys))
	l := &list{}
	for i, k := range d.keys {
		l.items = append(l.items, &list{items: []any{k, d.values[i]}, tuple: true})
	}
	return l
}

var listMethods = map[string]func(r *run, l *list, a args) any{
	"copy": func(_ *run, l *list, _ args) any { return l },
	"count": func(r *run, l *list, a args) any {
		n, v := int64(0), a.want(r, "count", "value")[0]
		for _, item := range l.items {
			if r.equal(item, v) {
				n++
			}
		}
		return n
	},
	"index": func(r *run, l *list, a args) any {
		v := a.want(r, "index", "value")[0]
		i := slices.IndexFunc(l.items, func(item any) bool { return r.equal(item, v) })
		if i < 0 {
			r.fail("index: got a value that is not in the list")
		}
		return int64(i)
	},
}

var stringMethods map[string]func(r *run, s string, a args) any

func init() { // the table and what calls it through a run refer to each other
	stringMethods = map[string]func(r *run, s string, a args) any{
		"strip":        trimmer("strip", strings.Trim, strings.TrimFunc),
		"lstrip":       trimmer("lstrip", strings.TrimLeft, strings.TrimLeftFunc),
		"rstrip":       trimmer("rstrip", strings.TrimRight, strings.TrimRightFunc),
		"startswith":   affix("startswith", strings.HasPrefix),
		"endswith":     affix("endswith", strings.HasSuffix),
		"removeprefix": func(r *run, s string, a args) any { return strings.TrimPrefix(s, a.text(r, "removeprefix", "prefix")) },
		"removesuffix": func(r *run, s string, a args) any { return strings.TrimSuffix(s, a.text(r, "removesuffix", "suffix")) },
		"upper":        func(_ *run, s string, _ args) any { return strings.ToUpper(s) },
		"lower":        func(_ *run, s string, _ args) any { return strings.ToLower(s) },
		"title":        func(_ *run, s string, _ args) any { return title(s) },
		"capitalize":   func(_ *run, s string, _ args) any { return capitalize(s) },
		"isdigit":      every(unicode.IsDigit),
		"isalpha":      every(unicode.IsLetter),
		"isspace":      every(isSpace),
		"isalnum":      every(func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }),
		"isupper":      func(_ *run, s string, _ args) any { return isUpper(s) },
		"islower":      func(_ *run, s string, _ args) any { return isLower(s) },
		"splitlines": func(r *run, s string, _ args) any {
			s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
			if s == "" {
				return &list{}
			}
			return r.strings(strings.Split(strings.TrimSuffix(s, "\n"), "\n"))
		},
		"count": func(r *run, s string, a args) any { return int64(strings.Count(s, a.text(r, "count", "text"))) },
		"find":  func(r *run, s string, a args) any { return characters(s, strings.Index(s, a.text(r, "find", "text"))) },
		"rfind": func(r *run, s string, a args) any {
			return characters(s, strings.LastIndex(s, a.text(r, "rfind", "text")))
		},
		"join":    func(r *run, s string, a args) any { return r.joinItems(a.want(r, "join", "items")[0], s) },
		"split":   func(r *run, s string, a args) any { return r.split("split", s, a, strings.SplitN) },
		"rsplit":  func(r *run, s string, a args) any { return r.split("rsplit", s, a, splitRight) },
		"replace": replace,
		"format":  func(r *run, s string, a args) any { return r.braces(s, a) },
	}
}

func isUpper(s string) bool { return s == strings.ToUpper(s) && s != strings.ToLower(s) }
func isLower(s string) bool { return s == strings.ToLower(s) && s != strings.ToUpper(s) }

func (a args) text(r *run, function, param string) string {
	return orElse(r, function, a.want(r, function, param)[0], "")
}

func trimmer(name string, of func(string, string) string, blanks func(string, func(rune) bool) string) func(*run, string, args) any {
	return func(r *run, s string, a args) any {
		v := a.want(r, name, "chars?")[0]
		if chars, ok := v.(string); ok {
			return of(s, chars)
		}
		return blanks(s, isSpace)
	}
}

func affix(name string, has func(string, string) bool) func(*run, string, args) any {
	return func(r *run, s string, a args) any {
		texts := a.want(r, name, "text")
		if t, ok := texts[0].(*list); ok && t.tuple {
			texts = t.items
		}
		return slices.ContainsFunc(texts, func(item any) bool { return has(s, orElse(r, name, item, "")) })
	}
}

func every(is func(rune) bool) func(*run, string, args) any {
	return func(_ *run, s string, _ args) any {
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !is(c) }) < 0
	}
}

func characters(s string, at int) any {
	if at < 0 {
		return int64(-1)
	}
	n, _ := length(s[:at])
	return int64(n)
}

func capitalize(s string) string {
	for i, c := range s {
		n := i + len(string(c))
		return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
	}
	return s
}

func title(s string) string {
	var b strings.Builder
	inWord := false
	for _, c := range s {
		if inWord {
			b.WriteRune(unicode.ToLower(c))
		} else {
			b.WriteRune(unicode.ToTitle(c))
		}
		inWord = unicode.IsLetter(c)
	}
	return b.String()
}

func (r *run) strings(parts []string) *list {
	r.spend(16 * len(parts))
	l := &list{}
	for _, p := range parts {
		l.items = append(l.items, p)
	}
	return l
}

func (r *run) split(name, s string, a args, cut func(string, string, int) []string) any {
	v := a.want(r, name, "sep?", "maxsplit?")
	most := int(orElse(r, name, v[1], int64(-1)))
	if sep, ok := v[0].(string); ok {
		if sep == "" {
			r.fail("%s: got an empty separator, want a text", name)
		}
		if most < 0 {
			return r.strings(strings.Split(s, sep))
		}
		return r.strings(cut(s, sep, min(most, len(s))+1))
	}
	words := strings.FieldsFunc(s, isSpace)
	if most >= 0 && most < len(words) {
		r.fail("%s: got a limit without a separator, want both", name)
	}
	return r.strings(words)
}

// splitRight cuts from the end into at most n parts.
func splitRight(s, sep string, n int) []string {
	parts := strings.Split(s, sep)
	if head := len(parts) - n + 1; head > 1 {
		return append([]string{strings.Join(parts[:head], sep)}, parts[head:]...)
	}
	return parts
}

func replace(r *run, s string, a args) any {
	v := a.want(r, "replace", "old", "new", "count?")
	from, to := orElse(r, "replace", v[0], ""), orElse(r, "replace", v[1], "")
	count := -1
	if n, ok := v[2].(int64); ok {
		count = int(n)
	}
	r.spendTimes(len(to), int64(strings.Count(s, from)))
	return strings.Replace(s, from, to, count)
}

func (r *run) joinItems(of any, by string) string {
	items := r.iterate(of)
	parts := make([]string, len(items))
	r.spendTimes(16+len(by), int64(len(items)))
	for i, item := range items {
		parts[i] = r.text(item)
		r.spend(len(parts[i]))
	}
	return strings.Join(parts, by)
}
