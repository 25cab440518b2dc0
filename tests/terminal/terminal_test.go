// Package terminal drives the real program through a pseudo-terminal, as a person does.
package terminal

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// program is the binary, built once for all tests.
var program string

// TestMain lets many tests run at once: most of them wait for a program that waits for keys.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "6")
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "mcs")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "mcs")
		if runtime.GOOS != "windows" {
			// Without symbols it is linked in half the time, and go run keeps what it has linked.
			build := exec.Command("go", "run", "-exec", "cp", "-ldflags=-s", "./repl/mcs", program)
			build.Dir = filepath.Join("..", "..")
			if out, err := build.CombinedOutput(); err != nil {
				os.Stderr.Write(out)
				panic("go run: " + err.Error())
			}
		}
		return m.Run()
	}())
}

// A home is a folder of its own for the history and the files of sessions.
type home struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) home {
	if runtime.GOOS == "windows" {
		t.Skip("creack/pty has no pseudo-terminals on windows")
	}
	return home{t, t.TempDir()}
}

// open starts a notebook in a terminal of 80×30 and waits for its prompt.
func (h home) open(env []string, args ...string) *screen.Program {
	h.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_CONFIG_HOME="+filepath.Join(h.dir, "config"), "TERM=xterm-256color", "NO_COLOR=")
	cmd.Env = append(cmd.Env, env...)
	p := screen.Start(h.t, cmd, 80, 30)
	p.See("In [1]:")
	return p
}

var emptyPrompt = regexp.MustCompile(`^In \[\d+\]:$`)

// ready waits until the notebook waits for a cell. Keys that are typed earlier reach a terminal in its
// ordinary mode, where Ctrl-C and Ctrl-D mean something else.
func ready(p *screen.Program) {
	p.Wait("an empty prompt", func() bool {
		_, _, line := p.Cursor()
		return emptyPrompt.MatchString(line)
	})
}

// run types a cell and Return. It waits until what the cell gives is seen and the notebook waits for the next
// one: on a busy machine the prompt of this one may still stand there.
func run(p *screen.Program, cell string, see ...string) {
	ready(p)
	_, _, before := p.Cursor()
	p.Send(pasteStart + cell + pasteEnd + "\r")
	for _, s := range see {
		p.See(s)
	}
	p.Wait("the next prompt", func() bool {
		_, _, line := p.Cursor()
		return emptyPrompt.MatchString(line) && line != before
	})
}

// leave presses Ctrl-D and expects the program to end well.
func leave(t *testing.T, p *screen.Program) {
	t.Helper()
	ready(p)
	p.Send("\x04\x04") // the first is answered where names are lost
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, p.Text())
	}
}

const (
	ctrlC                = "\x03"
	up                   = "\x1b[A"
	f5                   = "\x1b[15~"
	pasteStart, pasteEnd = "\x1b[200~", "\x1b[201~"
)

func TestTyping(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.See("%help")
	p.See("Ctrl-D leaves")
	p.Send("x := 20 + 1\r")
	p.See("In [2]:")
	p.Send("x * 2\r")
	p.See("Out[2]: 42\n\nIn [3]:")
	p.Send("x * 2;\r")
	p.See("In [4]:")
	if strings.Contains(p.Text(), "Out[3]") {
		t.Errorf("a semicolon must hide the value\n%s", p.Text())
	}
	p.Send("fmt.Println(\"printed\", x)\r")
	p.See("printed 21\n")
	p.Send("x + y\r")
	p.See("undefined: y")
	p.See("    x + y\n")
	p.See("^")
	p.Send("_ = []int{}[x]\r")
	p.See("index out of range")
	if !p.Coloured() {
		t.Error("nothing is coloured")
	}
	leave(t, p)
}

