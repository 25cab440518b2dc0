package magics

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

// measuringFlags returns the flags that %timeit and %bench share.
func measuringFlags() []Flag {
	return []Flag{
		{Name: "t", Kind: Duration, Default: "2s", Help: "measure at most so long"},
		{Name: "setup", Kind: Text, Arg: "'STATEMENT'", Help: "run this before each run, outside of the clock; in quotes if it has spaces"},
		{Name: "sweep", Kind: Text, Arg: "NAME=VALUES", Help: "measure with each number in place of NAME: n=4..64*2, n=0..100+25, n=1,3,10"},
		{Name: "cold", Kind: Switch, Help: "measure again with the caches emptied before each run, and show that beside it"},
		{Name: "w", Kind: Switch, Help: "show all: host and device time, allocations, the first run, what the machine is"},
		{Name: "hist", Kind: Switch, Help: "draw how often which time was measured"},
		{Name: "save", Kind: Text, Arg: "NAME", Outside: true, Help: "keep the samples as a baseline; a name that ends in .json is a file"},
		{Name: "vs", Kind: Text, Arg: "NAME", Help: "compare with what -save has kept, and say in what the machine is another one"},
		{Name: "assert", Kind: Text, Arg: "'CONDITION'", Help: "fail unless this is surely so: 'a <= 1.1*b', 'a < 5ms', 'a.allocs <= 10'"},
		{Name: "o", Kind: Text, Arg: "FILE", Outside: true, Help: "write the figures to FILE.txt (for benchstat), .json, .csv or .md"},
	}
}

// An inquiry holds the flags of %timeit and %bench that need the figures, parsed. They are parsed before
// anything is measured, so that a typing error costs no time.
type inquiry struct {
	sweep     *bench.Range      // -sweep; nil without it
	assertion *bench.Assertion  // -assert; nil without it
	baseline  *bench.Comparison // -vs; nil without it
	encode    encoder           // -o; nil without it
}

// An encoder writes a comparison in a file format.
type encoder func(*bench.Comparison) ([]byte, error)

var encoders = map[string]encoder{
	".txt":  (*bench.Comparison).Benchfmt,
	".json": (*bench.Comparison).JSON,
	".csv":  (*bench.Comparison).CSV,
	".md":   func(c *bench.Comparison) ([]byte, error) { return []byte(c.Markdown()), nil },
}

// inquire parses the flags; names are the cases that -assert may name. The error names the flag.
func (c *call) inquire(names []string) (q inquiry, err error) {
	if text := c.text("sweep"); text != "" {
		r, err := bench.ParseRange(text)
		if err != nil {
			return q, c.errorf("-%w", err)
		}
		q.sweep = &r
	}
	if text := c.text("assert"); text != "" {
		a, err := bench.ParseAssertion(text, names)
		if err != nil {
			return q, c.errorf("-%w", err)
		}
		q.assertion = &a
	}
	if name := c.text("vs"); name != "" {
		if q.baseline, err = bench.Load(c.baseline(name)); err != nil {
			return q, c.errorf("-vs: %w; -save keeps one", err)
		}
	}
	if file := c.text("o"); file != "" {
		if q.encode = encoders[filepath.Ext(file)]; q.encode == nil {
			return q, c.errorf("-o: got %s, want a name that ends in .txt, .json, .csv or .md; the result itself is _ in the next cell", file)
		}
	}
	return q, nil
}

// baseline returns the name of a baseline. A file without a folder belongs to the session's folder.
func (c *call) baseline(name string) string {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".json") {
		return c.path(name)
	}
	return name
}

// beforehand warns on standard error if the machine is busy.
func (c *call) beforehand(ctx context.Context) {
	var noise []string
	if c.table.Clock != nil {
		noise = c.table.Clock.Machine().Noise()
	} else {
		noise = bench.Survey(ctx).Noise()
	}
	for _, reason := range noise {
		c.s.Tell("the machine is not quiet: %s", reason)
	}
}

// A measurement is the result of %timeit and %bench, and of their flags.
type measurement struct {
	*bench.Comparison
	cold  *bench.Comparison // measured with empty caches; nil without -cold
	then  *bench.Comparison // compared with the baseline instead of the first statement; nil without -vs
	wide  bool              // -w
	each  int               // lines for each value of a sweep; all lines without a sweep
	sweep *bench.Sweep      // nil without -sweep; the comparison has its lines
	said  []string          // histograms, assertions that hold, files that were written
}

