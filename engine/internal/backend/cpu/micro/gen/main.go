// Command gen writes the assembly of package micro. Run it with go generate in that package. A test
// compares the files with its output.
//
// A kernel is a Go function that emits instructions; loops over registers and unrolling are Go loops.
// Registers are allocated by hand, because kernels are small and use all of them. asm.go is the core
// (functions, parameters, vectors of a width). Each other file holds one family of kernels and adds it to
// the table below. The files whose names begin with neon are for arm64. They write vector instructions as
// package a64 encodes them.
package main

import (
	"fmt"
	"os"
)

// families are the generated files: name_arch.s has the code, name_arch.go the declarations.
var families = []struct {
	name, arch string
	emit       func(f *file)
}{
	{"matmul", "amd64", emitMatMul},
	{"indirect", "amd64", emitIndirect},
	{"double", "amd64", emitDouble},
	{"pack", "amd64", emitPack},
	{"few", "amd64", emitFew},
	{"direct", "amd64", emitDirect},
	{"quant", "amd64", emitQuant},
	{"peak", "amd64", emitPeak},
	{"tiles", "amd64", emitTiles},
	{"sort", "amd64", emitSort},
	{"matmul", "arm64", emitMatMulNEON},
	{"indirect", "arm64", emitIndirectNEON},
	{"pack", "arm64", emitPackNEON},
	{"few", "arm64", emitFewNEON},
	{"quant", "arm64", emitQuantNEON},
	{"peak", "arm64", emitPeakNEON},
}

func main() {
	for _, f := range families {
		for name, text := range generate(f.name, f.arch, f.emit) {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				fmt.Fprintln(os.Stderr, "gen:", err)
				os.Exit(1)
			}
		}
	}
}
