package magics

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
)

// traced runs the work and keeps each launch. If the run made a plan, the work runs again, so that r has
// the times of later runs. Then first is the first recording; else first is r. M is the machine meanwhile.
func (c *call) traced(ctx context.Context, w *work) (r, first *profile.Recording, m bench.Machine, err error) {
	watch := bench.NewWatch(c.table.Clock)
	if first, err = w.record(ctx, profile.RecordTraced); err != nil || first.PlansBuilt == 0 {
		return first, first, watch.Machine(), err
	}
	r, err = w.record(ctx, profile.RecordTraced)
	return r, first, watch.Machine(), err
}

// kernelTimes is the value that %kernels -t shows.
type kernelTimes struct {
	Kernels  []profile.Timing
	Usage    profile.Usage
	Launches int
	Evals    int
	Copies   int
	Copied   int64
	Compiled int           // plans made in the first run
	Making   time.Duration // time for making them
	Limits   []limit       // of each device that was used
	Machine  bench.Machine // the machine while the work ran; zero where it is shown elsewhere
	record   *profile.Recording
	notes    []string
	wide     bool
	dropped  int
}

// A limit is what a device can do.
type limit struct {
	Device   string
	Ceilings bench.Ceilings
	Start    time.Duration // of the shortest launch
}

func (c *call) kernelTimes(ctx context.Context, w *work) (*kernelTimes, error) {
	r, first, m, err := c.traced(ctx, w)
	if err != nil {
		return nil, err
	}
	k := &kernelTimes{Usage: r.Usage(), Launches: r.Launches, Evals: len(r.Trace.Evals), Copies: r.Copies, Copied: r.CopiedBytes, Compiled: first.PlansBuilt,
		record: r, notes: r.Notes(), wide: c.on("w"), dropped: r.Trace.Dropped, Machine: m}
	for _, e := range first.Trace.Evals {
		if !e.Reused {
			k.Making += e.Planned - e.Start
		}
	}
	if k.Launches > 0 {
		if err := k.hold(ctx, r); err != nil {
			return nil, c.errorf("%w", err)
		}
	}
	return k, nil
}

// hold fills in the kernels of a recording, each held against what its device can do.
func (k *kernelTimes) hold(ctx context.Context, r *profile.Recording) (err error) {
	if k.Limits, err = limitsOf(ctx, r.Devices); err != nil {
		return err
	}
	by := map[string]profile.Limit{}
	for _, l := range k.Limits {
		by[l.Device] = profile.Limit{Roof: l.Ceilings, Start: l.Start}
	}
	k.Kernels = r.Trace.Timings(by, k.wide)
	return nil
}

// limit is that of the device that a kernel ran on.
func (k *kernelTimes) limit(x *profile.Timing) *limit {
	for i := range k.Limits {
		if k.Limits[i].Device == x.Device {
			return &k.Limits[i]
		}
	}
	return &limit{}
}

// name is that of a kernel, with its device where there are several.
func (k *kernelTimes) name(x *profile.Timing) string {
	if len(k.Limits) > 1 {
		return x.Kernel + " on " + x.Device
	}
	return x.Kernel
}

