package magics

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
)

func timingMagics() []*Magic {
	budget := Flag{Name: "t", Kind: Duration, Default: "2s", Help: "measure at most so long"}
	return []*Magic{{
		Name: "time", Family: "Timing", Args: "STATEMENT", Takes: TakesGo, Cell: true,
		Summary: "run once: the value, the time, the launches",
		Help: "What the statement makes is evaluated and the device has finished before the clock stops. Variables that\n" +
			"it declares are its own.",
		Example: "%time m.Logits(ids)",
		run:     runTime,
	}, {
		Name: "timeit", Family: "Timing", Args: "STATEMENT", Takes: TakesGo, Cell: true, Flags: []Flag{budget},
		Summary: "time a statement until the median is known to 2 %",
		Help: "The statement is compiled once and run in blocks of at least 1 ms; what it makes is evaluated each time. Shown are\n" +
			"the median, the middle half of the samples (IQR), the launches of one run, how fast its inputs and outputs moved as a\n" +
			"share of what this machine can read, and what the interpreter alone costs for an empty statement. Nothing is\n" +
			"subtracted.",
		Example: "%timeit layer.Forward(x)\n%timeit -t 10s m.Logits(ids)",
		run:     runTimeit,
	}, {
		Name: "bench", Family: "Timing", Args: "NAME := EXPR ; NAME := EXPR …", Takes: TakesGo, Cell: true, Flags: []Flag{budget},
		Summary: "compare statements, in turn, with the interval of the ratio",
		Help: "The statements take turns in random order, so that a machine that slows down slows all of them down. The first is\n" +
			"what the others are compared with; the brackets are the 95 % interval of the ratio of medians. -t is for each.\n" +
			"Two statements cannot have the same name.",
		Example: "%bench fused := layer.Forward(x) ; plain := base.Forward(x).Add(x.MatMul(layer.A).MatMul(layer.B).Mul(layer.Scale))",
		run:     runBench,
	}}
}

func runTime(ctx context.Context, c *call) (display.Value, error) {
	w, err := c.prepare()
	if err != nil {
		return nil, err
	}
	r := profile.Start()
	start := time.Now()
	v, _, err := w.once(ctx)
	if err == nil {
		err = device.Default().Sync()
	}
	wall := time.Since(start)
	r.Stop()
	if err != nil {
		return nil, err
	}
	line := display.Text(units.Duration(wall) + " · " + r.Summary())
	if shown := w.show(v); shown != nil {
		return values{shown, line}, nil
	}
	return line, nil
}

// show is the value of an expression, or nil if there is none to show.
func (w *work) show(v any) display.Value {
	list, _ := v.(results)
	switch {
	case w.kind == expression && v != nil:
		return display.Format(v)
	case w.kind == trailing && len(list) > 0 && list[len(list)-1] != nil:
		return display.Format(list[len(list)-1])
	case w.kind != severalValues:
		return nil
	}
	var shown []display.Value
	for _, each := range list {
		if each != nil { // a nil error
			shown = append(shown, display.Format(each))
		}
	}
	return display.Tuple(shown)
}

// prepare compiles a magic's statement and evaluates what it will read.
func (c *call) prepare() (*work, error) {
	source, err := c.need("statement")
	if err != nil {
		return nil, err
	}
	w, err := c.compile(source)
	if err != nil {
		return nil, err
	}
	return w, c.settleInputs(source)
}

// A timing is what %timeit shows.
type timing struct {
	result *bench.Result
	floor  float64 // seconds that the interpreter takes for an empty statement of the same shape
	one    *profile.Recording
	rate   string // how fast bytes moved, or why that is not shown
}

func runTimeit(ctx context.Context, c *call) (display.Value, error) {
	w, err := c.prepare()
	if err != nil {
		return nil, err
	}
	one, lazy, err := w.record(ctx)
	if err != nil {
		return nil, err
	}
	result, err := bench.Measure(ctx, w.repeat(ctx, lazy), bench.Options{Time: c.duration("t")})
	if err != nil {
		return nil, err
	}
	t := &timing{result: result, one: one}
	if t.floor, err = c.measureFloor(ctx, w, lazy); err != nil {
		return nil, err
	}
	if one.Bytes() > 0 && ctx.Err() == nil {
		t.rate = t.limit(ctx)
	}
	return t, nil
}

// record runs the work twice, once to have plans built and once to count.
func (w *work) record(ctx context.Context) (r *profile.Recording, lazy bool, err error) {
	if _, lazy, err = w.once(ctx); err != nil || !lazy {
		return new(profile.Recording), lazy, err
	}
	r = profile.Start()
	_, _, err = w.once(ctx)
	return r.Stop(), lazy, err
}

// measureFloor times an empty statement in the way in which w was timed.
func (c *call) measureFloor(ctx context.Context, w *work, lazy bool) (float64, error) {
	stmt, err := c.s.Compile(w.floor)
	if err != nil {
		return 0, err
	}
	empty := &work{source: w.floor, stmt: stmt}
	r, err := bench.Measure(ctx, empty.repeat(ctx, lazy), bench.Options{Time: 100 * time.Millisecond})
	if err != nil && ctx.Err() == nil {
		return 0, err
	}
	if r == nil {
		return 0, nil
	}
	return r.Median, nil
}