// measure times the statements. If an assertion fails it returns the measurement beside the error.
func (c *call) measure(ctx context.Context, cases []benchCase) (*measurement, error) {
	names := make([]string, len(cases))
	for i, each := range cases {
		names[i] = each.name
	}
	q, err := c.inquire(names)
	if err != nil {
		return nil, err
	}
	if setup := c.text("setup"); setup != "" {
		c.before = parsed(setup)
		defer c.state(c.before, c.s.Assigned(c.before)).restore()
	}
	var m *measurement
	if q.sweep != nil {
		m, err = c.sweep(ctx, cases, *q.sweep)
	} else {
		m, err = c.sample(ctx, cases)
	}
	if err != nil {
		return nil, err
	}
	return m, c.conclude(ctx, m, q)
}

// options returns the options of package bench for the flags.
func (c *call) options() bench.Options {
	unchecked := c.magic.flag("check") != nil && !c.on("check")
	return bench.Options{Time: c.duration("t"), Clock: c.table.Clock, Unchecked: unchecked}
}

// works compiles statements and evaluates the lazy variables that they read.
func (c *call) works(ctx context.Context, cases []benchCase, mute *session.Mute) ([]bench.Work, error) {
	works := make([]bench.Work, len(cases))
	for i, each := range cases {
		w, err := c.compile(each.code)
		if err != nil {
			return nil, err
		}
		if err := c.settleInputs(each.code); err != nil {
			return nil, err
		}
		if works[i], err = c.bench(ctx, each.name, w, mute); err != nil {
			return nil, err
		}
	}
	return works, nil
}

// sample times statements, with -cold also with empty caches.
func (c *call) sample(ctx context.Context, cases []benchCase) (*measurement, error) {
	ctx, mute := c.s.Mute(ctx)
	works, err := c.works(ctx, cases, mute)
	if err != nil {
		return nil, err
	}
	c.beforehand(ctx)
	o := c.options()
	m := &measurement{wide: c.on("w"), each: len(cases)}
	if m.Comparison, err = timed(ctx, works, o); err != nil {
		return nil, err
	}
	if o.Cold = c.on("cold"); o.Cold && ctx.Err() == nil {
		if m.cold, err = timed(ctx, works, o); err != nil {
			return nil, err
		}
	}
	m.Notes = slices.Concat(m.Notes, dropped(mute), c.goesOn())
	return m, nil
}

// timed compares several works, or times a single one.
func timed(ctx context.Context, works []bench.Work, o bench.Options) (*bench.Comparison, error) {
	if len(works) > 1 {
		return bench.CompareWorks(ctx, works, o)
	}
	r, err := bench.MeasureWork(ctx, works[0], o)
	if err != nil {
		return nil, err
	}
	return r.Table(works[0].Name), nil
}

// conclude does what the flags ask for once there are figures. It returns an error too if the assertion
// does not hold or the figures cannot decide it.
func (c *call) conclude(ctx context.Context, m *measurement, q inquiry) error {
	if c.on("hist") {
		m.said = append(m.said, m.histograms()...)
	}
	if q.baseline != nil {
		m.against(c.text("vs"), q.baseline)
	}
	if name := c.text("save"); name != "" && ctx.Err() != nil {
		m.said = append(m.said, "not saved: it was interrupted")
	} else if name != "" {
		if err := m.Save(c.baseline(name)); err != nil {
			return c.errorf("-save: %w", err)
		}
		m.said = append(m.said, "saved as "+name+"; -vs "+name+" compares with it")
	}
	if q.encode != nil {
		text, err := q.encode(m.Comparison)
		if err != nil {
			return c.errorf("-o: %w", err)
		}
		wrote, err := c.wrote(c.text("o"), text)
		if err != nil {
			return err
		}
		m.said = append(m.said, wrote.Text(0))
	}
	if q.assertion != nil {
		return c.judge(m, *q.assertion)
	}
	return nil
}

// judge notes that the assertion holds, in a sweep for each value, or returns an error that says where it
// does not.
func (c *call) judge(m *measurement, a bench.Assertion) error {
	if m.sweep == nil {
		j := a.Judge(m.Comparison)
		if !j.Holds() {
			return c.errorf("-assert: %s", j)
		}
		m.said = append(m.said, j.String())
		return nil
	}
	for _, p := range m.sweep.Points {
		j, at := a.Judge(p.Comparison), m.sweep.Parameter+" = "+units.Float(p.Value)+": "
		if !j.Holds() {
			return c.errorf("-assert: %s%s", at, j)
		}
		m.said = append(m.said, at+j.String())
	}
	return nil
}

// against compares a measurement with a baseline. If both have a single statement, their names may differ.
func (m *measurement) against(name string, baseline *bench.Comparison) {
	was := baseline.Lines[0].Name
	alone := len(m.Lines) == 1 && len(baseline.Lines) == 1 && was != m.Lines[0].Name
	if alone {
		baseline.Lines[0].Name = m.Lines[0].Name
	}
	if m.then = m.Against(name, baseline, 0); alone {
		m.then.Notes = append(m.then.Notes, "it was "+was)
	}
}

