package units

import "strings"

// Plural writes a number of things: "1 launch", "5 launches".
func Plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") || strings.HasSuffix(what, "s") {
		what += "e"
	} else if strings.HasSuffix(what, "y") {
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return Int(n) + " " + what + "s"
}

// Table aligns rows: the first column to the left, the others to the right, with two blanks between them.
func Table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(text)))
		}
	}
	lines := make([]string, len(rows))
	for k, row := range rows {
		var b strings.Builder
		for i, text := range row {
			pad := strings.Repeat(" ", widths[i]-len([]rune(text)))
			if i == 0 {
				b.WriteString(text + pad)
			} else {
				b.WriteString("  " + pad + text)
			}
		}
		lines[k] = strings.TrimRight(b.String(), " ")
	}
	return strings.Join(lines, "\n")
}
