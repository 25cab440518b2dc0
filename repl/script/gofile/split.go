package gofile

import (
	"go/token"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// A unit is one declaration, statement or command of a cell, with the comments before it.
type unit struct {
	kind  cell.Kind
	text  string
	name  string // of a declared function that is not a method
	quiet bool   // ends with a semicolon that was typed
	last  bool   // of its cell: an expression is shown
}

// split splits a cell into units. Comments before a command go to the unit behind it: the command itself
// becomes a comment. IsCommand is that of [cell.Captures], known that of [cell.Negations].
func split(src string, isCommand, known func(name string) bool) []unit {
	var units []unit
	comments := ""
	list := cell.Scan(src)
	pieces := cell.Captures(src, cell.SplitTokens(src, list), isCommand)
	cell.Negations(src, pieces, known)
	for _, p := range pieces {
		for ; len(list) > 0 && list[0].To <= p.From; list = list[1:] {
			if list[0].Tok == token.COMMENT {
				comments += list[0].Text(src) + "\n"
			}
		}
		u := unit{kind: p.Kind, name: p.Name(src), quiet: p.Quiet}
		end := p.To
		if p.Kind != cell.Command {
			end = endOfLine(src, p)
			u.text, comments = comments, ""
		}
		u.text += src[p.From:end]
		units = append(units, u)
		for len(list) > 0 && list[0].From < end {
			list = list[1:]
		}
	}
	n := len(units)
	if n == 0 {
		return units
	}
	units[n-1].last = true
	return append(units[:n-1], each(units[n-1])...)
}

// each makes a unit of each expression of a list, `a, b`, at the end of a cell.
func each(u unit) []unit {
	if u.kind != cell.Statement {
		return []unit{u}
	}
	items := cell.List(u.text)
	if items == nil {
		return []unit{u}
	}
	units := make([]unit, len(items))
	for i, item := range items {
		units[i] = u
		units[i].text = strings.TrimSpace(item.Text(u.text))
	}
	units[0].text = u.text[:items[0].From] + units[0].text // with the comments before it
	return units
}

// endOfLine is where a unit ends: behind its semicolon, and a comment that closes its line.
func endOfLine(src string, p cell.Piece) int {
	end := p.To
	if p.Quiet && strings.HasPrefix(src[end:], ";") {
		end++
	}
	rest, _, _ := strings.Cut(src[end:], "\n")
	if strings.HasPrefix(strings.TrimSpace(rest), "//") {
		return end + len(rest)
	}
	return end
}

// rename replaces an identifier that is not selected from something.
func (u *unit) rename(from, to string) {
	var b strings.Builder
	at := 0
	member := false
	for _, t := range cell.Scan(u.text) {
		if t.Tok == token.IDENT && t.Text(u.text) == from && !member {
			b.WriteString(u.text[at:t.From] + to)
			at = t.To
		}
		member = t.Tok == token.PERIOD
	}
	u.text = b.String() + u.text[at:]
}
