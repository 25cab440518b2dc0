package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

func TestPageIsCurrent(t *testing.T) {
	if got, err := os.ReadFile("../" + pageFile); err != nil || string(got) != page() {
		t.Errorf("%s is not current (%v): run go generate ./repl/session/internal/help/elsewhere", pageFile, err)
	}
}

// Each public name of the other libraries has its Go, or the reason why nothing stands for it. The table has
// each name and each reason once.
func TestEachNameIsAnswered(t *testing.T) {
	names, err := os.ReadFile("../names.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(names)) {
		module, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		for name := range strings.FieldsSeq(list) {
			n++
			if elsewhere.Lookup(module, name) == "" {
				t.Errorf("%s.%s: table.txt has no Go and no reason why there is none", module, name)
			}
		}
	}
	if n < 1900 {
		t.Errorf("there are %d names, want at least 1900", n)
	}
	seen, said := map[string]bool{}, map[string]bool{}
	for _, r := range elsewhere.Rows() {
		if seen[r.Key] && r.Go[0] != '!' {
			t.Errorf("table.txt: %s stands there twice", r.Name)
		}
		seen[r.Key], said[r.Go] = true, true
		if r.Go[0] == '!' && !seen[r.Go] {
			t.Errorf("table.txt: %s: there is no reason %s above it", r.Name, r.Go)
		}
	}
	for key := range seen {
		if key[0] == '!' && !said[key] {
			t.Errorf("table.txt: nothing has the reason %s", key)
		}
	}
}
