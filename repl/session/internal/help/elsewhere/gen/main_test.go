package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/stdlib"
)

func TestTableIsCurrent(t *testing.T) {
	table, page, err := build("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{tableFile: table, pageFile: page} {
		if got, err := os.ReadFile("../" + name); err != nil || string(got) != want {
			t.Errorf("%s is not current (%v): run go generate ./repl/session/internal/help/elsewhere", name, err)
		}
	}
}

// surroundings declares the names that the table's Go uses.
const surroundings = `package p
import ("github.com/mcs-notebook/mcs/engine/tensor"; "github.com/mcs-notebook/mcs/engine/dtype"; "github.com/mcs-notebook/mcs/engine/device"
"github.com/mcs-notebook/mcs/engine/nn"; "github.com/mcs-notebook/mcs/engine/optim"; "github.com/mcs-notebook/mcs/engine/safetensors")
var x, y, index, mask, weight, bias, loss tensor.Tensor
var m nn.Module
var opt optim.Optimizer
var _ = dtype.F32; var _ = device.CPU; var _ = safetensors.Save; var _ optim.Rule
func cell() {
`

// Each suggestion of the table checks against what the engine exports.
func TestTableChecks(t *testing.T) {
	table, err := os.ReadFile("../" + tableFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")
	if len(lines) < 400 {
		t.Errorf("the table has %d names, want at least 400", len(lines))
	}
	fset := token.NewFileSet()
	importer := stdlib.Importer(fset)
	for _, line := range lines {
		name, goText, _ := strings.Cut(line, "\t")
		f, err := parser.ParseFile(fset, name, surroundings+goText+"\n}", 0)
		if err != nil {
			t.Errorf("%s: %s: %v", name, goText, err)
			continue
		}
		config := types.Config{Importer: importer, Error: func(err error) {
			if !strings.HasSuffix(err.Error(), "is not used") {
				t.Errorf("%s: %s: %v", name, goText, err)
			}
		}}
		config.Check("p", fset, []*ast.File{f}, nil)
	}
}
