package session

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// notationSetup declares the names of the cells below.
const notationSetup = `x := tensor.Arange(0, 6, 1).Reshape(2, 3); y := tensor.Ones(2, 3); ints := tensor.From([]int{1, -2, 3}); half := x.Cast(dtype.BF16)
mask := tensor.From([]bool{true, false}); rows := tensor.From([]int{1, 0}); i := 1; i64 := int64(1); u8 := uint8(1); f := 0.5; b := true; xs := []int{1, 2, 3}
type Model struct{ W tensor.Tensor; List []tensor.Tensor }
m := &Model{W: x, List: []tensor.Tensor{x, y}}
said := []string{}
func number(s string) float64 { said = append(said, s); return 2 }
func tensorOf(s string) tensor.Tensor { said = append(said, s); return x }
type F float64
`

// dump shows the tensor r on one line: its dtype and shape, and its values.
const dump = "\nfmt.Sprint(r.DType(), \" \", r.Shape(), \" \", r.Cast(dtype.F32).Floats())"

// Operators and indices between tensors, and between tensors and numbers, are the methods of tensors.
func TestTensorNotation(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, notationSetup)
	for _, c := range []struct{ code, want string }{
		{"x + y", "f32 [2 3] [1 2 3 4 5 6]"},
		{"x - 1", "f32 [2 3] [-1 0 1 2 3 4]"},
		{"2 * x", "f32 [2 3] [0 2 4 6 8 10]"},
		{"-x", "f32 [2 3] [-0 -1 -2 -3 -4 -5]"},
		{"+x", "f32 [2 3] [0 1 2 3 4 5]"},
		{"1 - x - 2*x*x + x/2", "f32 [2 3] [1 -1.5 -8 -18.5 -33 -51.5]"},
		{"(x + 1) * (y - x)", "f32 [2 3] [1 0 -3 -8 -15 -24]"},
		{"-(x + y).Sum() * 2", "f32 [] [-42]"},
		{"(x + y).T()[0] / 2", "f32 [2] [0.5 2]"},

		// A number takes the tensor's dtype, as in the methods; a float beside integers makes f32.
		{"2 * half", "bf16 [2 3] [0 2 4 6 8 10]"},
		{"1 / (2 * half + 2)", "bf16 [2 3] [0.5 0.25 0.16666667 0.125 0.1 0.083333336]"},
		{"ints * 2", "i64 [3] [2 -4 6]"},
		{"ints * 2.5", "f32 [3] [2.5 -5 7.5]"},
		{"ints * 2.0", "f32 [3] [2 -4 6]"},
		{"ints / 2", "f32 [3] [0.5 -1 1.5]"},
		{"2 / ints", "f32 [3] [2 -1 0.6666667]"},
		{"ints % 2", "i64 [3] [1 0 1]"},
		{"-7 % ints", "i64 [3] [0 -1 2]"},
		{"ints << 2", "i64 [3] [4 -8 12]"},
		{"ints >> u8", "i64 [3] [0 -1 1]"},
		{"1 << rows", "i64 [2] [2 1]"},
		{"f * x", "f32 [2 3] [0 0.5 1 1.5 2 2.5]"},
		{"F(0.5) * x", "f32 [2 3] [0 0.5 1 1.5 2 2.5]"},
		{"i - x", "f32 [2 3] [1 0 -1 -2 -3 -4]"},
		{"1/4 * x", "f32 [2 3] [0 0 0 0 0 0]"}, // 1/4 is Go's
		{"x * 1 / 4", "f32 [2 3] [0 0.25 0.5 0.75 1 1.25]"},
		{"rows + float32(i64)", "f32 [2] [2 1]"},

		// Comparisons give masks; Go's precedence wants parentheses before & and |, as Python's does.
		{"x < 2", "bool [2 3] [1 1 0 0 0 0]"},
		{"2 < x", "bool [2 3] [0 0 0 1 1 1]"},
		{"2 >= x", "bool [2 3] [1 1 1 0 0 0]"},
		{"x >= y", "bool [2 3] [0 1 1 1 1 1]"},
		{"(x > 1) & (x < 4)", "bool [2 3] [0 0 1 1 0 0]"},
		{"mask | true", "bool [2] [1 1]"},
		{"!mask", "bool [2] [0 1]"},
		{"~mask", "bool [2] [0 1]"},
		{"^ints", "i64 [3] [-2 1 -4]"},
		{"!ints", "bool [3] [0 0 0]"},
		{"mask ^ mask", "bool [2] [0 0]"},

		// Indices are NumPy's.
		{"x[0]", "f32 [3] [0 1 2]"},
		{"x[-1]", "f32 [3] [3 4 5]"},
		{"x[1][2]", "f32 [] [5]"},
		{"x[1, 2]", "f32 [] [5]"},
		{"x[i, i]", "f32 [] [4]"},
		{"x[i64, u8]", "f32 [] [4]"},
		{"x[i-1, i+1]", "f32 [] [2]"},
		{"x[:, 0]", "f32 [2] [0 3]"},
		{"x[0:1]", "f32 [1 3] [0 1 2]"},
		{"x[:, i:]", "f32 [2 2] [1 2 4 5]"},
		{"x[:, :-1]", "f32 [2 2] [0 1 3 4]"},
		{"x[::-1]", "f32 [2 3] [3 4 5 0 1 2]"},
		{"x[:, ::2]", "f32 [2 2] [0 2 3 5]"},
		{"x[:, 2:0:-1]", "f32 [2 2] [2 1 5 4]"},
		{"x[:2:2]", "f32 [1 3] [0 1 2]"},
		{"x[0:int64(2):i64]", "f32 [2 3] [0 1 2 3 4 5]"},
		{"x[..., 1]", "f32 [2] [1 4]"},
		{"x[...]", "f32 [2 3] [0 1 2 3 4 5]"},
		{"x[nil, :, 0]", "f32 [1 2] [0 3]"},
		{"x[mask]", "f32 [1 3] [0 1 2]"},
		{"x[x > 3]", "f32 [2] [4 5]"},
		{"x[rows, 0]", "f32 [2] [3 0]"},
		{"x[:, rows]", "f32 [2 2] [1 0 4 3]"},
		{"x[[]int{1, 1}]", "f32 [2 3] [3 4 5 3 4 5]"},
		{"x[rows][:, (rows + 1)[::-1]]", "f32 [2 2] [4 5 1 2]"},
		{"x[x[:, 0] > 0, 1:]", "f32 [1 2] [4 5]"},
		{"x[ // the row\n\t0,\n\t1: ,\n]", "f32 [2] [1 2]"},
		{"tensor.Stack([]tensor.Tensor{x[0], x[:, :][1]}, 0)[1]", "f32 [3] [3 4 5]"},
		{"m.List[1][0] + m.W[:, 1:][0, 0]", "f32 [3] [2 2 2]"},
		{"(*m).W[0]", "f32 [3] [0 1 2]"},
		{"func() tensor.Tensor { return x * 2 }()[1, 0]", "f32 [] [6]"},
	} {
		r := s.Run(t.Context(), "r := "+c.code+dump)
		if r.Err != nil {
			t.Errorf("%s: %v", c.code, r.Err)
			continue
		}
		if got := strings.Trim(r.Shown[0].Text(200), `"`); got != c.want {
			t.Errorf("%s: got %s, want %s", c.code, got, c.want)
		}
	}
}

