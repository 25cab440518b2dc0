package magics

import (
	"strings"

	"github.com/mcs-notebook/mcs/repl/session"
)

// Complete returns the ways to go on at the byte offset pos of a cell, and where the text that they replace begins, if
// the line there is a command. Otherwise the list is nil: the place is the session's.
func (Table) Complete(s *session.Session, cell string, pos int) (from int, list []session.Completion) {
	start := strings.LastIndexByte(cell[:pos], '\n') + 1
	if strings.HasPrefix(strings.TrimSpace(cell), "%%") && start > 0 {
		body := strings.IndexByte(cell, '\n') + 1
		from, list = s.Complete(cell[body:], pos-body)
		return from + body, list
	}
	from, list = completeLine(s, cell[start:pos])
	if list == nil && isCommand(cell[start:pos]) {
		list = []session.Completion{}
	}
	return from + start, list
}

func isCommand(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "%") || strings.HasPrefix(line, "!")
}

// completeLine completes the end of a command line.
func completeLine(s *session.Session, line string) (from int, list []session.Completion) {
	end := len(line)
	command := strings.TrimLeft(line, " \t")
	name := end - len(command) + 1 // where the name begins
	switch {
	case strings.HasPrefix(command, "!"):
		return completeFile(s, line)
	case !strings.HasPrefix(command, "%"):
		return end, nil
	}
	cell := strings.HasPrefix(line[name:], "%")
	if cell {
		name++
	}
	args := strings.IndexAny(line[name:], " \t")
	if args < 0 {
		return name, completeName(line[name:], cell)
	}
	args += name
	m := Lookup(line[name:args])
	if m == nil {
		return end, nil
	}
	word := line[strings.LastIndexAny(line, " \t")+1:]
	if strings.HasPrefix(word, "-") {
		return end - len(word), m.completeFlag(word)
	}
	switch m.Takes {
	case TakesGo:
		args = skipFlags(m, line, args)
		from, list = s.Complete(line[args:], end-args)
		return from + args, list
	case TakesFiles:
		return completeFile(s, line)
	case TakesNames:
		return end - len(word), completeVar(s, word)
	case TakesMagics:
		return end - len(word), completeName(strings.TrimPrefix(word, "%"), false)
	case TakesDevices:
		return end - len(word), completeDevice(word)
	}
	return end, nil
}

// skipFlags returns where the Go of a magic's line begins.
func skipFlags(m *Magic, line string, at int) int {
	_, rest, err := m.parse(line[at:])
	if err != nil {
		return at
	}
	return len(line) - len(rest)
}

func completeName(prefix string, cell bool) (list []session.Completion) {
	for _, m := range rows() {
		if strings.HasPrefix(m.Name, prefix) && isLetter(m.Name[0]) && (m.Cell || !cell) {
			list = append(list, session.Completion{Text: m.Name, Kind: "magic", Detail: m.usage(), Doc: m.Summary})
		}
	}
	return list
}

func (m *Magic) completeFlag(word string) (list []session.Completion) {
	for _, f := range m.Flags {
		options := []string{"-" + f.Name}
		for _, choice := range f.Choices {
			options = append(options, "-"+f.Name+"="+choice)
		}
		if len(f.Choices) > 0 {
			options = options[1:]
		}
		for _, o := range options {
			if strings.HasPrefix(o, word) {
				list = append(list, session.Completion{Text: o, Kind: "flag", Detail: f.usage(), Doc: f.Help})
			}
		}
	}
	return list
}

func completeVar(s *session.Session, prefix string) (list []session.Completion) {
	for _, v := range s.Vars() {
		if strings.HasPrefix(v.Name, prefix) {
			list = append(list, session.Completion{Text: v.Name, Kind: v.Kind, Detail: v.Type})
		}
	}
	return list
}

// completeFile completes the last word of a line as the path of a file.
func completeFile(s *session.Session, line string) (from int, list []session.Completion) {
	word := line[strings.LastIndexAny(line, " \t!")+1:]
	from, list = s.CompletePath(word)
	return len(line) - len(word) + from, list
}
