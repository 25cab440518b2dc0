package term

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/presses"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// The tests run this test binary again in a pseudo-terminal, as a notebook with a session that does as it is
// told.
const asNotebook = "MCS_TEST_AS_NOTEBOOK"

func TestMain(m *testing.M) {
	if os.Getenv(asNotebook) == "" {
		flag.Parse()
		flag.Set("test.parallel", "8") // most tests wait for a program that waits for keys
		os.Exit(m.Run())
	}
	chords[named('p')] = func(*cellEditor) { panic("as it was told") }
	err := Run(context.Background(), Options{
		Open: func(o session.Options) (Session, error) { return &obedient{io: o}, nil },
		Complete: func(cell string, pos int) (int, []session.Completion) {
			if !strings.HasPrefix(cell, "%") {
				return 0, nil
			}
			return 1, []session.Completion{{Text: "time"}, {Text: "timeit"}}
		},
		Banner: "notebook · Ctrl-D leaves",
	})
	if err != nil {
		fmt.Println("Run:", err)
		os.Exit(1)
	}
}

// obedient is a session whose cells say what it shall do; any other cell is shown as the string that it is.
type obedient struct {
	io session.Options
	n  int
}

func (s *obedient) Next() int    { return s.n + 1 }
func (s *obedient) Close() error { return nil }

func (s *obedient) Complete(cell string, pos int) (int, []session.Completion) {
	from := pos
	for from > 0 && (cell[from-1] >= 'a' && cell[from-1] <= 'z' || cell[from-1] >= 'A' && cell[from-1] <= 'Z') {
		from--
	}
	var list []session.Completion
	if strings.HasSuffix(cell[:from], "many.") {
		for i := range 16 {
			list = append(list, session.Completion{Text: fmt.Sprint("Name", i), Detail: fmt.Sprint("the number ", i)})
		}
		return from, list
	}
	for _, name := range []string{"MatMul", "Mean", "Softmax"} {
		if subsequence(cell[from:pos], name) {
			list = append(list, session.Completion{Text: name, Kind: "func", Detail: name + " of tensors", Doc: name + " is a function that needs many words."})
		}
	}
	return from, list
}

// Hint tells about calls of f.
func (s *obedient) Hint(cell string, pos int) (session.Hint, bool) {
	open := strings.LastIndex(cell[:pos], "f(")
	if open < 0 || strings.Contains(cell[open:pos], ")") {
		return session.Hint{}, false
	}
	h := session.Hint{Signature: "f(x int, y string)", From: 2, To: 7, Doc: "F does it."}
	if strings.Contains(cell[open:pos], ",") {
		h.From, h.To = 9, 17
	}
	return h, true
}

func (s *obedient) Run(ctx context.Context, cell string) session.Result {
	s.n++
	r := session.Result{N: s.n}
	verb, rest, _ := strings.Cut(cell, " ")
	switch verb {
	case "print":
		fmt.Fprint(s.io.Stdout, rest)
	case "later":
		go func() {
			time.Sleep(50 * time.Millisecond)
			fmt.Fprintln(s.io.Stdout, rest)
		}()
	case "signal":
		go func() {
			time.Sleep(50 * time.Millisecond)
			self, _ := os.FindProcess(os.Getpid())
			self.Signal(map[string]os.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[rest])
		}()
	case "slow":
		fmt.Fprintln(s.io.Stdout, "slow begins")
		time.Sleep(500 * time.Millisecond)
	case "wait":
		fmt.Fprintln(s.io.Stdout, "waiting")
		<-ctx.Done()
		r.Err = errors.New("interrupted")
	case "deaf":
		fmt.Fprintln(s.io.Stdout, "not listening")
		<-ctx.Done()
		fmt.Fprintln(s.io.Stdout, "heard, but")
		select {}
	case "read":
		fmt.Fprintln(s.io.Stdout, "reading")
		line, err := bufio.NewReader(s.io.Stdin).ReadString('\n')
		r.Shown = append(r.Shown, display.Text(fmt.Sprintf("read %q %v", line, err)))
	case "steps":
		for i := int64(1); i <= 4; i++ {
			s.io.Progress("step", i, 4, "loss 1.5", 0)
		}
	case "fail":
		r.Err = errors.New("In[1]:1:3: x.Foo undefined\n    x.Foo()\n      ^^^")
	case "progress":
		go func() {
			for i := int64(1); i <= 3; i++ {
				s.io.Progress("far", i, 4, rest, 0)
				time.Sleep(150 * time.Millisecond)
			}
		}()
	case "edit":
		r.Shown = append(r.Shown, toEdit(rest))
	case "code":
		r.Shown = append(r.Shown, styledCode(rest))
	default:
		r.Out = true
		r.Shown = append(r.Shown, display.Text(fmt.Sprintf("%q", cell)))
	}
	return r
}

