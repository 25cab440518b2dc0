package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLearn is a course in the terminal: prose, a failed check, which keeps the learner there, a hint, Ctrl-C
// in an endless loop, leaving and coming back.
func TestLearn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if err := os.CopyFS(filepath.Join(h.dir, "course"), os.DirFS("../../repl/lesson/testdata/course")); err != nil {
		t.Fatal(err)
	}
	p := h.open(nil, "learn", "course")
	p.See("2 lessons · 0 of 3 exercises right")
	p.See("lesson 1 of 2, 01-sums: 0 of 2 exercises right")
	p.See("Sums\n════")
	p.See("01-sums.mcs 1/5 · a tensor")
	p.Send("\r")
	p.SeeLine("In [3]: x.Sum()")
	p.Send("\r")
	p.See("01-sums.mcs 3/5 · exercise dot")
	p.Send("\r") // as it was given
	p.See("dot is not right yet\n  got shape [3], want []")
	p.See("In [5]: func dot")
	p.See("01-sums.mcs 3/5 · exercise dot")
	p.Send(ctrlC + "%hint\r")
	p.See("dot, hint 1 of 2. First multiply: x.Mul(y).")
	p.See("In [6]: func dot(x, y tensor.Tensor) tensor.Tensor {")
	p.Send(ctrlC + "func dot(x, y tensor.Tensor) tensor.Tensor { for {} }; fmt.Println(\"checking\")\r")
	p.See("\nchecking")
	p.Send(ctrlC)
	p.See("interrupted")
	p.See("In [7]: func dot")
	p.Send(ctrlC + "func dot(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y).Sum() }\r")
	p.See("✓ dot is right: 2 points")
	p.SeeLine("In [8]: dot(tensor.Ones(3), tensor.Range(3))")
	p.Send(ctrlC + "%help hint\r")
	p.See("a hint for the exercise; again, the next one")
	p.Send("%les\t")
	p.See("%lesson")
	p.Send(ctrlC + "exit\r")
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	p = h.open(nil, "learn", "course")
	p.See("1 of 3 exercises right")
	p.See("3 cells before here ran again")
	p.See("Now use it.")
	p.See("01-sums.mcs 4/5")
	p.Send("\r")
	p.See("Out[5]:")
	p.Send(ctrlC + "exit\r")
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if kept, err := os.ReadFile(filepath.Join(h.dir, "course/work/01-sums.mcs")); err != nil || !strings.Contains(string(kept), "return x.Mul(y).Sum()") {
		t.Errorf("kept %s, %v", kept, err)
	}
}
