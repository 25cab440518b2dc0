package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// journals are the files that notebooks have written and not removed.
func (h home) journals() (list []string) {
	list, err := filepath.Glob(filepath.Join(h.dir, "config", "mcs", "journals", "*.journal"))
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// A process that dies loses neither the cells nor what they printed: the next start offers the session, and
// --resume runs again what is cheap, or only reads, and lists the rest. What was stored is brought back.
func TestResume(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.open(nil)
	for _, cell := range []string{
		"n := 41\nfunc next(i int) int { return i + 1 }",
		"time.Sleep(1200 * time.Millisecond); slow := 3; fmt.Println(`a long log`)",
		"w := tensor.Randn(3)",
		"%store w",
		"sum := w.Sum()",
		"func note(s string) { os.WriteFile(s, []byte(`x`), 0o600) }; func all() { note(`kept.txt`) }",
		"all()",
		"!echo again >> log.txt",
		"later := slow + 1",
	} {
		run(p, cell)
	}
	run(p, "fmt.Println(w.Sub(w.Sum()))")
	run(p, "time.Sleep(1200 * time.Millisecond); late := tensor.Full(7, 2)\n%store late\n%store")
	run(p, "%store -d late\nlate = tensor.Full(8, 2)\n%store late")
	os.Remove(filepath.Join(h.dir, "kept.txt"))
	row := lineAfter(p.Text(), "fmt.Println(w.Sub(w.Sum()))")
	p.Send("fmt.Println(`it began`); m := map[int]int{}; go func() { for { m[1]++ } }(); for { m[1]++ }\r")
	p.See("fatal error: concurrent map")
	p.Exit()
	if list := h.journals(); len(list) != 1 {
		t.Fatalf("got journals %q, want one", list)
	}

	p = h.open(nil)
	p.See("was cut off (13 cells): mcs --resume brings it back")
	leave(t, p)

	p = h.open(nil, "--resume")
	p.See("not run again: In[2]: It took ")
	p.See("not run again: In[7]: It changes files, or runs a command of the system.")
	p.See("not run again: In[8]: It changes files, or runs a command of the system.")
	p.See("not run again: In[9]: It fails now.")
	p.See("not run again: In[11]: It took ")
	p.See("not run again: In[13]: The process ended in it. It printed:")
	p.See("the rest of the session has 6 cells")
	p.See("a long log") // above the first of them
	p.See("the rest of the session 1/6")
	p.Send("\x03")
	run(p, "fmt.Println(next(n))", "42")
	run(p, "fmt.Println(w.Sub(w.Sum()))", row)
	run(p, "fmt.Println(late.Floats(), `of %store`)", "[8 8] of %store")
	if _, err := os.Stat(filepath.Join(h.dir, "kept.txt")); err == nil {
		t.Error("a cell that writes a file by a function of an earlier cell has run again")
	}
	if log, _ := os.ReadFile(filepath.Join(h.dir, "log.txt")); strings.Count(string(log), "again") != 1 {
		t.Errorf("the command of the system has run again: %q", log)
	}
	leave(t, p)
	if list := h.journals(); len(list) != 0 {
		t.Errorf("got journals %q when the person has left, want none", list)
	}
}

// What commands have done outside of the session is not done again: what a shell's line is assigned to, an
// alias, a file of cells, an option that writes. A cell that was interrupted is told of, and is not at the
// prompt.
func TestResumeOutside(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("effect.mcs", "os.WriteFile(`made.txt`, nil, 0o600)\n")
	h.write("plain.mcs", "plain := 6\n")
	p := h.open(nil)
	for _, cell := range []string{
		"a := !echo again >> log.txt",
		"b, err := !echo again >> log.txt",
		"%alias note = !echo again >> log.txt",
		"%note",
		"%plot -o made.svg tensor.Arange(0, 3, 1)",
		"%run effect.mcs",
		"%run plain.mcs",
		"done := false; ok := !done",
	} {
		run(p, cell)
	}
	p.Send("time.Sleep(time.Hour)\r")
	time.Sleep(200 * time.Millisecond)
	p.Send("\x03")
	p.See("interrupted")
	p.Hangup()
	p.Exit()
	for _, name := range []string{"made.svg", "made.txt"} {
		if err := os.Remove(filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	p = h.open(nil, "--resume")
	for _, n := range []string{"1", "2", "4", "5", "6"} {
		p.See("not run again: In[" + n + "]: It changes files")
	}
	p.See("It was interrupted.")
	p.See("the rest of the session has 5 cells")
	p.See("the rest of the session 1/5") // the first of them is at the prompt, which takes keys
	p.Send("\x03")
	run(p, "fmt.Println(plain, ok)", "6 true")
	for _, name := range []string{"made.svg", "made.txt"} {
		if _, err := os.Stat(filepath.Join(h.dir, name)); err == nil {
			t.Errorf("%s is written again", name)
		}
	}
	if log, _ := os.ReadFile(filepath.Join(h.dir, "log.txt")); strings.Count(string(log), "again") != 3 {
		t.Errorf("commands of the system have run again: %q", log)
	}
	leave(t, p)
}

// lineAfter is the line of a screen below the one that ends in text.
func lineAfter(screen, text string) string {
	_, rest, _ := strings.Cut(screen, text+"\n")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// Ctrl-D asks when there is something to lose. exit does not, nor does a terminal that goes away, which
// leaves the session to be resumed.
func TestLeaving(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.open(nil)
	p.Send("\x04")
	p.Exit()

	p = h.open(nil)
	run(p, "a, b := 1, 2")
	asked := func(times int) { // and the notebook waits again
		p.Wait("the question", func() bool { return strings.Count(p.Text(), "Ctrl-D again leaves and forgets 2 names") == times })
		ready(p)
	}
	p.Send("\x04")
	asked(1)
	run(p, "a + b", "Out[2]: 3")
	p.Send("\x04")
	asked(2)
	p.Send("time.Sleep(600 * time.Millisecond)\r")
	time.Sleep(200 * time.Millisecond)
	p.Send("\x04") // while the cell runs
	asked(3)
	p.Send("\x04")
	p.Exit()

	p = h.open(nil)
	run(p, "a := 1")
	p.Send("exit\r")
	p.Exit()
	if list := h.journals(); len(list) != 0 {
		t.Errorf("got journals %q, want none", list)
	}

	p = h.open(nil)
	run(p, "a := 1")
	p.Hangup()
	p.Exit()
	if list := h.journals(); len(list) != 1 {
		t.Errorf("got journals %q of a terminal that went away, want one", list)
	}
}

// --no-journal keeps nothing, and --resume is for a terminal alone.
func TestNoJournal(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.open(nil, "--no-journal")
	run(p, "a := 1")
	p.Hangup()
	p.Exit()
	if list := h.journals(); len(list) != 0 {
		t.Errorf("got journals %q, want none", list)
	}
	for _, args := range [][]string{{"--resume"}, {"--resume", "a.mcs"}} {
		out, err := exec.Command(program, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--resume: takes no file") {
			t.Errorf("%q: got %v, %s", args, err, out)
		}
	}
}
