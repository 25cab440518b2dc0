package script

import (
	"regexp"
	"strings"
)

// An edit is one step from the expected lines to the output.
type edit struct {
	op        editOp
	want, got int // indexes of the lines that it is about
}

type editOp int

const (
	keep    editOp = iota // the expected line matches
	absorb                // `...` covers the line of output
	pass                  // `...` covers no more
	replace               // another line stands there
	remove                // the expected line has nothing to match
	insert                // the line of output was not expected
)

// Costs make a changed line a replacement, not something that a neighbouring `...` swallows together with the
// claim.
var editCost = [...]int{keep: 0, absorb: 0, pass: 0, replace: 3, remove: 4, insert: 3}

// maxAligned bounds the table of align: beyond it the lines are compared without looking for the best fit.
const maxAligned = 1 << 22

// align finds the cheapest edits that turn the expected lines into the output.
func align(want []pattern, got []string) []edit {
	if (len(want)+1)*(len(got)+1) > maxAligned {
		return replaceAll(len(want), len(got))
	}
	type cell struct {
		cost int
		op   editOp
	}
	best := make([][]cell, len(want)+1)
	for i := len(want); i >= 0; i-- {
		best[i] = make([]cell, len(got)+1)
		for j := len(got); j >= 0; j-- {
			if i == len(want) && j == len(got) {
				continue
			}
			c := cell{cost: 1 << 30}
			try := func(op editOp) {
				ni, nj := op.after(i, j)
				if ni <= len(want) && nj <= len(got) {
					if cost := best[ni][nj].cost + editCost[op]; cost < c.cost {
						c = cell{cost, op}
					}
				}
			}
			switch {
			case i < len(want) && want[i].isAnyLines():
				try(pass)
				try(absorb)
			case i < len(want) && j < len(got) && want[i].match(got[j]):
				try(keep)
			}
			if i < len(want) && !want[i].isAnyLines() {
				try(replace)
				try(remove)
			}
			try(insert)
			best[i][j] = c
		}
	}
	var edits []edit
	for i, j := 0, 0; i < len(want) || j < len(got); {
		op := best[i][j].op
		edits = append(edits, edit{op, i, j})
		i, j = op.after(i, j)
	}
	return edits
}

// after returns the lines left to align behind an edit at line i of the expected lines and j of the
// output.
func (op editOp) after(i, j int) (int, int) {
	switch op {
	case keep, replace:
		return i + 1, j + 1
	case absorb, insert:
		return i, j + 1
	}
	return i + 1, j
}

func replaceAll(want, got int) []edit {
	var edits []edit
	for i := range want {
		edits = append(edits, edit{remove, i, 0})
	}
	for j := range got {
		edits = append(edits, edit{insert, want, j})
	}
	return edits
}

// Diff shows how output differs from the expected lines: a line of the output that was expected begins with a
// blank, one that was not with "+", an expected one that is missing with "-". It is empty when they match.
func Diff(want []string, output string) string {
	patterns, got := compileAll(want), outputLines(output)
	if matchLines(patterns, got) {
		return ""
	}
	var lines, added []string
	flush := func() {
		lines = append(lines, added...)
		added = nil
	}
	for _, e := range align(patterns, got) {
		switch e.op {
		case keep, absorb:
			flush()
			lines = append(lines, "  "+got[e.got])
		case replace:
			lines = append(lines, "- "+want[e.want])
			added = append(added, "+ "+got[e.got])
		case remove:
			lines = append(lines, "- "+want[e.want])
		case insert:
			flush()
			lines = append(lines, "+ "+got[e.got])
		}
	}
	flush()
	return strings.Join(shorten(lines), "\n")
}

// around is how many unchanged lines a diff shows before and after a change.
const around = 3

// shorten leaves out unchanged lines far from a change.
func shorten(lines []string) []string {
	near := make([]bool, len(lines))
	for i, line := range lines {
		if line[0] == ' ' {
			continue
		}
		for k := max(0, i-around); k <= min(len(lines)-1, i+around); k++ {
			near[k] = true
		}
	}
	var out []string
	for i, line := range lines {
		if near[i] {
			out = append(out, line)
		} else if i == 0 || near[i-1] {
			out = append(out, "  …")
		}
	}
	return out
}

// Update returns expected lines that output matches, as close to the old ones as possible: a line that
// still matches stays, a changed line keeps its matchers where they still apply, and `...` still covers
// the lines between its neighbours.
func Update(want []string, output string) []string {
	patterns, got := compileAll(want), outputLines(output)
	if matchLines(patterns, got) {
		return want
	}
	var lines []string
	for _, e := range align(patterns, got) {
		switch e.op {
		case keep, pass:
			lines = append(lines, want[e.want])
		case replace:
			lines = append(lines, patterns[e.want].rewrite(got[e.got]))
		case insert:
			lines = append(lines, got[e.got])
		}
	}
	return lines
}

// rewrite puts the words of a line of output in place of the pattern's, and keeps the matchers if the line
// has the same shape. A tolerance keeps its size around the new number; a count that broke its bound is
// written out.
func (p *pattern) rewrite(line string) string {
	if p.re == nil {
		return line
	}
	words := p.regexp(func(t token) string {
		if strings.ContainsAny(t.text, "0123456789") {
			return `\S+?`
		}
		return regexp.QuoteMeta(t.text) + `|\S+?`
	})
	groups := words.FindStringSubmatch(line)
	if groups == nil {
		return line
	}
	var b strings.Builder
	for i, t := range p.tokens {
		got := groups[i+1]
		switch {
		case t.kind == near && !t.holds(got):
			b.WriteString(got + t.text[strings.IndexByte(t.text, '['):])
		case t.kind == literal, t.kind == count && !t.holds(got):
			b.WriteString(got)
		default:
			b.WriteString(t.text)
		}
	}
	if rewritten := compile(b.String()); rewritten.match(line) {
		return b.String()
	}
	return line
}
