package prose

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
)

// A span is a piece of a line in roles, the outermost first.
type span struct {
	text  string // "\n": a line ends
	roles []display.Role
}

// spans are those of the text below a node.
func (s *setter) spans(parent ast.Node, roles []display.Role) (list []span) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		list = append(list, s.inline(n, roles)...)
	}
	return list
}

func (s *setter) inline(n ast.Node, roles []display.Role) []span {
	with := func(role display.Role) []display.Role { return append(slices.Clone(roles), role) }
	switch n := n.(type) {
	case *ast.Text:
		list := []span{{literal(n.Segment.Value(s.source)), roles}}
		switch {
		case n.HardLineBreak():
			list = append(list, span{"\n", nil})
		case n.SoftLineBreak():
			list[0].text += " "
		}
		return list
	case *ast.String:
		return []span{{literal(n.Value), roles}}
	case *ast.CodeSpan:
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				b.Write(t.Segment.Value(s.source))
			}
		}
		return s.marked("`", []span{{strings.ReplaceAll(b.String(), "\n", " "), with(display.Name)}})
	case *ast.Emphasis:
		if n.Level > 1 {
			return s.marked("**", s.spans(n, with(display.Strong)))
		}
		return s.marked("*", s.spans(n, with(display.Emphasis)))
	case *east.Strikethrough:
		return s.marked("~~", s.spans(n, with(display.Dim)))
	case *ast.Link:
		text := s.spans(n, with(display.Link))
		if len(text) == 1 && text[0].text == string(n.Destination) {
			return text
		}
		return append(text, span{" (" + string(n.Destination) + ")", with(display.Dim)})
	case *ast.AutoLink:
		return []span{{string(n.Label(s.source)), with(display.Link)}}
	case *ast.Image:
		return append(append([]span{{"[picture: ", roles}}, s.spans(n, roles)...), span{"]", roles})
	case *east.TaskCheckBox:
		if n.IsChecked {
			return []span{{"[x] ", roles}}
		}
		return []span{{"[ ] ", roles}}
	case *ast.RawHTML:
		return nil
	}
	return s.spans(n, roles)
}

// marked puts Markdown's marks around spans where no style shows what they mean.
func (s *setter) marked(mark string, list []span) []span {
	if s.style != nil {
		return list
	}
	return append(append([]span{{mark, nil}}, list...), span{mark, nil})
}

// literal is text without backslashes that escape, and with the characters that entities name.
func literal(b []byte) string {
	text := util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b)))
	return visible.Line(strings.ReplaceAll(string(text), "\t", " "))
}

// fill breaks spans into lines of at most width columns, at blanks. A word that is wider stays whole.
func (s *setter) fill(list []span, width int) (lines []string) {
	var line, word []span
	at := 0 // columns of the line
	end := func() {
		lines = append(lines, s.painted(line))
		line, at = nil, 0
	}
	put := func() {
		wide := 0
		for _, p := range word {
			wide += runewidth.StringWidth(p.text)
		}
		switch {
		case len(word) == 0:
			return
		case at > 0 && at+1+wide > width:
			end()
		case at > 0:
			blank := span{text: " "}
			if slices.Equal(line[len(line)-1].roles, word[0].roles) {
				blank.roles = word[0].roles
			}
			line, at = append(line, blank), at+1
		}
		line, at, word = append(line, word...), at+wide, nil
	}
	for _, sp := range list {
		if sp.text == "\n" {
			put()
			end()
			continue
		}
		for i, text := range strings.Split(sp.text, " ") {
			if i > 0 {
				put()
			}
			if text != "" {
				word = append(word, span{text, sp.roles})
			}
		}
	}
	if put(); len(line) > 0 {
		end()
	}
	return lines
}

// painted is a line. Neighbours in the same roles are painted together: a parser may part a text anywhere.
func (s *setter) painted(line []span) string {
	var b strings.Builder
	for len(line) > 0 {
		roles, text := line[0].roles, ""
		for len(line) > 0 && slices.Equal(line[0].roles, roles) {
			text, line = text+line[0].text, line[1:]
		}
		for _, role := range slices.Backward(roles) {
			text = s.style.Paint(role, text)
		}
		b.WriteString(text)
	}
	return b.String()
}
