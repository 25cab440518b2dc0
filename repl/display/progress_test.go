package display

import (
	"strings"
	"testing"
	"time"
)

// A fake clock advances by step whenever it is read for an update.
func testProgress(live bool) (*Progress, *strings.Builder, *time.Time) {
	var out strings.Builder
	p := NewProgress(&out, live, func() int { return 72 }, nil)
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	return p, &out, &now
}

func TestProgressPlain(t *testing.T) {
	p, out, now := testProgress(false)
	for i := int64(1); i <= 300; i++ {
		*now = now.Add(100 * time.Millisecond)
		p.Update("step", i, 300, "loss 1.5", 0)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 10 {
		t.Fatalf("got %d lines, want one for each 10 %%:\n%s", len(lines), out)
	}
	if want := "step 30/300 · loss 1.5 · 2.90 s, 26.1 s left"; lines[0] != want {
		t.Errorf("got %q, want %q", lines[0], want)
	}
	if want := "step 300/300 · loss 1.5 · 29.9 s"; lines[9] != want {
		t.Errorf("got %q, want %q", lines[9], want)
	}
}

// Work of less than a second has no plain line, whether it ends or is stopped.
func TestProgressOfShortWork(t *testing.T) {
	p, out, now := testProgress(false)
	for i := int64(1); i <= 100; i++ {
		*now = now.Add(9 * time.Millisecond)
		p.Update("load", i, 100, "", 0)
		p.Update("step", i, 0, "", 0)
	}
	if p.Finish(); out.Len() > 0 {
		t.Errorf("got %q, want nothing", out)
	}
}

// The line of work that goes on beside a cell, and is new to it, says how long the work has taken.
func TestProgressOfOldWork(t *testing.T) {
	p, out, _ := testProgress(true)
	p.Update("step", 3, 3, "", 1420*time.Millisecond)
	if want := "step 3/3 ███████████████ 1.42 s"; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestProgressLive(t *testing.T) {
	p, out, now := testProgress(true)
	for i := int64(1); i <= 1000; i++ {
		*now = now.Add(10 * time.Millisecond)
		p.Update("step", i, 1000, "", 0)
	}
	frames := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\r")[1:]
	if len(frames) > 102 || len(frames) < 90 {
		t.Errorf("got %d frames in 10 s, want 10 a second", len(frames))
	}
	if want := "step 501/1,000 ███████▌░░░░░░░ 5.00 s, 4.98 s left\x1b[K"; !strings.Contains(out.String(), want) {
		t.Errorf("no frame %q in %q", want, frames[len(frames)/2])
	}
	if want := "step 1,000/1,000 ███████████████ 9.99 s\x1b[K\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("last frame is %q, want %q", frames[len(frames)-1], want)
	}
}

// What a cell prints stands above the live line, which is drawn again; an incomplete line is completed first.
func TestProgressBesideOutput(t *testing.T) {
	p, out, now := testProgress(true)
	p.Update("load", 1, 0, "", 0)
	p.Write([]byte("hello"))
	*now = now.Add(time.Second)
	p.Update("load", 2, 0, "", 0)
	p.Finish()
	p.Finish()
	want := "\rload 1 0 s\x1b[K" + "\r\x1b[K" + "hello" + "\n" + "\rload 2 1.00 s\x1b[K" + "\rload 2 1.00 s\x1b[K" + "\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The terminal writes ^C behind an unfinished line; what comes next starts on a line of its own.
func TestProgressEchoed(t *testing.T) {
	p, out, _ := testProgress(true)
	p.Write([]byte("waiting\n"))
	p.Echoed()
	p.Write([]byte("stopped"))
	p.Write([]byte(" now"))
	p.Update("step", 1, 0, "", 0)
	p.Echoed() // on the live line, which is drawn again
	p.Finish()
	want := "waiting\n\nstopped now\n\rstep 1 0 s\x1b[K\rstep 1 0 s\x1b[K\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgressNewTaskEndsTheOld(t *testing.T) {
	p, out, _ := testProgress(false)
	p.Update("load", 1, 4, "", 3*time.Second)
	p.Update("step", 1, 4, "", 2*time.Second)
	p.Finish()
	want := "load 1/4 · 3.00 s, 9.00 s left\nload 1/4 · 3.00 s, 9.00 s left\nstep 1/4 · 2.00 s, 6.00 s left\nstep 1/4 · 2.00 s, 6.00 s left\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgressFitsTheScreen(t *testing.T) {
	for width := 1; width < 80; width++ {
		p, _, _ := testProgress(true)
		p.current = state{task: "step", done: 12, total: 300, note: strings.Repeat("x", 100), start: p.now(), active: true}
		if got := len([]rune(p.line(width, nil))); got > max(width-1, 1) {
			t.Errorf("width %d: line of %d columns would wrap", width, got)
		}
	}
}

// A drawing stands above the live line and is drawn again in its place. Output comes before it, and the end
// takes it away.
func TestProgressDraws(t *testing.T) {
	p, out, now := testProgress(true)
	state := func(text string) func() Value { return func() Value { return Text(text) } }
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { p.Draw(state("a\nb"), 24) }, "\ra\x1b[K\nb\x1b[K\n\x1b[K"},
		{func() { p.Draw(state("too soon"), 24) }, ""},
		{func() { *now = now.Add(time.Second); p.Update("step", 1, 0, "", 0) }, "\r\x1b[2Aa\x1b[K\nb\x1b[K\nstep 1 0 s\x1b[K"},
		{func() { *now = now.Add(time.Second); p.Draw(state("c"), 24) }, "\r\x1b[2Ac\x1b[K\nstep 1 1.00 s\x1b[K\x1b[J"},
		{func() { p.Write([]byte("said\n")) }, "\r\x1b[1A\x1b[Jsaid\n"},
		{func() { p.Draw(state("d"), 24) }, "\rd\x1b[K\nstep 1 1.00 s\x1b[K"},
		{func() { *now = now.Add(time.Second); p.Draw(state("e\nf"), 4) }, "\r\x1b[1Astep 1 2.00 s\x1b[K\x1b[J"},
		{func() { *now = now.Add(time.Second); p.Draw(state("g"), 24) }, "\rg\x1b[K\nstep 1 3.00 s\x1b[K"},
		{func() { p.Finish() }, "\r\x1b[1Astep 1 3.00 s\x1b[K\x1b[J\n"},
	} {
		out.Reset()
		if c.do(); out.String() != c.want {
			t.Errorf("got %q, want %q", out, c.want)
		}
	}
	piped, out, _ := testProgress(false)
	if piped.Draw(state("x"), 24); out.Len() > 0 {
		t.Errorf("without a terminal: %q", out)
	}
}
