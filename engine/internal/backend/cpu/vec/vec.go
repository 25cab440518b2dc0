// Package vec is the vector math of the CPU backend: functions over runs of elements in memory.
//
// A [Func] is elementwise. All Funcs have one signature, so that a tile program can be a list of them; [Of]
// returns the best one for this machine by its [ID]. The other functions, for rows and reductions, are
// plain functions such as [Sum] and [ExpSubSum].
//
// Every function exists four times: for AVX-512, for AVX2 with FMA and F16C, for arm64's NEON, and in
// portable Go. The program in gen generates the first three from one expression. The fourth is in
// portable.go: slow and obvious, and the tests compare the others with it. Arithmetic is float32. NaN,
// infinities, signed zeros and subnormals behave as in IEEE 754 and package math.
//
// Reading order: vec.go, portable.go, row.go, gen/math.go, gen/emit.go.
package vec

import "unsafe"

// Line is the number of float32 in a line of the cache.
const Line = 16

// A Func sets d[i] to a function of a[i], b[i], c[i] for i < n. Operands that it lacks may be nil. d may be
// the memory of an operand with elements of the same size; it must not overlap another operand.
type Func func(d, a, b, c unsafe.Pointer, n int)

// An ID names a Func. Elements are float32 unless said otherwise.
type ID uint8

const (
	Neg ID = iota
	Abs
	Sign // NaN for NaN
	Floor
	Ceil
	Round // half to even
	Exp
	Expm1
	Log
	Log1p
	Sqrt
	Rsqrt
	Recip
	Sin
	Cos
	Tanh
	Erf
	Sigmoid
	Silu
	Gelu
	GeluTanh
	Add
	Sub
	Mul
	Div
	Max // NaN if either is
	Min
	FMA // a·b + c, rounded once
	Pow
	Eq // to bool bytes
	Ne
	Lt
	Le
	Gt
	Ge
	IsNaN
	Where // a bool, b, c
	FromF16
	FromBF16
	FromI32
	FromU8
	ToF16
	ToBF16
	ToI32 // towards zero; out of range or NaN gives math.MinInt32
	ToBool
	RoundF16 // to binary16 and back
	RoundBF16
	NumIDs
)

// best is the table for this machine; package initialisation on amd64 replaces entries of the portable one.
var best = portable

// Of returns the Func for this machine.
func Of(id ID) Func { return best[id] }

func slice[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }
