package cell

import "strings"

// Foreign says whether a cell begins with a line that opens a block as Python does, by a colon. It is no Go,
// but it is answered as a whole, so it ends with an empty line, as in Python.
func Foreign(src string) bool {
	line, _, _ := strings.Cut(strings.TrimLeft(src, " \t\n"), "\n")
	line, _, _ = strings.Cut(line, " #")
	line = strings.TrimRight(line, " \t")
	word, rest, _ := strings.Cut(line, " ")
	if !strings.HasSuffix(line, ":") || strings.Contains(line, "{") {
		return false
	}
	switch word {
	case "for":
		return strings.Contains(rest, " in ")
	case "while", "if", "def", "class", "with":
		return len(rest) > 1
	}
	return word == "try:"
}

// foreignIndent is the indentation of a line behind such a text: that of the last one, and a step more behind
// a colon.
func foreignIndent(src string) int {
	line := src[strings.LastIndexByte(src, '\n')+1:]
	line, _, _ = strings.Cut(line, " #")
	text := strings.TrimLeft(line, " \t")
	blanks := line[:len(line)-len(text)]
	steps := strings.Count(blanks, "\t") + strings.Count(blanks, " ")/4
	if strings.HasSuffix(strings.TrimRight(text, " \t"), ":") {
		steps++
	}
	return steps
}
