package magics

import (
	"context"
	"go/ast"
	"go/token"
	"math"
	"slices"
	"strconv"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/plot"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notation"
)

// sweep times the statements for each value of -sweep, which replaces the name in their text.
func (c *call) sweep(ctx context.Context, cases []benchCase, r bench.Range) (*measurement, error) {
	if !token.IsIdentifier(r.Name) {
		return nil, c.errorf("-sweep: got %q, want a name and values, as in n=4..64*2", r.Name)
	}
	if err := c.sweeps(cases, r.Name); err != nil {
		return nil, err
	}
	ctx, mute := c.s.Mute(ctx)
	c.beforehand(ctx)
	works := func(value float64) ([]bench.Work, error) {
		at, list := c.at(cases, r.Name, value)
		return at.works(ctx, list, mute)
	}
	m := &measurement{wide: c.on("w"), each: len(cases)}
	o := c.options()
	var err error
	if m.sweep, err = bench.MeasureSweep(ctx, r, works, o); err != nil {
		return nil, c.errorf("%w", err)
	}
	if m.Comparison = m.sweep.Comparison(); c.on("cold") && ctx.Err() == nil {
		o.Cold = true
		cold, err := bench.MeasureSweep(ctx, r, works, o)
		if err != nil {
			return nil, c.errorf("%w", err)
		}
		if len(cold.Points) == len(m.sweep.Points) {
			m.cold = cold.Comparison()
		}
	}
	m.Notes = append(m.Notes, dropped(mute)...)
	return m, nil
}

// sweeps returns an error if a statement sets the name, or if no statement uses it.
func (c *call) sweeps(cases []benchCase, name string) error {
	found := false
	if c.before != nil {
		cases = append([]benchCase{{code: c.before}}, cases...)
	}
	for _, each := range cases {
		at, sets := uses(each.code, name)
		if sets {
			return c.errorf("-sweep: %s sets %s, which -sweep gives its values", each.code.Text, name)
		}
		found = found || len(at) > 0
	}
	if !found {
		return c.errorf("-sweep: %s is in no statement", name)
	}
	return nil
}

// at returns the call and the statements with value in place of the name. The names of the statements stay.
func (c *call) at(cases []benchCase, name string, value float64) (*call, []benchCase) {
	at := *c
	if c.before != nil {
		at.before = replaced(c.before, name, value)
	}
	list := slices.Clone(cases)
	for i := range list {
		list[i].code = replaced(list[i].code, name, value)
	}
	return &at, list
}

// replaced returns a statement with value in place of the name. A whole number is written without a point.
func replaced(code *notation.Statements, name string, value float64) *notation.Statements {
	text := strconv.FormatFloat(value, 'g', -1, 64)
	if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
		text = strconv.FormatInt(int64(value), 10)
	}
	if value < 0 {
		text = "(" + text + ")"
	}
	source := code.Text
	at, _ := uses(code, name)
	for _, i := range slices.Backward(at) {
		source = source[:i] + text + source[i+len(name):]
	}
	return parsed(source)
}

// uses returns the offsets at which name is a variable in a statement, and whether the statement sets or
// declares it.
func uses(code *notation.Statements, name string) (at []int, sets bool) {
	other := map[*ast.Ident]bool{} // fields and keys, which are no variables
	is := func(list ...ast.Expr) bool {
		return slices.ContainsFunc(list, func(e ast.Expr) bool {
			id, ok := e.(*ast.Ident)
			return ok && id.Name == name
		})
	}
	idents := func(list []*ast.Ident) bool {
		return slices.ContainsFunc(list, func(id *ast.Ident) bool { return id.Name == name })
	}
	code.Inspect(func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			other[n.Sel] = true
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				other[id] = true
			}
		case *ast.AssignStmt:
			sets = sets || is(n.Lhs...)
		case *ast.IncDecStmt:
			sets = sets || is(n.X)
		case *ast.RangeStmt:
			sets = sets || is(n.Key, n.Value)
		case *ast.Field:
			sets = sets || idents(n.Names)
		case *ast.ValueSpec:
			sets = sets || idents(n.Names)
		case *ast.UnaryExpr:
			sets = sets || n.Op == token.AND && is(n.X)
		case *ast.Ident:
			if n.Name == name && !other[n] {
				at = append(at, code.Offset(n.Pos()))
			}
		}
		return true
	})
	slices.Sort(at)
	return at, sets
}

// swept returns the value that a sweep shows: a table with a line for each value, and a plot. With -vs,
// -cold or -w the table has a line for each statement and value, because these flags add columns.
func (m *measurement) swept() display.Value {
	shown := &overSweep{of: m}
	t := m.table()
	if m.then == nil && m.cold == nil && !m.wide {
		t = m.pivot(t.Foot)
	}
	if shown.values = (values{t}); len(m.sweep.Points) > 1 {
		shown.values = append(shown.values, m.plot())
	}
	return shown
}

// An overSweep is the value that a sweep shows.
type overSweep struct {
	values
	of *measurement
}

// Kept returns the sweep, which cells read as _ and Out[n].
func (s *overSweep) Kept() any { return s.of.sweep }

// pivot returns the table with a line for each value and columns for each statement.
func (m *measurement) pivot(foot string) *display.Table {
	names, points := m.sweep.Names(), m.sweep.Points
	columns := []column{{">" + m.sweep.Parameter, func(i int) any {
		return display.Cell{Text: units.Float(points[i].Value), Role: display.Name}
	}}}
	for k, name := range names {
		columns = append(columns, column{">" + name, func(i int) any { return medianCell(points[i].Comparison.Lines[k].Result) }})
		if k > 0 {
			columns = append(columns, column{"=vs " + names[0], func(i int) any { return versusCell(points[i].Comparison.Lines[k]) }})
		}
	}
	t := tableOf(len(points), columns)
	for _, name := range names {
		if power, ok := m.sweep.Slope(name); ok {
			t.Foot += name + " grows as " + m.sweep.Parameter + "^" + strconv.FormatFloat(power, 'f', 1, 64) + "\n"
		}
	}
	t.Foot += foot
	return t
}

// plot draws the times of each statement. If the values grow by a factor, both axes are logarithmic, so
// that a power law is a straight line.
func (m *measurement) plot() display.Value {
	p := &plot.Plot{XLabel: m.sweep.Parameter}
	longest := 0.0
	for _, name := range m.sweep.Names() {
		x, y, _, _ := m.sweep.Series(name)
		p.Series = append(p.Series, plot.Series{Name: name, X: x, Y: y})
		longest = max(longest, slices.Max(append(y, 0)))
	}
	var unit float64
	unit, p.YLabel = secondsUnit(longest)
	for _, s := range p.Series {
		for i := range s.Y {
			s.Y[i] /= unit
		}
	}
	v := func(i int) float64 { return m.sweep.Points[i].Value }
	last := len(m.sweep.Points) - 1
	p.LogX = v(0) > 0 && last > 1 && v(2)-v(1) > v(1)-v(0)
	p.LogY = p.LogX
	return p
}

// secondsUnit is the unit in which a time is a number from 1 to 1000, in seconds, and its name.
func secondsUnit(t float64) (unit float64, name string) {
	switch {
	case t >= 1:
		return 1, "s"
	case t >= 1e-3:
		return 1e-3, "ms"
	case t >= 1e-6:
		return 1e-6, "µs"
	}
	return 1e-9, "ns"
}
