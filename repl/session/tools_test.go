package session

import (
	"slices"
	"strings"
	"testing"
)

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
