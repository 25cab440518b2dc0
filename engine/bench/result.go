package bench

import "github.com/mcs-notebook/mcs/engine/dtype"

// Result is what was measured. Times are in seconds for one run.
type Result struct {
	Median    float64
	Low, High float64 // 95 % interval of the median; what reading the clock leaves unknown is in it
	P25, P75  float64 // the middle half of the samples lies between them
	Min       float64
	First     float64 // the very first run, with planning and compiling
	Floor     float64 // the same calls with an empty body (Work.Floor); it is not taken off
	Clock     float64 // what starting and stopping the clock takes; it is taken off each sample

	Times     []float64 // the samples in their order: a run each, or the mean of PerSample runs
	Samples   int
	PerSample int     // runs in a sample: runs below 10 µs are timed in blocks
	Precision float64 // the share of the median to which it was to be known; Known says whether it is

	Tally   Tally   // what one run did
	Uneven  bool    // the runs that were timed did not all do that
	Machine Machine // where it ran, and what else ran there
	Stopped bool    // it was interrupted, so that fewer samples were taken
	Refused string  // why there is no time that could be believed: then there are no figures above, either
	Notes   []string
}

// Runs is how often the work ran in all samples.
func (r *Result) Runs() int { return r.Samples * r.PerSample }

// Known is the share of the median to which it is known: half the width of its interval. It reports false if
// that is more than what was asked for, or not known at all: for too few samples, and on a machine that was
// not quiet, where other minutes would give another median.
func (r *Result) Known() (share float64, ok bool) {
	if r.Median <= 0 || r.High < r.Low {
		return 0, false
	}
	share = (r.High - r.Low) / 2 / r.Median
	return share, r.Samples >= minKnown && share <= r.Precision && len(r.Machine.Noise()) == 0
}

// A Tally is what one run did, as the engine and Go's runtime count it.
type Tally struct {
	Launches int
	Flops    int64      // what the mathematics of the launches needs, but for those that are Uncounted
	Bytes    int64      // the inputs and outputs of each launch, once
	DType    dtype.Type // the type that the arithmetic is done in, the one with the highest ceiling of several; Invalid: not known
	Device   float64    // seconds that the device worked; 0: not known
	Devices  []string   // on which the launches are; none: the default one
	Allocs   float64    // objects that Go allocated
	Heap     float64    // their bytes
	Made     int        // nodes of tensors that the run made
	Merged   int        // those of them that were equal to others and computed once
	Left     int        // those that were not computed, because most of what they take was, for others
	Changes  bool       // something was changed, and put back: see Work.Restore
	Notes    []string   // what a reader should know of the run
	Refused  string     // why a time of this run would not be one of its work: nothing was launched for what it made
	Shapes   []string   // element types and shapes of its values: "f32[2 3]"
	Results  []any      `json:"-"` // the values; they are compared with those of the first case, and then let go

	// Uncounted says that there are launches of which nobody knows the Flops: kernels that a person wrote.
	Uncounted bool `json:",omitempty"`

	Working map[int64]int `json:"-"` // launches by the bytes that each works on; nil: all bytes are those of one
}

// Comparison is what Compare measured: one line for each case, in their order. The first case is what the
// others are compared with.
type Comparison struct {
	Lines    []Line
	Same     Ratio  // the first case against itself: what this machine takes for a difference when there is none; 0: not measured
	Baseline string // the name of what was saved and each case is compared with, in place of the first case
	Notes    []string
}

// A Ratio of times with its interval; 0 for both of its ends: not known.
type Ratio struct {
	Ratio, Low, High float64
}

// A Line of a comparison.
type Line struct {
	Name      string
	Result    *Result
	Ratio     float64  // this case's time over the first's: the median over the rounds, in which they were timed side by side
	Low, High float64  // 99 % interval of the ratio, widened by what the first case differs from itself; both 0: not known
	Verdict   string   // "slower", "faster", "same" (no difference larger than Options.Tolerance), "unknown" or "refused"
	More      float64  // seconds of measuring that would tell, about, where the verdict is unknown; 0: not known
	Differs   []string // how the work is another than the first's: shapes, element types, flops, launches, values
	Apart     float64  // the largest difference of values, as a share of the first's largest value; below 0: not known
}
