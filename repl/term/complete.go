package term

import (
	"strings"

	"github.com/mcs-notebook/mcs/repl/session"
)

// A completer gives the ways to go on at a place of a cell; see session.Session.Complete.
type completer func(cell string, pos int) (from int, list []session.Completion)

// Do implements readline.AutoCompleter: it gives what each completion adds to the word before the cursor, and the length
// of the word. In the indentation of a line Tab indents.
func (e *lineEditor) Do(line []rune, pos int) ([][]rune, int) {
	current := string(line[:pos])
	if i := strings.LastIndex(current, string(markNewline)); i >= 0 {
		current = current[i+len(string(markNewline)):]
	}
	if strings.TrimLeft(current, " ") == "" {
		return [][]rune{[]rune(strings.Repeat(" ", tabColumns-len(current)%tabColumns))}, 0
	}
	e.mu.Lock()
	before := e.before
	e.mu.Unlock()
	if before != "" {
		before += "\n"
	}
	head := before + marksToText.Replace(string(line[:pos]))
	cell := head + marksToText.Replace(string(line[pos:]))
	from, list := e.complete(cell, len(head))
	if from < 0 || from > len(head) {
		return nil, 0
	}
	word := head[from:]
	var rest [][]rune
	for _, c := range list {
		if added, ok := strings.CutPrefix(c.Text, word); ok {
			rest = append(rest, []rune(added))
		}
	}
	return rest, len([]rune(word))
}
