package magics

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
)

func timingMagics() []*Magic {
	setup := Flag{Name: "setup", Kind: Text, Arg: "'STATEMENT'", Help: "run this before each run, outside of the clock; in quotes if it has spaces"}
	budget := Flag{Name: "t", Kind: Duration, Default: "2s", Help: "measure at most so long"}
	return []*Magic{{
		Name: "time", Family: "Timing", Args: "STATEMENT", Takes: TakesGo, Cell: true,
		Summary: "run once: the value, the time, the launches",
		Help: "What the statement makes is evaluated and the device has finished before the clock stops. Variables that\n" +
			"it declares stay; those that it assigns to are put back.",
		Example: "%time m.Logits(ids)",
		run:     runTime,
	}, {
		Name: "timeit", Family: "Timing", Args: "STATEMENT", Takes: TakesGo, Cell: true, Flags: []Flag{budget, setup},
		Summary: "time a statement until the median is known to 2 %",
		Help: "The statement is compiled once and run again and again. All that a run makes is evaluated inside of its clock,\n" +
			"whether it is returned, kept somewhere or dropped. Shown are the median with the interval that holds it in 95 of 100\n" +
			"cases, the shortest run, the middle half, the launches of one run, how fast its inputs and outputs moved as a share\n" +
			"of what this machine can read, and what the interpreter alone costs for the statement with empty functions. Nothing is subtracted.\n" +
			"Each run starts from the same state: variables of the session that the statement assigns to are put back, and so is\n" +
			"the generator of random tensors. What a run changes elsewhere (in a map, a field, a closure, an optimizer) stays; if\n" +
			"runs do more and more for that, there is no time, and -setup can give each the same start.",
		Example: "%timeit layer.Forward(x)\n%timeit -t 10s m.Logits(ids)\n%timeit -setup 'c = m.NewCache()' m.Decode(c, ids)",
		run:     runTimeit,
	}, {
		Name: "bench", Family: "Timing", Args: "NAME := EXPR ; NAME := EXPR …", Takes: TakesGo, Cell: true, Flags: []Flag{budget, setup},
		Summary: "compare statements, in turn, with the interval of the ratio",
		Help: "The statements take turns in random order, so that a machine that slows down slows all of them down. The first is\n" +
			"what the others are compared with, and is timed against itself as well: what it differs from itself by is no\n" +
			"difference of the others. ~ means that a larger difference than it names is ruled out. -t is for each. Two\n" +
			"statements cannot have the same name.",
		Example: "%bench fused := layer.Forward(x) ; plain := base.Forward(x).Add(x.MatMul(layer.A).MatMul(layer.B).Mul(layer.Scale))",
		run:     runBench,
	}}
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
	if err := c.settleInputs(source); err != nil {
		return nil, err
	}
	w.restore = c.state(w.source, c.s.Assigned(w.source)).restore
	return w, nil
}

// A timing is what %timeit shows.
type timing struct {
	*bench.Result
	rate string // how fast bytes moved, or why that is not shown
}

func runTimeit(ctx context.Context, c *call) (display.Value, error) {
	w, err := c.prepare()
	if err != nil {
		return nil, err
	}
	ctx, mute := c.s.Mute(ctx)
	timed, err := c.bench(ctx, "", w, mute)
	if err != nil {
		return nil, err
	}
	result, err := bench.MeasureWork(ctx, timed, bench.Options{Time: c.duration("t")})
	if err != nil {
		return nil, err
	}
	result.Notes = append(result.Notes, dropped(mute)...)
	t := &timing{Result: result}
	if result.Refused == "" && result.Tally.Bytes > 0 && ctx.Err() == nil {
		t.rate = t.limit(ctx)
	}
	return t, nil
}

// limit says how near one run came to the limit of the device that it is nearest to.
func (t *timing) limit(ctx context.Context) string {
	ceilings, err := bench.MeasureCeilings(ctx)
	if err != nil {
		return ""
	}
	return ceilings.Nearest(t.Tally, t.Median)
}

func (t *timing) Text(width int) string { return t.StyledText(width, nil) }

// StyledText is three lines, so that they fit a screen of 80 columns, and notes below them.
func (t *timing) StyledText(_ int, style display.Style) string {
	if t.Refused != "" {
		return t.Result.Text(0)
	}
	lines := []string{
		style.Paint(display.Strong, units.Seconds(t.Median)) + "  " + t.Sampled() + ", " + t.Certainty(),
		style.Paint(display.Dim, t.Spread()),
		style.Paint(display.Dim, t.facts()),
	}
	if t.Floor > 0 && t.Median < 2*t.Floor {
		lines = append(lines, style.Paint(display.Dim, "most of this is the interpreter, not the work"))
	}
	for _, note := range t.Notes {
		lines = append(lines, style.Paint(display.Dim, note))
	}
	return strings.Join(lines, "\n")
}

// facts are what stands behind the time.
func (t *timing) facts() string {
	var parts []string
	if t.Tally.Launches > 0 {
		parts = append(parts, units.Plural(int64(t.Tally.Launches), "launch"))
	}
	if t.rate != "" {
		parts = append(parts, t.rate)
	}
	facts := strings.Join(parts, ", ")
	if facts != "" {
		facts += " · "
	}
	return facts + "interpreter floor " + units.Seconds(t.Floor)
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
	ctx, mute := c.s.Mute(ctx)
	works := make([]bench.Work, len(split))
	for i, each := range split {
		w, err := c.compile(each.source)
		if err != nil {
			return nil, err
		}
		if err := c.settleInputs(each.source); err != nil {
			return nil, err
		}
		if works[i], err = c.bench(ctx, each.name, w, mute); err != nil {
			return nil, err
		}
	}
	result, err := bench.CompareWorks(ctx, works, bench.Options{Time: c.duration("t")})
	if err != nil {
		return nil, err
	}
	result.Notes = append(result.Notes, dropped(mute)...)
	return comparison(result), nil
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
func comparison(result *bench.Comparison) display.Value {
	t := display.NewTable("", ">median", "vs "+result.Lines[0].Name, ">launches")
	for i, l := range result.Lines {
		versus := display.Cell{}
		if i > 0 {
			versus = display.Cell{Text: l.Versus(), Value: l.Ratio, Role: verdictRoles[l.Verdict]}
		}
		median := display.SecondsCell(l.Result.Median)
		if l.Result.Refused != "" {
			median = display.Cell{Text: "–"}
		}
		t.Add(display.Cell{Text: l.Name, Role: display.Name}, median, versus, l.Result.Tally.Launches)
	}
	t.Foot = strings.Join(result.Remarks(), "\n")
	return t
}

var verdictRoles = map[string]display.Role{"slower": display.Bad, "faster": display.Good, "same": display.Dim, "unknown": display.Dim, "refused": display.Bad}
