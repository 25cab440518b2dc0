package train

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// logged returns what a log says, in short: "run 6", "1", "2 eval", each followed by its loss.
func logged(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var short []string
	for line := range strings.Lines(string(text)) {
		var l struct {
			Run   *struct{ Steps int }
			Step  int
			Loss  *float64
			Norm  float64
			Eval  map[string]float64
			Spike *struct{ Did string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch {
		case l.Run != nil:
			short = append(short, fmt.Sprintf("run of %d", l.Run.Steps))
		case l.Eval != nil:
			short = append(short, fmt.Sprintf("%d eval %.4f", l.Step, l.Eval["loss"]))
			if want := math.Exp(l.Eval["loss"]); math.Abs(l.Eval["perplexity"]-want) > 1e-9*want {
				t.Errorf("%q: want the perplexity %g", line, want)
			}
		case l.Spike != nil:
			short = append(short, fmt.Sprintf("%d %s", l.Step, l.Spike.Did))
		case l.Loss == nil || l.Norm <= 0:
			t.Errorf("%q has neither loss nor norm", line)
		default:
			short = append(short, fmt.Sprintf("%d %.4f", l.Step, *l.Loss))
		}
	}
	return strings.Join(short, "\n")
}

// TestLog: a log has each step once, whatever interrupted the run: in this process, or in another one that
// was killed after its last checkpoint. A second run's lines follow those of the first.
func TestLog(t *testing.T) {
	o := options(8)
	o.Eval, o.EvalEvery, o.EvalBatches = data.Windows(text, 16, 2), 4, 1
	with := func(dir string) Options {
		o := o
		o.Log, o.TensorBoard = filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "events")
		return o
	}
	straight := t.TempDir()
	h := mustRun(t, newModel(), windows(), with(straight))
	want := "run of 8"
	for i, loss := range h.Loss {
		want += fmt.Sprintf("\n%d %.4f", i+1, loss)
		if (i+1)%4 == 0 {
			want += fmt.Sprintf("\n%d eval %.4f", i+1, h.Eval[i/4].Loss)
		}
	}
	if got := logged(t, filepath.Join(straight, "log.jsonl")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	mustRun(t, newModel(), windows(), with(straight))
	if got := logged(t, filepath.Join(straight, "log.jsonl")); got != want+"\n"+want {
		t.Errorf("a second run: got\n%s\nwant\n%s", got, want+"\n"+want)
	}

	paused := t.TempDir()
	m := newModel()
	interrupt(t, m, with(paused), 3)
	mustRun(t, m, windows(), with(paused))
	if got := logged(t, filepath.Join(paused, "log.jsonl")); got != want {
		t.Errorf("interrupted: got\n%s\nwant\n%s", got, want)
	}

	killed := t.TempDir()
	first := with(killed)
	first.Steps, first.Checkpoint = 5, filepath.Join(killed, "checkpoints")
	mustRun(t, newModel(), windows(), first)
	file := filepath.Join(killed, "log.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, `{"step":6,"loss":9.5,"norm":1}`+"\n"+`{"step":7,"lo`...) // steps after the checkpoint, the last line in half
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	second := first
	second.Steps, second.Resume = 8, true
	mustRun(t, newModel(), windows(), second)
	got := strings.Replace(logged(t, file), "run of 5", "run of 8", 1)
	evaluatedAtItsEnd := strings.Replace(got, got[strings.Index(got, "\n5 eval"):strings.Index(got, "\n6 ")], "", 1)
	if evaluatedAtItsEnd != want {
		t.Errorf("killed: got\n%s\nwant\n%s", got, want)
	}
	if names, _ := filepath.Glob(filepath.Join(killed, "events", "events.out.tfevents.*")); len(names) != 2 {
		t.Errorf("killed: got the event files %v, want two", names)
	}
}

// TestLogOfAKilledRun: a run that was killed before its first checkpoint begins its log anew, and leaves the
// lines of other runs.
func TestLogOfAKilledRun(t *testing.T) {
	dir := t.TempDir()
	o := options(4)
	o.Log, o.TensorBoard = filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "events")
	other := o
	other.Steps, other.LR = 2, optim.Constant(1e-4)
	mustRun(t, newModel(), windows(), other)
	before := logged(t, o.Log)
	mustRun(t, newModel(), windows(), o)
	want := logged(t, o.Log)
	for name, left := range map[string]int{"the first line": 3, "some steps": 6, "all": 8} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(o.Log)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			if err := os.WriteFile(o.Log, []byte(strings.Join(lines[:left], "")+lines[2][:9]), 0o666); err != nil {
				t.Fatal(err)
			}
			again := o
			again.Checkpoint, again.Resume = filepath.Join(t.TempDir(), "checkpoints"), true
			mustRun(t, newModel(), windows(), again)
			if got := logged(t, o.Log); got != want || !strings.HasPrefix(got, before) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	names, err := filepath.Glob(filepath.Join(o.TensorBoard, "events.out.tfevents.*"))
	if err != nil || len(names) != 5 {
		t.Fatalf("%v, %v, want five files of events", names, err)
	}
	for i, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		const begins = "\x10\x01\x3a\x02\x08\x01" // step 1: a session log with the status START
		if got, want := strings.Contains(string(text), begins), i >= 2; got != want {
			t.Errorf("file %d drops the steps of earlier ones: %v, want %v", i, got, want)
		}
	}
}

// TestLogOfSpikes: a log says what was done, and does not have the steps that were made again twice.
func TestLogOfSpikes(t *testing.T) {
	dir := t.TempDir()
	o := Options{Steps: 30, LR: options(1).LR, Spikes: GoBack, CheckpointEvery: 10, Checkpoint: filepath.Join(dir, "c"), Log: filepath.Join(dir, "log")}
	m := &spiky{scaled: newScaled(), from: 25, to: 26}
	h := mustRun(t, m, m.source(), o)
	want := "run of 30"
	for i, loss := range h.Loss {
		want += fmt.Sprintf("\n%d %.4f", i+1, loss)
		if i+1 == 20 {
			want += "\n20 went back to step 20"
		}
	}
	if got := logged(t, o.Log); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestLogThatIsNone: a file with something else is not written to, and a folder that cannot be is an error.
func TestLogThatIsNone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notes.txt")
	const notes = "milk\nbread\n"
	if err := os.WriteFile(file, []byte(notes), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Log: file}, "notes.txt: line 1 is no line of a log"},
		{Options{Log: filepath.Join(dir, "none", "log")}, "train: log: "},
		{Options{TensorBoard: file}, "train: TensorBoard: "},
	} {
		c.o.Steps, c.o.LR = 1, options(1).LR
		if _, err := Run(t.Context(), newModel(), windows(), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want it to say %q", err, c.want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != notes {
		t.Errorf("the file is %q, %v now", text, err)
	}
}

// TestDamagedLog: whatever is wrong with a log, the run that goes on with it is refused, with file and line
// and nothing changed, or its file has whole lines only, of steps that were made.
func TestDamagedLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.jsonl")
	o := options(5)
	o.Eval, o.EvalEvery, o.EvalBatches, o.Log = data.Windows(text, 16, 2), 2, 1, file
	mustRun(t, newModel(), windows(), o)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	n := mutate.Each(1, 500, whole, func(i int, damaged []byte) {
		kept, _, err := linesUpTo(damaged, 3, nil)
		switch {
		case err != nil:
			if refused++; !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("mutant %d: got %q, want it to name the line", i, err)
			}
		case len(kept) > len(damaged) || len(kept) > 0 && kept[len(kept)-1] != '\n':
			t.Errorf("mutant %d: kept %q of %q", i, kept, damaged)
		}
	})
	if refused < n/10 {
		t.Errorf("%d of %d damaged logs were refused, want more", refused, n)
	}
}

// TestPerplexity: only of a loss that is the mean over tokens.
func TestPerplexity(t *testing.T) {
	o := options(2)
	o.Eval = windows()
	for _, c := range []struct {
		m    Model
		want bool
	}{{newModel(), true}, {byRows{newModel()}, false}} {
		h := mustRun(t, c.m, windows(), o)
		if got := strings.Contains(h.Text(80), "perplexity"); got != c.want || h.Eval[0].Tokens != c.want {
			t.Errorf("%T: says %q, want a perplexity: %v", c.m, h.Text(80), c.want)
		}
	}
}

// byRows is a model whose loss is a mean over rows.
type byRows struct{ Model }

func (byRows) Counted(b data.Batch) int { return b.Examples() }
