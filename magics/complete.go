package magics

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
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
	pieces := cell.Split(text[:pos])
	last := len(pieces) - 1
	if last < 0 || pieces[last].Kind != cell.Command || strings.HasSuffix(pieces[last].Text(text), "?") || strings.Contains(text[pieces[last].To:pos], "\n") {
		return pos, nil
	}
	from, list = t.completeLine(s, text[start:pos])
	if list == nil {
		list = []session.Completion{}
	}
	return from + start, list
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
		list = t.names(whole)
		for _, alias := range slices.Sorted(maps.Keys(s.Aliases())) {
			if !whole {
				list = append(list, session.Completion{Text: alias, Kind: "magic", Detail: s.Aliases()[alias], Doc: "an alias"})
			}
		}
		return name, beginning(line[name:], list)
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
		return end - len(word), beginning(word, m.flags())
	}
	switch takes := m.Takes; takes {
	case TakesGo:
		if _, rest, err := m.parse(line[args:]); err == nil { // behind the flags
			args = end - len(rest)
		}
		from, list = s.Complete(line[args:], end-args)
		return from + args, list
	case TakesFiles:
		return completeFile(s, line)
	case TakesFolders:
		from, list = completeFile(s, line)
		return from, slices.DeleteFunc(list, func(c session.Completion) bool { return !strings.HasSuffix(c.Text, string(filepath.Separator)) })
	case TakesMagics:
		word = strings.TrimPrefix(word, "%")
		return end - len(word), beginning(word, t.names(false))
	case TakesKept:
		if flags, _, err := m.parse(line[args:]); err != nil || flags["r"] != true && flags["d"] != true {
			takes = TakesNames
		}
		return end - len(word), beginning(word, words[takes](s))
	case TakesNothing:
		return end, nil
	default:
		return end - len(word), beginning(word, words[takes](s))
	}
}

// beginning leaves the completions that begin with the typed letters.
func beginning(typed string, list []session.Completion) []session.Completion {
	return slices.DeleteFunc(list, func(c session.Completion) bool { return !strings.HasPrefix(c.Text, typed) })
}

// names are the commands, of a line or of a whole cell.
func (t Table) names(whole bool) (list []session.Completion) {
	for _, m := range t.rows() {
		if isLetter(m.Name[0]) && (m.Cell || !whole) {
			list = append(list, session.Completion{Text: m.Name, Kind: "magic", Detail: m.usage(), Doc: m.Summary})
		}
	}
	return list
}

// flags are the flags of a command; one of choices is there with each of them.
func (m *Magic) flags() (list []session.Completion) {
	for _, f := range m.Flags {
		add := func(text string) {
			list = append(list, session.Completion{Text: text, Kind: "flag", Detail: f.usage(), Doc: f.Help})
		}
		for _, choice := range f.Choices {
			add("-" + f.Name + "=" + choice)
		}
		if len(f.Choices) == 0 {
			add("-" + f.Name)
		}
	}
	return list
}

// words are what can be typed behind commands that take names of a kind.
var words = map[Takes]func(s *session.Session) []session.Completion{
	TakesNames: func(s *session.Session) (list []session.Completion) {
		for _, v := range s.Vars() {
			list = append(list, session.Completion{Text: v.Name, Kind: v.Kind, Detail: v.Type})
		}
		return list
	},
	TakesKept: func(*session.Session) (list []session.Completion) {
		dir, _ := journal.Place("store")
		for _, f := range storedFiles(dir) {
			list = append(list, session.Completion{Text: strings.TrimSuffix(f.Name(), storedSuffix), Kind: "var"})
		}
		return list
	},
	TakesEnv: func(*session.Session) (list []session.Completion) {
		for _, each := range os.Environ() {
			if name, _, _ := strings.Cut(each, "="); name != "" {
				list = append(list, session.Completion{Text: name, Kind: "var"})
			}
		}
		return list
	},
	TakesDevices: func(*session.Session) (list []session.Completion) {
		for _, f := range device.List() {
			if f.Missing == "" {
				list = append(list, session.Completion{Text: f.Name, Kind: "device", Detail: f.Detail})
			}
		}
		return list
	},
}

// completeFile completes the last word of a line as the path of a file.
func completeFile(s *session.Session, line string) (from int, list []session.Completion) {
	word := line[strings.LastIndexAny(line, " \t!")+1:]
	from, list = s.CompletePath(word)
	return len(line) - len(word) + from, list
}
