package units

import (
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/lines"
)

// Plural writes a number of things: "1 launch", "5 launches".
func Plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") || strings.HasSuffix(what, "s") {
		what += "e"
	} else if before, ok := strings.CutSuffix(what, "y"); ok {
		what = before + "ie"
	}
	return Int(n) + " " + what + "s"
}

// Table aligns rows below a first one of headings: the first column to the left, the others to the right,
// with two blanks between them. If that is wider than a screen of width columns, each row is written on
// several lines: its first cell, and below it the others behind their headings. Width 0 stands for no screen.
func Table(rows [][]string, width int) string {
	var widths []int
	for _, row := range rows {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(text))
		}
	}
	if all := sum(widths) + 2*(len(widths)-1); width > 0 && all > width {
		return records(rows, width)
	}
	list := make([]string, len(rows))
	for k, row := range rows {
		var b strings.Builder
		for i, text := range row {
			pad := strings.Repeat(" ", widths[i]-runewidth.StringWidth(text))
			if i == 0 {
				b.WriteString(text + pad)
			} else {
				b.WriteString("  " + pad + text)
			}
		}
		list[k] = strings.TrimRight(b.String(), " ")
	}
	return strings.Join(list, "\n")
}

// records is a table with several lines for each row.
func records(rows [][]string, width int) string {
	var list []string
	for _, row := range rows[1:] {
		list = append(list, lines.Wrap(row[0], width, 4)...)
		for i, text := range row[1:] {
			if text != "" {
				list = append(list, lines.Wrap(strings.TrimRight("  "+rows[0][i+1]+" "+text, " "), width, 2)...)
			}
		}
	}
	return strings.Join(list, "\n")
}

func sum(list []int) (all int) {
	for _, n := range list {
		all += n
	}
	return all
}
