// Command gen writes the assembly of package asm. Run it with go generate in that package; a test checks that what
// is checked in is what it writes.
//
// A kernel is a Go function that emits instructions; loops over registers and unrolling are Go loops. Registers are
// allocated by hand, because kernels are small and use all of them. asm.go is the core (functions, parameters, vectors
// of a width); the other files hold one family of kernels each, and add it to the table below.
package main

import (
	"fmt"
	"os"
)

// families are the generated files: name_amd64.s with the code and name_amd64.go with the declarations.
var families = []struct {
	name string
	emit func(f *file)
}{
	{"matmul", emitMatMul},
	{"pack", emitPack},
	{"few", emitFew},
	{"quant", emitQuant},
	{"peak", emitPeak},
	{"tiles", emitTiles},
}

func main() {
	for _, f := range families {
		for name, text := range generate(f.name, f.emit) {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				fmt.Fprintln(os.Stderr, "gen:", err)
				os.Exit(1)
			}
		}
	}
}
