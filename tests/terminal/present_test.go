package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

const talk = `// %% [markdown]
// # A talk
//
// of **few** words

// %% [markdown] notes
// secret

// %%
1 + 1

// %% Many
for i := range 60 { fmt.Println("line", i) }

// %% Long
var name string
fmt.Scanln(&name)
fmt.Println("hello", name)
for { time.Sleep(time.Millisecond) }
`

// present starts a talk in a terminal.
func (h home) present(columns, rows int, args ...string) *screen.Program {
	h.t.Helper()
	cmd := exec.Command(program, append([]string{"present"}, args...)...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_CONFIG_HOME="+filepath.Join(h.dir, "config"), "TERM=xterm-256color", "NO_COLOR=")
	return screen.Start(h.t, cmd, columns, rows)
}

// TestPresent is a talk in a terminal: keys move it, Enter runs a cell, what is long is scrolled, and q asks
// before it leaves a cell that runs.
func TestPresent(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("talk.mcs", talk)
	p := h.present(80, 24, "talk.mcs")
	p.See("talk.mcs: 4 slides")
	p.See("/speaker?token=")
	p.Send("\r")
	p.See("of few words")
	p.See("1/4")
	if strings.Contains(p.Text(), "secret") || strings.Contains(p.Text(), "token") {
		t.Errorf("the audience sees\n%s", p.Text())
	}
	p.Send(" ")
	p.See("2/4")
	p.See("A talk\n    ───")
	p.Send("\r")
	p.See("1 + 1\n\n    2\n")
	p.Send("b")
	p.See("blank: b shows the slide")
	p.Send("3\r\r")
	p.See("line 13\n")
	p.See("scroll")
	p.Send(strings.Repeat("\x1b[B", 30))
	p.See("line 59\n")
	p.Resize(200, 60)
	p.See("line 6\n")
	p.See("line 50\n")
	p.Send("\x1b[F\r")
	p.See("the cell waits for a line")
	p.Send("Adb\x7fa\r")
	p.See("hello Ada")
	p.Send("\x1b[D")
	p.See("a cell of another slide runs")
	p.Send("\x1b[Cq")
	p.See("q again stops it and leaves")
	p.Send(ctrlC)
	p.See("interrupted")
	p.Send("q")
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.Text())
	}
	if text, err := os.ReadFile(filepath.Join(h.dir, "talk.mcs")); err != nil || string(text) != talk {
		t.Errorf("the file is now %s, %v", text, err)
	}
}

// TestPresentReplay: a recorded run is shown where it cannot run, and says so.
func TestPresentReplay(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("talk.mcs", "// %%\nx := 6 * 7\nfmt.Println(x)\n")
	cmd := exec.Command(program, "run", "talk.mcs", "-o", "talk.ipynb")
	cmd.Dir = h.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	p := h.present(80, 24, "talk.ipynb", "--replay")
	p.See("Enter begins")
	p.Send("\r")
	p.See("replayed: recorded 20")
	p.Send("\r")
	p.See("\n    42\n")
	p.Send("q")
	p.Exit()
}

// Where a talk cannot be shown the word for it comes before anything else.
func TestPresentRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("talk.mcs", talk)
	h.write("empty.mcs", "\n")
	h.write("bad.ipynb", "{")
	for want, args := range map[string][]string{
		"--web shows it in a browser": {"talk.mcs"}, "empty.mcs has no cells": {"--web", "empty.mcs"}, "got no notebook": {"--web", "bad.ipynb"}, "want a .mcs or .ipynb file": {"a.go"},
		"no such file": {"none.mcs"}, "mcs run talk.mcs -o talk.ipynb makes it": {"--web", "--replay", "talk.mcs"},
	} {
		cmd := exec.Command(program, append([]string{"present"}, args...)...)
		cmd.Dir, cmd.Env = h.dir, append(os.Environ(), "HOME="+h.dir, "XDG_CONFIG_HOME="+h.dir)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %v %s, want %s", args, err, out, want)
		}
	}
	cmd := exec.Command(program, "present", "talk.mcs")
	cmd.Dir, cmd.Env = h.dir, append(os.Environ(), "HOME="+h.dir, "TERM=dumb")
	p := screen.Start(t, cmd, 80, 24)
	p.See("a talk needs a terminal that moves its cursor")
}
