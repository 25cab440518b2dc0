package term

import (
	"io"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/term/edit"
	"github.com/mcs-notebook/mcs/repl/term/key"
)

func ctrl(r rune) key.Key        { return key.Key{Code: key.Code(r), Mod: key.Ctrl} }
func alt(c key.Code) key.Key     { return key.Key{Code: c, Mod: key.Alt} }
func named(c key.Code) key.Key   { return key.Key{Code: c} }
func shifted(c key.Code) key.Key { return key.Key{Code: c, Mod: key.Shift} }
func ctrled(c key.Code) key.Key  { return key.Key{Code: c, Mod: key.Ctrl} }

// bindings maps keys that type no text to their operations; docs/cells.md lists them.
var bindings map[key.Key]func(*cellEditor)

// chords are the second keys behind Ctrl-X.
var chords map[key.Key]func(*cellEditor)

func init() { // the functions below use the table
	bindings = map[key.Key]func(*cellEditor){}
	chords = map[key.Key]func(*cellEditor){}
	bind := func(f func(*cellEditor), keys ...key.Key) {
		for _, k := range keys {
			bindings[k] = f
		}
	}
	buffer := func(f func(*edit.Buffer)) func(*cellEditor) { return func(e *cellEditor) { f(&e.buf) } }

	bind((*cellEditor).enter, named(key.Enter))
	bind((*cellEditor).run, named(key.F(5)), ctrled(key.Enter))
	bind(buffer((*edit.Buffer).NewLine), ctrl('j'), ctrl('o'), alt(key.Enter), shifted(key.Enter))
	bind((*cellEditor).complete, named(key.Tab))
	bind(buffer((*edit.Buffer).Outdent), shifted(key.Tab))

	bind(buffer((*edit.Buffer).Left), named(key.Left), ctrl('b'))
	bind((*cellEditor).right, named(key.Right), ctrl('f'))
	bind((*cellEditor).up, named(key.Up), ctrl('p'))
	bind((*cellEditor).down, named(key.Down), ctrl('n'))
	bind(buffer((*edit.Buffer).Home), named(key.Home), ctrl('a'))
	bind((*cellEditor).lineEnd, named(key.End), ctrl('e'))
	bind(buffer((*edit.Buffer).WordLeft), ctrled(key.Left), alt(key.Left), alt('b'))
	bind((*cellEditor).wordRight, ctrled(key.Right), alt(key.Right), alt('f'))
	bind(buffer((*edit.Buffer).Start), ctrled(key.Home), alt('<'))
	bind(buffer((*edit.Buffer).Finish), ctrled(key.End), alt('>'))

	bind(buffer((*edit.Buffer).Backspace), named(key.Backspace), ctrl('h'), shifted(key.Backspace))
	bind(buffer((*edit.Buffer).DeleteRight), named(key.Delete))
	bind((*cellEditor).deleteOrLeave, ctrl('d'))
	bind(buffer((*edit.Buffer).KillBlank), ctrl('w'))
	bind(buffer((*edit.Buffer).KillWordLeft), alt(key.Backspace), ctrled(key.Backspace), key.Key{Code: 'h', Mod: key.Ctrl | key.Alt})
	bind(buffer((*edit.Buffer).KillWordRight), alt('d'), ctrled(key.Delete), alt(key.Delete))
	bind(buffer((*edit.Buffer).KillLine), ctrl('k'))
	bind(buffer((*edit.Buffer).KillBefore), ctrl('u'))
	bind(buffer((*edit.Buffer).Yank), ctrl('y'))
	bind(buffer((*edit.Buffer).YankPop), alt('y'))
	bind(buffer((*edit.Buffer).Transpose), ctrl('t'))
	bind(func(e *cellEditor) { e.buf.MapWord(strings.ToUpper) }, alt('u'))
	bind(func(e *cellEditor) { e.buf.MapWord(strings.ToLower) }, alt('l'))
	bind(func(e *cellEditor) { e.buf.MapWord(edit.Capitalize) }, alt('c'))
	bind(func(e *cellEditor) { e.buf.Undo() }, ctrl('_'), ctrl('/'))
	bind(func(e *cellEditor) { e.buf.Redo() }, alt('/'), alt('_'))

	bind(func(e *cellEditor) { e.recall(-1) }, alt('p'), ctrled(key.Up))
	bind(func(e *cellEditor) { e.recall(1) }, alt('n'), ctrled(key.Down))
	bind(func(e *cellEditor) { e.page(-1) }, named(key.PageUp))
	bind(func(e *cellEditor) { e.page(1) }, named(key.PageDown))
	bind((*cellEditor).startSearch, ctrl('r'), ctrl('s'))

	bind((*cellEditor).interrupt, ctrl('c'))
	bind((*cellEditor).suspend, ctrl('z'))
	bind((*cellEditor).clear, ctrl('l'))
	bind(func(e *cellEditor) { e.chord = true }, ctrl('x'))
	chords[ctrl('e')] = (*cellEditor).editOutside
	chords[ctrl('u')] = func(e *cellEditor) { e.buf.Undo() }
}