// An assignment to a part makes a new tensor of the variable, as one to an element of an array does: who has
// another variable with the tensor keeps what it had.
func TestTensorAssignments(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"r := x; r[0] = 7", "f32 [2 3] [7 7 7 3 4 5]"},
		{"r := x; z := x; z[0] = 7", "f32 [2 3] [0 1 2 3 4 5]"},
		{"r := x; r[:, 1] = rows", "f32 [2 3] [0 1 2 3 0 5]"},
		{"r := x; r[1, 2] = 9; r[0, -1]++", "f32 [2 3] [0 1 3 3 4 9]"},
		{"r := x; r[x > 2] = -1", "f32 [2 3] [0 1 2 -1 -1 -1]"},
		{"r := x; r[x > 2] *= 10", "f32 [2 3] [0 1 2 30 40 50]"},
		{"r := x; r[rows, 0] = rows", "f32 [2 3] [0 1 2 1 4 5]"},
		{"r := x; r[0][1] = 5; r[0][1] += 1", "f32 [2 3] [0 6 2 3 4 5]"},
		{"r := x; r[[]int{0, 1}, []int{2, i}] += 1; r[:, []int{0, 0}]--", "f32 [2 3] [-1 1 3 2 5 5]"}, // one place counts once
		{"r := x; r[::-1] = x", "f32 [2 3] [3 4 5 0 1 2]"},
		{"r := x; r[...] = 0", "f32 [2 3] [0 0 0 0 0 0]"},
		{"r := x; r += y; r -= 1; r *= 2; r /= 4", "f32 [2 3] [0 0.5 1 1.5 2 2.5]"},
		{"r := ints; r %= 2; r <<= 2; r |= 1; r--", "i64 [3] [4 0 4]"},
		{"n := &Model{W: x}; n.W[0] = 1; n.W += 1; r := n.W", "f32 [2 3] [2 2 2 4 5 6]"},
		{"list := []tensor.Tensor{x, y}; list[i][0] = 3; r := list[1]; _ = list", "f32 [2 3] [3 3 3 1 1 1]"},
		{"t := map[string]tensor.Tensor{`a`: x}; t[`a`][0] = 3; r := t[`a`]", "f32 [2 3] [3 3 3 3 4 5]"},
		{"p := &x; r := *p; (*p)[1] = 0; r = *p; x = tensor.Arange(0, 6, 1).Reshape(2, 3)", "f32 [2 3] [0 1 2 0 0 0]"},
		{"r := x; for k := range 2 { r[k] = r[k] * k }", "f32 [2 3] [0 0 0 3 4 5]"},
		{"r := tensor.Zeros(3); func() { r[0] = 1 }(); func(r tensor.Tensor) { r[1] = 1 }(r)", "f32 [3] [1 0 0]"},
		{"w := tensor.Ones(2).Param(); z := tensor.Zeros(3); z[1:] = w * 3; z[0] = z[1] * z[2]; r := tensor.Grad(z.Sum(), w)[0]", "f32 [2] [12 12]"},
	} {
		s, _ := newSession(t, Options{})
		run(t, s, notationSetup)
		r := s.Run(t.Context(), c.code+dump)
		if r.Err != nil {
			t.Errorf("%s: %v", c.code, r.Err)
			continue
		}
		if got := strings.Trim(r.Shown[0].Text(200), `"`); got != c.want {
			t.Errorf("%s: got %s, want %s", c.code, got, c.want)
		}
	}
}

