package term

import (
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

var (
	cellPrompt  = lazy.Regexp(`^(In \[\d+\]: ?|>>> ?|\$ )`)
	morePrompt  = lazy.Regexp(`^ *\.\.\.:? ?`)
	blankPrompt = lazy.Regexp(`^In \[\d+\]:$|^>>>$|^\$$`)
)

// withoutPrompts takes the cells out of a piece of a session that was copied from a terminal or a page, of
// this notebook or of another one: prompts go, and so does what the cells have put out. Other text stays as
// it is.
func withoutPrompts(text string) string {
	lines := strings.Split(text, "\n")
	if !cellPrompt().MatchString(lines[0]) {
		return text
	}
	var cells []string
	margin := "" // of the lines that continue a cell; empty in output
	for _, line := range lines {
		prompt := cellPrompt().FindString(line)
		more := morePrompt().FindString(line)
		switch {
		case blankPrompt().MatchString(line):
			margin = ""
		case prompt != "":
			margin = strings.Repeat(" ", len(prompt))
			cells = append(cells, line[len(prompt):])
		case margin != "" && more != "":
			cells = append(cells, line[len(more):])
		case margin != "" && len(margin) > 4 && strings.HasPrefix(line, margin):
			cells = append(cells, line[len(margin):])
		default:
			margin = ""
		}
	}
	return strings.Join(cells, "\n")
}
