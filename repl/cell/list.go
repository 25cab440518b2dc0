package cell

import (
	"go/token"
	"strings"
)

// List returns the expressions of the list at the end of a text, `a, b`, which is not Go, or nil if the text
// does not end in a list.
func List(text string) (items []Piece) {
	if !strings.Contains(text, ",") {
		return nil
	}
	comma := false
	start := true // at the start of a statement
	for _, t := range Code(ScanGo(text)) {
		if start {
			items, comma, start = []Piece{{From: t.From, To: len(text)}}, false, false
		}
		if t.Depth > 0 {
			continue
		}
		switch t.Tok {
		case token.COMMA:
			if items != nil {
				items[len(items)-1].To = t.From
				items = append(items, Piece{From: t.To, To: len(text)})
				comma = true
			}
		case token.SEMICOLON, LineEnd:
			if start = true; items != nil {
				items[len(items)-1].To = t.From
			}
		case token.ASSIGN, token.DEFINE, token.COLON, token.INC, token.DEC:
			items = nil
		case token.FUNC, token.MAP, token.CHAN, token.STRUCT, token.INTERFACE:
		default:
			if t.Tok.IsKeyword() {
				items = nil
			}
		}
	}
	if !comma {
		return nil
	}
	return items
}
