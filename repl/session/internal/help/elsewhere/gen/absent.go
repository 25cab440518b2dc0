package main

import (
	"path"
	"strings"
)

// An absent list has the names that have no equivalent, each with the class of its reason.
type absent struct {
	classes []string          // in the order of absent.txt
	reasons map[string]string // by class
	entries []entry
}

// An entry is a pattern of names of the modules that match another one.
type entry struct {
	class, module, name string
	used                *bool
}

// readAbsent reads absent.txt.
func readAbsent(text string) *absent {
	a := &absent{reasons: map[string]string{}}
	class := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "## "); ok {
			name, reason, _ := strings.Cut(head, ": ")
			class = name
			a.classes = append(a.classes, class)
			a.reasons[class] = reason
			continue
		}
		module, names, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "# ") {
			continue
		}
		for _, name := range strings.Fields(names) {
			a.entries = append(a.entries, entry{class, module, name, new(bool)})
		}
	}
	return a
}

// class returns the class of a name's reason: that of the first entry that matches, or "".
func (a *absent) class(module, name string) string {
	for _, e := range a.entries {
		if matches(e.module, module) && matches(e.name, name) {
			*e.used = true
			return e.class
		}
	}
	return ""
}

func matches(pattern, s string) bool {
	ok, err := path.Match(pattern, s)
	return ok && err == nil
}

// unused returns the entries that no name needed.
func (a *absent) unused() (list []string) {
	for _, e := range a.entries {
		if !*e.used {
			list = append(list, e.module+": "+e.name)
		}
	}
	return list
}
