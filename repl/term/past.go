package term

import (
	"strings"

	"github.com/mcs-notebook/mcs/repl/journal"
)

// past has the cells that can be recalled, of this run and of earlier ones, the oldest first.
type past struct {
	cells   []string
	changed map[int]string // cells that were recalled and changed, until a cell is submitted
	at      int            // index of the shown cell; len(cells) is the one that is being typed
	prefix  string         // the recalled cells begin with it
	shown   string         // the cell as it was recalled
	walking bool           // nothing was typed since a cell was recalled

	ghostOf, ghost string // the last suggestion, and the text that it is for
}

func (p *past) add(cell string) {
	p.cells = remember(p.cells, cell)
	p.ghostOf = ""
	p.restart()
}

// older puts the cells of earlier runs before those that are there.
func (p *past) older(cells []string) {
	cells = append(cells, p.cells...)
	p.cells = cells[max(0, len(cells)-historyLimit):]
	p.restart()
}

// restart begins at the newest end.
func (p *past) restart() { p.at, p.walking, p.changed = len(p.cells), false, nil }

// edited must be called at each change of the text.
func (p *past) edited(text string) {
	if text != p.shown {
		p.walking = false
	}
}

// text is the i-th cell as it was left.
func (p *past) text(i int) string {
	if text, ok := p.changed[i]; ok {
		return text
	}
	if i < len(p.cells) {
		return p.cells[i]
	}
	return ""
}

// step returns the next cell in a direction (-1 older, 1 newer) that begins with the text before the
// cursor and is not the shown one.
func (p *past) step(direction int, text, before string) (cell string, ok bool) {
	if !p.walking {
		p.prefix = before
	}
	for i := p.at + direction; i >= 0 && i <= len(p.cells); i += direction {
		if cell := p.text(i); i == len(p.cells) || strings.HasPrefix(cell, p.prefix) && cell != text {
			p.leave(i, text)
			return cell, true
		}
	}
	return "", false
}

// jump returns the oldest cell (-1), or the one that was being typed (1).
func (p *past) jump(direction int, text string) (cell string, ok bool) {
	to := len(p.cells)
	if direction < 0 {
		to = 0
	}
	if to == p.at {
		return "", false
	}
	p.prefix = ""
	p.leave(to, text)
	return p.text(to), true
}

// leave keeps the text of the cell that is shown and goes to another one.
func (p *past) leave(to int, text string) {
	if text != p.text(p.at) {
		if p.changed == nil {
			p.changed = map[int]string{}
		}
		p.changed[p.at] = text
	}
	p.at, p.walking, p.shown = to, true, p.text(to)
}

// suggest returns the rest of the newest cell that begins with text. It never suggests a text that looks
// like a secret.
func (p *past) suggest(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	if p.ghostOf == text {
		return p.ghost
	}
	if p.ghost != "" && p.ghostOf != "" && strings.HasPrefix(p.ghostOf+p.ghost, text) && len(text) > len(p.ghostOf) {
		p.ghostOf, p.ghost = text, (p.ghostOf + p.ghost)[len(text):]
		return p.ghost
	}
	p.ghostOf, p.ghost = text, ""
	for i := len(p.cells) - 1; i >= 0; i-- {
		if rest, ok := strings.CutPrefix(p.cells[i], text); ok && rest != "" && !journal.Secret(p.cells[i]) {
			p.ghost = rest
			break
		}
	}
	return p.ghost
}

// find looks for a text in the cells from the i-th on in a direction. Capital letters count only if there is
// one in the text.
func (p *past) find(query string, i, direction int, not string) (cell, at int) {
	fold := query == strings.ToLower(query)
	for ; i >= 0 && i < len(p.cells); i += direction {
		text := p.cells[i]
		if text == not {
			continue
		}
		if fold {
			if l := strings.ToLower(text); len(l) == len(text) { // which leaves places as they are
				text = l
			}
		}
		if at := strings.LastIndex(text, query); at >= 0 {
			return i, at
		}
	}
	return -1, -1
}
