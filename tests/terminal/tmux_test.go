package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// A pane is the program, or a shell, under a real tmux: a terminal that we did not write.
type pane struct {
	t      *testing.T
	socket string
}

// inTmux starts a command in a window of tmux.
func (h home) inTmux(columns, rows int, command string) *pane {
	h.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		h.t.Skip("tmux is not installed")
	}
	p := &pane{h.t, filepath.Join(h.dir, "tmux")}
	env := fmt.Sprintf("HOME=%s XDG_CONFIG_HOME=%s/config NO_COLOR= PS1='shell> ' ENV= HISTFILE= ", h.dir, h.dir)
	p.tmux("-f", "/dev/null", "new-session", "-d", "-c", h.dir, "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "env "+env+command)
	h.t.Cleanup(func() { exec.Command("tmux", "-S", p.socket, "kill-server").Run() })
	return p
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %s: %v: %s", args[0], err, out)
	}
	return string(out)
}

// keys presses keys by the names that tmux has for them; text is typed as it is.
func (p *pane) keys(keys ...string) {
	p.t.Helper()
	p.tmux(append([]string{"send-keys"}, keys...)...)
}

// text returns the text on the screen, without blank lines at its end.
func (p *pane) text() string {
	return strings.TrimRight(p.tmux("capture-pane", "-p"), "\n")
}

func (p *pane) wait(what string, cond func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(screen.Patience); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited for %s; the screen:\n%s", what, p.text())
		}
	}
}

func (p *pane) see(text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("%q", text), func() bool { return strings.Contains(p.text(), text) })
}

// shows waits until the screen from the first line with a prompt on is want, with the cursor at a column and
// row of it.
func (p *pane) shows(want string, column, row int) {
	p.t.Helper()
	want = strings.Trim(want, "\n")
	p.wait(fmt.Sprintf("the cursor at %d,%d of\n%s\n", column, row, want), func() bool {
		lines := strings.Split(p.text(), "\n")
		first := 0
		for first < len(lines)-1 && !strings.HasPrefix(lines[first], "In [") {
			first++
		}
		cursor := strings.TrimSpace(p.tmux("display-message", "-p", "#{cursor_x},#{cursor_y}"))
		return strings.Join(lines[first:], "\n") == want && cursor == fmt.Sprintf("%d,%d", column, row+first)
	})
}

func (h home) notebookInTmux(columns, rows int) *pane {
	p := h.inTmux(columns, rows, program)
	p.see("In [1]:")
	return p
}

func TestTmuxCell(t *testing.T) {
	t.Parallel()
	p := newHome(t).notebookInTmux(80, 24)
	p.keys("func twice(s string) string {", "Enter")
	p.shows("In [1]: func twice(s string) string {\n\n  … missing }", 12, 1)
	p.keys("return s +", "Enter")
	p.keys("s", "Enter")
	p.keys("}")
	p.shows(`
In [1]: func twice(s string) string {
            return s +
            s
        }`, 9, 3)
	p.keys("Up", "Home") // tmux sends its own kind of Home
	p.shows(`
In [1]: func twice(s string) string {
            return s +
            s
        }`, 12, 2)
	p.keys("Tab", "End", "Down", "Enter")
	p.see("In [2]:")
	p.keys("twice(\"日本\")")
	p.shows(`
In [1]: func twice(s string) string {
            return s +
                s
        }
In [2]: twice("日本")`, 21, 4)
	p.keys("Left", "Left", "Left")
	p.shows(`
In [1]: func twice(s string) string {
            return s +
                s
        }
In [2]: twice("日本")
  twice(s string) string`, 17, 4) // between the two characters: each is two columns wide
	p.keys("e\u0301", "Enter")
	p.see("Out[2]: \"日e\u0301本日e\u0301本\"")
	p.keys("Up", "Up")
	p.shows("In [1]: func twice(s string) string {\n            return s +\n                s\n        }\n"+
		"In [2]: twice(\"日e\u0301本\")\nOut[2]: \"日e\u0301本日e\u0301本\"\n\n"+
		"In [3]: func twice(s string) string {\n            return s +\n                s\n        }", 37, 7)
}

func TestTmuxMenu(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			p := newHome(t).notebookInTmux(size[0], size[1])
			for range size[1] { // the prompt is at the bottom of the window
				p.keys("C-l", "Enter", "C-c")
			}
			p.keys("strings.Tr")
			p.keys("Tab")
			p.see("TrimFunc")
			p.keys("Tab", "Tab")
			p.see("› TrimFunc")
			p.keys("pref")
			p.wait("what begins with TrimPref", func() bool { return !strings.Contains(p.text(), "TrimFunc") })
			p.keys("Enter", "(")
			p.see("strings.TrimPrefix(\n  ")
			p.see("  strings.TrimPrefix(s string, ") // the parameters of the call
			p.keys("\"ab\", \"a\")", "Enter")
			p.see("Out[1]: \"b\"")
			for _, line := range strings.Split(p.text(), "\n") {
				if strings.HasPrefix(line, "  ") && strings.Contains(line, "Trim") {
					t.Errorf("the menu has left %q", line)
				}
			}
		})
	}
}

