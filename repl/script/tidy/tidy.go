// Package tidy formats the Go of .mcs files as gofmt does. Commands, expected output and prose stay as they
// are, and so do semicolons that hide a value, lists of expressions, and indices of several axes.
//
// gofmt takes a list of statements or one of declarations, and a cell may mix them with commands. So a cell
// is cut into parts of one kind ([Cell]), and what gofmt cannot read is exchanged for something that it can,
// of the same width, while it formats.
package tidy

import (
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// A Left is a cell that is left as it is, because it is not Go.
type Left struct {
	Line int // in the file
	Err  error
}

// File returns the text of a file with its cells formatted.
func File(f *mcsfile.File) (text string, left []Left) {
	sources := map[*mcsfile.Cell]string{}
	for _, c := range f.Code() {
		source, err := Cell(c.Source)
		if err != nil {
			left = append(left, Left{c.Line, err})
			continue
		}
		sources[c] = source
	}
	return f.WithSource(sources), left
}

// Cell formats a cell. A cell that begins with %% stays as it is.
func Cell(src string) (string, error) {
	if cell.Whole(src) {
		return src, nil
	}
	list := cell.Split(src)
	var b strings.Builder
	at := 0 // the byte from which text is yet to be written
	for i := 0; i < len(list); {
		start := lineStart(src, list[i].From)
		if list[i].Kind == cell.Command {
			if err := write(&b, src[at:start], nil, false); err != nil { // comments
				return "", err
			}
			end := lineEnd(src, list[i].To)
			b.WriteString(strings.TrimSpace(src[start:end]) + "\n")
			at, i = end, i+1
			continue
		}
		next := i + 1
		for next < len(list) && part(list[next].Kind) == part(list[i].Kind) {
			next++
		}
		end := len(src)
		if next < len(list) {
			end = lineStart(src, list[next].From)
		}
		if end < list[next-1].To {
			return "", fmt.Errorf("two kinds of code stand on one line: %s", strings.TrimSpace(src[end:lineEnd(src, end)]))
		}
		if err := write(&b, src[at:end], list[i:next], next == len(list)); err != nil {
			return "", err
		}
		at, i = end, next
	}
	if err := write(&b, src[at:], nil, false); err != nil {
		return "", err
	}
	return strings.Trim(b.String(), "\n"), nil
}

// part is what gofmt can take together.
func part(k cell.Kind) cell.Kind {
	if k == cell.Import {
		return cell.Declaration
	}
	return k
}

func lineStart(src string, off int) int { return strings.LastIndexByte(src[:off], '\n') + 1 }

// lineEnd is behind the line break of the line with a byte.
func lineEnd(src string, off int) int {
	if i := strings.IndexByte(src[off:], '\n'); i >= 0 {
		return off + i + 1
	}
	return len(src)
}

// write formats a part of a cell, with a blank line before it where it has some.
func write(b *strings.Builder, text string, pieces []cell.Piece, ends bool) error {
	trimmed := strings.TrimSpace(text)
	before := text
	if trimmed != "" {
		before = text[:strings.Index(text, trimmed)]
	}
	if b.Len() > 0 && strings.Contains(before, "\n") {
		b.WriteString("\n")
	}
	if trimmed == "" {
		return nil
	}
	formatted, err := golang(trimmed, ends && len(pieces) > 0 && pieces[0].Kind == cell.Statement)
	if err != nil {
		return err
	}
	b.WriteString(formatted + "\n")
	if after := text[len(before)+len(trimmed):]; strings.Count(after, "\n") > 1 {
		b.WriteString("\n")
	}
	return nil
}

// golang formats declarations or statements. Ends says that they end a cell, so that a list of expressions
// may be their last line.
func golang(text string, ends bool) (string, error) {
	list := []cell.Piece(nil)
	if ends {
		list = cell.List(text)
	}
	if list != nil {
		text = text[:list[0].From] + listWord + text[list[0].From:]
	}
	masked, names := mask(text)
	out, err := format.Source([]byte(masked))
	if err != nil {
		return "", err
	}
	formatted := strings.TrimSpace(string(out))
	for name, inside := range names {
		formatted = strings.Replace(formatted, name, inside, 1)
	}
	if formatted, err = hidden(text, formatted); err != nil {
		return "", err
	}
	if list != nil {
		at := strings.LastIndex(formatted, listWord)
		formatted = formatted[:at] + formatted[at+len(listWord):]
	}
	return formatted, nil
}

// listWord makes Go of a list of expressions.
const listWord = "return "

// mask puts a name of the same width in place of each index of several axes.
func mask(text string) (masked string, names map[string]string) {
	spans := notation.Indices(text)
	if len(spans) == 0 {
		return text, nil
	}
	letter := 'ø' // begins no name of the text
	for strings.ContainsRune(text, letter) {
		letter++
	}
	names = map[string]string{}
	var b strings.Builder
	at := 0
	for i, s := range spans {
		inside := text[s.From:s.To]
		name := string(letter) + fmt.Sprint(i) + string(letter)
		if wider := utf8.RuneCountInString(inside) - utf8.RuneCountInString(name); wider > 0 {
			name += strings.Repeat("_", wider)
		}
		names[name] = inside
		b.WriteString(text[at:s.From] + name)
		at = s.To
	}
	return b.String() + text[at:], names
}

// hidden writes the semicolons again that hide the value of an expression, which gofmt takes away.
func hidden(before, after string) (string, error) {
	if !strings.Contains(before, ";") {
		return after, nil
	}
	was, now := cell.Split(before), cell.Split(after)
	if len(was) != len(now) {
		return "", fmt.Errorf("it has %d statements, and %d when formatted", len(was), len(now))
	}
	for i := len(now) - 1; i >= 0; i-- {
		if was[i].Quiet && !now[i].Quiet && isValue(now[i], after) {
			code := cell.Code(now[i].Tokens)
			to := code[len(code)-1].To
			after = after[:to] + ";" + after[to:]
		}
	}
	return after, nil
}

// isValue says whether a statement has a value that a cell would show.
func isValue(p cell.Piece, src string) bool {
	text := p.Text(src)
	if p.Kind != cell.Statement {
		return false
	}
	if rest, ok := strings.CutPrefix(text, listWord); ok {
		return rest != ""
	}
	_, err := parser.ParseExpr(text)
	if err != nil {
		_, err = notation.ParseExpr(text)
	}
	return err == nil && p.Tokens[0].Tok != token.LBRACE
}
