package term

import (
	"go/token"
	"strings"
	"sync"

	"github.com/mattn/go-runewidth"
)

// tabColumns is how wide a step of indentation is while a cell is typed.
const tabColumns = 4

var indentation = strings.Repeat(" ", tabColumns)

// toBuffer writes the text of a cell as the editor's buffer holds it: one line, with marks for line breaks; indentation
// is blanks, other tabs (and all tabs inside of raw strings, where they are data) are marks.
func toBuffer(text string) string {
	raw := rawLines(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		body := line
		if !raw[i] {
			body = strings.TrimLeft(line, "\t")
		}
		lines[i] = strings.Repeat(indentation, len(line)-len(body)) + strings.ReplaceAll(body, "\t", string(markTab))
	}
	return strings.Join(lines, string(markNewline))
}

var marksToText = strings.NewReplacer(string(markNewline), "\n", string(markTab), "\t", string(markPaste), "")

// fromBuffer is the text that a buffer stands for; before is the part of the cell above it. Indentation becomes tabs,
// as gofmt has it.
func fromBuffer(before, buffer string) string {
	text := marksToText.Replace(buffer)
	if before != "" {
		before += "\n"
	}
	raw := rawLines(before + text)[strings.Count(before, "\n"):]
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if raw[i] {
			continue
		}
		body := strings.TrimLeft(line, " ")
		blanks := len(line) - len(body)
		lines[i] = strings.Repeat("\t", blanks/tabColumns) + strings.Repeat(" ", blanks%tabColumns) + body
	}
	return strings.Join(lines, "\n")
}

// rawLines says of each line of src whether it starts inside of a raw string.
func rawLines(src string) []bool {
	raw := make([]bool, strings.Count(src, "\n")+1)
	if len(raw) == 1 {
		return raw
	}
	line, at := 0, 0
	scan(src, func(from, to int, tok token.Token, lit string) {
		if tok != token.STRING || !strings.HasPrefix(src[from:], "`") {
			return
		}
		line += strings.Count(src[at:from], "\n")
		at = from
		// The literal's text leaves out carriage returns, so look at the source.
		end := strings.IndexByte(src[from+1:], '`')
		if end < 0 {
			end = len(src) - from - 1
		}
		for i := range strings.Count(src[from:from+1+end], "\n") {
			raw[line+1+i] = true
		}
	})
	return raw
}

// indentAfter is how deep the line after src is indented: by one step for each bracket that is open, not at all inside
// of a raw string.
func indentAfter(src string) int {
	if raw := rawLines(src + "\n"); raw[len(raw)-1] {
		return 0
	}
	depth := 0
	openLine := -1 // several brackets opened on one line indent once
	var steps []bool
	scan(src, func(from, _ int, tok token.Token, _ string) {
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			line := strings.Count(src[:from], "\n")
			steps = append(steps, line != openLine)
			if line != openLine {
				depth++
			}
			openLine = line
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if n := len(steps); n > 0 {
				if steps[n-1] {
					depth--
					openLine = -1
				}
				steps = steps[:n-1]
			}
		}
	})
	return depth
}

// A view shows the editor's buffer: coloured, with marks made visible.
type view struct {
	theme  theme
	margin string // in front of continuation lines

	mu     sync.Mutex
	before string // the lines of the cell above the buffer
	keep   bool   // when the line is submitted its last part stays in the editor: do not show it yet
}

func (v *view) set(before string, keep bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.before, v.keep = before, keep
}

// Paint implements readline.Painter. Readline counts one column for each rune when it moves the cursor back from the end
// of the line, so wide runes behind the cursor need a backspace more.
func (v *view) Paint(line []rune, pos int) []rune {
	v.mu.Lock()
	defer v.mu.Unlock()
	submitted := len(line) > 0 && line[len(line)-1] == '\n'
	if submitted {
		line = line[:len(line)-1]
		return []rune(v.submitted(string(line)) + "\n")
	}
	shown := v.colour(string(line))
	shown = strings.NewReplacer("\n", v.theme.paint(grey, "↵"), "\t", v.theme.paint(grey, "⇥")).Replace(shown)
	back := 0
	for _, r := range line[min(pos, len(line)):] {
		back += max(runewidth.RuneWidth(r)-1, 0)
	}
	return []rune(shown + strings.Repeat("\b", back))
}

// colour paints the buffer as the continuation of what is above it.
func (v *view) colour(buffer string) string {
	before := v.before
	if before != "" {
		before += "\n"
	}
	return v.theme.live(before+marksToText.Replace(buffer), len(before))
}

// submitted shows a finished buffer as the lines that it stands for.
func (v *view) submitted(buffer string) string {
	if v.keep {
		buffer = buffer[:max(strings.LastIndex(buffer, string(markNewline)), 0)]
	}
	shown := strings.ReplaceAll(v.colour(buffer), "\t", indentation)
	return strings.ReplaceAll(shown, "\n", "\n"+v.margin)
}
