// Package micro holds the kernels of matrix products and of a quicksort, generated as Go assembly by gen, and
// Go code for processors without the instructions.
//
// Kernels for products of float32, for packing their operands, for codes and for few rows exist for AVX-512,
// AVX2 (with FMA) and NEON. Other kernels exist only for some processors: products of bf16 where the
// processor has instructions for them, direct kernels, those of float64 and of sorting on amd64, dot products
// of codes where the processor has dot products of bytes. Package isa detects the instructions.
package micro

//go:generate go run ./gen

// DivideRoom is how many numbers Divide has to lay aside.
const DivideRoom = 384
