package gofile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cells []string
		want  string // without "package main" and blank lines
	}{
		{"imports by use, shown expression", []string{"x := strings.ToUpper(`a`)", "x"}, `
import (
	"fmt"
	"strings"
)
func main() {
	x := strings.ToUpper("a")
	fmt.Println(x)
}`},
		{"operators and indices of tensors are calls", []string{"x := tensor.Ones(2, 3)", "y := 2 * x[:, 1:] - 1 // twice", "x[y[0] > 0, ::-1] += y[...,\n0] / 3", "rows, i := []int{0}, int64(1)\n-x[rows, i]"}, `
import (
	"fmt"
	"github.com/mcs-notebook/mcs/engine/tensor"
)
func main() {
	x := tensor.Ones(2, 3)
	y := x.Index(tensor.All, tensor.Span(1, tensor.Open)).Mul(2).Sub(1) // twice
	x = x.SetIndex(x.Index(tensor.Pick(y.At(0).Gt(0)), tensor.SpanStep(tensor.Open, tensor.Open, -1)).Add(y.Index(tensor.Rest, tensor.At(0)).Div(3)), tensor.Pick(y.At(0).Gt(0)), tensor.SpanStep(tensor.Open, tensor.Open, -1))
	rows, i := []int{0}, int64(1)
	fmt.Println(x.Index(tensor.Pick(tensor.From(rows)), tensor.At(int(i))).Neg())
}`},
		{"each value of a list is shown", []string{"x := 1", "// both\nx, f(x, 2) // two", "func f(a, b int) int { return a + b }"}, `
import (
	"fmt"
)
func f(a, b int) int { return a + b }
func main() {
	x := 1
	// both
	fmt.Println(x)
	fmt.Println(f(x, 2)) // two
}`},
		{"a number on the left that is evaluated first", []string{"func f() float64 { return 2 }", "func g() tensor.Tensor { return tensor.Ones(2) }", "z := f() * g()\nz--", "1/z + 3"}, `
import (
	"fmt"
	"github.com/mcs-notebook/mcs/engine/tensor"
)
func f() float64 { return 2 }
func g() tensor.Tensor { return tensor.Ones(2) }
func main() {
	z := func(a any, b tensor.Tensor) tensor.Tensor {
		return b.Mul(a)
	}(f(), g())
	z = z.Sub(1)
	fmt.Println(tensor.Div(1, z).Add(3))
}`},
		{"a left-out error is checked", []string{`b := os.ReadFile("f")`, "var n = strconv.Atoi(string(b))", "n"}, `
import (
	"fmt"
	"log"
	"os"
	"strconv"
)
func main() {
	b, err := os.ReadFile("f")
	if err != nil {
		log.Fatal(err)
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
}`},
		{"a shown error is checked", []string{`os.Chdir("d")`}, `
import (
	"log"
	"os"
)
func main() {
	if err := os.Chdir("d"); err != nil {
		log.Fatal(err)
	}
}`},
		{"an error that a call leaves out", []string{"os.Remove(\"f\")\nstrconv.Atoi(\"3\")\nn := 1", "for range n {\n\tos.Remove(\"g\")\n\tn = strconv.Atoi(\"4\")\n\tm := strconv.Atoi(\"5\")\n\tfunc() { os.Remove(\"h\") }()\n\tfmt.Println(m)\n}", "strconv.Atoi(\"6\")"}, `
import (
	"fmt"
	"log"
	"os"
	"strconv"
)
func main() {
	if err := os.Remove("f"); err != nil {
		log.Fatal(err)
	}
	if _, err := strconv.Atoi("3"); err != nil {
		log.Fatal(err)
	}
	n := 1
	for range n {
		if err := os.Remove("g"); err != nil {
			log.Fatal(err)
		}
		if value0, err := strconv.Atoi("4"); err != nil {
			log.Fatal(err)
		} else {
			n = value0
		}
		m, err := strconv.Atoi("5")
		if err != nil {
			log.Fatal(err)
		}
		func() { os.Remove("h") }()
		fmt.Println(m)
	}
	if value0, err := strconv.Atoi("6"); err != nil {
		log.Fatal(err)
	} else {
		fmt.Println(value0)
	}
}`},
		{"the output of a command", []string{`dir := "a b"`, "files := !ls -l {dir} | head -2", "files, err := !exit 3", "ls := true", "y := !ls", "files, err.Error(), y"}, `
import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
)
` + shellLines + `
func main() {
	dir := "a b"
	files, err := shellLines("ls -l \"${dir}\" | head -2", "dir="+fmt.Sprint(dir))
	if err != nil {
		log.Fatal(err)
	}
	files, err = shellLines("exit 3")
	ls := true
	y := !ls
	fmt.Println(files)
	fmt.Println(err.Error())
	fmt.Println(y)
}`},
		{"same type again is an assignment", []string{"x := 1", "x := x + 1", "x"}, `
import (
	"fmt"
)
func main() {
	x := 1
	x = x + 1
	fmt.Println(x)
}`},
		{"the same variables again are zero", []string{"var a, b int", "a = 1", "var a, b int", "a + b"}, `
import (
	"fmt"
)
func main() {
	var a, b int
	a = 1
	a = *new(int)
	b = *new(int)
	fmt.Println(a + b)
}`},
		{"another type is another variable", []string{"x := 1", "x := fmt.Sprint(x)", "x + `b`"}, `
import (
	"fmt"
)
func main() {
	x := 1
	x2 := fmt.Sprint(x)
	fmt.Println(x2 + "b")
}`},
		{"unused variables, quiet and inner expressions", []string{"x := 1; y := 2", "x + y;", "x\ny"}, `
import (
	"fmt"
)
func main() {
	x := 1
	y := 2
	_ = x + y
	_ = x
	fmt.Println(y)
}`},
		{"functions and types stand outside, with the variables that they use", []string{
			"n := 3", "type pair struct{ a, b int }", "func f() int { return n }", "f()"}, `
import (
	"fmt"
)
var n int
type pair struct{ a, b int }
func f() int { return n }
func main() {
	n = 3
	fmt.Println(f())
}`},
		{"a function declared again", []string{"func f() int { return 1 }", "a := f()", "func f() int { return 2 }", "a + f()"}, `
import (
	"fmt"
)
func f1() int { return 1 }
func f() int { return 2 }
func main() {
	a := f1()
	fmt.Println(a + f())
}`},
		{"a function declared again, which a closure calls", []string{
			"// one\nfunc f(n int, more ...string) (int, error) { return 1, nil }", "g := func() { f(1, `a`) }", "func f(_ int, _ ...string) (n int, err error) { return 2, nil }", "g()"}, `
var fNow func(int, ...string) (int, error)
func f(a0 int, a1 ...string) (int, error) { return fNow(a0, a1...) }
func main() {
	// one
	fNow = func(n int, more ...string) (int, error) { return 1, nil }
	g := func() { f(1, "a") }
	fNow = func(_ int, _ ...string) (n int, err error) { return 2, nil }
	g()
}`},
		{"variables that functions use, declared together", []string{"x, y := 1, 2", "func f() int { return y }", "var y, z = 3, 4", "n := strconv.Atoi(`a`)\nfunc g() int { return n }"}, `
import (
	"log"
	"strconv"
)
var err error
var n int
var x int
var y int
var z int
func f() int { return y }
func g() int { return n }
func main() {
	x, y = 1, 2
	y, z = 3, 4
	n, err = strconv.Atoi("a")
	if err != nil {
		log.Fatal(err)
	}
}`},
		{"a loop that leaves out an error", []string{"m := llm.New(llm.Config{})", "for text := range m.Stream(ctx, `a`, llm.Sampling{}) {\n\tfmt.Print(text)\n}", "for range m.Stream(ctx, `b`, llm.Sampling{}) {\n}"}, `
import (
	"context"
	"fmt"
	"github.com/mcs-notebook/mcs/engine/llm"
	"log"
)
var ctx = context.Background()
func main() {
	m := llm.New(llm.Config{})
	for text, err := range m.Stream(ctx, "a", llm.Sampling{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(text)
	}
	for _, err := range m.Stream(ctx, "b", llm.Sampling{}) {
		if err != nil {
			log.Fatal(err)
		}
	}
}`},
		{"an error that an assignment leaves out", []string{"m := map[string]int{}\nn := 1", "m[`a`] = strconv.Atoi(\"2\")\nn = strconv.Atoi(\"3\")"}, `
import (
	"log"
	"strconv"
)
func main() {
	m := map[string]int{}
	n := 1
	_ = n
	if value0, err := strconv.Atoi("2"); err != nil {
		log.Fatal(err)
	} else {
		m["a"] = value0
	}
	n, err := strconv.Atoi("3")
	if err != nil {
		log.Fatal(err)
	}
}`},
		{"deferred calls run at the end of their cell", []string{"x := 1", "defer fmt.Println(x)\nfmt.Println(2)", "defer fmt.Println(3)"}, `
import (
	"fmt"
)
func main() {
	x := 1
	func() {
		defer fmt.Println(x)
		fmt.Println(2)
	}()
	defer fmt.Println(3)
}`},
		{"calls that blocks defer run at the end of the cell", []string{"for i := range 2 {\n\tdefer fmt.Println(i)\n}", "func() {\n\tdefer fmt.Println(3)\n}()", "fmt.Println(2)"}, `
import (
	"fmt"
)
func main() {
	func() {
		for i := range 2 {
			defer fmt.Println(i)
		}
	}()
	func() {
		defer fmt.Println(3)
	}()
	fmt.Println(2)
}`},
		{"commands become comments", []string{"x := 1\n%timeit x\nx;", "%%time\nx"}, `
func main() {
	x := 1
	// %timeit x
	_ = x
	// %%time
	// x
}`},
		{"lines that look like commands", []string{"x := 1 // right?", "s := `\n%whos\n!ls\nx?`\n!ls", "// kept\n%whos\n/* two */\nx\n// dropped"}, `
import (
	"fmt"
)
func main() {
	x := 1 // right?
	s := ` + "`\n%whos\n!ls\nx?`" + `
	_ = s
	// !ls
	// %whos
	// kept
	/* two */
	fmt.Println(x)
}`},
		{"ctx", []string{"ctx.Err()"}, `
import (
	"context"
	"log"
)
var ctx = context.Background()
func main() {
	if err := ctx.Err(); err != nil {
		log.Fatal(err)
	}
}`},
		{"the engine is imported like anything else", []string{"x := tensor.Randn(2, 3)", "%kernels x.Sum()\nx.Sum().Item()"}, `
import (
	"fmt"
	"github.com/mcs-notebook/mcs/engine/tensor"
)
func main() {
	x := tensor.Randn(2, 3)
	// %kernels x.Sum()
	fmt.Println(x.Sum().Item())
}`},
		{"plots in pixels have letters", []string{"plot.Line([]int{1}).Save(`a`)"}, `
import (
	"github.com/mcs-notebook/mcs/engine/plot"
	_ "github.com/mcs-notebook/mcs/engine/plot/typeface"
	"log"
)
func main() {
	if err := plot.Line([]int{1}).Save("a"); err != nil {
		log.Fatal(err)
	}
}`},
		{"comments and printing stay", []string{"// greet\nfmt.Println(1) // one"}, `
import (
	"fmt"
)
func main() {
	// greet
	fmt.Println(1) // one
}`},
	} {
		src, err := Program(tt.cells)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := strings.TrimPrefix(src, "package main\n")
		for strings.Contains(got, "\n\n") {
			got = strings.ReplaceAll(got, "\n\n", "\n")
		}
		want := strings.ReplaceAll(tt.want, `"a"`, "`a`")
		want = strings.ReplaceAll(want, `"b"`, "`b`")
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		cells []string
		want  string
	}{
		{[]string{"x := nothing"}, "undefined: nothing, at `x := nothing`"},
		{[]string{"type t int", "type t string"}, "t redeclared in this block"},
		{[]string{"defer f()\nx := 1", "x"}, "a deferred call runs at the end of its cell, which declares variables, at `defer f()`"},
	} {
		if src, err := Program(tt.cells); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v\n%s\nwant an error with %q", tt.cells, err, src, tt.want)
		}
	}
}