// limitsOf measures what devices can do, by their names.
func limitsOf(ctx context.Context, devices []string) (list []limit, err error) {
	for _, name := range devices {
		l := limit{Device: name}
		if l.Ceilings, err = bench.CeilingsOf(ctx, []string{name}); err != nil {
			return nil, err
		}
		d, err := device.Lookup(name)
		if err != nil {
			return nil, err
		}
		if l.Start, err = shortestLaunch(device.On(ctx, d)); err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// shortestLaunch is how long the shortest of several small launches takes on the default device of ctx.
func shortestLaunch(ctx context.Context) (least time.Duration, err error) {
	err = tensor.Try(func() {
		const tries = 50
		var x tensor.Tensor
		tensor.Within(ctx, func() { x = tensor.Zeros(1).Eval() })
		r := profile.RecordTraced(ctx, func(context.Context) {
			for range tries {
				x.Neg().Eval()
			}
		})
		for i, l := range r.Trace.Launches {
			if i == 0 || l.Time < least {
				least = l.Time
			}
		}
	})
	return least, err
}

// Kept is the recording, for cells.
func (k *kernelTimes) Kept() any { return k.record }

// JSON returns all fields, times in nanoseconds.
func (k *kernelTimes) JSON() ([]byte, error) { return json.Marshal(k) }

func (k *kernelTimes) Text(width int) string { return k.StyledText(width, nil) }

// roomy is the least width at which the table has all its columns.
const roomy = 100

// StyledText returns the table, the origin of each launch, and a summary of the time.
func (k *kernelTimes) StyledText(width int, style display.Style) string {
	width = lines.Columns(width)
	if k.Launches == 0 {
		return "nothing was launched"
	}
	lines := []string{k.table(width).StyledText(width, style)}
	for i := range k.Kernels {
		if from := k.Kernels[i].From; len(from) > 0 {
			lines = append(lines, dimmed(style, k.name(&k.Kernels[i])+" from "+strings.Join(from, " · "), width)...)
		}
	}
	for _, text := range k.facts() {
		lines = append(lines, dimmed(style, text, width)...)
	}
	return strings.Join(lines, "\n")
}

func dimmed(style display.Style, text string, width int) (painted []string) {
	for _, line := range lines.Wrap(text, width, 2) {
		painted = append(painted, style.Paint(display.Dim, line))
	}
	return painted
}

func (k *kernelTimes) table(width int) *display.Table {
	var columns []column
	add := func(shown bool, name string, of func(x *profile.Timing) any) {
		if shown {
			columns = append(columns, column{name, func(i int) any { return of(&k.Kernels[i]) }})
		}
	}
	took := func(shown bool, name string, of func(x *profile.Timing) time.Duration) {
		add(shown, name, func(x *profile.Timing) any { return display.SecondsCell(of(x).Seconds()) })
	}
	all := k.wide || width >= roomy
	add(true, "kernel", func(x *profile.Timing) any { return display.Cell{Text: k.name(x), Role: display.Name} })
	add(true, ">calls", func(x *profile.Timing) any { return x.Calls })
	took(true, ">total", func(x *profile.Timing) time.Duration { return x.Total })
	add(true, ">%", func(x *profile.Timing) any { return display.Cell{Text: units.Digits(100 * x.Share)} })
	took(true, ">avg", func(x *profile.Timing) time.Duration { return x.Mean })
	took(all, ">p50", func(x *profile.Timing) time.Duration { return x.Median })
	took(k.wide, ">min", func(x *profile.Timing) time.Duration { return x.Min })
	took(k.wide, ">max", func(x *profile.Timing) time.Duration { return x.Max })
	add(true, ">GFLOP/s", func(x *profile.Timing) any { return k.rate(x, x.Flops) })
	add(true, ">GB/s", func(x *profile.Timing) any { return k.rate(x, x.Bytes) })
	add(all, ">flop/B", func(x *profile.Timing) any { return ratio(x) })
	add(true, "bound", func(x *profile.Timing) any { return string(x.Bound) })
	add(true, ">roof", func(x *profile.Timing) any { return k.roofCell(x) })
	add(k.wide, "reads → writes", func(x *profile.Timing) any { return x.Type })
	return tableOf(len(k.Kernels), columns)
}

// impossible reports whether a kernel was faster than the device can be. Ceilings measured on a busy
// machine may be too low, so they refuse only a kernel that is ten times faster.
func (k *kernelTimes) impossible(x *profile.Timing) bool {
	trust := 1.0
	if k.limit(x).Ceilings.Doubt != "" {
		trust = 10
	}
	return x.Impossible(trust)
}

// rate is an amount in billions a second, or a dash if the amount is unknown or the rate impossible.
func (k *kernelTimes) rate(x *profile.Timing, amount int64) display.Cell {
	if amount == 0 || x.Total == 0 || k.impossible(x) {
		return display.Cell{Text: "–"}
	}
	r := float64(amount) / x.Total.Seconds() / 1e9
	return display.Cell{Text: units.Digits(r)}
}

func ratio(x *profile.Timing) display.Cell {
	if x.Flops == 0 || x.Bytes == 0 {
		return display.Cell{Text: "–"}
	}
	return display.Cell{Text: units.Digits(x.Intensity())}
}

func (k *kernelTimes) roofCell(x *profile.Timing) display.Cell {
	cell := display.Cell{Text: units.Percent(x.Roof)}
	switch {
	case k.impossible(x):
		cell.Text, cell.Role = "refused", display.Bad
	case x.Impossible(1):
		cell.Text = "?" // the ceilings are in doubt
	}
	return cell
}

// facts returns the lines below the table.
func (k *kernelTimes) facts() []string {
	counts := []string{units.Plural(int64(k.Launches), "launch"), units.Plural(int64(k.Evals), "evaluation"), units.Plural(int64(k.Copies), "copy")}
	if k.Copied > 0 {
		counts[2] += " of " + units.Bytes(k.Copied)
	}
	if k.Compiled > 0 {
		counts = append(counts, fmt.Sprintf("%s made in %s before", units.Plural(int64(k.Compiled), "plan"), units.Duration(k.Making)))
	}
	u := k.Usage
	facts := []string{strings.Join(counts, " · "),
		fmt.Sprintf("device busy %s of %s (%s), one kernel at a time · gaps %s · planning %s · copying %s", units.Duration(u.Busy), units.Duration(u.Wall),
			units.Percent(u.Busy.Seconds()/max(u.Wall.Seconds(), 1e-9)), units.Duration(u.Gaps), units.Duration(u.Planning), units.Duration(u.Copying))}
	facts = append(facts, k.ceilings()...)
	if k.dropped > 0 {
		facts = append(facts, fmt.Sprintf("%s more were not timed one by one", units.Plural(int64(k.dropped), "launch")))
	}
	for i := range k.Kernels {
		if x := &k.Kernels[i]; k.impossible(x) {
			facts = append(facts, fmt.Sprintf("%s: %s is %s times as fast as this device can be: not all of it was done, or its data lay nearer than any memory that was measured",
				k.name(x), units.Duration(x.Total), units.Digits(x.Roof)))
		}
	}
	if facts = append(facts, k.notes...); k.Machine.Cores > 0 {
		facts = append(facts, k.Machine.Brief())
	}
	return facts
}

// ceilings are the lines with the ceilings that the kernels are compared with, one for each device.
func (k *kernelTimes) ceilings() (lines []string) {
	for _, l := range k.Limits {
		var types []string
		unsure := false
		for i := range k.Kernels {
			x := &k.Kernels[i]
			if x.Device != l.Device {
				continue
			}
			if text := fmt.Sprintf("%v %s", x.DType, units.Rate(l.Ceilings.Flops(x.DType), "FLOP/s")); x.DType.Float() && !slices.Contains(types, text) {
				types = append(types, text)
			}
			unsure = unsure || x.Impossible(1) && !k.impossible(x)
		}
		text := "ceilings: "
		if len(k.Limits) > 1 {
			text = "ceilings of " + l.Device + ": "
		}
		text += strings.Join(append(types, "memory "+units.Rate(l.Ceilings.Behind(), "B/s"), "a launch "+units.Duration(l.Start)), " · ")
		if l.Ceilings.Doubt != "" {
			text += "; " + l.Ceilings.Doubt
			if unsure {
				text += ", so ? stands for a share of more than all"
			}
		}
		lines = append(lines, text)
	}
	return lines
}
