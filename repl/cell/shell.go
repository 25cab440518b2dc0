package cell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
)

// Capture splits a line that assigns what a command of the shell prints, files := !ls -l, into what stands on
// the left, with its operator, and the command. The left are names: one, or two with a comma.
func Capture(line string) (left, command string, ok bool) {
	head, command, ok := strings.Cut(line, "!")
	if !ok || strings.TrimSpace(command) == "" {
		return "", "", false
	}
	names, ok := strings.CutSuffix(strings.TrimSpace(head), "=")
	if !ok {
		return "", "", false
	}
	names = strings.TrimSuffix(names, ":")
	count := 0
	for name := range strings.SplitSeq(names, ",") {
		if count++; count > 2 || !token.IsIdentifier(strings.TrimSpace(name)) {
			return "", "", false
		}
	}
	return strings.TrimSpace(head), strings.TrimSpace(command), true
}

// captures says whether a line assigns the output of a command, and cannot be Go. Go negates one value, of
// which more may follow: x := !done && n > 1, m := !mask | other. So all that Go can read is Go at first; see
// [Captures].
func captures(line string) bool {
	left, command, ok := Capture(line)
	return ok && (strings.Contains(left, ",") || !startsExpr("!"+command))
}

// startsExpr says whether a text is an expression in Go, or the beginning of one that goes on in the next
// line.
func startsExpr(text string) bool {
	if _, err := parser.ParseExpr(text); err == nil {
		return true
	}
	list := Code(ScanGo(text))
	for len(list) > 0 && list[len(list)-1].Tok == LineEnd {
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	if last.Depth == 0 {
		_, err := parser.ParseExpr(text[:last.From])
		return err == nil && joins(last.Tok)
	}
	if len(list) < 2 || list[1].Tok == token.LBRACE {
		return false
	}
	for _, t := range list { // a shell's words have characters and quotes that Go has not
		if t.Tok == token.ILLEGAL || t.Open && !t.Raw(text) {
			return false
		}
	}
	return list[1].Tok != token.IDENT || len(list) > 2 && list[2].From == list[1].To
}

// joins says whether a token is an operator that ends no command of the shell.
func joins(t token.Token) bool {
	return t.Precedence() > token.LowestPrec && t != token.MUL && t != token.QUO && t != token.SUB
}

// Captures makes commands of the statements that assign the output of a command and could be Go, too:
// files := !ls -l. The first word must be the name of a command, and no earlier piece may mention it.
func Captures(src string, pieces []Piece, isCommand func(name string) bool) []Piece {
	for i, p := range pieces {
		text := p.Text(src)
		_, command, ok := Capture(text)
		if !ok || p.Kind != Statement || p.Quiet || strings.Contains(text, "\n") {
			continue
		}
		name := command
		if end := strings.IndexAny(command, blanks); end > 0 {
			name = command[:end]
		}
		if token.IsIdentifier(name) && !mentions(src, pieces[:i], name) && isCommand(name) {
			pieces[i].Kind = Command
		}
	}
	return pieces
}

// Negations makes statements of the command lines that Go can read, too, and whose names are all known: !ok,
// !(a > b). A blank behind the sign keeps a command. It returns these lines. Known is asked for names that no
// earlier piece mentions; those of Go itself are known, but only true and false are enough.
func Negations(src string, pieces []Piece, known func(name string) bool) (negated []string) {
	for i, p := range pieces {
		text := p.Text(src)
		if p.Kind != Command || text[0] != '!' || strings.TrimLeft(text[1:], blanks) != text[1:] {
			continue
		}
		e, err := parser.ParseExpr(text)
		if err != nil || !allKnown(e, func(name string) bool { return known(name) || mentions(src, pieces[:i], name) }) {
			continue
		}
		pieces[i].Kind, pieces[i].Tokens = Statement, nil
		for _, t := range ScanGo(text) {
			if !t.Ends() {
				t.From, t.To = t.From+p.From, t.To+p.From
				pieces[i].Tokens = append(pieces[i].Tokens, t)
			}
		}
		negated = append(negated, text)
	}
	return negated
}

// allKnown says whether all names of an expression are known or Go's own, and one of them is known, true or
// false.
func allKnown(e ast.Expr, known func(name string) bool) bool {
	one, all := false, true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr: // what is selected has a name in x alone
			base := allKnown(n.X, known)
			one, all = one || base, all && base
			return false
		case *ast.Ident:
			is := n.Name == "true" || n.Name == "false" || known(n.Name)
			one, all = one || is, all && (is || types.Universe.Lookup(n.Name) != nil)
		}
		return true
	})
	return one && all
}

// mentions says whether pieces of Go have an identifier with a name.
func mentions(src string, pieces []Piece, name string) bool {
	for _, p := range pieces {
		for _, t := range p.Tokens {
			if t.Tok == token.IDENT && t.Text(src) == name {
				return true
			}
		}
	}
	return false
}

// A Mention is a variable of the session in a command of the shell.
type Mention struct {
	Name   string
	Braces bool // {name}, which only a session knows; otherwise $name
}

// Fill puts variables into a command of the shell. A name in braces, {dir}, becomes a reference to a variable
// of the environment, in the quotes that keep it one word. So the shell never reads a value as a part of the
// command. $dir and ${dir} stay as they are, and are split into words as the shell does. The variables that
// are mentioned have to be in the environment of the command. {{dir}} becomes {dir}.
func Fill(command string, isVariable func(name string) bool) (text string, mentioned []Mention) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(command):
			b.WriteByte(c)
			i++
			c = command[i]
		case (c == '\'' || c == '"') && (quote == 0 || quote == c):
			quote ^= c
		case c == '{':
			doubled := strings.HasPrefix(command[i:], "{{")
			from := i + 1
			if doubled {
				from++
			}
			name := shellName(command[from:])
			end := from + len(name)
			if name == "" || !isVariable(name) || !strings.HasPrefix(command[end:], map[bool]string{false: "}", true: "}}"}[doubled]) {
				break
			}
			if doubled {
				b.WriteString("{" + name + "}")
				i = end + 1
				continue
			}
			mentioned = append(mentioned, Mention{name, true})
			b.WriteString(reference(name, quote))
			i = end
			continue
		case c == '$' && quote != '\'':
			name := shellName(strings.TrimPrefix(command[i+1:], "{"))
			if name != "" && isVariable(name) {
				mentioned = append(mentioned, Mention{name, false})
			}
			if strings.HasPrefix(command[i+1:], "{") { // of the shell
				b.WriteByte(c)
				i++
				c = command[i]
			}
		}
		b.WriteByte(c)
	}
	return b.String(), mentioned
}

// reference is a variable of the environment as one word, inside of a quote.
func reference(name string, quote byte) string {
	switch quote {
	case '"':
		return "${" + name + "}"
	case '\'':
		return `'"${` + name + `}"'`
	}
	return `"${` + name + `}"`
}

// shellName is the name of a variable at the start of a text, or "".
func shellName(text string) string {
	for i := range len(text) {
		c := text[i]
		if c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || i > 0 && '0' <= c && c <= '9' {
			continue
		}
		return text[:i]
	}
	return text
}
