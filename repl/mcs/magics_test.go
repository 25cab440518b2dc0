package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
)

// forMagics declares the names that the examples of commands use.
const forMagics = `// %%
m := llm.Load(ctx, "Qwen2.5-0.5B-Instruct")
ids := tensor.From([][]int{{1, 2, 3}})
n := 8
x, w := tensor.Randn(8, 8), tensor.Randn(8, 8).Param()
base := nn.NewLinear(8, 8)
type pair struct{ A, B tensor.Tensor; Scale float32 }
part := pair{tensor.Randn(8, 2), tensor.Randn(2, 8), 2}
layer := base
c := []int{}
loss := x.MatMul(w).Sum()
func f() int { return 1 }
func area(r float64) float64 { return r * r }
func step() { x.MatMul(w).Eval() }
func attention(x tensor.Tensor) tensor.Tensor { return x.MatMul(x).Softmax(-1) }
type net struct{}
func (net) Forward(x tensor.Tensor) tensor.Tensor { return attention(x) }
model := net{}
before := map[string]int{"a": 1}
table := []int{1, 2, 3}
file := "houses.csv"
`

// quickly shortens measurements, whose outputs have the same form.
var quickly = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("%timeit -t 10s", "%timeit -t 20ms", "%timeit ", "%timeit -t 20ms ", "%bench ", "%bench -t 20ms ", "%profile m", "%profile -t 20ms m", "%profile -o ", "%profile -t 20ms -o ", "%lprof ", "%lprof -t 20ms ",
		"64..512*2", "4..8*2", "-assert 'fused <= 1.1*plain' ", "", "-source matmul_silu ", "")
})

// What mcs test -u writes for the example of each command is what mcs test finds in the next run, whatever
// the command measures. Without CI=1 it is a quarter of the commands.
func TestMagicExamplesAreStable(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("some examples are lines for sh")
	}
	left := map[string]string{
		"edit":     "opens an editor",
		"!":        "shows what another program prints",
		":=!":      "holds what another program prints",
		"get":      "needs a proxy of modules; its test is beside the session",
		"roofline": "measures the machine's ceilings for seconds; its session is in magics/testdata",
		"mem":      "lists what the process of all sessions holds; its session is in magics/testdata",
	}
	files := map[string]string{}
	for i, m := range magics.Magics() {
		if _, ok := left[m.Name]; ok || m.Example == "" || i%4 > 0 && !long.CI() {
			continue
		}
		text := forMagics
		for line := range strings.Lines(m.Example) {
			text += "// %%\n" + quickly().Replace(strings.TrimSpace(line)) + "\n// >\n"
		}
		name := strings.NewReplacer("?", "q", "!", "sh", ":=", "to").Replace(m.Name)
		files[fmt.Sprintf("magic_%s.mcs", name)] = text
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if !yield(name) {
				return
			}
		}
	})
	base, dir := documentFiles(t), filepath.Join(t.TempDir(), "work")
	env := []string{"XDG_CONFIG_HOME=" + filepath.Join(dir, "config")}
	for _, update := range []bool{true, false} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
		files["setup.mcs"] = "// %%\nk := 3\n"
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		args := append([]string{"test"}, names...)
		if update {
			args = append([]string{"test", "-u"}, names...)
		}
		stdout, stderr, code := mcsWith(t, dir, env, "", args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d\n%s%s", args[:2], code, stdout, stderr)
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
	}
}