// limit says how near one run came to the limit of the device that it is nearest to: arithmetic or reading
// memory. A rate above a measured ceiling does not measure the device, and is not shown as one. What is
// faster than f32 products can be is held against those of bf16.
func (t *timing) limit(ctx context.Context) string {
	ceilings, err := bench.MeasureCeilings(ctx)
	if err != nil {
		return ""
	}
	flops, bytes := float64(t.one.Flops())/t.result.Median, float64(t.one.Bytes())/t.result.Median
	peak, of := ceilings.Flops(dtype.F32), "of peak"
	if _, f32 := bench.Share(flops, peak); !f32 && ceilings.Flops(dtype.BF16) > peak {
		peak, of = ceilings.Flops(dtype.BF16), "of bf16's peak"
	}
	computes, honest := bench.Share(flops, peak)
	reads, fits := bench.Share(bytes, ceilings.Behind())
	switch {
	case computes > reads && !honest:
		return "more arithmetic than the device can do (" + units.Rate(peak, "FLOP/s") + "): not all of it was done"
	case computes > reads:
		return units.Rate(flops, "FLOP/s") + " = " + units.Percent(computes) + " " + of
	case !fits:
		return "faster than memory (" + units.Rate(ceilings.Behind(), "B/s") + "): its data stayed in a cache"
	}
	return units.Rate(bytes, "B/s") + " = " + units.Percent(reads) + " of read bandwidth"
}

func (t *timing) Text(width int) string { return t.StyledText(width, nil) }

// StyledText is two lines, so that they fit a screen of 80 columns, and notes below them.
func (t *timing) StyledText(_ int, style display.Style) string {
	r := t.result
	line := fmt.Sprintf("%s  median of %s (IQR %s – %s)", style.Paint(display.Strong, units.Seconds(r.Median)),
		units.Plural(int64(r.Runs()), "run"), units.Seconds(r.P25), units.Seconds(r.P75))
	line += "\n" + style.Paint(display.Dim, t.facts())
	notes := r.Notes
	if t.floor > 0 && r.Median < 2*t.floor {
		notes = append([]string{"most of this is the interpreter, not the work"}, notes...)
	}
	for _, note := range notes {
		line += "\n" + style.Paint(display.Dim, note)
	}
	return line
}

// facts are what stands behind the time.
func (t *timing) facts() string {
	var parts []string
	if t.one.Launches > 0 {
		parts = append(parts, units.Plural(int64(t.one.Launches), "launch"))
	}
	if t.rate != "" {
		parts = append(parts, t.rate)
	}
	facts := strings.Join(parts, ", ")
	if facts != "" {
		facts += " · "
	}
	return facts + "interpreter floor " + units.Seconds(t.floor)
}

func runBench(ctx context.Context, c *call) (display.Value, error) {
	text, err := c.need("statements")
	if err != nil {
		return nil, err
	}
	split := splitCases(text)
	if len(split) < 2 {
		return nil, c.errorf("got 1 statement, compares at least 2; %%timeit times one")
	}
	if err := c.tellApart(split); err != nil {
		return nil, err
	}
	cases := make([]bench.Case, len(split))
	launches := make([]int, len(split))
	for i, each := range split {
		w, err := c.compile(each.source)
		if err != nil {
			return nil, err
		}
		if err := c.settleInputs(each.source); err != nil {
			return nil, err
		}
		one, lazy, err := w.record(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", each.name, err)
		}
		cases[i] = bench.Case{Name: each.name, Run: w.repeat(ctx, lazy)}
		launches[i] = one.Launches
	}
	result, err := bench.Compare(ctx, cases, bench.Options{Time: c.duration("t")})
	if err != nil {
		return nil, err
	}
	return comparison(result, launches), nil
}

// tellApart makes sure that each case has a name of its own. Statements without a name that are the same are
// numbered: comparing one with itself shows what the machine's noise is.
func (c *call) tellApart(cases []benchCase) error {
	times := map[string]int{}
	for i, each := range cases {
		times[each.name]++
		switch n := times[each.name]; {
		case n > 1 && each.name != each.source:
			return c.errorf("got the name %s twice, want another for each statement: the table tells them apart by it", each.name)
		case n > 1:
			cases[i].name = fmt.Sprintf("%s (%d)", each.name, n)
		}
	}
	return nil
}

// comparison is the table of %bench.
func comparison(result *bench.Comparison, launches []int) display.Value {
	t := display.NewTable("", ">median", "vs "+result.Lines[0].Name, ">launches")
	var notes []string
	for i, l := range result.Lines {
		versus := display.Cell{}
		if i > 0 {
			versus = display.Cell{Text: l.Versus(), Value: l.Ratio, Role: verdictRoles[l.Verdict]}
		}
		t.Add(display.Cell{Text: l.Name, Role: display.Name}, display.SecondsCell(l.Result.Median), versus, launches[i])
		for _, note := range l.Result.Notes {
			notes = append(notes, l.Name+": "+note)
		}
	}
	t.Foot = strings.Join(append(notes, result.Notes...), "\n")
	return t
}

var verdictRoles = map[string]display.Role{"slower": display.Bad, "faster": display.Good, "same": display.Dim, "unknown": display.Dim}
