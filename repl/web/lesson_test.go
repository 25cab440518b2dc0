package web

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/chromium"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/lesson"
	"github.com/mcs-notebook/mcs/repl/runner"
	"github.com/mcs-notebook/mcs/repl/session"
)

// teach serves the lessons of a folder, and returns the address.
func teach(t *testing.T, dir string) (address string, end func()) {
	t.Helper()
	tutor, err := lesson.NewTutor(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	log, to := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{Dir: filepath.Join(dir, ".kept"), Log: to, Follow: tutor.Turned, Notice: tutor.Welcome(), Options: runner.Options{
			Open: func(o session.Options) (runner.Session, error) {
				o.Commands = magics.Table{More: []*magics.Magic{{Name: "lesson", Args: "[N|NAME]", Do: func(_ context.Context, _ *session.Session, args string) (display.Value, error) {
					return nil, tutor.GoTo(args)
				}}}}
				return tutor, tutor.Begin(o)
			}}})
	}()
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), " is at "); ok {
			address = after
			break
		}
	}
	go io.Copy(io.Discard, log)
	return address, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		tutor.Close()
	}
}

// TestLesson is a course on the page: an answer is checked and saved where it ran, another lesson takes the
// place of the first, and who comes back finds the cells before them run.
func TestLesson(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	long.InCI(t, "starts a browser")
	c := browse(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../lesson/testdata/course")); err != nil {
		t.Fatal(err)
	}
	write := func(i int, text string) {
		c.Value("cell(" + string(rune('0'+i)) + ").querySelector('.cm-content').focus()")
		c.Press("a", chromium.Ctrl)
		c.Type(text)
		c.Press("Enter", chromium.Ctrl)
	}
	address, end := teach(t, dir)
	c.Call("Page.navigate", fields{"url": address})
	c.Until("the lesson", `cell(0)?.querySelector("h1")?.innerText === "Sums" && cell(4).innerText.includes("exercise dot") && document.body.innerText.includes("2 lessons")`)
	write(4, "func product(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y) }")
	c.Until("a failed check", `cell(4).querySelector(".bad")?.innerText.includes("dot is not declared, and the exercise asks for it")`)
	write(1, "x := tensor.Ones(2)")
	write(4, "func dot(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y).Sum() }")
	c.Until("a right answer", `cell(4).innerText.includes("✓ dot is right: 2 points")`)
	c.Until("a save", `document.getElementById("saved").innerText === "saved"`)
	text, err := os.ReadFile(filepath.Join(dir, lesson.WorkDir, "01-sums.mcs"))
	if err != nil || !strings.Contains(string(text), "return x.Mul(y).Sum()") {
		t.Errorf("saved %s, %v", text, err)
	}
	end()

	address, end = teach(t, dir)
	defer end()
	c.Call("Page.navigate", fields{"url": address})
	c.Until("the cells before run again", `cell(4)?.innerText.includes("✓ dot is right")`)
	write(6, "%lesson 2")
	c.Until("the next lesson", `cell(0)?.querySelector("h1")?.innerText === "More" && cell(1).innerText.includes("exercise answer") && !cell(2)`)
	write(1, "answer := 42")
	c.Until("its answer", `cell(1).innerText.includes("✓ answer is right")`)
	for _, line := range c.Logged {
		if strings.Contains(line, "Runtime.exceptionThrown") {
			t.Error(line)
		}
	}
}