// Operands are evaluated from left to right, as Go's are, also where a number on the left becomes an
// argument.
func TestTensorNotationKeepsOrder(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, notationSetup)
	for _, code := range []string{
		`number("a") * tensorOf("b")`, `number("a") - tensorOf("b")`, `tensorOf("a") * number("b")`, `tensorOf("a") + tensorOf("b")`,
		`number("a") < tensorOf("b")`, `float64(int(number("a"))) + tensorOf("b")[0]`, `tensorOf("a")[int(number("b")) - 1]`,
	} {
		if got := run(t, s, "said = nil; _ = "+code+"; strings.Join(said, ``)"); got != `"ab"` {
			t.Errorf("%s: said %s, want \"ab\"", code, got)
		}
	}
}

// Functions, methods and closures have the notation, too, and are checked again with it when what they use is
// declared again.
func TestTensorNotationInDeclarations(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, notationSetup, "func scaled(v tensor.Tensor) tensor.Tensor { v[:, 0] *= k; return v + 1 }\nconst k = 10",
		"func (m *Model) Last() tensor.Tensor { return -m.W[..., -1] }", "later := func() tensor.Tensor { return scaled(x)[1:, 0] / 2 }")
	if got := run(t, s, "_ = x[0]\nfive := x[0]\nfive", "six := _ * 2 + _[:, nil]\nsix", "(Out[5][1] - Out[6][0, 1]).Item()"); got != "-1 float64" {
		t.Errorf("got %s", got)
	}
	if got := run(t, s, "later().Item()"); got != "15.5 float64" {
		t.Errorf("got %s", got)
	}
	if got := run(t, s, "const k = 2\nlater().Item()"); got != "3.5 float64" {
		t.Errorf("got %s", got)
	}
	if got := run(t, s, "type Model struct{ W tensor.Tensor; N int }\nm := &Model{W: x}\nm.Last().Floats()"); got != "[-2 -5] []float32" {
		t.Errorf("got %s", got)
	}
	// A generic function is made for its types with it.
	if got := run(t, s, "func last[T any](v tensor.Tensor, _ T) tensor.Tensor { return 2 * v[..., -1] }\nlast(x, 1)[1] + last(x, ``)[0]"); !strings.Contains(got, "14") {
		t.Errorf("got %s", got)
	}
	// Hidden names do not matter.
	if got := run(t, s, "{ tensor := 3; _ = tensor; z := x[1:, 0] - 1; z[0] = 1 - z; fmt.Println(z) }\nx[:, 0].Floats()"); got != "[0 3] []float32" {
		t.Errorf("got %s", got)
	}
}

