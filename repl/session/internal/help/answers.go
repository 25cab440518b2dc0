package help

import (
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// An Answer is what to write for a statement of another language, which stands in some lines of a cell.
type Answer struct {
	From, To int // lines, from 1
	Hint     string
}

// mostTogether is the number of statements that may be one in Go: those of a training step.
const mostTogether = 6

// Answers finds Go for each statement of a cell that reads as Python, given the Go for those above it.
func (h *Helper) Answers(st *world.Stage, src string) (list []Answer) {
	if len(src) > maxForeign {
		return nil
	}
	f := &foreign{h: h, st: st}
	statements := statementsOf(src)
	for len(statements) > 0 {
		first := statements[0]
		advice, n := importAdvice(first.text), 1
		switch {
		case advice != "" && !strings.Contains(first.text, `"`) && !strings.HasPrefix(first.text, "import ("):
			if len(list) == 0 || list[0].Hint != advice { // is said once
				list = append(list, Answer{first.from, first.to, advice})
			}
		case f.checks(first.raw, "") || f.checksDeclared(first.raw):
			f.before += first.raw + "\n"
		default:
			if advice, n = f.together(statements); advice != "" {
				list = append(list, Answer{first.from, statements[n-1].to, "write " + advice})
				f.before += closure().ReplaceAllString(advice, "$1 := func(") + "\n"
			}
		}
		statements = statements[n:]
	}
	return list
}

// closure matches the head of a function, which is a variable where it stands among statements.
var closure = lazy.Regexp(`^func (\w+)\(`)

// A pythonStatement is one with the block that it opens: on one line, and as it was typed in some lines.
type pythonStatement struct {
	text, raw string
	from, to  int
}

func statementsOf(src string) (list []pythonStatement) {
	lines := strings.Split(src, "\n")
	for at := 0; at < len(lines); {
		text, rest := python.Statement(lines[at:])
		to := len(lines) - len(rest)
		if text != "" && !strings.HasPrefix(text, "//") {
			list = append(list, pythonStatement{text, strings.Join(lines[at:to], "\n"), at + 1, to})
		}
		at = to
	}
	return list
}

// together returns the Go for the first statement or, if it has none alone, for as few of the first ones as
// have it together, and their number.
func (f *foreign) together(list []pythonStatement) (string, int) {
	first := list[0]
	list = list[:min(mostTogether, len(list))]
	least := 1
	if strings.Contains(first.text, ".backward(") { // which opt.step() belongs to
		least = 1 + max(slices.IndexFunc(list, func(s pythonStatement) bool { return strings.Contains(s.text, ".step(") }), 0)
	}
	for n := least; n <= len(list); n++ {
		var texts []string
		for _, s := range list[:n] {
			texts = append(texts, s.text)
		}
		line := strings.Join(texts, "; ")
		if text := python.Line(line, f); text != "" && (n > 1 || !sameCode(text, first.raw)) && f.checks(text, "") {
			return text, n
		}
	}
	return "", 1
}
