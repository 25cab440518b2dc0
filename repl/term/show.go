package term

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

// edit lets the person change a text with an editor, and puts the result into the next cell.
func (nb *notebook) edit(text string) {
	nb.editor.Running(true)
	changed, err := editText(text)
	nb.editor.Running(false)
	if err != nil {
		fmt.Fprintln(nb.out, nb.theme.errorText(err.Error(), columns()))
		return
	}
	nb.editor.Prefill(changed)
}

// prompt returns the prompt of the value of In[n], and "" for values of commands.
func prompt(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Out[%d]: ", n)
}

// render writes a value for the terminal in its current state, while the cell runs. It leaves values
// unchanged that the notebook itself uses: commands return them, and they contain no values of cells.
func (nb *notebook) render(v display.Value, result int) display.Value {
	switch v.(type) {
	case display.Preloader, display.Editable:
		return v
	}
	if c, ok := v.(chooser); ok {
		nb.pictures.choose(c.Images())
	}
	if p := nb.pictured(v, result); p != nil {
		return p
	}
	return display.Render(v, columns()-len(prompt(result)), nb.theme.style())
}

// pictured renders a plot, or a value with a plot among its parts, as a picture; nil if text shows it best.
func (nb *notebook) pictured(v display.Value, result int) *pictured {
	front := len(prompt(result))
	switch v := v.(type) {
	case display.Painter:
		return nb.pictures.show(v, front)
	case display.Compound:
		whole, found := &pictured{Value: display.Text(v.(display.Value).Text(columns()))}, false
		var parts []string
		for _, part := range v.Values() {
			if p := nb.pictured(part, result); p != nil {
				parts, found, whole.image = append(parts, p.drawn), true, whole.image || p.image
			} else {
				parts = append(parts, display.Styled(part, columns()-front, nb.theme.style()))
			}
		}
		if whole.drawn = strings.Join(parts, "\n"); found {
			return whole
		}
	}
	return nil
}

// show prints the values of a cell.
func (nb *notebook) show(r session.Result) {
	for i, v := range r.Shown {
		if v == nil {
			continue
		}
		if p, ok := v.(display.Preloader); ok {
			for _, cell := range p.Preload() {
				nb.editor.Remember(cell)
			}
		}
		if e, ok := v.(display.Editable); ok {
			nb.edit(e.Edit())
			continue
		}
		front := ""
		if r.Out && i == len(r.Shown)-1 {
			front = prompt(r.N)
		}
		text := strings.TrimRight(display.Styled(v, columns(), nb.theme.style()), "\n")
		if p, ok := v.(*pictured); ok {
			if text = p.drawn; p.image {
				text = "\n" + text
			}
			if p.image && front != "" { // below the prompt, at the left edge
				fmt.Fprintf(nb.out, "%s%s\n\n", nb.theme.paint(red, front[:len(front)-2])+": ", text)
				continue
			}
		}
		if front == "" {
			if text != "" {
				fmt.Fprintln(nb.out, text)
			}
			continue
		}
		text = strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(front)))
		fmt.Fprintf(nb.out, "%s%s\n\n", nb.theme.paint(red, front[:len(front)-2])+": ", text)
	}
	if r.Err != nil {
		fmt.Fprintln(nb.out, nb.theme.errorText(strings.TrimRight(r.Err.Error(), "\n"), columns()))
	}
}

var (
	errorPlace = lazy.Regexp(`^In\[\d+\](:\d+)*:?`)
	errorCaret = lazy.Regexp(`^\s*\^+$`)
)

// ErrorText colours an error as the session writes it, for another front end that shows the escape sequences
// of colours, in lines of so many columns.
func ErrorText(text string, width int) string { return theme{enabled: true}.errorText(text, width) }

// errorText colours an error as the session writes it: the place, the message, the line of source, carets
// below it. Of a line of source that is wider than the screen it shows the part that the carets point at;
// other lines are broken at blanks.
func (t theme) errorText(text string, width int) string {
	text = visible.Text(text)
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		if errorCaret().MatchString(lines[i]) {
			lines[i-1], lines[i] = pointedAt(lines[i-1], lines[i], width)
		}
	}
	first := 1 // the lines of the first
	for i := len(lines) - 1; i >= 0; i-- {
		if errorCaret().MatchString(lines[i]) {
			i-- // the source above it
			continue
		}
		broken := display.Wrap(lines[i], width, 2)
		if lines = slices.Replace(lines, i, i+1, broken...); i == 0 {
			first = len(broken)
		}
	}
	if !t.enabled {
		return strings.Join(lines, "\n")
	}
	noPlace := !errorPlace().MatchString(lines[0])
	for i, line := range lines {
		place := errorPlace().FindString(line)
		switch {
		case place != "":
			lines[i] = t.paint(boldRed, place) + line[len(place):]
		case errorCaret().MatchString(line):
			lines[i] = t.paint(boldRed, line)
		case i+1 < len(lines) && errorCaret().MatchString(lines[i+1]):
			lines[i] = t.live(line)
		case i < first && noPlace:
			lines[i] = t.paint(red, line)
		}
	}
	return strings.Join(lines, "\n")
}

// pointedAt is the part of a line of source around what carets point at, so wide as the screen, with the
// carets below it. A terminal would go on with the line below it, and the carets would point at something
// else.
func pointedAt(source, carets string, width int) (string, string) {
	const tab = "    "
	code, below := []rune(strings.ReplaceAll(source, "\t", tab)), strings.ReplaceAll(carets, "\t", tab)
	n := strings.Count(below, "^")
	at := len(below) - n
	indent := len(code) - len([]rune(strings.TrimLeft(string(code), " ")))
	room := width - indent
	if len(code) <= width || room < 3*len("…") || at < indent {
		return source, carets
	}
	code, at = code[indent:], at-indent
	from := 0
	if at+n >= room {
		from = max(0, min(at-room/3, len(code)-room))
	}
	part := slices.Clone(code[from:min(from+room, len(code))])
	if from > 0 {
		part[0] = '…'
	}
	if from+room < len(code) {
		part[len(part)-1] = '…'
	}
	blanks := strings.Repeat(" ", indent)
	return blanks + string(part), blanks + strings.Repeat(" ", at-from) + strings.Repeat("^", max(min(n, room-(at-from)), 1))
}

// draw shows a drawing while its cell runs.
func (nb *notebook) draw(state func() display.Value) { nb.progress.Draw(state, rows()) }