// toEdit is what %edit gives.
type toEdit string

func (e toEdit) Text(int) string { return string(e) }
func (e toEdit) Edit() string    { return string(e) }

// styledCode shows Go source as ?? does.
type styledCode string

func (c styledCode) Text(int) string { return string(c) }
func (c styledCode) StyledText(_ int, s display.Style) string {
	return s.Paint(display.Code, string(c))
}

// notebookIn starts the notebook in a terminal of 72×24; its history is kept in dir.
func notebookIn(t *testing.T, dir string, env ...string) *screen.Program {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no pseudo-terminals for this test on windows")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), asNotebook+"=1", "XDG_CONFIG_HOME="+dir, "HOME="+dir, "TERM=xterm-256color", "NO_COLOR=")
	cmd.Env = append(cmd.Env, env...)
	p := screen.Start(t, cmd, 72, 24)
	p.See("In [1]:")
	return p
}

func TestNotebook(t *testing.T) {
	t.Parallel()
	p := notebookIn(t, t.TempDir())
	const margin, first = len("In [1]: "), 2
	p.Send("func f() {\r")
	p.SeeCursor(margin+4, first+1)
	if c, _ := p.ColourOf("func"); c != string(magenta) {
		t.Errorf("keyword has the colour %q, want %q", c, magenta)
	}
	p.Send("if x {\r")
	p.SeeCursor(margin+8, first+2)
	p.Send("g()\r")
	p.SeeCursor(margin+8, first+3)
	p.Send("}\r")
	p.SeeCursor(margin+4, first+4)
	p.Send("}\r")
	p.See("In [2]:")
	want := `notebook · Ctrl-D leaves

In [1]: func f() {
            if x {
                g()
            }
        }
Out[1]: "func f() {\n\tif x {\n\t\tg()\n\t}\n}"

In [2]:`
	if got := p.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p.Send("%ti\tit x\r") // a command that the table of commands completes
	p.See(`Out[2]: "%timeit x"`)
	p.See("In [3]:")
	p.Send(pageUp)
	p.SeeLine("In [3]: func f() {")
	p.Send("\r")
	p.See(`Out[3]: "func f() {\n`)
	p.See("In [4]:")
	p.Send("\x04")
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestHistoryAcrossSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := notebookIn(t, dir)
	p.Send(pasteStart + "f {\n\tg\n}" + pasteEnd + "\r")
	p.See("In [2]:")
	p.Send("second\r")
	p.See("In [3]:")
	p.Send("\x04")
	p.Exit()
	p = notebookIn(t, dir)
	p.Send(up)
	p.SeeLine("In [1]: second")
	p.Send(up)
	p.SeeLine("In [1]: f {")
	p.See("            g\n        }")
	p.Send("\r")
	p.See(`Out[1]: "f {\n\tg\n}"`)
}

