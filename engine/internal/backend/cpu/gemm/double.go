package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

const (
	doubleDepth = 512 // length of the pieces of K; equal on every machine, because it decides the order of additions
	doubleRows  = 168 // rows that a worker packs: 672 KiB for a piece of K
)

// A Double is a Product of float64. A worker takes some rows and columns of the result. It packs its rows
// once for each piece of K, and a few columns at a time. Operands are described as for a Product; Elem is
// not used.
type Double struct {
	M, N, Batch int
	Terms       []Term

	kernel     *micro.DoubleKernel
	rows, cols int // of a worker's piece
	depth      int // of a piece of K, at most
}

// NewDouble returns a product for a pool of that many threads.
func NewDouble(m, n, batch int, terms []Term, threads int) *Double {
	d := &Double{M: m, N: n, Batch: batch, Terms: terms, kernel: micro.Double()}
	d.rows = min(doubleRows/d.kernel.Rows*d.kernel.Rows, roundTo((m+threads-1)/threads, d.kernel.Rows))
	down := batch * pieces(m, d.rows)
	across := max(1, 2*threads/max(1, down)) // a result with few rows is divided by columns
	d.cols = max(8*d.kernel.Cols, roundTo((n+across-1)/across, d.kernel.Cols))
	for _, t := range terms {
		d.depth = max(d.depth, min(t.K, doubleDepth))
	}
	return d
}

func roundTo(n, step int) int { return max(1, pieces(n, step)) * step }

func pieces(n, length int) int { return (n + length - 1) / length }

// ScratchLen returns the number of float64 that a call needs on that many threads.
func (d *Double) ScratchLen(threads int) int { return threads * d.scratch() }

func (d *Double) scratch() int {
	return d.depth*(d.rows+d.kernel.Cols) + d.kernel.Rows*d.kernel.Cols
}

// A DoubleCall is one evaluation. Its fields are those of a Call; matrices of a batch follow each other.
type DoubleCall struct {
	A, B    []unsafe.Pointer
	C       unsafe.Pointer
	LDC     int // of C's rows; 0 stands for N
	Onto    int // 1: the product is added to what C holds; −1: it is subtracted from that
	Done    func(worker int, part Part)
	Scratch []float64
}

// Run computes the product. It ends early, with an undefined result, when the pool was told to stop.
func (d *Double) Run(workers *pool.Pool, c *DoubleCall) {
	down, across := pieces(d.M, d.rows), pieces(d.N, d.cols)
	workers.For(d.Batch*down*across, func(worker, i int) {
		batch, row, col := i/(down*across), i/across%down*d.rows, i%across*d.cols
		w := doublePiece{
			Double: d, call: c, batch: batch, row: row, col: col, rows: min(d.rows, d.M-row), cols: min(d.cols, d.N-col),
		}
		scratch := c.Scratch[worker*d.scratch():][:d.scratch()]
		w.left, scratch = scratch[:d.depth*d.rows], scratch[d.depth*d.rows:]
		w.right, w.tile = scratch[:d.depth*d.kernel.Cols], scratch[d.depth*d.kernel.Cols:]
		w.run(workers)
		if c.Done != nil && !workers.Stopped() {
			c.Done(worker, Part{Batch: batch, Row: row, Rows: w.rows, Col: col, Cols: w.cols})
		}
	})
}

// A doublePiece is the part of the result that a worker computes.
type doublePiece struct {
	*Double
	call                        *DoubleCall
	batch, row, col, rows, cols int
	left, right, tile           []float64
}

func (w *doublePiece) run(workers *pool.Pool) {
	began := w.call.Onto != 0
	for i := range w.Terms {
		t := &w.Terms[i]
		for k := 0; k < t.K && !workers.Stopped(); k += doubleDepth {
			w.multiply(t, w.call.A[i], w.call.B[i], k, min(doubleDepth, t.K-k), began)
			began = true
		}
	}
	if began {
		return
	}
	for r := range w.rows {
		clear(w.line(r, 0, w.cols))
	}
}

