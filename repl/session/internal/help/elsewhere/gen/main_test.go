package main

import (
	"os"
	"strings"
	"testing"
)

func TestTableIsCurrent(t *testing.T) {
	table, err := read("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{tableFile: table.text(), pageFile: table.page()} {
		if got, err := os.ReadFile("../" + name); err != nil || string(got) != want {
			t.Errorf("%s is not current (%v): run go generate ./repl/session/internal/help/elsewhere", name, err)
		}
	}
}

// Each public name of the other libraries has its Go, or the reason why nothing stands for it.
func TestEachNameIsAnswered(t *testing.T) {
	table, err := read("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range table.unanswered {
		t.Errorf("%s: neither means.txt nor absent.txt has it", name)
	}
	for _, e := range table.unused() {
		t.Errorf("absent.txt: %s: %s: no name is like that, or all have their Go", e.module, e.name)
	}
	for _, e := range table.absent {
		if strings.Trim(e.name, "*_") == "" {
			t.Errorf("absent.txt: %s: %s would have any name that is new", e.module, e.name)
		}
	}
	if n := len(table.rows); n < 1900 {
		t.Errorf("the table has %d names, want at least 1900", n)
	}
}