func TestInterrupts(t *testing.T) {
	t.Parallel()
	p := notebookIn(t, t.TempDir())
	p.Send("f {\r")
	p.SeeCursor(len("In [1]: ")+4, 3)
	p.Send("\x03")
	p.See("^C\nIn [1]:")
	p.Send("abc\x03")
	p.See("abc^C\nIn [1]:")
	p.Send("\x03")
	p.See("^C\nIn [1]: ^C\nIn [1]:")
	p.Send("\x03")
	p.See("Ctrl-D leaves\nIn [1]:")
	p.Send("wait\r")
	p.See("waiting")
	p.Send("\x03")
	p.See("waiting\n^C\ninterrupted\nIn [2]:")
	p.Send("deaf\r")
	p.See("not listening")
	p.Send("\x03")
	p.See("^C\nheard, but") // two signals at once would be one
	hold := func() {        // the key, whose repeats mean nothing
		for range 15 {
			time.Sleep(33 * time.Millisecond)
			p.Send("\x03")
		}
		time.Sleep(presses.Pause + time.Second) // which the notebook counts by its own ticks, fewer on a busy machine
	}
	hold()
	if strings.Contains(p.Text(), "is dropped") {
		t.Errorf("a held Ctrl-C drops the cell\n%s", p.Text())
	}
	p.Send("\x03")
	p.See("the cell is dropped; Ctrl-C again leaves mcs")
	hold()
	p.Send("\x03")
	if code := p.Exit(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	p := notebookIn(t, t.TempDir())
	p.Send("print no newline\r")
	p.See("no newline\nIn [2]:")
	p.Send("later from a goroutine\rtyped")
	p.See("\nfrom a goroutine\nIn [3]: typed")
	p.Send("\x15steps\r")
	p.See("step 4/4 ███████████████ loss 1.5 ·")
	p.See("In [4]:")
	p.Send("read\rmy line\r")
	p.See("read \"my line\\n\" <nil>\nIn [5]:") // what is typed before is typed for the cell
	p.Send("read\r")
	p.See("In [5]: read\nreading")
	p.Send("\x03")
	p.See("read \"\" EOF\nIn [6]:")
	p.Send("after\r") // the read that was given up must not swallow this
	p.See(`Out[6]: "after"`)
	p.Send("fail\r")
	p.See("In[1]:1:3: x.Foo undefined\n    x.Foo()\n      ^^^\nIn [8]:")
	if c, _ := p.ColourOf("^^^"); c != string(boldRed) {
		t.Errorf("carets have the colour %q, want %q", c, boldRed)
	}
	p.Send("code return nil // done\r")
	p.See("\nreturn nil // done")
	if c, _ := p.ColourOf("// done"); c != string(grey) {
		t.Errorf("a comment has the colour %q, want %q", c, grey)
	}
	p.Send("exit\r")
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestWithoutColours(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		t.Run(env, func(t *testing.T) {
			p := notebookIn(t, t.TempDir(), env)
			p.Send("func f() {\r")
			p.See("… missing }")
			p.Send("}\r")
			p.See("In [2]:")
			p.Send("fail\r")
			p.See("^^^\nIn [3]:")
			if p.Coloured() {
				t.Errorf("colours with %s", env)
			}
			if env == "TERM=dumb" {
				p.Send("\x03")
				p.See("In [3]: ^C\nIn [3]:")
			}
			p.Send("\x04")
			if code := p.Exit(); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
		})
	}
}

func TestTerminated(t *testing.T) {
	t.Parallel()
	p := notebookIn(t, t.TempDir())
	p.Send("unfinished")
	p.SeeLine("In [1]: unfinished")
	p.Terminate()
	p.See("context canceled")
	if code := p.Exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}

// The end of the terminal, or of the system, ends the notebook soon whatever its cell does, and the terminal
// is as it was.
func TestTerminatedWhileBusy(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"TERM", "HUP"} {
		t.Run(s, func(t *testing.T) {
			t.Parallel()
			p := notebookIn(t, t.TempDir())
			p.Send("signal " + s + "\rdeaf\r")
			p.See("not listening")
			start := time.Now()
			if code := p.Exit(); code != exitTerminated {
				t.Errorf("exit code %d, want %d", code, exitTerminated)
			}
			if took := time.Since(start); took > 10*time.Second { // the bar is one second; others use the machine, too
				t.Errorf("it took %v", took)
			}
			if p.PastesBracketed() {
				t.Error("pastes still come in brackets")
			}
		})
	}
}

