package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/chromium"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

const talkText = `// %% [markdown]
// # First
// text

// %% [markdown] notes
// *Ask* them.

// %%
1 + 1
// > 2

// %% A name
for { time.Sleep(time.Millisecond) }

// %% [markdown]
// ## Second

// %% [markdown] notes
// Again.

// %%
"four"
`

// present presents a text as talk.mcs, with a recording beside it if there is one.
func present(t *testing.T, text string, replay bool, recorded *notebook.Notebook) *browser {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "talk.mcs")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if recorded != nil {
		if err := os.WriteFile(filepath.Join(dir, "talk.ipynb"), recorded.Format(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return serve(t, path, t.TempDir(), func(s *server) error { return s.present(replay) })
}

// recording is the notebook of a run of talkText, whose second cell of Go has put out nothing.
func recording() *notebook.Notebook {
	nb := notebook.FromFile(mcsfile.Parse("talk.mcs", talkText))
	nb.SetRecorded(time.Date(2026, 1, 2, 3, 4, 0, 0, time.Local), "cuda:0: H200", "9.9")
	for i := range nb.Cells {
		if c := &nb.Cells[i]; c.Kind == "code" {
			c.Outputs = []notebook.Output{notebook.Printed("stdout", "recorded "+c.Source)}
			if strings.HasPrefix(c.Source, "for") {
				c.Outputs = nil
			}
		}
	}
	return nb
}

// TestSlides: each cell is a slide, but the notes; a cell of Go has a title; nothing is seen of what it puts
// out before it runs, and the file stays as it is.
func TestSlides(t *testing.T) {
	b := present(t, talkText, false, nil)
	var got []string
	for _, c := range b.book().Cells {
		got = append(got, fmt.Sprint(c.Role, " ", c.Kind, " ", c.Head, len(c.Outputs)))
	}
	want := []string{"slide markdown 0", "notes markdown 0", "slide code First0", "slide code A name0", "slide markdown 0", "notes markdown 0", "slide code Second0"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	d := deck{b.s}
	for _, tt := range []struct {
		body  any
		n     int
		blank bool
	}{
		{fields{"by": -1}, 1, false}, {fields{"by": 1}, 2, false}, {fields{"blank": true}, 2, true}, {fields{"by": 1}, 3, false}, {fields{"to": -1}, 5, false}, {fields{"by": 9}, 5, false},
		{fields{"to": 2}, 2, false}, {fields{"blank": true}, 2, true}, {fields{"blank": true}, 2, false}, {fields{"to": 99}, 5, false}, {fields{"to": 1}, 1, false},
	} {
		b.done("/show", tt.body)
		if s := d.Slide(); s.N != tt.n || s.Of != 5 || s.Blank != tt.blank || b.book().Slide != s.ID {
			t.Errorf("%v: got %+v, want %d", tt.body, s, tt.n)
		}
	}
	first, second := b.connect(), b.connect()
	defer first.stop()
	defer second.stop()
	d.Go(3)
	for _, s := range []*stream{first, second} {
		if e := s.until(kind("slide")); e.Cell != d.Slide().ID {
			t.Errorf("got %+v", e)
		}
	}
	d.Run()
	first.until(func(e event) bool { return e.Kind == "state" && e.State == "running" })
	d.Go(2)
	if s := d.Slide(); !s.Running || s.State != "" {
		t.Errorf("while another slide's cell runs: got %+v", s)
	}
	d.Stop()
	first.until(kind("variables"))
	d.Edit("2 + 3")
	d.Run()
	first.until(kind("variables"))
	if s := d.Slide(); len(s.Outputs) != 1 || s.Outputs[0] != "5" {
		t.Errorf("got %+v", s)
	}
	path := b.s.book.path
	b.end()
	if text, err := os.ReadFile(path); err != nil || string(text) != talkText {
		t.Errorf("the file: got %s %v", text, err)
	}
	if left, _ := filepath.Glob(b.s.book.unsaved); len(left) > 0 {
		t.Errorf("a talk has kept %q", left)
	}
}

// TestReplay: nothing runs; what is shown says when it was recorded, and a cell that was changed since shows
// nothing of it.
func TestReplay(t *testing.T) {
	changed := strings.Replace(talkText, `"four"`, `"five"`, 1)
	b := present(t, changed, true, recording())
	if got, want := b.book().Replay, "replayed: recorded 2026-01-02 03:04 on cuda:0: H200, mcs 9.9"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d := deck{b.s}
	for n, want := range map[int]string{2: "recorded 1 + 1", 3: "has put out nothing", 5: "was changed since"} {
		d.Go(n)
		if s := d.Slide(); len(s.Outputs) != 0 || s.Replay == "" {
			t.Errorf("slide %d before Enter: got %+v", n, s)
		}
		d.Run()
		if s := d.Slide(); len(s.Outputs) != 1 || !strings.Contains(s.Outputs[0], want) || s.Running {
			t.Errorf("slide %d: got %+v, want %s", n, s, want)
		}
	}
	d.Go(2)
	d.Edit("1 + 2")
	d.Run()
	if s := d.Slide(); !strings.Contains(s.Outputs[0], "was changed since") {
		t.Errorf("an edited cell: got %+v", s)
	}
	if code, _ := b.post("/save", fields{"over": true}); code != 409 {
		t.Errorf("a save: got %d", code)
	}
	if b.s.runner.Next() != 1 {
		t.Errorf("a cell has run")
	}
}

// What cannot be replayed is refused before anything is shown. A notebook of another program is replayed, and
// its line says what is not known.
func TestReplayRefused(t *testing.T) {
	empty := recording()
	for i := range empty.Cells {
		empty.Cells[i].Outputs = nil
	}
	other := recording()
	other.ForgetRecorded()
	for name, tt := range map[string]struct {
		file     string
		recorded *notebook.Notebook
		want     string
	}{
		"no recording":        {"talk.mcs", nil, "the recording of talk.mcs: mcs run talk.mcs -o talk.ipynb makes it"},
		"no outputs":          {"talk.mcs", empty, "has no outputs"},
		"no outputs, nb":      {"talk.ipynb", empty, "has no outputs"},
		"another program's":   {"talk.ipynb", other, ""},
		"the notebook itself": {"talk.ipynb", recording(), ""},
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("talk.mcs", []byte(talkText), 0o666); err != nil {
			t.Fatal(err)
		}
		if tt.recorded != nil {
			if err := os.WriteFile("talk.ipynb", tt.recorded.Format(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		book, err := open(tt.file, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(Options{}, book, 1)
		err = s.present(true)
		book.close()
		if tt.want == "" && err == nil {
			if known := name != "another program's"; strings.Contains(s.talk.replay, "unknown") == known {
				t.Errorf("%s: got %q", name, s.talk.replay)
			}
			continue
		}
		if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}

// A talk in a browser: keys move it, the speaker's page has notes and the next cell, and moves with it; the
// type is as large as it fits, on a projector and on a phone.
func TestTalkPage(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	long.InCI(t, "starts a browser")
	c := chromium.Start(t)
	b := present(t, talkText, false, nil)
	now := `document.getElementById("now").innerText`
	at := func(n int, more string) {
		t.Helper()
		c.Until(fmt.Sprint("slide ", n), fmt.Sprintf(`document.getElementById("place").innerText === "%d/5" && %s`, n, more))
	}
	c.Call("Page.navigate", fields{"url": b.s.guard.address("present")})
	at(1, now+`.includes("First") && !document.body.innerText.includes("Ask")`)
	c.Press("ArrowRight", 0)
	at(2, now+`.includes("1 + 1") && !document.querySelector(".output")`)
	c.Press("Enter", 0)
	at(2, `document.querySelector(".output").innerText.trim() === "2"`)
	c.Press("e", 0)
	c.Until("the editor", `!!document.activeElement.closest(".cm-editor")`)
	c.Type("40 + ")
	c.Press("Enter", chromium.Shift)
	at(2, `document.querySelector(".output").innerText.trim() === "42"`)
	c.Press("Escape", 0)
	c.Press("b", 0)
	c.Until("nothing", `getComputedStyle(document.getElementById("now")).visibility === "hidden"`)
	c.Press("ArrowRight", 0)
	c.Press("Enter", 0)
	at(3, `document.querySelector(".slide").classList.contains("running") && getComputedStyle(document.getElementById("now")).visibility === "visible"`)
	c.Press("ArrowRight", 0)
	at(4, `document.getElementById("doing").innerText.includes("slide 3 runs")`)
	c.Press("i", 0)
	at(4, `!document.getElementById("doing").innerText.includes("runs")`)
	c.Call("Page.navigate", fields{"url": b.base + "/speaker"})
	at(4, `document.getElementById("notes").innerText.includes("Again.") && document.getElementById("next").innerText.includes("four") && /^\d\d:\d\d$/.test(document.getElementById("gone").innerText)`)
	c.Press("1", 0)
	c.Press("Enter", 0)
	at(1, `document.getElementById("notes").innerText.includes("Ask")`)
	b.done("/show", fields{"to": -1}) // another screen
	at(5, `document.getElementById("next").innerText.includes("end")`)
	for _, size := range [][2]int{{390, 844}, {1920, 1080}} {
		for _, page := range []string{"/speaker", "/present"} {
			c.Call("Emulation.setDeviceMetricsOverride", fields{"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500})
			c.Call("Page.navigate", fields{"url": b.base + page})
			c.Until(fmt.Sprint(size, page), fmt.Sprintf(`document.documentElement.scrollWidth <= %d && (now => now.scrollHeight <= now.clientHeight && parseFloat(getComputedStyle(now).fontSize) > %d)(document.getElementById("now"))`, size[0], size[0]/50))
		}
	}
	if len(c.Logged) > 0 {
		t.Errorf("the page has logged %s", c.Logged)
	}
}
