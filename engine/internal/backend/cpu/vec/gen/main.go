// Command gen writes the assembly of package vec. Run it with go generate in that package; a test checks that
// the files there are those that it writes.
//
// A function is written once, as an expression over vectors (math.go says what exp is, kernels.go what each
// kernel computes), and emitted for AVX-512, for AVX2 and, in neon.go, for arm64's NEON. expr.go is the
// expression form; alloc.go turns an expression into instructions and gives them registers; emit.go puts the
// loop around them, with a masked last turn, so that no element outside of a run is touched. Coefficients of
// polynomials are minimax fits; math.go says over which interval.
//
// Reading order: kernels.go, math.go, expr.go, alloc.go, emit.go.
package main

import (
	"fmt"
	"os"
)

func main() {
	for name, text := range files() {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}
