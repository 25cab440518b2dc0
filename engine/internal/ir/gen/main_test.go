package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func TestPageIsCurrent(t *testing.T) {
	have, err := os.ReadFile("../" + path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(have), "\r\n", "\n") != page() {
		t.Error("docs/ops.md is not what the op table says: run go generate ./engine/internal/ir")
	}
}

// Every op stands on the page once.
func TestPageIsComplete(t *testing.T) {
	text := page()
	for _, r := range ir.Rows() {
		if n := strings.Count(text, "**"+r.Name+"** "); n != 1 {
			t.Errorf("%s is described %d times, want once", r.Name, n)
		}
	}
}
