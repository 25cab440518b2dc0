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

// withoutPrompts extracts the cells from a text copied from a session of this or another notebook: it
// removes prompts and the output of cells. It leaves other text unchanged.
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