// line returns a part of a row of the result.
func (w *doublePiece) line(row, col, n int) []float64 {
	at := (w.batch*w.M+w.row+row)*w.ldc() + w.col + col
	return unsafe.Slice((*float64)(unsafe.Add(w.call.C, 8*at)), n)
}

// ldc is the distance of the result's rows.
func (w *doublePiece) ldc() int {
	if w.call.LDC == 0 {
		return w.N
	}
	return w.call.LDC
}

// direct is how many rows of a piece make it pay to pack columns that lie in memory as the kernel reads them.
const direct = 48

// multiply adds n steps from k on to the sums; without add it starts the sums with them.
func (w *doublePiece) multiply(t *Term, a, b unsafe.Pointer, k, n int, add bool) {
	kr, kc := w.kernel.Rows, w.kernel.Cols
	onto := 0
	if add {
		if onto = 1; w.call.Onto < 0 {
			onto = -1
		}
	}
	for r := 0; r < w.rows; r += kr {
		packDouble(w.left[r*n:], a, &t.A, w.batch, w.row+r, min(kr, w.rows-r), kr, k, n)
	}
	for j := 0; j < w.cols; j += kc {
		cols := min(kc, w.cols-j)
		right, ldb := w.right, kc
		if cols == kc && t.B.Line == 1 && w.rows <= direct {
			at := w.col + j + k*t.B.Step
			if t.B.Batch != nil {
				at += t.B.Batch[w.batch]
			}
			right, ldb = unsafe.Slice((*float64)(unsafe.Add(b, 8*at)), (n-1)*t.B.Step+kc), t.B.Step
		} else {
			packDouble(w.right, b, &t.B, w.batch, w.col+j, cols, kc, k, n)
		}
		for r := 0; r < w.rows; r += kr {
			rows := min(kr, w.rows-r)
			if rows == kr && cols == kc {
				to, ldc := w.line(r, j, kc), w.ldc()
				to = unsafe.Slice(unsafe.SliceData(to), (kr-1)*ldc+kc)
				w.kernel.Run(n, w.left[r*n:], right, ldb, to, ldc, onto)
				continue
			}
			w.kernel.Run(n, w.left[r*n:], right, ldb, w.tile, kc, 0)
			for i := range rows {
				line, sums := w.line(r+i, j, cols), w.tile[i*kc:][:cols]
				switch {
				case onto == 0:
					copy(line, sums)
				case onto < 0:
					for x, s := range sums {
						line[x] -= s
					}
				default:
					for x, s := range sums {
						line[x] += s
					}
				}
			}
		}
	}
}

// packDouble copies n steps of some lines of an operand. Lines that are missing to width become zeros.
func packDouble(dst []float64, base unsafe.Pointer, o *Operand, batch, line, lines, width, k, n int) {
	at := line*o.Line + k*o.Step
	if o.Batch != nil {
		at += o.Batch[batch]
	}
	if lines < width {
		clear(dst[:n*width])
	}
	// No pointer may leave the matrix, because the collector checks pointers.
	if o.Line == 1 {
		if lines == 8 && width == 8 { // without a call for each step
			for s := range n {
				to, from := dst[8*s:][:8], (*[8]float64)(unsafe.Add(base, 8*(at+s*o.Step)))
				to[0], to[1], to[2], to[3] = from[0], from[1], from[2], from[3]
				to[4], to[5], to[6], to[7] = from[4], from[5], from[6], from[7]
			}
			return
		}
		for s := range n {
			copy(dst[s*width:], unsafe.Slice((*float64)(unsafe.Add(base, 8*(at+s*o.Step))), lines))
		}
		return
	}
	if o.Step == 1 {
		for l := range lines {
			to := dst[l:]
			for s, x := range unsafe.Slice((*float64)(unsafe.Add(base, 8*(at+l*o.Line))), n) {
				to[s*width] = x
			}
		}
		return
	}
	for l := range lines {
		for s := range n {
			dst[s*width+l] = *(*float64)(unsafe.Add(base, 8*(at+l*o.Line+s*o.Step)))
		}
	}
}
