package magics

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/journal"
	"github.com/mcs-notebook/mcs/repl/session"
)

// Complete returns the ways to go on at the byte offset pos of a cell, and where the text that they replace
// begins, if the line there is a command. Otherwise the list is nil: the place is the session's.
func (t Table) Complete(s *session.Session, text string, pos int) (from int, list []session.Completion) {
	start := strings.LastIndexByte(text[:pos], '\n') + 1
	if cell.Whole(text) && start > 0 {
		body := strings.IndexByte(text, '\n') + 1
		from, list = s.Complete(text[body:], pos-body)
		return from + body, list
	}
	if !onCommand(text[:pos]) {
		return pos, nil
	}
	from, list = t.completeLine(s, text[start:pos])
	if list == nil {
		list = []session.Completion{}
	}
	return from + start, list
}

// onCommand says whether a text ends in a command line that begins with its sign.
func onCommand(text string) bool {
	pieces := cell.Split(text)
	if len(pieces) == 0 {
		return false
	}
	last := pieces[len(pieces)-1]
	return last.Kind == cell.Command && !strings.HasSuffix(last.Text(text), "?") && !strings.Contains(text[last.To:], "\n")
}

// completeLine completes the end of a command line.
func (t Table) completeLine(s *session.Session, line string) (from int, list []session.Completion) {
	end := len(line)
	command := strings.TrimLeft(line, " \t")
	name := end - len(command) + 1 // where the name begins
	if _, _, captured := cell.Capture(command); captured || strings.HasPrefix(command, "!") {
		return completeFile(s, line)
	}
	whole := strings.HasPrefix(line[name:], "%")
	if whole {
		name++
	}
	args := strings.IndexAny(line[name:], " \t")
	if args < 0 {
		return name, append(t.completeName(line[name:], whole), completeAlias(s, line[name:], whole)...)
	}
	args += name
	if full := unalias(s.Aliases(), line[name-1:]+"\x00"); !strings.HasPrefix(full, line[name-1:]) { // of what an alias stands for
		full = strings.TrimSuffix(full, "\x00")
		from, list = t.completeLine(s, full)
		return from + end - len(full), list
	}
	m := t.lookup(line[name:args])
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
	case TakesFolders:
		from, list = completeFile(s, line)
		return from, slices.DeleteFunc(list, func(c session.Completion) bool { return !strings.HasSuffix(c.Text, string(filepath.Separator)) })
	case TakesEnv:
		return end - len(word), completeEnv(word)
	case TakesKept:
		if flags, _, err := m.parse(line[args:]); err == nil && (flags["r"] == true || flags["d"] == true) {
			return end - len(word), completeStored(word)
		}
		return end - len(word), completeVar(s, word)
	case TakesNames:
		return end - len(word), completeVar(s, word)
	case TakesMagics:
		return end - len(word), t.completeName(strings.TrimPrefix(word, "%"), false)
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

func (t Table) completeName(prefix string, whole bool) (list []session.Completion) {
	for _, m := range t.rows() {
		if strings.HasPrefix(m.Name, prefix) && isLetter(m.Name[0]) && (m.Cell || !whole) {
			list = append(list, session.Completion{Text: m.Name, Kind: "magic", Detail: m.usage(), Doc: m.Summary})
		}
	}
	return list
}

func completeAlias(s *session.Session, prefix string, whole bool) (list []session.Completion) {
	for _, name := range slices.Sorted(maps.Keys(s.Aliases())) {
		if strings.HasPrefix(name, prefix) && !whole {
			list = append(list, session.Completion{Text: name, Kind: "magic", Detail: s.Aliases()[name], Doc: "an alias"})
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

func completeStored(prefix string) (list []session.Completion) {
	dir, err := journal.Place("store")
	if err != nil {
		return nil
	}
	for _, f := range storedFiles(dir) {
		if name := strings.TrimSuffix(f.Name(), storedSuffix); strings.HasPrefix(name, prefix) {
			list = append(list, session.Completion{Text: name, Kind: "var"})
		}
	}
	return list
}

func completeEnv(prefix string) (list []session.Completion) {
	for _, each := range os.Environ() {
		if name, _, _ := strings.Cut(each, "="); name != "" && strings.HasPrefix(name, prefix) {
			list = append(list, session.Completion{Text: name, Kind: "var"})
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