// What tensors have no notation for stays Go's complaint, with what was typed, at its place, and with what to
// write. What Go gives a meaning keeps it.
func TestTensorNotationMistakes(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, notationSetup)
	for _, c := range []struct{ code, want string }{
		{"x + \"a\"", `1:1: invalid operation: x + "a" (mismatched types tensor.Tensor and untyped string)`},
		{"z := 1\nz + x*\"a\"", `2:5: invalid operation: x * "a" (mismatched types`},
		{"var s string = x + y", "1:16: cannot use x + y (value of struct type tensor.Tensor) as string value in variable declaration"},
		{"var s string = 2 * x[:, 0]", "1:16: cannot use 2 * x[:, 0] (value of struct type tensor.Tensor) as string value"},
		{"var s string = -x[1:, i].Sum()", "1:16: cannot use -x[1:, i].Sum() (value of struct type tensor.Tensor) as string value"},
		{"(x + 1).Foo()", "1:9: (x + 1).Foo undefined (type tensor.Tensor has no field or method Foo"},
		{"x + 1; y", "1:1: x + 1 (value of type tensor.Tensor) is not used"},
		{"x[0]; y", "1:1: x[0] (value of type tensor.Tensor) is not used"},
		{"x[:, 0]\ny", "1:1: x[:, 0] (value of type tensor.Tensor) is not used"},
		{"n := strconv.Atoi(`1`); x + 1; y", "1:25: x + 1 (value of type tensor.Tensor) is not used"},
		{"n := strconv.Atoi(`1`); var s string = x[:, 0] + 1", "1:40: cannot use x[:, 0] + 1 (value of struct type tensor.Tensor) as string value"},
		{"x[0] + z", "1:8: undefined: z"},
		{"x[:, z]", "1:6: undefined: z"},
		{"x[1.5]", "1:3: cannot use 1.5 (untyped float constant) as an index of a tensor (truncated)"},
		{"x[:, \"a\"]", `1:6: cannot use "a" (untyped string constant) as an index of a tensor`},
		{"xs[:, 0]", "1:5: expected operand, found ','"},
		{"z := x[:, 0]; xs[1:2:]", "1:17: invalid operation: xs[1:2]: only a tensor has several axes or steps"},
		{"x[1, , 2]", "1:6: expected type, found ','"},
		{"x + y = 3", "1:1: cannot assign to x + y (neither addressable nor a map index expression)"},
		{"x[0], x[1] = x[1], x[0]", "1:1: cannot assign to x[0] (neither addressable nor a map index expression); a statement writes one part of a tensor: x[0] = …"},
		{"tensorOf(\"a\")[0] = 1", "1:1: cannot assign to tensorOf(\"a\")[0] (neither addressable nor a map index expression)"},
		{"x[0] = \"a\"", "1:1: cannot assign to x[0]"},
		{"0 < x < 1", "1:9: invalid operation: 0 < x < 1 (mismatched types tensor.Tensor and untyped int); join two comparisons: (0 < x) & (x < 1)"},
		{"x < y < x", "join two comparisons: (x < y) & (y < x)"},
		{"x < 1 && x > 0", "1:1: invalid operation: operator && not defined on x < 1 (value of struct type tensor.Tensor); write x.Lt(1).And(x.Gt(0))"},
		{"x == 0", "1:6: invalid operation: x == 0 (mismatched types tensor.Tensor and untyped int); write x.Eq(0)"},
		{"x == y", "== would compare the handles of tensors, not their values: a.Eq(b) compares elements"},
		{"x != 0", "write x.Ne(0)"},
		{"if x > 0 { }", "1:4: non-boolean condition in if statement; write if x.Gt(0).All().Item() != 0 {"},
		{"for i := range x { _ = i }", "cannot range over x (variable of struct type tensor.Tensor); write for i := range x.Len(0) { row := x[i]; fmt.Println(row) }"},
		{"min(x, 1)", "cannot be ordered; write x.Minimum(1)"},
		{"max(0, x[0] + 1)", "cannot be ordered; write x[0].Add(1).Maximum(0)"},
		{"max(0, 2 * x[0])", "cannot be ordered; write (x[0].Mul(2)).Maximum(0)"},
		{"math.Sqrt(x[:, 0])", "as float64 value in argument to math.Sqrt; write x[:, 0].Sqrt()"},
		{"math.Pow(x, 2)", "write x.Pow(2)"},
		{"math.Cosh(f) + math.Gamma(x)", "as float64 value in argument to math.Gamma; write x.Item()"},
		{"float64(x[0, 1])", "cannot convert x[0, 1] (value of struct type tensor.Tensor) to type float64; write x[0, 1].Item()"},
		{"var k int = x[0, 1]", "write int(x[0, 1].Item())"},
		{"x == nil", "write x.IsNone()"},
		{"x + xs", "tensor.From makes a tensor of a slice"},
		{"x + xs", "1:1: invalid operation: x + xs (mismatched types tensor.Tensor and []int)"},
		{"x + m", "1:1: invalid operation: x + m (mismatched types tensor.Tensor and *Model)"},
	} {
		r := s.Run(t.Context(), c.code)
		if r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.code, r.Err, c.want)
		}
	}
}