// histogramWidth is the width of a histogram in columns: its lines fit a screen of 80.
const histogramWidth = 60

// histograms draws the samples of each statement, with full caches and with empty ones.
func (m *measurement) histograms() (list []string) {
	draw := func(of *bench.Comparison, how string) {
		for _, l := range of.Lines {
			if text := l.Result.Histogram(histogramWidth); text != "" {
				list = append(list, l.Name+how, text)
			}
		}
	}
	draw(m.Comparison, "")
	if m.cold != nil {
		draw(m.cold, " (cold)")
	}
	return list
}

// machine describes the machine during the measurement; with -w also its hardware.
func (m *measurement) machine() string {
	machine := m.Lines[0].Result.Machine
	if m.wide {
		return machine.String() + "\n" + machine.Brief()
	}
	return machine.Brief()
}

// A column of a table: its heading, as display.NewTable has it, and what stands in it in the i-th row.
type column struct {
	name string
	of   func(i int) any
}

// tableOf makes a table of so many rows.
func tableOf(rows int, columns []column) *display.Table {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	t := display.NewTable(names...)
	for i := range rows {
		row := make([]any, len(columns))
		for j, c := range columns {
			row[j] = c.of(i)
		}
		t.Add(row...)
	}
	return t
}

// table returns the table that %bench shows, with the columns that the flags ask for.
func (m *measurement) table() *display.Table {
	var columns []column
	add := func(shown bool, name string, of func(i int, l bench.Line) any) {
		if shown {
			columns = append(columns, column{name, func(i int) any { return of(i, m.Lines[i]) }})
		}
	}
	add(true, "", func(_ int, l bench.Line) any { return display.Cell{Text: l.Name, Role: display.Name} })
	add(true, ">median", func(_ int, l bench.Line) any { return medianCell(l.Result) })
	if m.then != nil {
		add(true, "=vs "+m.then.Baseline, func(i int, _ bench.Line) any { return versusCell(m.then.Lines[i]) })
	} else {
		first := m.Lines[0].Name
		if m.sweep != nil {
			first = m.sweep.Names()[0]
		}
		add(m.each > 1, "=vs "+first, func(i int, l bench.Line) any {
			if i%m.each == 0 {
				return ""
			}
			return versusCell(l)
		})
	}
	add(m.cold != nil, ">cold", func(i int, _ bench.Line) any { return medianCell(m.cold.Lines[i].Result) })
	add(m.wide, ">min", func(_ int, l bench.Line) any { return secondsCell(l.Result.Min) })
	add(m.wide, ">first", func(_ int, l bench.Line) any { return secondsCell(l.Result.First) })
	add(m.wide, ">host", func(_ int, l bench.Line) any { return secondsCell(l.Result.Host()) })
	add(m.wide, ">device", func(_ int, l bench.Line) any { return secondsCell(l.Result.Tally.Device) })
	add(m.wide, ">allocs", func(_ int, l bench.Line) any { return int64(l.Result.Tally.Allocs) })
	add(m.wide, ">heap", func(_ int, l bench.Line) any { return display.BytesCell(int64(l.Result.Tally.Heap)) })
	add(true, ">launches", func(_ int, l bench.Line) any { return l.Result.Tally.Launches })
	t := tableOf(len(m.Lines), columns)
	of := m.Comparison
	if m.then != nil { // how the statements differ from each other is not asked
		of = m.then
	}
	t.Foot = strings.Join(slices.Concat(of.Remarks(), m.said, []string{m.machine()}), "\n")
	return t
}

// compared is the value that %bench shows.
type compared struct {
	*display.Table
	of *measurement
}

// Kept returns the comparison, which cells read as _ and Out[n].
func (c *compared) Kept() any { return c.of.Comparison }

// changes lists the differences since the baseline: in the works, and in the machine.
func (m *measurement) changes() (lines []string) {
	if m.then == nil {
		return nil
	}
	for _, l := range m.then.Lines {
		for _, d := range l.Differs {
			lines = append(lines, l.Name+": "+d)
		}
	}
	return append(lines, m.then.Notes[len(m.Notes):]...)
}

func medianCell(r *bench.Result) display.Cell {
	if r.Refused != "" {
		return display.Cell{Text: "–"}
	}
	return display.SecondsCell(r.Median)
}

// secondsCell shows a time in seconds, or a dash if it is unknown (0).
func secondsCell(s float64) display.Cell {
	if s <= 0 {
		return display.Cell{Text: "–"}
	}
	return display.SecondsCell(s)
}

func versusCell(l bench.Line) display.Cell {
	return display.Cell{Text: l.Versus(), Role: verdictRoles[l.Verdict]}
}

var verdictRoles = map[string]display.Role{"slower": display.Bad, "faster": display.Good, "same": display.Dim, "unknown": display.Dim, "refused": display.Bad}
