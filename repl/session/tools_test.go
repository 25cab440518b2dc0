package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/stdlib"
)

func has(i help.Info, group string, item help.Item) bool {
	for _, g := range i.Groups {
		if g.Title == group {
			return slices.Contains(g.Items, item)
		}
	}
	return false
}

func TestInspect(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "type Model struct{ Layers int }", "func (m *Model) Forward(x int) int { return x }", "m := &Model{4}\nn := 7\n// half of it\nfunc half(x int) int { return x / 2 }")
	for _, c := range []struct {
		expr, kind, typ string
		cell            int
		check           func(help.Info) bool
	}{
		{"n", "var", "int", 3, func(i help.Info) bool {
			return i.HasValue && i.Value == 7 && i.Place == "In[3]:2" && i.Shown.Text(80) == "7"
		}},
		{"m", "var", "*Model", 3, func(i help.Info) bool {
			return has(i, "fields", help.Item{Name: "Layers", Detail: "int", Doc: ""}) && has(i, "methods", help.Item{Name: "Forward", Detail: "(x int) int", Doc: ""})
		}},
		{"half", "func", "func(x int) int", 3, func(i help.Info) bool {
			return i.Doc == "half of it" && i.Place == "In[3]:4" && i.Source == "func half(x int) int { return x / 2 }"
		}},
		{"Model", "type", "struct{Layers int}", 1, func(i help.Info) bool { return strings.Contains(i.Source, "Forward") }},
		{"Model.Forward", "method", "func(x int) int", 2, func(i help.Info) bool { return strings.HasPrefix(i.Source, "func (m *Model)") }},
		{"m.Layers", "field", "int", 0, func(i help.Info) bool { return true }},
		{"strings", "package", "strings", 0, func(i help.Info) bool {
			return i.Doc != "" && i.Groups[0].Title == "functions" && len(i.Groups[0].Items) > 20
		}},
		{"strings.ToUpper", "func", "func(s string) string", 0, func(i help.Info) bool { return strings.Contains(i.Doc, "upper case") }},
		{"strings.Builder", "type", "strings.Builder", 0, func(i help.Info) bool {
			return has(i, "methods", help.Item{Name: "Len", Detail: "() int", Doc: "Len returns the number of accumulated bytes; b.Len() == len(b.String())."})
		}},
		{"tensor.Tensor.MatMul", "method", "", 0, func(i help.Info) bool { return i.Doc != "" }},
		{"len", "func", "func(v T) int", 0, func(i help.Info) bool { return i.Doc != "" }},
		{"for", "keyword", "", 0, func(i help.Info) bool { return strings.Contains(i.Doc, "loop") }},
		{"n + 1", "expression", "int", 0, func(i help.Info) bool { return true }},
	} {
		info, err := s.Inspect(c.expr)
		if err != nil || info.Kind != c.kind || c.typ != "" && info.Type != c.typ || info.Cell != c.cell || !c.check(info) {
			t.Errorf("Inspect(%s): got %+v, %v", c.expr, info, err)
		}
	}
	for _, c := range []struct{ expr, want string }{
		{"hal", "inspect: undefined: hal; did you mean half?"},
		{"strings.ToUpp", "inspect: undefined: strings.ToUpp; did you mean ToUpper?"},
		{"tensor.Matmul", "inspect: undefined: tensor.Matmul; its Go is x.MatMul(y)"},
		{"torch.ByteStorage", "inspect: undefined: torch.ByteStorage; nothing here stands for it: a tensor has no strides and no storage of its own that code could see"},
		{"torch.zeros", "inspect: undefined: torch.zeros; its Go is tensor.Zeros(2, 3)"},
		{"1 +", `inspect: "1 +" is no expression`},
	} {
		if _, err := s.Inspect(c.expr); err == nil || err.Error() != c.want {
			t.Errorf("Inspect(%s): got error %v, want %s", c.expr, err, c.want)
		}
	}
}

// The source is that of the session, of the engine that mcs carries, or of the Go installation.
func TestSource(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "func half(x int) int { return x / 2 }", "n := 1")
	for _, c := range []struct{ expr, want string }{
		{"half", "func half(x int) int { return x / 2 }"},
		{"tensor.Tensor.MatMul", "func (t Tensor) MatMul("},
		{"nn.Linear", "type Linear struct"},
		{"optim.Cosine", "func Cosine("},
		{"n", "it is a variable; the cell is In[2]:1"},
		{"len", "it is part of the language"},
		{"strings", "of a package as a whole; ask for one of its names"},
	} {
		info, err := s.Inspect(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		text, err := info.ReadSource()
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("Source(%s) = %q, want %q", c.expr, text, c.want)
		}
	}
	if data.GoSource("strings") == "" {
		t.Skip("no Go installation: its sources cannot be read")
	}
	info, err := s.Inspect("strings.Cut")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := info.ReadSource(); err != nil || !strings.HasPrefix(text, "// Cut slices s around") || !strings.Contains(text, "\nfunc Cut(") {
		t.Errorf("Source(strings.Cut) = %q, %v", text, err)
	}
}

// Each package of the engine has its source in mcs.
func TestEngineSource(t *testing.T) {
	for _, path := range stdlib.Engine() {
		if _, err := help.PackageFiles(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
