package magics

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
)

// A listing is where a function is declared: a cell, and its first and last line there.
type listing struct {
	cell, first, last int
	lines             []string // of the cell
}

func runLineProfile(ctx context.Context, c *call) (display.Value, error) {
	name, statement, _ := strings.Cut(strings.TrimSpace(c.rest), " ")
	if strings.TrimSpace(statement) == "" {
		return nil, c.errorf("got no call; usage: %s", c.magic.usage())
	}
	l, ok := c.listing(name)
	if !ok {
		return nil, c.errorf("%s is no function that a cell declares; methods are written T.Method", name)
	}
	w, err := c.ready(parsed(statement))
	if err != nil {
		return nil, err
	}
	p, err := c.profiled(ctx, w, nil, true)
	if err != nil {
		return nil, err
	}
	return l.table(p), nil
}

// listing finds the declaration of a function, or of a method that is written T.Method.
func (c *call) listing(name string) (l listing, ok bool) {
	info, err := c.s.Inspect(name)
	if err != nil || info.Kind != "func" && info.Kind != "method" {
		return l, false
	}
	if _, err := fmt.Sscanf(info.Place, "In[%d]:%d", &l.cell, &l.first); err != nil {
		return l, false
	}
	l.last = l.first + strings.Count(info.Source, "\n")
	l.lines = strings.Split(c.cellText(l.cell), "\n")
	return l, true
}

// table has each line of the function with the time that passed while it was under way.
func (l listing) table(p *profiled) display.Value {
	took, doing := map[string]time.Duration{}, map[string]map[string]time.Duration{}
	var shared []string // lines whose times cannot be told apart
	var inside, all time.Duration
	for _, s := range p.spans {
		all += s.took
		lines := l.under(s.lines)
		for _, line := range lines {
			if doing[line] == nil {
				doing[line] = map[string]time.Duration{}
			}
			took[line] += s.took
			doing[line][s.in] += s.took
			if strings.Contains(line, sharing) && !slices.Contains(shared, line) {
				shared = append(shared, line)
			}
		}
		if len(lines) > 0 {
			inside += s.took
		}
	}
	t := display.NewTable(">line", ">time", ">%", "=in", "~source")
	for line := l.first; line <= min(l.last, len(l.lines)); line++ {
		source := strings.ReplaceAll(strings.TrimRight(l.lines[line-1], " \t"), "\t", "    ")
		if name := fmt.Sprintf("In[%d]:%d", l.cell, line); doing[name] != nil { // what profiles call it
			addLine(t, line, took[name], inside, doing[name], source)
		} else {
			t.Add(line, nil, nil, nil, display.Cell{Text: source, Role: display.Code})
		}
	}
	for _, lines := range shared {
		addLine(t, strings.ReplaceAll(lines, fmt.Sprintf("In[%d]:", l.cell), ""), took[lines], inside, doing[lines], oneKernel)
	}
	share := "none"
	if all > 0 {
		share = units.Percent(inside.Seconds() / all.Seconds())
	}
	t.Foot = fmt.Sprintf("In[%d] · %s of the time in this function · %s\n%s", l.cell, share, strings.Join(append([]string{p.summary()}, p.goesOn...), "\n"), p.machine.Brief())
	return t
}

// under is those of the lines under way that are the function's, each once.
func (l listing) under(lines []string) (list []string) {
	for i, line := range lines {
		parts := strings.Split(line, sharing)
		if slices.Contains(lines[:i], line) || len(parts) > 1 && len(list) > 0 { // what the function called did several lines' work
			continue
		}
		if slices.ContainsFunc(parts, l.has) {
			list = append(list, line)
		}
	}
	return list
}

// has says whether a line is one of the function.
func (l listing) has(line string) bool {
	var n, at int
	_, err := fmt.Sscanf(line, "In[%d]:%d", &n, &at)
	return err == nil && n == l.cell && at >= l.first && at <= l.last
}
