package session

import (
	"slices"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "total := 1\ntable := map[string]int{}\ntype Model struct{ Layers int; width int }\nfunc (m *Model) Forward(x int) int { return x }\nm := Model{}\nfunc train(m *Model, steps int) error { return nil }")
	for _, c := range []struct {
		before string // the cursor is at its end
		from   string // what the completions replace
		want   string // "text kind detail" of some of them, in order
	}{
		{"to", "to", "total var int"},
		{"x + ta", "ta", "table var map[string]int"},
		{"m.", "", "Forward method (x int) int\nLayers field int\nwidth field int"},
		{"m.F", "F", "Forward method (x int) int"},
		{"f(m.L", "L", "Layers field int"},
		{"strings.ToUp", "ToUp", "ToUpper func (s string) string"},
		{"strings.NewReader(\"a\").Rea", "Rea", "Read method (b []byte) (n int, err error)\nReadAt method (b []byte, off int64) (n int, err error)"},
		{"tr", "tr", "train func (m *Model, steps int) error"},
		{"q := m\nq.Lay", "Lay", "Layers field int"},
		{"for i := range table {\nm.For", "For", "Forward method (x int) int"},
		{"stri", "stri", "strings package strings"},
		{"nosuch.", "", ""},
		{"fal", "fal", "fallthrough keyword\nfalse const"},
	} {
		from, list := s.Complete(c.before, len(c.before))
		if got := c.before[from:]; got != c.from {
			t.Errorf("Complete(%q) replaces %q, want %q", c.before, got, c.from)
		}
		var lines []string
		for _, x := range list {
			lines = append(lines, strings.TrimSpace(x.Text+" "+x.Kind+" "+x.Detail))
		}
		if c.want == "" {
			if len(lines) > 0 {
				t.Errorf("Complete(%q) = %q, want nothing", c.before, lines)
			}
			continue
		}
		at := 0
		for _, w := range strings.Split(c.want, "\n") {
			i := slices.IndexFunc(lines[at:], func(l string) bool { return strings.HasPrefix(l, w) })
			if i < 0 {
				t.Errorf("Complete(%q) = %q, want %q among them", c.before, lines, w)
				break
			}
			at += max(i, 0)
		}
	}
	if _, list := s.Complete("tensor.Zer", 10); len(list) == 0 || list[0].Text != "Zeros" || list[0].Doc == "" {
		t.Errorf("tensor.Zer: got %+v, want Zeros with its first sentence", list)
	}
}

func TestInspect(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "type Model struct{ Layers int }", "func (m *Model) Forward(x int) int { return x }", "m := &Model{4}\nn := 7\n// half of it\nfunc half(x int) int { return x / 2 }")
	for _, c := range []struct {
		expr, kind, typ string
		cell            int
		check           func(Info) bool
	}{
		{"n", "var", "int", 3, func(i Info) bool { return i.HasValue && i.Value == 7 }},
		{"m", "var", "*Model", 3, func(i Info) bool {
			return slices.Contains(i.Fields, "Layers int") && slices.Contains(i.Methods, "Forward(x int) int")
		}},
		{"half", "func", "func(x int) int", 3, func(i Info) bool { return i.Source == "func half(x int) int { return x / 2 }" }},
		{"Model", "type", "struct{Layers int}", 1, func(i Info) bool { return strings.Contains(i.Source, "Forward") }},
		{"Model.Forward", "method", "func(x int) int", 2, func(i Info) bool { return strings.HasPrefix(i.Source, "func (m *Model)") }},
		{"m.Layers", "field", "int", 0, func(i Info) bool { return true }},
		{"strings", "package", "strings", 0, func(i Info) bool { return i.Doc != "" && len(i.Methods) > 20 }},
		{"strings.ToUpper", "func", "func(s string) string", 0, func(i Info) bool { return strings.Contains(i.Doc, "upper case") }},
		{"strings.Builder", "type", "strings.Builder", 0, func(i Info) bool { return slices.Contains(i.Methods, "Len() int") }},
		{"tensor.Tensor.MatMul", "method", "", 0, func(i Info) bool { return i.Doc != "" }},
		{"len", "func", "", 0, func(i Info) bool { return true }},
		{"n + 1", "expression", "int", 0, func(i Info) bool { return true }},
	} {
		info, err := s.Inspect(c.expr)
		if err != nil || info.Kind != c.kind || c.typ != "" && info.Type != c.typ || info.Cell != c.cell || !c.check(info) {
			t.Errorf("Inspect(%s): got %+v, %v", c.expr, info, err)
		}
	}
	for _, c := range []struct{ expr, want string }{
		{"hal", "inspect: undefined: hal; did you mean half?"},
		{"strings.ToUpp", "inspect: undefined: strings.ToUpp; did you mean ToUpper?"},
		{"1 +", `inspect: "1 +" is no expression`},
	} {
		if _, err := s.Inspect(c.expr); err == nil || err.Error() != c.want {
			t.Errorf("Inspect(%s): got error %v, want %s", c.expr, err, c.want)
		}
	}
}
