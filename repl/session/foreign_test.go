package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// pythonSetup declares the names of the lines below.
const pythonSetup = `x := tensor.Randn(2, 3); xs := []int{1, 2, 3}; ys := []int{4, 5, 6}; n := 2; f := 2.5; s := "abc"; b := true
m := map[string]int{"a": 1}`

// A line that a Python user types in the first minutes is answered with the Go for it, and that Go runs
// when it is pasted.
func TestPythonIsAnsweredInGo(t *testing.T) {
	for _, c := range []struct{ python, goLine string }{
		{"for row in x", "for i := range x.Len(0) { row := x.At(i); fmt.Println(row) }"},
		{"for row in x:", "for i := range x.Len(0) { row := x.At(i); fmt.Println(row) }"},
		{"for row in x { fmt.Println(row) }", "for i := range x.Len(0) { row := x.At(i); fmt.Println(row) }"},
		{"for i in range(3): print(i)", "for i := range 3 { fmt.Println(i) }"},
		{"for i in range(3) { fmt.Println(i) }", "for i := range 3 { fmt.Println(i) }"},
		{"for i in range(2, 5):", "for i := 2; i < 5; i++ { fmt.Println(i) }"},
		{"for i in range(0, 10, 2):", "for i := 0; i < 10; i += 2 { fmt.Println(i) }"},
		{"for i, row in enumerate(xs):", "for i, row := range xs { fmt.Println(i, row) }"},
		{"for k, v in m.items():", "for k, v := range m { fmt.Println(k, v) }"},
		{"for a, b in zip(xs, ys):", "for i := range xs { a, b := xs[i], ys[i]; fmt.Println(a, b) }"},
		{"for i in range(len(xs)):", "for i := range len(xs) { fmt.Println(i) }"},
		{"x ** 2", "x.Pow(2)"},
		{"n ** 2", "n * n"},
		{"2 ** 3", "math.Pow(2, 3)"},
		{"f ** 0.5", "math.Pow(f, 0.5)"},
		{"[v*2 for v in xs]", "list := []int{}; for _, v := range xs { list = append(list, v * 2) }; list"},
		{"[v*v for v in xs if v > 1]", "list := []int{}; for _, v := range xs { if v > 1 { list = append(list, v * v) } }; list"},
		{"ys := [v*2 for v in xs]", "list := []int{}; for _, v := range xs { list = append(list, v * 2) }; ys = list"},
		{"{k: v for k, v in m.items()}", "table := map[string]int{}; for k, v := range m { table[k] = v }; table"},
		{"[x for x in range(10)]", "list := []int{}; for x := range 10 { list = append(list, x) }; list"},
		{"(v for v in xs)", "list := []int{}; for _, v := range xs { list = append(list, v) }; list"},
		{"sum(v for v in xs)", "list := []int{}; for _, v := range xs { list = append(list, v) }; total := 0; for _, v := range list { total += v }; total"},
		{"[1, 2, 3]", "[]int{1, 2, 3}"},
		{"a := [1, 2, 3]", "a := []int{1, 2, 3}"},
		{"a = [1, 2, 3]", "a := []int{1, 2, 3}"},
		{"a = [[1, 2], [3, 4]]", "a := [][]int{{1, 2}, {3, 4}}"},
		{`d = {"a": 1}`, `d := map[string]int{"a": 1}`},
		{`d := {"a": 1}`, `d := map[string]int{"a": 1}`},
		{"pwd", "os.Getwd()"},
		{`print "hi"`, `fmt.Println("hi")`},
		{`print(f"n is {n}")`, `fmt.Printf("n is %v\n", n)`},
		{`f"n is {n}"`, `fmt.Sprintf("n is %v", n)`},
		{"f'n is {n}'", `fmt.Sprintf("n is %v", n)`},
		{`"n is {}".format(n)`, `fmt.Sprintf("n is %v", n)`},
		{`"n is %d" % n`, `fmt.Sprintf("n is %d", n)`},
		{"len(x)", "x.Len(0)"},
		{"x is None", "x.IsNone()"},
		{"plt.plot(xs, ys)", "plot.Line(xs, ys)"},
		{"plt.plot(xs, ys, 'r--')", `plot.Line(xs, ys).Style("r--")`},
		{"plt.plot(xs, ys, label='a')", `plot.Line(xs, ys).Named("a")`},
		{"plt.scatter(xs, ys, c=ys, s=xs)", "plot.Scatter(xs, ys).Colours(ys).Sizes(xs)"},
		{"plt.hist(xs, bins=20)", "plot.Hist(xs, 20)"},
		{"plt.errorbar(xs, ys, yerr=0.5)", "plot.Line(xs, ys).Errors(0.5)"},
		{"plt.semilogy(xs)", `plot.Line(xs).Log("y")`},
		{"np.zeros(3)", "tensor.Zeros(3)"},
		{"np.array([1,2,3])", "tensor.From([]int{1, 2, 3})"},
		{"torch.zeros(2, 3)", "tensor.Zeros(2, 3)"},
		{"torch.tensor([1.0, 2.0])", "tensor.From([]float64{1.0, 2.0})"},
		{"tensor([1,2,3])", "tensor.From([]int{1, 2, 3})"},
		{"tensor.tensor([1,2])", "tensor.From([]int{1, 2})"},
		{"tensor.array([1,2,3])", "tensor.From([]int{1, 2, 3})"},
		{"tensor.From([1, 2, 3])", "tensor.From([]int{1, 2, 3})"},
		{"tensor.ones((2, 3))", "tensor.Ones(2, 3)"},
		{"tensor.Zeros((2, 3))", "tensor.Zeros(2, 3)"},
		{"tensor.Zeros([2, 3])", "tensor.Zeros(2, 3)"},
		{"def f(x): return x * 2", "func f(x tensor.Tensor) tensor.Tensor { return x.Mul(2) }"},
		{"def f(v): return v * 2", "func f(v int) int { return v * 2 }"},
		{"def f(x):", "func f(x int) int { return x }"},
		{"def f(x: int) -> int:", "func f(x int) int { return x }"},
		{"lambda v: v * 2", "func(v int) int { return v * 2 }"},
		{"g := lambda v: v + 1", "g := func(v int) int { return v + 1 }"},
		{"g = lambda a, b: a + b", "g := func(a int, b int) int { return a + b }"},
		{"xs[-1]", "xs[len(xs)-1]"},
		{"xs[1:-1]", "xs[1:len(xs)-1]"},
		{"xs[::-1]", "reversed := slices.Clone(xs); slices.Reverse(reversed); reversed"},
		{"x.Shape[0]", "x.Shape()[0]"},
		{"x.Mean(dim=0)", "x.Mean(0)"},
		{"x.Sum(axis=0)", "x.Sum(0)"},
		{"x.numpy()", "x.Floats()"},
		{"x.view(3, 2)", "x.Reshape(3, 2)"},
		{"x.float()", "x.Cast(dtype.F32)"},
		{"if x > 0 { n = 1 }", "if x.Gt(0).All().Item() != 0 { n = 1 }"},
		{"1 if n > 2 else 0", "if n > 2 { fmt.Println(1) } else { fmt.Println(0) }"},
		{"y := 1 if n > 2 else 0", "y := 0; if n > 2 { y = 1 }"},
		{"n > 2 ? 1 : 0", "if n > 2 { fmt.Println(1) } else { fmt.Println(0) }"},
		{"y := n > 2 ? 1 : 0", "y := 0; if n > 2 { y = 1 }"},
		{"b and b", "b && b"},
		{"n > 1 and n < 3", "n > 1 && n < 3"},
		{"b or b", "b || b"},
		{"not b", "(!b)"},
		{"if not b: n = 1", "if !b { n = 1 }"},
		{"if n > 1 and n < 5: print(n)", "if n > 1 && n < 5 { fmt.Println(n) }"},
		{"if n > 1 and n < 5 { n = 2 }", "if n > 1 && n < 5 { n = 2 }"},
		{"f % 2", "math.Mod(f, 2)"},
		{"n / 2.5", "float64(n) / 2.5"},
		{"n * 1.5", "float64(n) * 1.5"},
		{"xs.append(4)", "xs = append(xs, 4)"},
		{"xs.len()", "len(xs)"},
		{"xs.sum()", "tensor.From(xs).Sum()"},
		{"sum(xs)", "total := 0; for _, v := range xs { total += v }; total"},
		{"max(xs)", "slices.Max(xs)"},
		{"min(xs)", "slices.Min(xs)"},
		{"sorted(xs)", "slices.Sorted(slices.Values(xs))"},
		{"reversed(xs)", "reversed := slices.Clone(xs); slices.Reverse(reversed); reversed"},
		{"abs(-3)", "math.Abs(-3)"},
		{"abs(f)", "math.Abs(f)"},
		{"round(f)", "math.Round(f)"},
		{`int("3")`, `strconv.Atoi("3")`},
		{"str(n)", "fmt.Sprint(n)"},
		{"float(n)", "float64(n)"},
		{"range(10)", "for i := range 10 { fmt.Println(i) }"},
		{"list(range(10))", "numbers := make([]int, 10); for i := range numbers { numbers[i] = i }; numbers"},
		{"type(x)", `fmt.Sprintf("%T", x)`},
		{"type(n)", `fmt.Sprintf("%T", n)`},
		{"++n", "n++"},
		{"a = b = 3", "b := 3; a := b"},
		{"z: int = 3", "z := 3"},
		{"s + n", "s + fmt.Sprint(n)"},
		{`"a" + 1`, `"a" + fmt.Sprint(1)`},
		{`"""doc"""`, `"doc"`},
		{"s.upper()", "strings.ToUpper(s)"},
		{`s.split(",")`, `strings.Split(s, ",")`},
		{"s * 3", "strings.Repeat(s, 3)"},
		{`"-" * 20`, `strings.Repeat("-", 20)`},
		{`"a" in s`, `strings.Contains(s, "a")`},
		{"2 in xs", "slices.Contains(xs, 2)"},
		{`"k" in m`, `_, ok := m["k"]; ok`},
		{"2 not in xs", "(!slices.Contains(xs, 2))"},
		{"m.keys()", "slices.Sorted(maps.Keys(m))"},
		{`m.get("a", 0)`, `m["a"]`},
		{`del m["a"]`, `delete(m, "a")`},
		{"x = 5  # a comment", "x := 5"},
		{"n = 3; # c", "n = 3"},
		{"while True:", "for { break }"},
		{"random.random()", "rand.Float64()"},
		{"random.randint(1, 6)", "1 + rand.IntN(6-1+1)"},
		{"json.dumps(m)", "json.Marshal(m)"},
		{"isinstance(n, int)", "_, ok := any(n).(int); ok"},
		{"list(m)", "slices.Sorted(maps.Keys(m))"},
		{"set(xs)", "set := map[int]bool{}; for _, v := range xs { set[v] = true }; set"},
		{`print(n, end="")`, "fmt.Print(n)"},
		{"console.log(n)", "fmt.Println(n)"},
		{"let q = 3", "q := 3"},
		{"for i in range(10, 0, -2): print(i)", "for i := 10; i > 0; i -= 2 { fmt.Println(i) }"},
		{"for c in s: print(c)", "for _, c := range s { fmt.Println(c) }"},
		{"for k in m: print(k)", "for k := range m { fmt.Println(k) }"},
		{"for v in [1, 2]: print(v)", "for _, v := range []int{1, 2} { fmt.Println(v) }"},
		{"for v in reversed(xs): print(v)", "for _, v := range slices.Backward(xs) { fmt.Println(v) }"},
		{"for i, row in enumerate(x): print(i)", "for i := range x.Len(0) { row := x.At(i); fmt.Println(i) }"},
		{"for n in 3: print(n)", "for n := range 3 { fmt.Println(n) }"},
		{"zs = [v / 2 for v in ys]", "zs := []float64{}; for _, v := range ys { zs = append(zs, float64(v) / 2.0) }; zs"},
		{"zs = [str(v) for v in xs]", "zs := []string{}; for _, v := range xs { zs = append(zs, fmt.Sprint(v)) }; zs"},
		{"{v: v * v for v in xs}", "table := map[int]int{}; for _, v := range xs { table[v] = v * v }; table"},
		{`[s for s in ["a", "b"] if s == "a"]`, `list := []string{}; for _, s := range []string{"a", "b"} { if s == "a" { list = append(list, s) } }; list`},
		{"1 < n < 5 and b", "1 < n && n < 5 && b"},
		{`if xs: print("yes")`, `if len(xs) != 0 { fmt.Println("yes") }`},
		{`if "a" in m: print(m["a"])`, `if _, ok := m["a"]; ok { fmt.Println(m["a"]) }`},
		{`if not s: print("empty")`, `if s == "" { fmt.Println("empty") }`},
		{"while n < 5: n += 1", "for n < 5 { n += 1 }"},
		{"x[None]", "x[nil]"},
		{"x[None, 0] ** 2", "x[nil, 0].Pow(2)"},
		{"x[:, 0:1] @ x[:1]", "x[:, 0:1].MatMul(x[:1])"},
		{"x[[0, 1]]", "x[[]int{0, 1}]"},
		{"x.T @ x", "x.T().MatMul(x)"},
		{"2 ** x", "tensor.Pow(2, x)"},
		{"x ** 0.5", "x.Pow(0.5)"},
		{"x > 0 and x < 1", "x.Gt(0).And(x.Lt(1))"},
		{"xs + [4]", "slices.Concat(xs, []int{4})"},
		{"[0] * 3", "slices.Repeat([]int{0}, 3)"},
		{`print(f"{f:.2f} of {len(xs)}")`, `fmt.Printf("%.2f of %v\n", f, len(xs))`},
		{`print("a", n, end="")`, `fmt.Printf("%v %v", "a", n)`},
		{"n = n + 0.5", "n := float64(n) + 0.5"},
		{"n *= 1.5", "n := float64(n) * 1.5"},
		{"x @= x.T", "x = x.MatMul(x.T())"},
		{"f **= 2", "f = f * f"},
		{"t = np.random.randn(2, 3)", "t := tensor.Randn(2, 3)"},
		{"torch.cat([x, x], 0)", "tensor.Concat([]tensor.Tensor{x, x}, 0)"},
		{"torch.matmul(x, x.T)", "x.MatMul(x.T())"},
		{"np.arange(5)", "tensor.Range(5)"},
		{"np.mean(x)", "x.Mean()"},
		{"torch.randn((2, 3))", "tensor.Randn(2, 3)"},
		{"x.reshape((3, 2))", "x.Reshape(3, 2)"},
		{"x.sum(dim=1)", "x.Sum(1)"},
		{"def area(w: float, h: float) -> float: return w * h", "func area(w float64, h float64) float64 { return w * h }"},
		{"def norm(t: torch.Tensor): return t.norm()", "func norm(t tensor.Tensor) tensor.Tensor { return t.Norm() }"},
		{"d = {}", "d := map[string]any{}"},
		{"q = set()", "q := map[string]bool{}"},
		{`s.replace("a", "b")`, `strings.ReplaceAll(s, "a", "b")`},
		{`s.startswith("a")`, `strings.HasPrefix(s, "a")`},
		{`"-".join(["a", "b"])`, `strings.Join([]string{"a", "b"}, "-")`},
		{"xs.pop()", "xs = xs[:len(xs)-1]"},
		{"xs.sort()", "slices.Sort(xs)"},
		{"xs.insert(0, 9)", "xs = slices.Insert(xs, 0, 9)"},
		{`m.get("b", 7)`, `v, ok := m["b"]; if !ok { v = 7 }; v`},
		{`m.pop("a")`, `delete(m, "a")`},
		{"round(f, 1)", "math.Round(f*10) / 10"},
		{"sum(xs) / len(xs)", "total := 0; for _, v := range xs { total += v }; float64(total) / float64(len(xs))"},
		{"len(xs) == 3 or False", "len(xs) == 3 || false"},
		{"max(x)", "x.Max()"},
		{"x.clone()", "x.Snapshot()"},
		{"float(x.mean())", "x.Mean().Item()"},
		{"n === 2", "n == 2"},
		{"const sq = v => v * v", "sq := func(v int) int { return v * v }"},
		{"f = float(n)", "f = float64(n)"},
		{"print(type(n))", `fmt.Printf("%T\n", n)`},
		{"for v in xs:\n    print(v)\n    n += v\n", "for _, v := range xs { fmt.Println(v); n += v }"},
		{"def area(w, h):\n    return w * h", "func area(w int, h int) int { return w * h }"},
		{"k = 3\nif k > 2 and b:\n    n = 1", "if k > 2 && b { n = 1 }"},
	} {
		s, _ := newSession(t, Options{})
		run(t, s, pythonSetup+"; k := 5")
		r := s.Run(t.Context(), c.python)
		if r.Err == nil {
			t.Errorf("%s: runs, want a complaint", c.python)
			continue
		}
		if _, hint, _ := strings.Cut(firstLine(r.Err), "\x00"); hint != "write "+c.goLine {
			t.Errorf("%s:\n got %s\nwant write %s", c.python, hint, c.goLine)
		}
		if r := s.Run(t.Context(), c.goLine); r.Err != nil {
			t.Errorf("%s: pasted: %v", c.goLine, r.Err)
		}
	}
}

