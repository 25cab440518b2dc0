package fake

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

var (
	lapacks gonum.Implementation
	blases  blasgonum.Implementation
)

// Solve computes a routine as ir.Routine says, by gonum. Numbers of results are those of f32.
func Solve(r *ir.Routine, memory [][]byte) {
	list, sources := r.Operands()
	for b := range r.Batches {
		values := make([][]float64, len(list))
		for i, t := range list {
			values[i] = make([]float64, ir.Size(t.Shape))
			if i < sources {
				loadAll(values[i], memory[i][b*t.Bytes():])
			}
		}
		solveOne(r, values)
		for i, t := range list {
			if i >= sources {
				storeAll(t.DType, memory[i][b*t.Bytes():], values[i])
			}
		}
	}
}

func loadAll(to []float64, from []byte) {
	for i := range to {
		to[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(from[4*i:])))
	}
}

func storeAll(dt dtype.Type, to []byte, from []float64) {
	for i, x := range from {
		bits := math.Float32bits(float32(x))
		if dt == dtype.I32 {
			bits = uint32(int32(x))
		}
		binary.LittleEndian.PutUint32(to[4*i:], bits)
	}
}

// worked calls a function of LAPACK twice: for the length of its work, and with it.
func worked(call func(work []float64, n int)) {
	var best [1]float64
	call(best[:], -1)
	n := max(1, int(best[0]))
	call(make([]float64, n), n)
}

// turned is a matrix [rows columns], transposed.
func turned(rows, columns int, x []float64) []float64 {
	y := make([]float64, len(x))
	for i := range rows {
		for j := range columns {
			y[j*rows+i] = x[i*columns+j]
		}
	}
	return y
}

// solveOne computes the results of one matrix.
func solveOne(r *ir.Routine, v [][]float64) {
	m, n := r.Rows, r.Columns
	info := v[len(v)-1]
	switch r.Name {
	case ir.CholeskyRoutine:
		copy(v[1], v[0])
		for minor := 1; minor <= n; minor++ { // gonum does not say which
			part := slices.Clone(v[0])
			if !lapacks.Dpotrf(blas.Upper, minor, part, n) {
				info[0] = float64(minor)
				return
			}
		}
		lapacks.Dpotrf(blas.Upper, n, v[1], n)
	case ir.LURoutine:
		a, pivots := turned(n, m, v[0]), make([]int, min(m, n))
		if !lapacks.Dgetrf(m, n, a, n, pivots) {
			info[0] = 1
		}
		copy(v[1], turned(m, n, a))
		for i, p := range pivots {
			v[2][i] = float64(p + 1)
		}
	case ir.SolveRoutine:
		ul, trans, diag := blas.Lower, blas.NoTrans, blas.NonUnit
		if r.Upper {
			ul = blas.Upper
		}
		if r.Transposed {
			trans = blas.Trans
		}
		if r.Unit {
			diag = blas.Unit
		}
		copy(v[2], v[1])
		blases.Dtrsm(blas.Left, ul, trans, diag, n, r.Right, 1, v[0], n, v[2], r.Right)
	case ir.QRRoutine:
		a, tau, k := turned(n, m, v[0]), make([]float64, min(m, n)), r.Right
		worked(func(work []float64, lwork int) { lapacks.Dgeqrf(m, n, a, n, tau, work, lwork) })
		q := make([]float64, m*k)
		for i := range m {
			copy(q[i*k:(i+1)*k], a[i*n:(i+1)*n])
		}
		worked(func(work []float64, lwork int) { lapacks.Dorgqr(m, k, min(m, n), q, k, tau, work, lwork) })
		copy(v[1], turned(m, n, a))
		copy(v[2], turned(m, k, q))
	case ir.EighRoutine, ir.SVDRoutine:
		if slices.ContainsFunc(v[0], func(x float64) bool { return x-x != 0 }) {
			v[1][0], info[0] = math.NaN(), 1
			return
		}
		if r.Name == ir.EighRoutine {
			a := slices.Clone(v[0])
			worked(func(work []float64, lwork int) {
				lapacks.Dsyev(lapack.EVCompute, blas.Lower, n, a, n, v[1], work, lwork)
			})
			copy(v[2], turned(n, n, a))
			return
		}
		job, left := lapack.SVDStore, n
		if r.Full {
			job, left = lapack.SVDAll, m
		}
		a, u, vt := turned(n, m, v[0]), make([]float64, m*left), make([]float64, n*n)
		worked(func(work []float64, lwork int) {
			lapacks.Dgesvd(job, job, m, n, a, n, v[1], u, left, vt, n, work, lwork)
		})
		copy(v[2], turned(m, left, u))
		copy(v[3], vt)
	default:
		transform(r, v[0], v[1])
	}
}

