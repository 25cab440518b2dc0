package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/train/internal/tfevents"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// logs are the files to which a run writes what happens: lines of JSON, and TensorBoard's events. A log that
// cannot be written stops no run: the history notes it.
type logs struct {
	t       *trainer
	lines   *os.File         // nil: none is wanted
	events  *tfevents.Writer // nil: none is wanted
	tokens  int              // when the last step was logged
	elapsed time.Duration    // likewise
}

// A line of the log has one of these.
type logLine struct {
	Run  *logRun `json:"run,omitempty"`
	Step int     `json:"step,omitempty"`

	Loss    *number  `json:"loss,omitempty"`
	Rate    *number  `json:"rate,omitempty"`
	Norm    *number  `json:"norm,omitempty"`
	Tokens  int      `json:"tokens,omitempty"`  // learnt from so far
	Places  int      `json:"places,omitempty"`  // of the batches so far
	Seconds *float64 `json:"seconds,omitempty"` // since the run began, pauses left out

	Eval  map[string]number `json:"eval,omitempty"`
	Spike *logSpike         `json:"spike,omitempty"`
}

type logRun struct {
	Steps     int       `json:"steps"`
	Time      time.Time `json:"time"`
	Rate      string    `json:"rate"`
	Optimizer string    `json:"optimizer"`
	Data      string    `json:"data"`
}

type logSpike struct {
	Loss  number `json:"loss"`
	Limit number `json:"limit"`
	Did   string `json:"did"`
}

// maxLog bounds a log that is read to go on with it.
const maxLog = 1 << 30

// openLogs opens the files of a run that begins, or goes on. What they have of later steps is dropped: a run
// that was killed after its last checkpoint, or before its first, makes these steps again.
func (t *trainer) openLogs() error {
	t.logs = logs{t: t, tokens: t.history.Tokens, elapsed: t.history.Elapsed}
	step := t.history.Steps()
	if t.o.Ranks.Rank() > 0 {
		return nil
	}
	if t.o.Log != "" {
		if err := t.logs.openLines(step); err != nil {
			return fmt.Errorf("train: log: %w", err)
		}
	}
	if t.o.TensorBoard != "" {
		first := 0
		if step > 0 || t.o.Resume {
			first = step + 1
		}
		var err error
		if t.logs.events, err = tfevents.Create(t.o.TensorBoard, first); err != nil {
			return fmt.Errorf("train: TensorBoard: %w", err)
		}
	}
	return nil
}

// openLines opens the file with the lines of the steps up to this one. A run at its beginning, or one whose
// lines are not there, begins with a line that says what it is.
func (l *logs) openLines(step int) error {
	text, err := regular.Read(l.t.o.Log, maxLog)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	head := logRun{l.t.o.Steps, time.Now().Round(time.Second), l.t.o.LR.String(), l.t.o.Optimizer.String(), l.t.data.Fingerprint()}
	var again *logRun
	if step == 0 && l.t.o.Resume {
		again = &head
	}
	kept, found, err := linesUpTo(text, step, again)
	if err != nil {
		return fmt.Errorf("%s: %w", l.t.o.Log, err)
	}
	if !bytes.Equal(kept, text) {
		if err := durable.WriteFile(l.t.o.Log, func(w io.Writer) error { _, err := w.Write(kept); return err }); err != nil {
			return err
		}
	}
	if l.lines, err = os.OpenFile(l.t.o.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666); err != nil {
		return err
	}
	if step == 0 || !found {
		return l.line(logLine{Run: &head})
	}
	return nil
}

// linesUpTo leaves out the last run's lines after a step, none of them if that is 0, and a last line that was
// not written to its end. A last run that is again, so that is made again, is left out as a whole. Found says
// that lines of the last run stay.
func linesUpTo(text []byte, step int, again *logRun) (kept []byte, found bool, err error) {
	n, begin := 0, 0 // the last run's first line
	var last logRun
	var lines [][]byte
	var steps []int
	for line := range bytes.Lines(text) {
		var l struct {
			Run  *logRun
			Step int
		}
		if err := json.Unmarshal(line, &l); err != nil || l.Run == nil && l.Step < 1 || line[len(line)-1] != '\n' {
			if n+len(line) == len(text) && line[len(line)-1] != '\n' {
				break
			}
			return nil, false, fmt.Errorf("line %d is no line of a log; name another file", len(lines)+1)
		}
		if n += len(line); l.Run != nil {
			begin, last = len(lines), *l.Run
		}
		lines, steps = append(lines, line), append(steps, l.Step)
	}
	if again != nil && last.Rate == again.Rate && last.Optimizer == again.Optimizer && last.Data == again.Data {
		lines = lines[:begin]
	}
	for i, line := range lines {
		if i < begin || step == 0 || steps[i] <= step {
			kept = append(kept, line...)
			found = found || i >= begin
		}
	}
	return kept, found, nil
}

