package gofile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/stdlib"
)

// TestExportsOfExamples: the sessions that come with mcs are programs that compile.
func TestExportsOfExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.mcs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	programs := map[string]string{}
	for _, name := range files {
		f, err := mcsfile.Read(name, name)
		if err != nil {
			t.Fatal(err)
		}
		var cells []string
		for _, c := range f.Code() {
			cells = append(cells, c.Source)
		}
		src, err := Program(cells)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		programs[strings.TrimSuffix(filepath.Base(name), ".mcs")] = src
	}
	if check(t, programs); !long.Tests() {
		return
	}
	goTool, dir := toolchain(t), t.TempDir()
	for name, src := range programs {
		file := filepath.Join(dir, name+".go")
		if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
		// go vet checks as go build does, and does not link.
		if out, err := exec.Command(goTool, "vet", file).CombinedOutput(); err != nil && !onlyStyle(string(out)) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// check checks that programs compile, with the types that cells have. With -long the go command decides, too.
func check(t *testing.T, programs map[string]string) {
	t.Helper()
	fset := token.NewFileSet()
	conf := types.Config{Importer: stdlib.Importer()}
	for name, src := range programs {
		file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err == nil {
			_, err = conf.Check("main", fset, []*ast.File{file}, nil)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, src)
		}
	}
}

// onlyStyle says whether go vet found nothing that keeps a program from being compiled.
func onlyStyle(out string) bool { return !strings.Contains(out, "vet: ") }

func toolchain(t *testing.T) string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command to compile:", err)
	}
	return goTool
}

// snippets are cells as people write them. Names are shared, so that random sessions declare them again, with
// the same type and with others, and use what another cell declared.
var snippets = []string{
	"x := 1 // right?",
	"x := 1 /* or\n%time y\n2? */",
	"s := `a\n%whos\n!ls\nx?`",
	"x := 2.5",
	`x := "text"`,
	"x = x",
	"x",
	"x;",
	"var y int",
	"var y, z = 1, 2",
	"y++",
	"y, z := z, y",
	"const k = 3",
	"func f() int { return 1 }",
	"func f(n int) int { return n }",
	"f()",
	"g := f\ng()",
	"func h() { y++ }",
	"h(); h()",
	"type T struct{ A int }",
	"type T struct{ A, B int }",
	"func (t T) String() string { return fmt.Sprint(t.A) }",
	"t := T{A: 1}\nt",
	"b := os.ReadFile(`none`)",
	"b := os.ReadFile(`none`)\nlen(b)",
	`n := strconv.Atoi("5")`,
	`n, err := strconv.Atoi("5")` + "\nerr",
	`err := errors.New("x")`,
	"err",
	"os.Remove(`none`)",
	"import \"math\"\nmath.Pi",
	"import m \"math\"\nm.Pi",
	"%time x",
	"%%time\nx + x",
	"!ls `",
	"x?",
	"for i := range 3 {\n\tif i > y { continue }\n\ty += i\n}",
	"loop: for {\n\tbreak loop\n}",
	"go func() { y = 1 }()",
	"defer fmt.Println(y)",
	"if y := 2; y > 1 {\n\tfmt.Println(y)\n}",
	"switch v := any(x).(type) {\ncase int:\n\tfmt.Println(v)\n}",
	"func gen[E any](e E) []E { return []E{e} }\ngen(x)",
	"ctx.Err()",
	"_ = x",
	"_",
	"// only a comment",
	"fmt.Println(x) // prints?",
	"a, b2 := 1, 2; a + b2",
	"func() { x := 1; fmt.Println(x) }()",
	"m := map[string]int{}\nm[\"a\"]++",
	"main := 1\nmain",
	"func main() {}",
	"init := 2",
	"fmt := 1",
	"len := 3\nlen",
	"string := `s`",
	"var e error = fs.ErrExist\ne",
	"log := 1\nc := os.ReadFile(`none`)",
	"x := x",
	"{\n\tx := 3\n\tfmt.Println(x)\n}",
}

// TestExportsCompile: a session is exported as a program that compiles, or refused, whatever was typed in
// what order.
func TestExportsCompile(t *testing.T) {
	n := 60
	if long.Tests() {
		n = 5000
	}
	programs := map[string]string{}
	for i := range n {
		r := rand.New(rand.NewPCG(9, uint64(i)))
		cells := []string{"x, y := 1, 0", snippets[i%len(snippets)]}
		for range r.IntN(6) {
			cells = append(cells, snippets[r.IntN(len(snippets))])
		}
		if src, err := Program(cells); err == nil {
			programs[fmt.Sprintf("p%d", i)] = fmt.Sprintf("// %q\n", cells) + src
		}
	}
	t.Logf("%d of %d sessions are programs", len(programs), n)
	if check(t, programs); !long.Tests() {
		return
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module exported\n\ngo 1.26\n")
	for name, src := range programs {
		write(name+"/main.go", src)
	}
	build := exec.Command(toolchain(t), "build", "./...")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
		for line := range strings.SplitSeq(string(out), "\n") {
			if name, ok := strings.CutPrefix(line, "# exported/"); ok {
				t.Logf("%s", programs[name])
			}
		}
	}
}