// enter runs the cell if it waits for nothing and the person is done with it: the cursor is at its end, it
// has one line, or it was recalled and is as it was. Otherwise it starts a line; a line that is pasted
// without brackets brings its own indentation.
func (e *cellEditor) enter() {
	text := e.buf.Text()
	done := e.buf.AtEnd() || !strings.Contains(text, "\n") || e.past.walking
	switch {
	case done && !cell.Incomplete(text):
		e.submit(text)
	case e.keys.Blank():
		e.buf.Insert("\n")
	default:
		e.buf.NewLine()
	}
}

// run runs the cell as it is, wherever the cursor is. If something is missing, the session says so.
func (e *cellEditor) run() { e.submit(e.buf.Text()) }

// takeSuggestion inserts the suggestion that is shown, up to its first n bytes.
func (e *cellEditor) takeSuggestion(n func(text string) int) bool {
	ghost := e.ghost()
	if ghost == "" {
		return false
	}
	e.buf.Insert(ghost[:n(ghost)])
	return true
}

// ghost is the suggestion behind the cursor: the rest of an earlier cell.
func (e *cellEditor) ghost() string {
	if e.search != nil || e.menu != nil || e.buf.Pos() < len(e.buf.Text()) || e.past.walking {
		return ""
	}
	return e.past.suggest(e.buf.Text())
}

func all(text string) int { return len(text) }

func (e *cellEditor) right() {
	if !e.takeSuggestion(all) {
		e.buf.Right()
	}
}

func (e *cellEditor) lineEnd() {
	if !e.takeSuggestion(all) {
		e.buf.End()
	}
}

func (e *cellEditor) wordRight() {
	word := func(text string) int {
		var b edit.Buffer
		b.Set(text, 0)
		b.WordRight()
		return b.Pos()
	}
	if !e.takeSuggestion(word) {
		e.buf.WordRight()
	}
}

// up goes to the line above, from the first one to the cell before.
func (e *cellEditor) up() {
	if !e.buf.Up() {
		e.recall(-1)
	}
}

// down goes to the line below, from the last one to the next cell.
func (e *cellEditor) down() {
	if !e.buf.Down() {
		e.recall(1)
	}
}

// recall shows another cell of the history. Going back it is left with the cursor in the first line, going on
// with the cursor in the last one, so that the same key goes on.
func (e *cellEditor) recall(direction int) {
	text, pos := e.buf.Text(), e.buf.Pos()
	if cell, ok := e.past.step(direction, text, text[:pos]); ok {
		e.recalled(cell, direction)
	}
}

func (e *cellEditor) jump(direction int) {
	if cell, ok := e.past.jump(direction, e.buf.Text()); ok {
		e.recalled(cell, direction)
	}
}

func (e *cellEditor) recalled(cell string, direction int) {
	e.buf.Set(cell, 0)
	if direction > 0 {
		e.buf.Finish()
		return
	}
	e.buf.End()
}

// deleteOrLeave is Ctrl-D: it leaves mcs where there is nothing to delete.
func (e *cellEditor) deleteOrLeave() {
	if e.buf.Text() != "" {
		e.buf.DeleteRight()
		return
	}
	e.finish("")
	e.result = &result{err: io.EOF}
}

// clear clears the screen except the cell.
func (e *cellEditor) clear() {
	e.view.painter.Raw("\x1b[H\x1b[2J")
	e.view.restart()
}

// paste inserts a text in one step. A line break at its end is left out: people copy whole lines, and the
// cell must not look as if it had one more.
func (e *cellEditor) paste(text string) {
	e.menu = nil
	if text = withoutPrompts(text); !e.buf.InRaw() {
		text = strings.TrimSuffix(text, "\n")
	}
	e.buf.Insert(text)
}