// rewind drops what the logs have of the steps after this one.
func (l *logs) rewind(step int) {
	var failed []error
	l.tokens, l.elapsed = l.t.history.Tokens, l.t.elapsed()
	if l.lines != nil {
		failed = append(failed, l.lines.Close(), l.openLines(max(1, step)))
	}
	if l.events != nil {
		failed = append(failed, l.events.Restart(time.Now(), step+1))
	}
	l.noted(errors.Join(failed...))
}

// noted notes an error, once.
func (l *logs) noted(err error) {
	if err == nil {
		return
	}
	if note := "the log ends early: " + err.Error(); !slices.Contains(l.t.history.Notes, note) {
		l.t.history.Notes = append(l.t.history.Notes, note)
	}
}

// line writes a line. A log of which a line cannot be written, on a full disk, ends before it: what came
// behind a part of a line could not be read.
func (l *logs) line(line logLine) error {
	if l.lines == nil {
		return nil
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	n, err := l.lines.Write(append(text, '\n'))
	if err != nil {
		if stat, failed := l.lines.Stat(); failed == nil {
			_ = l.lines.Truncate(stat.Size() - int64(n)) // else a reader leaves the part out
		}
		l.lines.Close()
		l.lines = nil
	}
	return err
}

// scalars writes the points of curves. Events end likewise: a reader leaves the part of one out.
func (l *logs) scalars(step int, scalars ...tfevents.Scalar) error {
	if l.events == nil {
		return nil
	}
	err := l.events.Add(time.Now(), step, scalars...)
	if err != nil {
		l.events.Close()
		l.events = nil
	}
	return err
}

// step logs the history's last step.
func (l *logs) step() {
	if l.lines == nil && l.events == nil {
		return
	}
	h, now := l.t.history, l.t.elapsed()
	last := h.Steps() - 1
	loss, rate, norm, seconds := number(h.Loss[last]), number(h.LR[last]), number(h.GradNorm[last]), now.Seconds()
	points := []tfevents.Scalar{{Tag: "loss", Value: h.Loss[last]}, {Tag: "rate", Value: h.LR[last]}, {Tag: "norm", Value: h.GradNorm[last]}}
	if took := (now - l.elapsed).Seconds(); h.Tokens > l.tokens && took > 0 {
		points = append(points, tfevents.Scalar{Tag: "tokens per second", Value: float64(h.Tokens-l.tokens) / took})
	}
	l.tokens, l.elapsed = h.Tokens, now
	l.noted(errors.Join(
		l.line(logLine{Step: h.Steps(), Loss: &loss, Rate: &rate, Norm: &norm, Tokens: h.Tokens, Places: h.Places, Seconds: &seconds}),
		l.scalars(h.Steps(), points...)))
}

// eval logs an evaluation.
func (l *logs) eval(p Point) {
	values := map[string]number{"loss": number(p.Loss)}
	if p.Tokens {
		values["perplexity"] = number(p.Perplexity())
	}
	maps.Copy(values, converted[number](p.Metrics))
	var points []tfevents.Scalar
	for _, name := range slices.Sorted(maps.Keys(values)) {
		points = append(points, tfevents.Scalar{Tag: "eval/" + name, Value: float64(values[name])})
	}
	l.noted(errors.Join(l.line(logLine{Step: p.Step, Eval: values}), l.scalars(p.Step, points...)))
}

// spike logs a spike. If the run went back the line stands among those of the step that it went back to.
func (l *logs) spike(s Spike) {
	l.noted(l.line(logLine{Step: max(1, min(s.Step, l.t.history.Steps())), Spike: &logSpike{number(s.Loss), number(s.Limit), s.Did}}))
}

// close closes the files.
func (l *logs) close() {
	if l.lines != nil {
		_ = l.lines.Close() // each line was written when it was made
	}
	if l.events != nil {
		_ = l.events.Close()
	}
	*l = logs{}
}

// Perplexity is e to the loss, of which p.Tokens says that it is in nats per token: among how many tokens the
// model hesitates.
func (p Point) Perplexity() float64 { return math.Exp(p.Loss) }
