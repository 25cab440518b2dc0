package magics

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notation"
)

func timingMagics() []*Magic {
	return []*Magic{{
		Name: "time", Family: "Timing", Varies: true, Args: "STATEMENT", needs: "statement", Takes: TakesGo, Cell: true,
		Summary: "run once: the value, the time, the launches",
		Help: "What the statement makes is evaluated and the device has finished before the clock stops. Variables that\n" +
			"it declares stay; those that it assigns to are put back. Shown is the value of the last expression, or of what the last line declares.",
		Example: "%time m.Logits(ids)",
		run:     runTime,
	}, {
		Name: "timeit", Family: "Timing", Varies: true, Args: "STATEMENT", needs: "statement", Takes: TakesGo, Cell: true, Flags: measuringFlags(),
		Summary: "time a statement until the median is known to 2 %",
		Help: "The statement is compiled once and run again and again. All that a run makes is evaluated inside of its clock,\n" +
			"whether it is returned, kept somewhere or dropped. Shown are the median with the interval that holds it in 95 of 100\n" +
			"cases, the shortest run, the middle half, the launches of one run, how fast its inputs and outputs moved as a share\n" +
			"of what this machine can read, and what the interpreter alone costs for the statement with empty functions. Nothing is subtracted.\n" +
			"Each run starts from the same state: variables of the session that the statement assigns to are put back, and so is\n" +
			"the generator of random tensors. What a run changes elsewhere stays (elements of a map or a slice, what a pointer leads to, a variable\n" +
			"that only a closure knows, a channel, weights), and the output names the variables that lead there: -setup can give each run the\n" +
			"same start. If runs do more and more for that, there is no time. Files and what compiled packages keep inside are not looked at.\n" +
			"The last line is what the machine did meanwhile; one that is not quiet is named beforehand, too. In -assert and among\n" +
			"saved figures the statement is called by its text, or y if it is y := EXPR. -save keeps figures in the user's cache\n" +
			"folder; -save, -o and -assert are about full caches, not those that -cold empties. An assertion that is not surely true\n" +
			"is an error: mcs run ends with exit code 1. -sweep shows a line for each value, and a plot; with -save, -vs and -o a\n" +
			"statement is then called \"a n=64\", and -assert has to hold for each. In the next cell _ is the result: _.Median.",
		Example: "%timeit layer.Forward(x)\n%timeit -t 10s m.Logits(ids)\n%timeit -cold -hist x.Sum()\n%timeit -save before layer.Forward(x)\n%timeit -sweep n=64..512*2 -setup 'x = tensor.Randn(n, n)' x.MatMul(x)\n%timeit -setup 'c = slices.Clone(table)' slices.Sort(c)",
		run:     runTimeit,
	}, {
		Name: "bench", Family: "Timing", Varies: true, Args: "NAME := EXPR ; NAME := EXPR …", needs: "statements", Takes: TakesGo, Cell: true,
		Flags: append(measuringFlags(), Flag{Name: "check", Kind: Switch, Default: "true",
			Help: "compare the values that the statements give, too (-check=false: not), beside their shapes, types and work"}),
		Summary: "compare statements, in turn, with the interval of the ratio",
		Help: "The statements take turns in random order, so that a machine that slows down slows all of them down. The first is\n" +
			"what the others are compared with, and is timed against itself as well: what it differs from itself by is no\n" +
			"difference of the others. ~ means that a larger difference than it names is ruled out. -t is for each. Two\n" +
			"statements cannot have the same name. Sides that do other work than the first, or give other values by more than rounding\n" +
			"explains, are named; -check=false leaves the values alone, which need to be copied and read for that. With -vs each is compared with the one of its name that was saved, which was\n" +
			"measured at another time: only larger differences can be told.",
		Example: "%bench -assert 'fused <= 1.1*plain' fused := x.Mul(2).Exp() ; plain := x.Mul(2).Eval().Exp()\n" +
			"%bench fused := layer.Forward(x) ; plain := base.Forward(x).Add(x.MatMul(part.A).MatMul(part.B).Mul(part.Scale))",
		run: runBench,
	}}
}

// prepare compiles a magic's statement and evaluates what it will read.
func (c *call) prepare() (*work, error) { return c.ready(parsed(c.rest)) }