// Each statement of a cell in Python is answered, with the Go for those above it; one that has no Go keeps
// the checker's complaint, and a cell of Go with one such line is left alone.
func TestEveryStatementIsAnswered(t *testing.T) {
	for _, c := range []struct {
		python string
		hints  []string // of each complaint: the line, and what to write
	}{
		{"xs = [1, 2, 3]\nys = [v*2 for v in xs]\n\n# their sum\nprint(sum(ys))", []string{
			"1 write xs := []int{1, 2, 3}",
			"2 write ys := []int{}; for _, v := range xs { ys = append(ys, v * 2) }; ys",
			"5 write total := 0; for _, v := range ys { total += v }; fmt.Println(total)"}},
		{"import torch\nfrom torch import nn\nx = torch.randn(2, 3)\ny = x.view(3, 2)", []string{
			"1 tensors are in package tensor, layers in nn, which are there without an import: nn.NewLinear(4, 8)",
			"3 write x := tensor.Randn(2, 3)", "4 write y := x.Reshape(3, 2)"}},
		{"x = torch.randn(2, 3)\nz = x.frobnicate()\nprint(x.shape)", []string{
			"1 write x := tensor.Randn(2, 3)", "2 declare it with :=", "3 write fmt.Println(x.Shape())"}},
		{"def double(v):\n    return v * 2\n\nxs = [double(v) for v in range(3)]", []string{
			"1 write func double(v int) int { return v * 2 }", "4 write xs := []int{}; for v := range 3 { xs = append(xs, double(v)) }; xs"}},
		{"model = nn.Sequential(nn.Linear(4, 2))\nx = torch.randn(3, 4)\nprint(model(x).mean())", []string{
			"1 write model := nn.Sequential{nn.NewLinearBias(4, 2)}", "2 write x := tensor.Randn(3, 4)", "3 write fmt.Println(model.Forward(x).Mean())"}},
		{"w := tensor.Ones(2).Param()\nopt := optim.SGD{}.New([]nn.Param{nn.NewParam(\"w\", &w)})\nloss = (w * w).sum()\nloss.backward()\nopt.step()", []string{
			"3 write loss := w.Mul(w).Sum()", "4 write opt.Step(loss, 1e-3)"}},
		{"n := 2\nm := n ** 2\nfmt.Println(m + nothing)", []string{"2 write m := n * n", "3 "}},
	} {
		s, _ := newSession(t, Options{})
		r := s.Run(t.Context(), c.python)
		var check *CheckError
		if !errors.As(r.Err, &check) {
			t.Errorf("%s: got %v, want complaints", c.python, r.Err)
			continue
		}
		var hints []string
		for _, d := range check.Diags {
			hints = append(hints, fmt.Sprint(d.Line, " ", d.Hint))
		}
		if !slices.Equal(hints, c.hints) {
			t.Errorf("%s:\n got %q\nwant %q", c.python, hints, c.hints)
		}
	}
}

