package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/internal/presses"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// busy are cells that do not end by themselves, in the ways in which cells can fail to.
var busy = []string{
	`fmt.Println("begun"); for {}`,
	`fmt.Println("begun"); defer func() { for {} }(); for {}`,
	`fmt.Println("begun"); bad`,
	`fmt.Println("begun"); for { big = big.MatMul(big).Tanh().Eval() }`,
	`fmt.Println("begun"); bufio.NewScanner(r).Scan()`,
}

const beforeBusy = "type Bad struct{}; func (Bad) String() string { for {} }; bad := Bad{}; r, _ := io.Pipe(); big := tensor.Randn(1500, 1500);"

// begin runs a cell that does not end.
func begin(t *testing.T, h home, cell string) *screen.Program {
	t.Helper()
	s := h.open(nil)
	s.Send(beforeBusy + "\r")
	s.See("In [2]:")
	s.Send(cell + "\r")
	s.See("\nbegun")
	return s
}

// The end of the system or of the terminal ends the program soon, whatever it does; the cells are in the
// history, and the terminal is given back. The limit is one second, with more for a test on a shared
// machine.
func TestEndsWhateverItDoes(t *testing.T) {
	for i, cell := range busy {
		for k, end := range []string{"SIGTERM", "hangup"} {
			if !long.Tests() && (i+k)%2 > 0 { // each cell once, and each end
				continue
			}
			t.Run(cell+" "+end, func(t *testing.T) { endsBy(t, cell, end) })
		}
	}
}

func endsBy(t *testing.T, cell, end string) {
	t.Parallel()
	h := newHome(t)
	p := begin(t, h, cell)
	start := time.Now()
	if end == "hangup" {
		p.Hangup()
	} else {
		p.Terminate()
	}
	p.Exit()
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	if p.PastesBracketed() {
		t.Error("pastes still come in brackets")
	}
	files, _ := filepath.Glob(filepath.Join(h.dir, "config", "*", "*"))
	kept := ""
	for _, f := range files {
		text, _ := os.ReadFile(f)
		kept += string(text)
	}
	if !strings.Contains(kept, "begun") {
		t.Errorf("the cell is not in the history %q: %s", files, kept)
	}
}

// hold holds Ctrl-C for longer than the pause after which a press is one of its own.
func hold(t *testing.T, p *screen.Program) {
	t.Helper()
	last := time.Now()
	for range 36 {
		if gap := time.Since(last); gap > presses.Pause {
			t.Skipf("the machine has kept the test from holding the key for %v", gap)
		}
		last = time.Now()
		p.Send(ctrlC)
		time.Sleep(33 * time.Millisecond)
	}
}

// A key that is held sends Ctrl-C again and again: it interrupts, and nothing more.
func TestHeldCtrlC(t *testing.T) {
	for _, cell := range busy {
		t.Run(cell, func(t *testing.T) {
			t.Parallel()
			p := begin(t, newHome(t), cell)
			hold(t, p)
			p.See("interrupted")
			p.See("In [3]:")
			p.Send("21 * 2\r")
			p.See("]: 42\n")
		})
	}
}

// A terminal that is late sees what mcs says after a cell, though the key repeats: as a signal, it would have
// the system drop what the terminal has not read.
func TestHeldCtrlCOfALateTerminal(t *testing.T) {
	long.InCI(t, "waits for seconds")
	p := newHome(t).open(nil)
	p.Send("fmt.Println(\"begun\"); time.Sleep(time.Second); fmt.Println(strings.Repeat(\"x\", 10000)); for {}\r")
	p.See("\nbegun")
	resume := p.Pause()
	time.Sleep(2 * time.Second) // now the system keeps what the terminal has not read
	for range 1000 {
		p.Send(ctrlC)
		time.Sleep(10 * time.Microsecond)
	}
	resume()
	p.See("interrupted")
}

// A kernel that does not end is ended by Ctrl-C, and the next one runs. What a compiler refuses is said with
// the line of the cell.
func TestInterruptKernel(t *testing.T) {
	t.Parallel()
	if err := kernel.Checked(); err != nil {
		t.Skip(err)
	}
	cache, err := os.UserCacheDir() // where the compiled prelude is
	if err != nil {
		t.Skip(err)
	}
	p := newHome(t).open([]string{"XDG_CACHE_HOME=" + cache})
	p.Send(pasteStart + "spin := kernel.New(\"spin\", `\nkernel void spin(device const float* x, device float* y) {\n" +
		"  while (x[0] > 0) threadgroup_barrier(mem_flags::mem_none);\n  y[0] = 7;\n}`, kernel.Options{})" + pasteEnd + "\r")
	p.See("In [2]:")
	p.Send("spin.Call(tensor.Zeros(1)).Item()\r")
	p.See("Out[2]: 7")
	p.See("In [3]:")
	p.Send("fmt.Println(\"spinning\"); spin.Call(tensor.Ones(1)).Item()\r")
	p.See("\nspinning")
	p.Send(ctrlC)
	p.See("interrupted")
	p.See("In [4]:")
	p.Send("spin.Call(tensor.Zeros(1)).Item()\r")
	p.See("Out[4]: 7")
	p.See("In [5]:")
	p.Send(pasteStart + "bad := kernel.New(\"bad\", `\nkernel void bad(device const float* x, device float* y) {\n  y[0] = z;\n}`, kernel.Options{})\nbad.Call(tensor.Ones(1))" + pasteEnd + "\r")
	p.See("In[5]:3:10: use of undeclared identifier 'z'")
	leave(t, p)
}

// A goroutine that an earlier cell has left uses up the stack while the next one is typed: it ends, nothing
// else.
func TestGoroutineAtThePrompt(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send("kept := 41; go func() { time.Sleep(200 * time.Millisecond); var f func(int) int; f = func(n int) int { return f(n+1) + 1 }; f(0) }()\r")
	p.See("In [2]:")
	p.Send("kept + ")
	p.See("stack limit reached")
	p.SeeLine("In [2]: kept + ")
	p.Send("1\r")
	p.See("Out[2]: 42")
	leave(t, p)
}