// ready is prepare of a statement.
func (c *call) ready(code *notation.Statements) (*work, error) {
	w, err := c.compile(code)
	if err != nil {
		return nil, err
	}
	if err := c.settleInputs(code); err != nil {
		return nil, err
	}
	w.look = c.leaves
	w.restore = c.state(w.code, c.s.Assigned(w.code)).restore
	c.remember()
	return w, nil
}

// A timing is what %timeit shows.
type timing struct {
	*bench.Result
	of   *measurement
	rate string // how fast bytes moved, or why that is not shown
}

func runTimeit(ctx context.Context, c *call) (display.Value, error) {
	m, err := c.measure(ctx, []benchCase{named(c.rest)})
	if m == nil {
		return nil, err
	}
	if m.sweep != nil {
		return m.swept(), err
	}
	t := &timing{Result: m.Lines[0].Result, of: m}
	if t.Refused == "" && !t.Uneven && t.Tally.Bytes > 0 && ctx.Err() == nil {
		if ceilings, err := bench.CeilingsOf(ctx, t.Tally.Devices); err == nil { // how near one run came to the nearest limit of the device
			t.rate = ceilings.Nearest(t.Tally, t.Median)
		}
	}
	return t, err
}

// Kept is the result, for cells.
func (t *timing) Kept() any { return t.Result }

func (t *timing) Text(width int) string { return t.StyledText(width, nil) }

// StyledText is the time and what stands behind it, with what flags ask for and notes below.
func (t *timing) StyledText(width int, style display.Style) string {
	below := slices.Concat(t.more(), t.of.Notes, t.of.changes(), t.of.said, []string{t.of.machine()})
	if t.Refused != "" {
		return lines.Fit(strings.Join(append([]string{t.Result.Text(0)}, below...), "\n"), width)
	}
	median := units.Seconds(t.Median)
	text := lines.Wrap(median+"  "+t.Sampled()+", "+t.Certainty(), width, 2)
	text[0] = style.Paint(display.Strong, median) + strings.TrimPrefix(text[0], median)
	dim := []string{t.Spread(), t.facts()}
	if t.Floor > 0 && t.Median < 2*t.Floor {
		dim = append(dim, "most of this is the interpreter, not the work")
	}
	for _, fact := range slices.Concat(dim, t.Notes, below) {
		text = append(text, dimmed(style, fact, width)...)
	}
	return strings.Join(text, "\n")
}

// more are the lines that flags ask for.
func (t *timing) more() (list []string) {
	if then := t.of.then; then != nil {
		list = append(list, "vs "+then.Baseline+": "+then.Lines[0].Versus())
	}
	if t.of.cold != nil {
		list = append(list, "cold: "+medianCell(t.of.cold.Lines[0].Result).Text)
	}
	if t.of.wide {
		parts := []string{"first run " + secondsCell(t.First).Text, "host " + secondsCell(t.Host()).Text, "device " + secondsCell(t.Tally.Device).Text,
			units.Plural(int64(t.Tally.Allocs), "allocation") + " of " + units.Bytes(int64(t.Tally.Heap))}
		list = append(list, strings.Join(parts, " · "))
	}
	return list
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
	return facts + "interpreter alone " + units.Seconds(t.Floor)
}

func runBench(ctx context.Context, c *call) (display.Value, error) {
	split := splitCases(c.rest)
	if len(split) < 2 {
		return nil, c.errorf("got 1 statement, compares at least 2; %%timeit times one")
	}
	if err := c.tellApart(split); err != nil {
		return nil, err
	}
	m, err := c.measure(ctx, split)
	if m == nil {
		return nil, err
	}
	if m.sweep != nil {
		return m.swept(), err
	}
	return &compared{m.table(), m}, err
}

// tellApart makes sure that each case has a name of its own. Statements without a name that are the same are
// numbered: comparing one with itself shows what the machine's noise is.
func (c *call) tellApart(cases []benchCase) error {
	times := map[string]int{}
	for i, each := range cases {
		times[each.name]++
		switch n := times[each.name]; {
		case n > 1 && each.name != each.code.Text:
			return c.errorf("got the name %s twice, want another for each statement: the table tells them apart by it", each.name)
		case n > 1:
			cases[i].name = fmt.Sprintf("%s (%d)", each.name, n)
		}
	}
	return nil
}