func firstLine(err error) string {
	var check *CheckError
	if errors.As(err, &check) {
		return check.Diags[0].Message + "\x00" + check.Diags[0].Hint
	}
	return err.Error()
}

// Go that runs with another meaning than in Python has a note behind its value.
func TestDoubtsAreNoted(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "n := 5; f := 2.5; x := tensor.Ones(2); whole := tensor.From([]int{1, 1})")
	for _, c := range []struct{ cell, want string }{
		{"2*n^3", "9 (^ is exclusive or; a power is math.Pow(float64(n), 3))"},
		{"n^2", "7 (^ is exclusive or; a power is math.Pow(float64(n), 2))"},
		{"10^6", "12 (^ is exclusive or; a power is math.Pow(10, 6))"},
		{"0xf0^3", "243"},
		{"n^0x3", "6"},
		{"n ^ n", "0"},
		{"n // 2", "5 (// begins a comment; / divides, and integers give integers)"},
		{"f // n", "2.5 float64 (// begins a comment; / divides, and integers give integers)"},
		{"x // 2", "f32[2] cpu 8 B\n[1. 1.] (// begins a comment; x.FloorDiv(2) divides and rounds down)"},
		{"n //= 2", "5 (// begins a comment; / divides, and integers give integers)"},
		{"whole^2", "i64[2] cpu 16 B\n[3 3] (^ is exclusive or; a power is whole.Pow(2))"},
		{"whole.Xor(2)", "i64[2] cpu 16 B\n[3 3]"},
		{"n // a remark", "5"},
		{"n // remark", "5"},
	} {
		if got := run(t, s, c.cell); got != c.want {
			t.Errorf("%s: got %s, want %s", c.cell, got, c.want)
		}
	}
}

