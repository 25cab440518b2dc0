package train

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
)

// Spikes say what to do about a spike: a step whose loss is far above those before it.
type Spikes int

// What can be done about spikes.
const (
	NoteSpikes Spikes = iota // the history says so
	SkipSpikes               // the step is not made; the run goes on with the next data
	GoBack                   // the run goes on from its last checkpoint, with the data after the spike
)

var spikeNames = [...]string{"note", "skip", "back"}

// String returns the word for it: note, skip or back.
func (s Spikes) String() string {
	if s < 0 || int(s) >= len(spikeNames) {
		return fmt.Sprintf("spikes(%d)", int(s))
	}
	return spikeNames[s]
}

// A Spike is a loss that was far above those before it.
type Spike struct {
	Step  int
	Loss  float64
	Limit float64 // what counts as far above: see Options.Spikes
	Did   string  // "noted", "skipped", "went back to step 40"
}

const (
	spikeWindow = 64  // losses that a loss is compared with
	spikeLeast  = 24  // so many there have to be
	spikeWidth  = 8   // standard deviations, estimated from the median of the distances to the median
	spikeShare  = 0.5 //  of the median, which a spike exceeds at least
	mostBacks   = 3   // to the same checkpoint; further spikes are skipped
)

// limit is the loss from which on step n, counted from 0, is a spike, +Inf if there are too few losses to
// compare with. The loss of the step before does not count: when the device is asked for step n the host may
// not know it yet.
func (h *History) limit(n int) float64 {
	before := h.Loss[max(0, n-1-spikeWindow):max(0, n-1)]
	if len(before) < spikeLeast {
		return math.Inf(1)
	}
	sorted := slices.Sorted(slices.Values(before))
	median := sorted[len(sorted)/2]
	for i, x := range sorted {
		sorted[i] = math.Abs(x - median)
	}
	slices.Sort(sorted)
	const normal = 1.4826 // a normal distribution's deviation, in medians of the distances
	return median + max(spikeWidth*normal*sorted[len(sorted)/2], spikeShare*math.Abs(median))
}

// spiked notes the spike that step l was, whose loss is the history's last one, and goes back if that is
// wanted.
func (t *trainer) spiked(l launched) error {
	h := t.history
	s := Spike{Step: h.Steps(), Loss: h.Loss[h.Steps()-1], Limit: l.limit, Did: "noted"}
	if t.o.Spikes != NoteSpikes {
		s.Did = "skipped"
	}
	if t.o.Spikes == GoBack {
		did, err := t.goBack(s, l)
		if err != nil {
			return err
		}
		s.Did = cmp.Or(did, s.Did)
	}
	t.history.Spikes = append(slices.Clone(h.Spikes), s)
	t.logs.spike(s)
	return nil
}

// goBack continues with the newest checkpoint before a spike, and with the data after those of the step l. It
// says so; or nothing if there is no checkpoint, or the run went back to it too often.
func (t *trainer) goBack(s Spike, l launched) (did string, err error) {
	step, ok, err := t.oneOf(func(steps []int) (int, error) {
		for _, step := range steps {
			if step < s.Step && verify(filepath.Join(t.o.Checkpoint, folderOf(step))) == nil {
				return step, nil
			}
		}
		return -1, nil
	})
	did = fmt.Sprintf("went back to step %d", step)
	if err != nil || !ok || times(t.history.Spikes, did) >= mostBacks {
		return "", err
	}
	t.undo()
	dir := filepath.Join(t.o.Checkpoint, folderOf(step))
	if err := t.load(dir, step); err != nil {
		return "", fmt.Errorf("train: checkpoint %s: %w", dir, err)
	}
	t.taken = l.taken + len(l.batches)
	t.logs.rewind(step)
	return did, nil
}

// times is how often the same was done.
func times(spikes []Spike, did string) (n int) {
	for _, s := range spikes {
		if s.Did == did {
			n++
		}
	}
	return n
}

// spikeText says what spikes there were, in a line: the first ones, and how many more.
func (h *History) spikeText() string {
	const shown = 3
	text := ""
	for i, s := range h.Spikes {
		if i == shown {
			return fmt.Sprintf("%s, and %d more", text, len(h.Spikes)-shown)
		}
		text += fmt.Sprintf("%s step %d %s (%s)", map[bool]string{true: ","}[i > 0], s.Step, lossText(s.Loss), s.Did)
	}
	return "spikes of the loss:" + text
}
