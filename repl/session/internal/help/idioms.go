package help

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A ForeignLine is a line of another language, which does not parse, and what is said: a row of
// tables/lines.txt.
type ForeignLine struct {
	line *regexp.Regexp
	Say  string // $1 … are the groups of line
}

// ForeignLines returns the rows in their order.
var ForeignLines = sync.OnceValue(func() (list []ForeignLine) {
	for _, row := range rows("lines") {
		list = append(list, ForeignLine{regexp.MustCompile(row[0]), row[1]})
	}
	return list
})

// SyntaxAdvice says how to write in Go the code at offset off of a text that does not parse.
func (h *Helper) SyntaxAdvice(text string, off int, msg string) string {
	start := strings.LastIndexByte(text[:off], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	leading := len(line) - len(strings.TrimLeft(line, " \t"))
	line = strings.TrimSpace(line)
	if say := importAdvice(line); say != "" {
		return say
	}
	if m := assignedCommand().FindStringSubmatch(line); m != nil {
		return commandAdvice(m[1], m[2], m[3])
	}
	if goLine := h.translated(h.World().Stage(), text, opener(text, 1+strings.Count(text[:start], "\n"))); goLine != "" {
		return goLine
	}
	line = statementAt(line, off-start-leading)
	f := &foreign{h: h, st: h.World().Stage(), before: statementsAbove(text, 1+strings.Count(text[:start], "\n"))}
	if say := f.call(line); say != "" {
		return h.pasteable(say, line)
	}
	for _, i := range ForeignLines() {
		if m := i.line.FindStringSubmatchIndex(line); m != nil {
			return h.pasteable(string(i.line.ExpandString(nil, i.Say, line, m)), line)
		}
	}
	if msg == "expected 1 expression" {
		return "a list of values is shown only at the end of a cell"
	}
	return ""
}

// statementAt returns the one of a line's statements in which an offset lies. Semicolons in the head of an if
// or a for do not end it.
func statementAt(line string, off int) string {
	from, head := 0, false
	for _, t := range cell.Scan(line) {
		switch t.Tok {
		case token.IF, token.FOR, token.SWITCH:
			head = true
		case token.LBRACE:
			head = false
		}
		if t.Tok != token.SEMICOLON || t.Depth > 0 || head || t.Text(line) != ";" {
			continue
		}
		if off <= t.From {
			return strings.TrimSpace(line[from:t.From])
		}
		from = t.To
	}
	return strings.TrimSpace(line[from:])
}

// opener returns the line that opens the statement of line n, which is in a block of it or goes on with it:
// else, elif and except do. Python marks blocks by a colon and by indentation.
func opener(text string, n int) int {
	lines := strings.Split(text, "\n")
	for {
		line, above := lines[n-1], n-1
		least := python.Indentation(line)
		if word := strings.TrimSpace(line); !strings.HasPrefix(word, "except") && !strings.HasPrefix(word, "el") {
			least--
		}
		for above > 0 && (strings.TrimSpace(lines[above-1]) == "" || python.Indentation(lines[above-1]) > least) {
			above--
		}
		if above == 0 || !strings.HasSuffix(strings.TrimSpace(lines[above-1]), ":") {
			return n
		}
		n = above
	}
}

// pasteable words advice that begins with "write" otherwise, if what follows does not check.
func (h *Helper) pasteable(advice, line string) string {
	text, ok := strings.CutPrefix(advice, "write ")
	f := &foreign{h: h, st: h.World().Stage()}
	if ok && (strings.Contains(text, "…") || !strings.HasPrefix(text, "!") && !strings.HasSuffix(text, "?") && !f.checks(text, line)) {
		return "in Go: " + text
	}
	return advice
}

// assignedCommand is an assignment whose right side is a command.
var assignedCommand = lazy.Regexp(`^(?:var\s+)?(\w+)\s*:?=\s*%(\w+)\s*(.*)$`)

// commandAdvice returns the line to write for `name := %command args`. A command is no expression: its
// result has no type before it has run.
func commandAdvice(name, command, args string) string {
	e, err := parser.ParseExpr(args)
	switch {
	case command == "time" && args != "":
		return "write %time " + name + " := " + args
	case command == "timeit" && err == nil:
		if _, called := ast.Unparen(e).(*ast.CallExpr); !called {
			args = "_ = " + args
		}
		return "write " + name + " := bench.Time(func() { " + args + " })"
	}
	return strings.TrimSpace("write %"+command+" "+args) + " in a cell; its result is _ in the next one: " + name + " := _"
}

// imports matches `import numpy as np` and `from torch import nn`, with what is imported.
var imports = lazy.Regexp(`^(?:import\s+["']?([^\s"';,]+)|from\s+([^\s"';,]+)(?:.*\s)import\s)`)

// importAdvice returns the advice for `import numpy as np` and `from torch import nn`, "" for another line.
func importAdvice(line string) string {
	m := imports().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	name, from := cmp.Or(m[1], m[2]), m[2] != ""
	module, _, _ := strings.Cut(name, ".")
	if instead, ok := Modules()[module]; ok {
		return instead
	}
	if from {
		return "nothing need be imported: packages are there when a name like strings.ToUpper is used"
	}
	if path, ok := stdlib.ImportFor(name); ok {
		return `it is there without an import; an import has its path in quotes: import "` + path + `"`
	}
	return `an import has its path in quotes: import "fmt"`
}

// Modules returns what is said of the Python modules that people import, by their names. What the names in
// them are here is in package elsewhere.
func Modules() map[string]string { return said()[0] }

// ForeignNames returns what is said of names of other languages.
func ForeignNames() map[string]string { return said()[1] }

// said has tables/names.txt: the modules, and the other names.
var said = sync.OnceValue(func() [2]map[string]string {
	m := [2]map[string]string{{}, {}}
	for _, row := range rows("names") {
		names, imported := strings.CutPrefix(row[0], "import ")
		text := row[1]
		if module, ok := strings.CutPrefix(text, "= "); ok {
			text = m[0][module]
		}
		for name := range strings.FieldsSeq(names) {
			if imported {
				m[0][name] = text
			} else {
				m[1][name] = text
			}
		}
	}
	return m
})