// What Go makes of a line otherwise than a formula means is told: of divisions each, of comments one.
func TestSurprisesAreTold(t *testing.T) {
	for _, c := range []struct{ cell, want string }{
		{"2 / 3 * x", "2 / 3 is 0, as Go divides integer constants; 2.0 / 3 is a fraction\n"},
		{"y := x * (1/2)\nz := 3/2 + x", "1 / 2 is 0, as Go divides integer constants; 1.0 / 2 is a fraction\n3 / 2 is 1, as Go divides integer constants; 3.0 / 2 is a fraction\n"},
		{"y := 1/2*x; z := 1/2*x", "1 / 2 is 0, as Go divides integer constants; 1.0 / 2 is a fraction\n"},
		{"1/2*tensor.Ones(2)", "1 / 2 is 0, as Go divides integer constants; 1.0 / 2 is a fraction\n"},
		{"z := tensor.Ones(2); 3/2*z", "3 / 2 is 1, as Go divides integer constants; 3.0 / 2 is a fraction\n"},
		{"tensor.Full(7/2, 2)", "7 / 2 is 3, as Go divides integer constants; 7.0 / 2 is a fraction\n"},
		{"math.Pow(2, 1/2)", "1 / 2 is 0, as Go divides integer constants; 1.0 / 2 is a fraction\n"},
		{"var f float64 = 1 + 7/2", "7 / 2 is 3, as Go divides integer constants; 7.0 / 2 is a fraction\n"},
		{"g := 3/2 * 0.1", "3 / 2 is 1, as Go divides integer constants; 3.0 / 2 is a fraction\n"},
		{"lr := 1/10", "1 / 10 is 0, as Go divides integer constants; 1.0 / 10 is a fraction\n"},
		{"const k = 7\nf := func() float64 { return k / 2 }", "k / 2 is 3, as Go divides integer constants; float64(k) / 2 is a fraction\n"},
		{"7 / 2", ""},
		{"var a [7/2]int", ""},
		{"f := 1 / 2.0", ""},
		{"b := 7/2 < 3.5", "7 / 2 is 3, as Go divides integer constants; 7.0 / 2 is a fraction\n"},
		{"b := 7/2 < 3", ""},
		{"y := x // 2", "// 2 is a comment, so nothing was divided; x.FloorDiv(2) divides and rounds down\n"},
		{"x *= x // n\nx += 1 // 3", "// n is a comment, so nothing was divided; x.FloorDiv(n) divides and rounds down\n"},
		{"x * 1 / 2", ""},
		{"x / 2 / 3", ""},
		{"6 / 3 * x", ""},
		{"y := n // 2", "// 2 is a comment, so nothing was divided; / divides, and integers give integers\n"},
		{"y := 7 // 2", "// 2 is a comment, so nothing was divided; / divides, and integers give integers\n"},
		{"mid := (1 + n) // 2", "// 2 is a comment, so nothing was divided; / divides, and integers give integers\n"},
		{"half := len(names) // n", "// n is a comment, so nothing was divided; / divides, and integers give integers\n"},
		{"mask := 0x10 // 16", ""},
		{"n = 1 << 4 // 16", ""}, // its value
		{"s := names[0] // 2", ""},
		{"x := 5\ny := x // 2", "x is an int now, it was a tensor.Tensor\n"},
		{"y := x // twice", ""},
		{"y := x // 2 rows", ""},
		{"x // 2", ""}, // its value has a note
	} {
		s, out := newSession(t, Options{})
		run(t, s, "x := tensor.Ones(2); n := 5; names := []string{\"a\"}", c.cell)
		if out.String() != c.want {
			t.Errorf("%s: got %q, want %q", c.cell, out.String(), c.want)
		}
	}
}

// print shows slices and maps, not their addresses, because a Python user types it first.
func TestPrintShowsValues(t *testing.T) {
	s, out := newSession(t, Options{})
	run(t, s, `print([]int{1, 2}, map[string]int{"a": 1}); println([]string{"x"})`)
	if got, want := out.String(), "[1 2]map[a:1][x]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
