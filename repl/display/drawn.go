package display

import "github.com/mcs-notebook/mcs/repl/display/diagram"

// Drawn is a diagram as a Value: text, styled text, SVG, HTML and JSON.
type Drawn struct{ *diagram.Diagram }

// toneRoles colour the frames of a diagram's boxes in a terminal.
var toneRoles = []Role{Series1, Series2, Series3}

// StyledText is the diagram's text with frames in the colours of their tones.
func (d Drawn) StyledText(width int, style Style) string {
	return d.Draw(width, func(what int, text string) string {
		switch what {
		case diagram.PaintTitle:
			return style.Paint(Strong, text)
		case diagram.PaintDim:
			return style.Paint(Dim, text)
		}
		return style.Paint(toneRoles[(what-diagram.PaintTone)%len(toneRoles)], text)
	})
}

// HTML is the diagram's SVG, which needs no other file.
func (d Drawn) HTML() string { return d.SVG() }
