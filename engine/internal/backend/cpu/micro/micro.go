// Package micro holds the kernels of matrix products, generated as Go assembly by gen, and what is used in
// their place where the processor has no such instructions.
//
// Products of float32 and what packs their operands exist for AVX-512, AVX2 (with FMA) and NEON, as do those
// with codes and few rows. Some kernels exist for one processor only: products of bf16 where it has
// instructions for them, direct ones and those of float64 on amd64, dot products of codes where it has dot
// products of bytes. Package isa says what the machine runs; Go code stands in for all others.
package micro

//go:generate go run ./gen