// The real toolchain has the last word.
func TestProgramRuns(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command to compile:", err)
	}
	src, err := Program([]string{
		"import \"math\"\nwords := strings.Fields(`b a c`)",
		"sort.Strings(words)\nroot := math.Sqrt(16)",
		"type acc struct{ n int }\nfunc (a *acc) add(s string) { a.n += len(s) + len(words) }",
		"a := &acc{}\nfor _, w := range words {\n\ta.add(w)\n}",
		"n := strconv.Atoi(`5`)\nn := float64(n) * root",
		"fmt.Println(words, a.n, n)",
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "session.go")
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(goTool, "run", file).CombinedOutput()
	if want := "[a b c] 12 20\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q; program:\n%s", out, err, want, src)
	}
}

// TestEverybodyCallsTheNewestFunction, as in the session: closures, values and functions that are older than
// it.
func TestEverybodyCallsTheNewestFunction(t *testing.T) {
	src, err := Program([]string{
		"func f() int { return 1 }",
		"g := func() int { return f() }\nh := f\nfunc k() int { return f() }",
		"fmt.Print(g(), h(), k(), f(), ` `)",
		"func f() int { return 2 }",
		"fmt.Print(g(), h(), k(), f(), ` `)",
		"func f() int {\n\tif len(os.Args) > 99 {\n\t\treturn f()\n\t}\n\treturn 3\n}",
		"fmt.Println(g(), h(), k(), f())",
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "session.go")
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(toolchain(t), "run", file).CombinedOutput()
	if want := "1 1 1 1 2 2 2 2 3 3 3 3\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q; program:\n%s", out, err, want, src)
	}
}
