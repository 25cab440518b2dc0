package python

import (
	"go/types"
	"strings"
	"testing"
)

// nothing is a session that knows no names.
type nothing struct{}

func (nothing) TypeOf(_, _, _ string) types.Type { return nil }
func (nothing) Exported(_, _ string) string      { return "" }
func (nothing) Stands(string) string             { return "" }
func (nothing) Rank(string) int                  { return -1 }

// anything is a session in which each text has some type.
type anything struct{ types []types.Type }

func newAnything() anything {
	pkg := types.NewPackage("example/tensor", "tensor")
	tensor := types.NewNamed(types.NewTypeName(0, pkg, "Tensor", nil), types.NewStruct(nil, nil), nil)
	number := types.NewTuple(types.NewVar(0, nil, "axis", types.Typ[types.Int]))
	return anything{[]types.Type{nil, types.Typ[types.Int], types.Typ[types.UntypedFloat], types.Typ[types.String], tensor, types.NewSlice(types.Typ[types.Int]),
		types.NewMap(types.Typ[types.String], tensor), types.NewSignatureType(nil, nil, nil, number, number, false), types.NewPointer(tensor), types.Typ[types.UntypedNil]}}
}

func (a anything) TypeOf(_, expr, _ string) types.Type {
	sum := 0
	for _, c := range expr {
		sum += int(c)
	}
	return a.types[sum%len(a.types)]
}

func (anything) Exported(_, name string) string { return name }
func (anything) Stands(name string) string      { return name }
func (anything) Rank(name string) int           { return len(name) }

// Without a session only the form of a line is translated. The lines with types are tests of package session.
func TestLine(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"for i in range(3): pass", "for i := range 3 { _ = i }"},
		{"while True: pass", "for { }"},
		{"while True: # for ever", "for { break }"},
		{"a or not b and c", "a || !b && c"},
		{"(a or b) and c", "(a || b) && c"},
		{"a - (b - c)", "a - (b - c)"},
		{"print('it''s', \"a \\\"b\\\"\")", `fmt.Println("it" + "s", "a \"b\"")`},
		{`r"\d" "x"`, `"\\d" + "x"`},
		{`f"{{{n:>5}}} 100%"`, `fmt.Sprintf("{%5v} 100%%", n)`},
		{"x if a else y if b else z", ""}, // a statement in a statement
		{`"open`, ""},
		{"class A:", ""},
		{"", ""},
	} {
		if got := Line(c.line, nothing{}); got != c.want {
			t.Errorf("Line(%s):\n got %s\nwant %s", c.line, got, c.want)
		}
	}
}

// Whatever is typed, the answer is one line.
func FuzzLine(f *testing.F) {
	for _, line := range []string{"for i in range(3): print(i)", "[v*v for v in xs if v > 1]", "x[:, 1:2, ::-1]", "def f(a: int = 3) -> list[int]: return a",
		"print(f\"{a:.2f} {b}\", end='')", "x = y = lambda a, b: a ** b // 2", "{k: v for k, v in m.items()}", "a, b = b, a", "for (let i of xs) { f(i) }",
		"x => x", "(a, b) => a", "out = !ls -l", "assert a not in b, 'no'", "let", "int n", "del(", "x: int =", "a if b else",
		"torch.cat([a, b], dim=1)", "x.clamp_(min=0)", "torch.save(m.state_dict(), 'a.pt')", "nn.Conv2d(1, 2, kernel_size=(3, 3))", "F.relu(x", "with torch.no_grad(): f()",
		"a, b = next(iter(l))", "for i, (x, y) in enumerate(l): f(x)", "optim.lr_scheduler.StepLR(o, 3)"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, s := range []Session{nothing{}, newAnything()} {
			if got := Line(line, s); strings.Contains(got, "\n") && !strings.Contains(line, "\n") {
				t.Errorf("Line(%q) = %q: more than a line", line, got)
			}
		}
	})
}

// A class that is no model of PyTorch, or is not whole, has no Go, whatever its lines are.
func FuzzClass(f *testing.F) {
	const whole = "class Net(nn.Module):\n def __init__(self):\n  super().__init__()\n  self.fc = nn.Linear(3, 2)\n def forward(self, x):\n  return self.fc(x)"
	for i := range len(whole) {
		f.Add(whole[:i])
	}
	f.Add("class A\ndef __init__\ndef forward(self,A)")
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.HasPrefix(text, "class ") {
			return
		}
		if got := Line(Block(strings.Split(text, "\n")), nothing{}); got != "" {
			t.Errorf("Line(Block(%q)) = %q, want nothing: no layer has a type", text, got)
		}
	})
}

// Indentation becomes marks, here ⟨ and ⟩, so the blocks of a statement stand on one line.
func TestBlock(t *testing.T) {
	marks := strings.NewReplacer(indent, " ⟨", dedent, "⟩")
	for _, c := range []struct{ lines, want string }{
		{"x = 1\ny = 2", "x = 1"},
		{"x = 1  # one", "x = 1"},
		{"for x in xs:\n    print(x)\n    n += 1\nprint(n)", "for x in xs: ⟨print(x); n += 1⟩"},
		{"for x in xs:", "for x in xs:"},
		{"m = f(\n    g(1),\n)\ny = 2", "m = f( g(1), )"},
		{"m = f(\n    g(1),", "m = f("},
		{"    if a:\n\n        b()\n    c()", "if a: ⟨b()⟩"},
		{"if a:\n  b()\nelse:\n  c()\nd()", "if a: ⟨b()⟩ else: ⟨c()⟩"},
		{"for x in xs:\n  if x:\n    f(x)\n  g(x)", "for x in xs: ⟨if x: ⟨f(x)⟩; g(x)⟩"},
		{"try:\n  f()\nexcept E as e:\n  g(e)", "try: ⟨f()⟩ except E as e: ⟨g(e)⟩"},
	} {
		if got := marks.Replace(Block(strings.Split(c.lines, "\n"))); got != c.want {
			t.Errorf("Block(%q) = %q, want %q", c.lines, got, c.want)
		}
	}
}