// A panic of the engine has the place of the operator or bracket.
func TestTensorNotationPanics(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, notationSetup)
	for _, c := range []struct{ code, want string }{
		{"z := y\nx * z[:, :2]", "2:3: mul: got f32[2 3] and f32[2 2], want shapes that broadcast"},
		{"x.Exp()[:, 3]", "1:8: index: got index 3 on axis 1 of f32[2 3], want one in -3…2"},
		{"x[5]", "1:2: at: got index 5 on axis 0 of f32[2 3], want one in -2…1"},
		{"x[0] = rows", "set_index: got i64[2] for a part of shape [3] of f32[2 3], want a shape that broadcasts to it"},
		{"-mask", "1:1: neg: got bool[2], want numbers"},
	} {
		r := s.Run(t.Context(), c.code)
		if r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.code, r.Err, c.want)
		}
	}
}

// A random expression of float64 tensors has the value that Go gives the same text for float64 variables:
// precedence, parentheses, constants and signs are Go's.
func TestTensorNotationAgainstGo(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "a, b, c := 1.75, -0.5, 3.0\nx, y, z := tensor.FromAs(dtype.F64, a), tensor.FromAs(dtype.F64, b), tensor.FromAs(dtype.F64, []float64{c, 0})\nf := 0.25")
	r := rand.New(rand.NewPCG(4, 2))
	var tensors, numbers []string
	for range 300 {
		text := randomFormula(r, 4)
		tensors = append(tensors, "("+strings.NewReplacer("X", "x", "Y", "y", "Z", "z[0]").Replace(text)+" + 0*z[..., 0]).Item()")
		numbers = append(numbers, strings.NewReplacer("X", "a", "Y", "b", "Z", "c").Replace(text)+" + 0*c")
	}
	run(t, s, "values := []float64{\n"+strings.Join(tensors, ",\n")+",\n}", "want := []float64{\n"+strings.Join(numbers, ",\n")+",\n}")
	wrong := run(t, s, `list := []int{}
for i, v := range values { if math.Abs(v-want[i]) > 1e-9*max(1, math.Abs(v)) && !(math.IsNaN(v) && math.IsNaN(want[i])) && v != want[i] { list = append(list, i) } }
list`)
	if wrong != "[] []int" {
		t.Errorf("expressions %s differ: %s", wrong, strings.Join(tensors[:5], "\n"))
	}
}

