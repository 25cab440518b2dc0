package help

import (
	"fmt"
	"go/token"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A Surprise is what Go makes of a line otherwise than a formula of tensors means. Kind tells one from
// another: a session speaks of each kind once.
type Surprise struct{ Kind, Text string }

// operandOnly matches a comment that looks like the right operand of a division: // 2.
var operandOnly = lazy.Regexp(`^//\s*(\d[\d.]*|[A-Za-z_]\w*)$`)

// Surprises finds, in lines of a cell that mention tensors, an integer division of constants and a comment
// that looks like a division. Of a comment behind an expression the note behind its value speaks.
func (h *Helper) Surprises(src string) (list []Surprise) {
	if !strings.Contains(src, "/") {
		return nil
	}
	var line []cell.Token
	made := map[string]bool{} // names that the cell declares: the session may have others
	for _, t := range cell.Scan(src) {
		line = append(line, t)
		if t.Ends() || t.Tok == token.COMMENT {
			list = append(list, h.surprisesOf(src, line, made)...)
			for i, t := range line {
				if t.Tok == token.DEFINE {
					for _, name := range line[:i] {
						made[name.Text(src)] = true
					}
				}
			}
			line = line[:0]
		}
	}
	return list
}

func (h *Helper) surprisesOf(src string, line []cell.Token, made map[string]bool) (list []Surprise) {
	code := cell.Code(line)
	tensor, assigns := "", false
	for i, t := range code {
		name := t.Text(src)
		if e := h.World().Names[name]; t.Tok == token.IDENT && !made[name] && e != nil && e.Kind == world.Var && family(e.Obj.Type()) == "tensor" && (i == 0 || code[i-1].Tok != token.PERIOD) {
			tensor = name
		}
		assigns = assigns || t.Tok.Precedence() == token.LowestPrec && strings.HasSuffix(t.Tok.String(), "=")
	}
	if tensor == "" {
		return nil
	}
	for i := 1; i+1 < len(code); i++ {
		if t := code[i]; t.Tok == token.QUO && (i == 1 || code[i-2].Tok.Precedence() < token.QUO.Precedence()) {
			a, errA := strconv.ParseInt(code[i-1].Text(src), 0, 64)
			b, errB := strconv.ParseInt(code[i+1].Text(src), 0, 64)
			if errA == nil && errB == nil && b != 0 && a%b != 0 {
				list = append(list, Surprise{"division", fmt.Sprintf("%d / %d is %d, as Go divides integer constants; %d.0 / %d is a fraction", a, b, a/b, a, b)})
			}
		}
	}
	last := line[len(line)-1]
	m := operandOnly().FindStringSubmatch(strings.TrimSpace(last.Text(src)))
	if m == nil || last.Tok != token.COMMENT || !assigns || len(code) == 0 {
		return list
	}
	if e := h.World().Names[m[1]]; m[1][0] <= '9' || e != nil && e.Kind == world.Var {
		list = append(list, Surprise{"comment", fmt.Sprintf("%s is a comment, so nothing was divided; %s.FloorDiv(%s) divides and rounds down", last.Text(src), tensor, m[1])})
	}
	return list
}