// An unfinished cell says what is missing, and can be run as it is. Return runs a cell that no line can
// mend.
func TestUnfinishedCells(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send("fmt.Println(\"hi)\r")
	p.See("In[1]:1:13: string literal not terminated")
	p.See("In [2]:")
	p.Send("f(1]\r")
	p.See("In[2]:1:4: unexpected ], want )")
	p.See("In [3]:")
	p.Send("x := []int{\r")
	p.See("… missing }")
	p.Send("len(\r")
	p.See("… missing )")
	p.Send(f5)
	p.See("In[3]:2:5: missing )")
	p.See("In [4]:")
	p.Send("/* a\r")
	p.See("… missing */")
	p.Send(f5)
	p.See("In[4]:1:1: comment not terminated")
	p.See("In [5]:")
	p.Send("y := `a\r")
	p.See("… missing `")
	p.Send("`; y + \r")
	p.See("… missing an operand")
	p.Send("`b`\r")
	p.See("Out[5]: `a\n        b`")
	leave(t, p)
}

func TestMultiLineFunction(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send("func fib(n int) int {\r")
	p.SeeCursor(12, 3)
	p.Send("if n < 2 {\r")
	p.SeeCursor(16, 4)
	p.Send("return n\r")
	p.SeeCursor(16, 5)
	p.Send("}\r")
	p.SeeCursor(12, 6)
	p.Send("return fib(n-1) + fib(n-2)\r")
	p.SeeCursor(12, 7)
	p.Send("}\r")
	p.See("In [2]:")
	p.See(`In [1]: func fib(n int) int {
            if n < 2 {
                return n
            }
            return fib(n-1) + fib(n-2)
        }
`)
	p.Send("fib(10)\r")
	p.See("Out[2]: 55")
	leave(t, p)
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send("weights := 3\r")
	p.See("In [2]:")
	p.Send("wei\t + 1\r")
	p.See("Out[2]: 4")
	p.Send("strings.ToUpp\t(\"loud\")\r")
	p.See("strings.ToUpper(\"loud\")\n")
	p.See(`Out[3]: "LOUD"`)
	p.Send("%who\t")
	p.SeeLine("In [4]: %whos")
	p.Send("\r")
	p.See("weights")
	p.See("In [5]:")
	p.Send("strings.To\t\t") // several: a menu
	p.See("ToTitle")
	p.Send(ctrlC + ctrlC)
	p.See("In [5]:")
	leave(t, p)
}

// The notebook opens on the device that the command line names, and %device changes it; Tab knows the names.
func TestDevice(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil, "-device", "cpu:1")
	p.See("cpu:1: 1 thread,")
	run(p, "tensor.Ones(2).Device().String()", `Out[1]: "cpu:1"`)
	p.Send("%device re\t")
	p.SeeLine("In [2]: %device ref")
	p.Send("\r")
	p.See("reference, float64")
	run(p, "tensor.Ones(2).Device().String()", `Out[3]: "ref"`)
	run(p, "%device abacus", `got "abacus", want cpu, cpu:N for N threads, `)
	leave(t, p)
}

func TestHistoryAcrossRuns(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.open(nil)
	p.Send(pasteStart + "func twice(n int) int {\n\treturn 2 * n\n}\n" + pasteEnd)
	p.SeeLine("        }")
	p.Send("\r")
	p.See("In [2]:")
	p.Send("twice(21)\r")
	p.See("Out[2]: 42")
	leave(t, p)

	p = h.open(nil)
	p.Send(up + up)
	p.SeeLine("In [1]: func twice(n int) int {")
	p.See("            return 2 * n\n        }")
	p.Send("\r")
	p.See("In [2]:")
	ready(p)
	p.Send("\x12(21") // search
	p.See("In [2]: twice(21)")
	p.Send("\r")
	p.See("Out[2]: 42")
	ready(p)
	p.Send("1 + 1\x12(21x") // a search that finds nothing runs nothing
	p.See("no cell has: (21x")
	p.Send("\r")
	p.See("In [3]: 1 + 1")
	p.Send("\r")
	p.See("Out[3]: 2")
	leave(t, p)
}