func TestTmuxResize(t *testing.T) {
	t.Parallel()
	long.InCI(t, "waits for seconds")
	p := newHome(t).notebookInTmux(80, 24)
	p.keys("x := []string{\"one\", \"two\", \"three\", \"four\", \"five\", \"six\", \"seven\"}")
	p.shows(`In [1]: x := []string{"one", "two", "three", "four", "five", "six", "seven"}`, 76, 0)
	p.tmux("resize-window", "-x", "40", "-y", "12")
	p.shows(`
In [1]: x := []string{"one", "two", "thr
        ee", "four", "five", "six", "sev
        en"}`, 12, 2)
	p.tmux("resize-window", "-x", "60", "-y", "24")
	p.shows(`
In [1]: x := []string{"one", "two", "three", "four", "five",
         "six", "seven"}`, 24, 1)
	p.keys("Enter")
	p.see("In [2]:")
	p.keys("strings.Tr")
	p.keys("Tab", "Tab")
	p.see("› ")
	p.tmux("resize-window", "-x", "30", "-y", "8")
	p.wait("a menu that fits", func() bool {
		text := p.text()
		return strings.Count(text, "In [2]: strings.Tr") == 1 && strings.Contains(text, "› ") && strings.Count(text, "…") >= 2
	})
	p.tmux("resize-window", "-x", "80", "-y", "24")
	p.wait("one menu", func() bool { return strings.Count(p.text(), "› ") == 1 && strings.Count(p.text(), "In [2]:") == 1 })
	p.keys("C-c")
	p.keys("go func() { for i := range 30 { time.Sleep(50*time.Millisecond); fmt.Println(\"line\", i) } }()", "Enter")
	p.see("In [3]:")
	p.keys("typed")
	for _, columns := range []string{"50", "70", "45", "80"} {
		time.Sleep(300 * time.Millisecond)
		p.tmux("resize-window", "-x", columns, "-y", "24")
	}
	p.see("line 29\nIn [3]: typed")
	if n := strings.Count(p.text(), "typed"); n != 1 {
		t.Errorf("the cell is on the screen %d times:\n%s", n, p.text())
	}
}

// Suspended, the shell has its terminal; continued, the cell is there again.
func TestTmuxSuspend(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs a shell with job control: bash")
	}
	h := newHome(t)
	p := h.inTmux(80, 24, "bash --norc --noprofile -i")
	p.see("shell>")
	p.keys("stty -a > before; "+program, "Enter")
	p.see("In [1]:")
	p.keys("half a cell", "C-z")
	p.see("Stopped")
	p.keys("stty -a > suspended; fg", "Enter")
	p.see("fg\n" + program)
	p.see("In [1]: half a cell")
	p.wait("the cell alone", func() bool { return strings.HasSuffix(p.text(), "\nIn [1]: half a cell") })
	p.keys("BSpace", "!")
	p.see("half a cel!")
	p.keys("C-c")
	p.see("^C\nIn [1]:")
	// Stopped and ended by signals, and by itself: the terminal is as it was.
	p.keys("os.Getpid()", "Enter")
	p.see("Out[1]: ")
	pid := regexp.MustCompile(`Out\[1\]: (\d+)`).FindStringSubmatch(p.text())[1]
	p.see("In [2]:")
	p.keys("more")
	p.see("In [2]: more")
	signal := func(name string) {
		if err := exec.Command("kill", "-"+name, pid).Run(); err != nil {
			t.Fatal(err)
		}
	}
	p.keys("C-c")
	p.keys("C-l")
	p.keys("even more")
	p.see("In [2]: even more")
	signal("STOP") // not with Ctrl-Z, which a program could prepare for
	p.see("Stopped")
	p.keys("fg", "Enter")
	p.wait("the cell again", func() bool { return strings.HasSuffix(p.text(), "\nIn [2]: even more") })
	p.keys("!")
	p.see("In [2]: even more!")
	signal("TERM")
	p.see("shell>")
	p.wait("the shell", func() bool { return strings.HasSuffix(p.text(), "shell>") })
	p.keys("stty -a > terminated; clear; "+program, "Enter")
	p.wait("the notebook again", func() bool { return strings.HasSuffix(p.text(), "In [1]:") })
	p.keys("C-d")
	p.wait("the shell", func() bool { return strings.HasSuffix(p.text(), "shell>") })
	p.keys("stty -a > left; echo done", "Enter")
	p.see("\ndone")
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(h.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, name := range []string{"suspended", "terminated", "left"} {
		if got, want := read(name), read("before"); got != want {
			t.Errorf("%s: the terminal's modes are\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestTmuxPaste(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.notebookInTmux(80, 24)
	var b strings.Builder
	b.WriteString("func f() int {\n\tn := 0\n")
	for range 2000 {
		b.WriteString("\tn++ // one more\n")
	}
	b.WriteString("\treturn n\n}\n")
	file := filepath.Join(h.dir, "pasted.go")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p.tmux("load-buffer", file)
	p.tmux("paste-buffer", "-p") // in brackets, for mcs has asked for them
	p.see("            return n\n        }")
	p.keys("Enter")
	p.see("In [2]:")
	p.keys("f()", "Enter")
	p.see("Out[2]: 2000")
	p.keys("C-l")
	// Without brackets each line is typed.
	if err := os.WriteFile(file, []byte("if true {\n\tfor range 2 {\n\t\tfmt.Println(\"hello\")\n\t}\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.tmux("load-buffer", file)
	p.tmux("paste-buffer")
	p.see(`
            for range 2 {
                fmt.Println("hello")
            }
        }
hello
hello
`)
}
