package tensor

import (
	"fmt"
	"html"
	"strings"
)

// HTML returns the header line and the values as tables, one for each matrix of the last two axes. It shows
// the elements that [Tensor.Text] shows, and evaluates the tensor.
func (t Tensor) HTML() string {
	if t.IsNone() || t.Freed() {
		return "<p>" + html.EscapeString(t.Brief()) + "</p>"
	}
	outsideOnly("print")
	n := t.Eval().node("print")
	h := &htmlWriter{shown: shownIndices(n.Shape)}
	h.cells = cells(n, h.shown)
	header := fmt.Sprintf("%v %v %s", n.Type(), n.Dev, byteCount(n.Type().Bytes()))
	if n.Name != "" {
		header += " · " + n.Name
	}
	fmt.Fprintf(&h.b, "<div>\n<p>%s</p>\n", html.EscapeString(header))
	h.matrices(0, "")
	h.b.WriteString("</div>")
	return h.b.String()
}

// An htmlWriter writes elements as HTML.
type htmlWriter struct {
	b     strings.Builder
	shown [][]int
	cells []string // that are not written yet, in C order
}

// matrices writes the tables below the axes in front of axis a, whose indices are at.
func (h *htmlWriter) matrices(a int, at string) {
	if len(h.shown)-a <= 2 {
		if at != "" {
			fmt.Fprintf(&h.b, "<p>[%s:, :]</p>\n", at)
		}
		h.matrix(h.shown[a:])
		return
	}
	for _, i := range h.shown[a] {
		if i == gap {
			h.b.WriteString("<p>…</p>\n")
			continue
		}
		h.matrices(a+1, fmt.Sprintf("%s%d, ", at, i))
	}
}

// matrix writes one table. A vector is a row, and a scalar a single cell.
func (h *htmlWriter) matrix(axes [][]int) {
	rows, columns := []int{0}, []int{0}
	switch len(axes) {
	case 2:
		rows, columns = axes[0], axes[1]
	case 1:
		columns = axes[0]
	}
	h.b.WriteString("<table>\n")
	for _, r := range rows {
		h.b.WriteString("<tr>")
		for _, c := range columns {
			text := "…"
			if r != gap && c != gap {
				text, h.cells = h.cells[0], h.cells[1:]
			}
			h.b.WriteString(`<td style="text-align:right">` + html.EscapeString(text) + "</td>")
		}
		h.b.WriteString("</tr>\n")
	}
	h.b.WriteString("</table>\n")
}