// transform computes a Fourier transform: along rows, and then along columns.
func transform(r *ir.Routine, x, y []float64) {
	m, n, width := r.Rows, r.Columns, r.Columns
	if r.Name == ir.RFFTRoutine || r.Name == ir.IRFFTRoutine {
		width = n/2 + 1
	}
	z := make([]complex128, m*width)
	for i := range z {
		if r.Name != ir.RFFTRoutine {
			z[i] = complex(x[2*i], x[2*i+1])
		}
	}
	if r.Name == ir.IRFFTRoutine {
		fourier.NewFFT(n).Sequence(y, z)
		return
	}
	for i := range m {
		if row := z[i*width : (i+1)*width]; r.Name == ir.RFFTRoutine {
			fourier.NewFFT(n).Coefficients(row, x[i*n:(i+1)*n])
		} else {
			transformOne(r, row)
		}
	}
	column := make([]complex128, m)
	for j := range width {
		for i := range column {
			column[i] = z[i*width+j]
		}
		transformOne(r, column)
		for i, c := range column {
			z[i*width+j] = c
		}
	}
	for i, c := range z {
		y[2*i], y[2*i+1] = real(c), imag(c)
	}
}

func transformOne(r *ir.Routine, z []complex128) {
	f := fourier.NewCmplxFFT(len(z))
	if r.Name == ir.IFFTRoutine {
		f.Sequence(z, z)
	} else {
		f.Coefficients(z, z)
	}
}

// RoutineCode is Go code that computes the results of a kernel that is a routine.
func RoutineCode(k *ir.Kernel) func(ctx context.Context, threads int, in, out [][]byte) error {
	return func(_ context.Context, _ int, in, out [][]byte) error {
		r := k.Routine
		list, sources := r.Operands()
		memory := make([][]byte, len(list))
		copy(memory, in)
		for i := sources; i < len(list); i++ {
			memory[i] = make([]byte, r.Bytes(i))
		}
		Solve(r, memory)
		if err := refused(k, memory, sources); err != nil {
			return err
		}
		results := memory[sources:]
		if r.Name == ir.LURoutine {
			results = permuted(r, memory[1], memory[2])
		}
		for i, y := range out {
			copy(y, results[i])
		}
		return nil
	}
}

// refused is the error of the first matrix that has one.
func refused(k *ir.Kernel, memory [][]byte, sources int) error {
	r := k.Routine
	n := r.Columns
	for b := range r.Batches {
		if r.Transforms() {
			break
		}
		code := int(int32(binary.LittleEndian.Uint32(memory[len(memory)-1][4*b:])))
		switch r.Name {
		case ir.LURoutine, ir.QRRoutine:
			continue
		case ir.SolveRoutine:
			code = 0
			a := make([]float64, n*n)
			loadAll(a, memory[0][4*b*n*n:])
			for i := n - 1; i >= 0 && !r.Unit; i-- {
				if a[i*n+i] == 0 {
					code = i + 1
				}
			}
		case ir.EighRoutine, ir.SVDRoutine:
			w := make([]float64, n)
			loadAll(w, memory[sources][4*b*n:])
			if slices.ContainsFunc(w, func(x float64) bool { return x-x != 0 }) {
				return k.Fail(b, kernel.NotFinite)
			}
		}
		if code != 0 {
			return k.Fail(b, code)
		}
	}
	return nil
}

// permuted follows the pivots.
func permuted(r *ir.Routine, lu, pivots []byte) [][]byte {
	m, k := r.Rows, min(r.Rows, r.Columns)
	places, signs := make([]byte, 8*m*r.Batches), make([]byte, 4*r.Batches)
	for b := range r.Batches {
		rows, sign := ir.Indices(m), float32(1)
		for i := range k {
			p := int(binary.LittleEndian.Uint32(pivots[4*(b*k+i):])) - 1
			if rows[i], rows[p] = rows[p], rows[i]; i != p {
				sign = -sign
			}
		}
		for i, row := range rows {
			binary.LittleEndian.PutUint64(places[8*(b*m+i):], uint64(row))
		}
		binary.LittleEndian.PutUint32(signs[4*b:], math.Float32bits(sign))
	}
	return [][]byte{lu, places, signs}
}