// A formula has one value wherever it stands, also at the beginning of a line, where a parenthesis may open
// it.
func TestTensorNotationInPlaces(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "x, y, z := tensor.From([]float64{1.75, 3}), tensor.From([]float64{-0.5, 4}), tensor.Ones(2)\nf := 0.25\nvar v tensor.Tensor\nm := map[string]tensor.Tensor{}\nfunc id(t tensor.Tensor) tensor.Tensor { return t }")
	r := rand.New(rand.NewPCG(1, 9))
	for range 40 {
		formula := strings.NewReplacer("X", "x", "Y", "y", "Z", "z").Replace(randomFormula(r, 3))
		want := run(t, s, "v = "+formula+"\nv")
		for _, place := range []string{"F", "(F)", "(F) * 1", "-(-(F))", "(F)[:]", "\n\t(F)", "var w = F\nw", "id(F)", "[]tensor.Tensor{F}[0]", "func() tensor.Tensor { return F }()",
			"m[\"a\"] = F; m[\"a\"]", "if true {\n\tv = (F)\n}\nv", "v, m[\"b\"] = F, F\nm[\"b\"]", "switch { default:\n v = (F) }\nv"} {
			code := strings.ReplaceAll(place, "F", formula)
			if got := run(t, s, code); got != want {
				t.Fatalf("%s: got\n%s\nwant\n%s", code, got, want)
			}
		}
	}
}

// randomFormula is a formula of X, Y and Z that has at least one of them.
func randomFormula(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(6) == 0 {
		return string("XYZ"[r.IntN(3)])
	}
	one := func() string { return randomFormula(r, depth-1) }
	number := []string{"2", "0.5", "1e1", "'a'", "7/2", "f", "(1 - 3)", "-4"}[r.IntN(8)]
	op := []string{"+", "-", "*", "/"}[r.IntN(4)]
	blank := []string{"", " "}[r.IntN(2)]
	switch r.IntN(7) {
	case 0:
		return "- " + one() // not --, which is a token
	case 1:
		return "(" + one() + ")"
	case 2:
		return number + blank + op + " " + one()
	case 3:
		return one() + blank + op + " " + number
	case 4:
		return "0.5*(" + one() + ")"
	}
	return one() + blank + op + " " + one()
}