// What is not a whole line yet, and what goroutines report of their work, stands above the prompt while a
// cell is typed.
func TestUnfinishedOutput(t *testing.T) {
	t.Parallel()
	p := notebookIn(t, t.TempDir())
	p.Send("progress loss 2.5\rtyped")
	p.See("far 3/4 ███████████▎░░░ loss 2.5")
	p.Wait("the line of progress once, above the cell", func() bool {
		return strings.Count(p.Text(), "far 3/4") == 1 && strings.HasSuffix(p.Text(), "\nIn [2]: typed")
	})
	p.Send("\r")
	p.See(`Out[2]: "typed"`)
}

// %edit gives a cell to the person's editor; here one that adds a line.
func TestEditor(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "editor")
	if err := os.WriteFile(script, []byte("echo editing \"$1\"\necho 'added()' >> \"$2\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The script is read, not executed: a process that another test forks may hold it open for writing still.
	p := notebookIn(t, dir, "VISUAL=sh "+script+" -w")
	p.Send("edit x := 1\r")
	p.See("editing -w")
	p.SeeLine("        added()")
	p.See("In [2]: x := 1\n        added()")
	p.Send("\x18\x05") // Ctrl-X Ctrl-E: the cell that is being typed
	p.See("        added()\n        added()")
	p.Send("\r")
	p.See(`Out[2]: "x := 1\nadded()\nadded()"`)
	p.See("In [3]:")
	p.Send("\x04")
	p.Exit()

	p = notebookIn(t, dir, "VISUAL=", "EDITOR="+filepath.Join(dir, "missing"))
	p.Send("edit x\r")
	p.See("no such file")
	p.See("In [2]:")
	p.Send("y\x18\x05")
	p.See("no such file or directory\nIn [2]: y")
}

// What is typed while a cell runs is kept: whole lines run one after the other, the rest is there to go on.
func TestTypeAhead(t *testing.T) {
	t.Parallel()
	p := notebookIn(t, t.TempDir())
	p.Send("slow\r")
	p.See("slow begins")
	p.Send("first\r")
	p.Send("second\r")
	p.Send("thi")
	p.See(`Out[2]: "first"`)
	p.See(`Out[3]: "second"`)
	p.SeeLine("In [4]: thi")
	p.Send("rd\r")
	p.See(`Out[4]: "third"`)
}

// However mcs ends, the shell gets its terminal back.
func TestTerminalIsRestored(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs sh and stty")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, keys, last string }{
		{"Ctrl-D", "\x04", ""},
		{"exit", "half\x03exit\r", ""},
		{"SIGTERM", "signal TERM\rhalf a cell", "context canceled"},
		{"SIGHUP", "signal HUP\rhalf a cell", "context canceled"},
		{"a panic of mcs", "half\x18p", "panic: as it was told"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command("sh", "-c", "stty -a > before; "+asNotebook+"=1 "+exe+"; stty -a > after; echo 'back in the shell'")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "HOME="+dir, "TERM=xterm-256color")
			p := screen.Start(t, cmd, 72, 24)
			p.See("In [1]:")
			p.Send(c.keys)
			p.See("back in the shell")
			p.Exit()
			if !strings.Contains(p.Text(), c.last) {
				t.Errorf("want %q on\n%s", c.last, p.Text())
			}
			before, _ := os.ReadFile(filepath.Join(dir, "before"))
			after, err := os.ReadFile(filepath.Join(dir, "after"))
			if err != nil || len(before) == 0 || string(before) != string(after) {
				t.Errorf("the modes were\n%s\nand are, %v\n%s", before, err, after)
			}
			if p.PastesBracketed() {
				t.Error("pastes still come in brackets")
			}
		})
	}
}