// A narrow terminal breaks help between words.
func TestHelpInNarrowTerminal(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Resize(40, 60)
	p.Send("%help timeit\r")
	p.See("time a statement until the median")
	p.See("The statement is compiled once and run\nagain and again.")
	leave(t, p)
}

// The words that people type by habit do what they say, unless the session has such a name.
func TestWordsOfHabit(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	run(p, "help", "%timeit")
	run(p, "help()", "%timeit")
	run(p, "help := 41", "In [4]:")
	run(p, "help", "Out[4]: 41")
	run(p, "quit := func() int { return 7 }", "In [6]:")
	run(p, "quit()", "Out[6]: 7")
	p.Send("exit()\r")
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestStepsThroughFile(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	text := "// %% [markdown]\n// # Seven\n// %% a number\nx := 6\n// %%\nx * 7\n// > 42\n\nx + 1\n"
	if err := os.WriteFile(filepath.Join(h.dir, "a.mcs"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := h.open(nil, "a.mcs")
	p.See("a.mcs has 3 cells")
	p.See("Seven\n═════")
	p.SeeLine("In [1]: x := 6")
	p.See("a.mcs 1/3 · a number")
	p.Send("\r")
	p.SeeLine("In [2]: x * 7")
	p.Send("\r")
	p.See("Out[2]: 42")
	p.SeeLine("In [3]: x + 1")
	p.Send("\x1b[5~" + up)
	p.SeeLine("In [3]: x := 6") // the history has the cells that ran; x * 7 is shown already
	p.Send("\x1b[6~\r")
	p.See("Out[3]: 7")
	leave(t, p)
}

func TestPasteIsOneCell(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send(pasteStart + "a := 1\nb := 2\na + b\n" + pasteEnd)
	p.SeeLine("        a + b")
	p.Send("\r")
	p.See("Out[1]: 3\n")
	leave(t, p)
}

func TestInterruptBusyLoop(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send("n := 7\r")
	p.See("In [2]:")
	p.Send("fmt.Println(\"spinning\"); for { n++; n-- }\r")
	p.See("\nspinning")
	p.Send(ctrlC)
	p.See("interrupted")
	p.See("In [3]:")
	p.Send("fmt.Println(\"sleeping\"); time.Sleep(time.Hour)\r")
	p.See("\nsleeping")
	p.Send(ctrlC)
	p.See("In [4]:")
	p.Send("n >= 7\r") // variables stay
	p.See("Out[4]: true")
	ready(p)
	p.Send(ctrlC + ctrlC)
	p.See("Ctrl-D leaves\nIn [5]:")
	leave(t, p)
}

// An interrupted training keeps its steps, and says so.
func TestInterruptTraining(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send(pasteStart + `m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Seed: 1})
batches := data.Windows(strings.Repeat("one two three four ", 500), 16, 8)
o := train.Options{Steps: 1_000_000, LR: optim.Constant(1e-3)}` + pasteEnd + "\r")
	p.See("In [2]:")
	ready(p)
	p.Send("run := train.Run(ctx, m, batches, o)\r")
	p.See("/1,000,000 ") // the live line
	p.Send(ctrlC)
	p.See("interrupted")
	p.See("In [3]:")
	ready(p)
	p.Send("m.Generate(ctx, \"one \", llm.Sampling{Tokens: 4})\r")
	p.See("Out[3]: \"")
	leave(t, p)
}

func TestResize(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send("xs := make([]int, 30)")
	p.SeeLine("In [1]: xs := make([]int, 30)")
	p.Resize(40, 30)
	p.Send("\r")
	p.See("In [2]:")
	p.Send("xs\r")
	p.See("Out[2]: [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n         0") // the new width
	leave(t, p)
}

func TestNoColour(t *testing.T) {
	t.Parallel()
	p := newHome(t).open([]string{"NO_COLOR=1"})
	p.Send("func f() {}; 1 + \"x\"\r")
	p.See("^")
	p.See("In [2]:")
	if p.Coloured() {
		t.Errorf("colours in spite of NO_COLOR\n%s", p.Text())
	}
	leave(t, p)
}
