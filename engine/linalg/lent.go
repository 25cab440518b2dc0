package linalg

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/host"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// This file has the same factorisations as routines of a device's library (cuSOLVER), which has matrices by
// columns: what is transposed here, and where, follows from the operands that ir.Routine lists.

func f32(shape ...int) ir.Type { return ir.Type{DType: dtype.F32, Shape: shape} }

// flipped transposes the first operand.
func flipped(in []Tensor) []Tensor { return []Tensor{in[0].Transpose()} }

func indefinite(minor int) error {
	return fmt.Errorf("got a matrix that is not positive definite: its leading minor of order %d is not above 0", minor)
}

func singular(pivot int) error { return fmt.Errorf("got a singular matrix: pivot %d is 0", pivot) }

// iterated is what is wrong with a matrix whose values are found by iterations.
func iterated(code int) error {
	if code == kernel.NotFinite {
		return errEndless
	}
	return errUnconverged
}

func lentCholesky(n int) *host.Lent {
	return &host.Lent{Routine: ir.Routine{Name: ir.CholeskyRoutine, Rows: n, Columns: n}, Before: flipped, Outs: []ir.Type{f32(n, n)}, Fail: indefinite,
		After: func(out []Tensor) []Tensor { return []Tensor{out[0].Transpose().Tril(0)} }}
}

func lentTriangles(n, cols int, o Triangle) *host.Lent {
	return &host.Lent{Routine: ir.Routine{Name: ir.SolveRoutine, Rows: n, Columns: n, Right: cols, Upper: o.Upper, Transposed: o.Transposed, Unit: o.Unit},
		Outs: []ir.Type{f32(n, cols)}, Fail: singular, After: func(out []Tensor) []Tensor { return out }}
}

func lentLU(m, n int) *host.Lent {
	return &host.Lent{Routine: ir.Routine{Name: ir.LURoutine, Rows: m, Columns: n}, Before: flipped,
		Outs:  []ir.Type{f32(n, m), {DType: dtype.I64, Shape: []int{m}}, f32(1, 1)},
		After: func(out []Tensor) []Tensor { return []Tensor{out[1], out[0].Transpose(), out[2]} }}
}

func lentQR(m, n, cols int) *host.Lent {
	return &host.Lent{Routine: ir.Routine{Name: ir.QRRoutine, Rows: m, Columns: n, Right: cols}, Before: flipped,
		Outs: []ir.Type{f32(n, m), f32(cols, m)},
		After: func(out []Tensor) []Tensor {
			return []Tensor{out[1].Transpose(), out[0].Transpose().Slice(-2, 0, cols).Triu(0)}
		}}
}

func lentEigh(n int) *host.Lent {
	return &host.Lent{Routine: ir.Routine{Name: ir.EighRoutine, Rows: n, Columns: n}, Outs: []ir.Type{f32(n), f32(n, n)}, Fail: iterated,
		After: func(out []Tensor) []Tensor { return []Tensor{out[0], out[1].Transpose()} }}
}

// lentSVD factorises the matrix or, if it is wide, the transposed one: the vectors then change places.
func lentSVD(m, n int, full bool) *host.Lent {
	long, short := max(m, n), min(m, n)
	left := short
	if full {
		left = long
	}
	l := &host.Lent{Routine: ir.Routine{Name: ir.SVDRoutine, Rows: long, Columns: short, Full: full}, Fail: iterated,
		Outs: []ir.Type{f32(short), f32(left, long), f32(short, short)}}
	if m < n {
		l.After = func(out []Tensor) []Tensor { return []Tensor{out[2].Transpose(), out[0], out[1]} }
		return l
	}
	l.Before = flipped
	l.After = func(out []Tensor) []Tensor { return []Tensor{out[1].Transpose(), out[0], out[2]} }
	return l
}
