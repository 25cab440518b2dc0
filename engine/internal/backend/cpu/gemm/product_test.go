package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A matrix is a batch of rows × cols values with strides in data.
type matrix struct {
	elem                      micro.Elem
	data                      []byte
	first                     int // element
	batch, rowStep, colStep   int
	batchCount, rows, columns int
}

func (m *matrix) at(batch, i, j int) float64 {
	e := m.first + batch*m.batch + i*m.rowStep + j*m.colStep
	if m.elem == micro.F32 {
		return float64(*(*float32)(unsafe.Pointer(&m.data[4*e])))
	}
	h := *(*uint16)(unsafe.Pointer(&m.data[2*e]))
	if m.elem == micro.BF16 {
		return float64(dtype.BF16ToFloat32(h))
	}
	return float64(dtype.F16ToFloat32(h))
}

// lines returns the rows of a matrix of the batch, or its columns, converted once for all products with
// them.
func (m *matrix) lines(batch int, columns bool) [][]float64 {
	n, length := m.rows, m.columns
	if columns {
		n, length = length, n
	}
	lines := make([][]float64, n)
	for i := range lines {
		lines[i] = make([]float64, length)
		for k := range lines[i] {
			if columns {
				lines[i][k] = m.at(batch, k, i)
			} else {
				lines[i][k] = m.at(batch, i, k)
			}
		}
	}
	return lines
}

func (m *matrix) pointer() unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.data)), m.first*m.elem.Size())
}

func (m *matrix) offsets() []int {
	o := make([]int, m.batchCount)
	for i := range o {
		o[i] = i * m.batch
	}
	return o
}

// layouts are the layouts that package plan may pass.
var layouts = []string{"rows", "columns", "padded rows", "padded columns", "sparse", "reversed", "broadcast batch"}

func newMatrix(r *rand.Rand, elem micro.Elem, layout string, batch, rows, cols int) *matrix {
	m := &matrix{elem: elem, batchCount: batch, rows: rows, columns: cols, rowStep: cols, colStep: 1, batch: rows * cols}
	switch layout {
	case "columns":
		m.rowStep, m.colStep = 1, rows
	case "padded rows":
		m.rowStep, m.batch = cols+3, rows*(cols+3)
	case "padded columns":
		m.rowStep, m.colStep, m.batch = 1, rows+5, cols*(rows+5)
	case "sparse":
		m.rowStep, m.colStep, m.batch = 3*cols, 3, 3*rows*cols
	case "reversed":
		m.rowStep, m.colStep, m.batch, m.first = -cols, -1, rows*cols, max(0, rows*cols-1)
	case "broadcast batch":
		m.batch = 0
	}
	n := 16 + m.first
	for _, d := range [][2]int{{m.batch, batch}, {m.rowStep, rows}, {m.colStep, cols}} {
		n += max(0, d[0]*(d[1]-1))
	}
	m.data = make([]byte, n*elem.Size())
	for i := range n {
		v := float32(r.NormFloat64())
		if elem == micro.F32 {
			*(*float32)(unsafe.Pointer(&m.data[4*i])) = v
		} else {
			*(*uint16)(unsafe.Pointer(&m.data[2*i])) = uint16(math.Float32bits(v)>>16)&0xbfff | 0x2000 // a moderate number in both formats
		}
	}
	return m
}

// check computes Σ a·b over random matrices and compares it with a sum in float64.
func check(t *testing.T, workers *pool.Pool, r *rand.Rand, m, n, batch int, ks []int, elem micro.Elem, layoutA, layoutB string) {
	t.Helper()
	var terms []Term
	var as, bs []*matrix
	c := &Call{LDC: n + 1, BatchC: m * (n + 1)}
	for _, k := range ks {
		a, b := newMatrix(r, elem, layoutA, batch, m, k), newMatrix(r, elem, layoutB, batch, k, n)
		as, bs = append(as, a), append(bs, b)
		c.A, c.B = append(c.A, a.pointer()), append(c.B, b.pointer())
		terms = append(terms, Term{K: k,
			A: Operand{Elem: elem, Line: a.rowStep, Step: a.colStep, Batch: a.offsets()},
			B: Operand{Elem: elem, Line: b.colStep, Step: b.rowStep, Batch: b.offsets()}})
	}
	got := slices.Repeat([]float32{-77}, batch*m*(n+1)+1)
	c.C = unsafe.SliceData(got)
	p := New(m, n, batch, terms, workers.Threads())
	p.layout.private = p.layout.byBatch || p.layout.private && r.IntN(2) == 0 // also as with smaller caches
	c.Scratch = random(p.ScratchLen())
	done := make([]bool, batch*m*n)
	lock := make(chan struct{}, 1)
	passed := make([]float32, batch*m*n)
	c.Done = func(_ int, p Part) {
		lock <- struct{}{}
		defer func() { <-lock }()
		for i := range p.Rows {
			row := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(p.C), 4*i*p.LDC)), p.Cols)
			at := (p.Batch*m+p.Row+i)*n + p.Col
			copy(passed[at:], row)
			for j := range p.Cols {
				if done[at+j] {
					t.Errorf("element %d %d %d done twice", p.Batch, p.Row+i, p.Col+j)
				}
				done[at+j] = true
			}
		}
	}
	p.Run(workers, c)
	checkPassing(t, workers, p, c, done, passed)
	step := 1
	if work := m * n * ks[0]; work > 1<<20 && !long.Tests() {
		step = 3 // in each tile another third of the columns of each row
	}
	for bt := range batch {
		rows, columns := make([][][]float64, len(ks)), make([][][]float64, len(ks))
		for x := range ks {
			rows[x], columns[x] = as[x].lines(bt, false), bs[x].lines(bt, true)
		}
		for i := range m {
			for j := i % step; j < n; j += step {
				want, size := 0.0, 0.0
				for x := range ks {
					column := columns[x][j]
					for q, v := range rows[x][i] {
						v *= column[q]
						want, size = want+v, size+math.Abs(v)
					}
				}
				g := got[bt*m*(n+1)+i*(n+1)+j]
				if !(math.Abs(float64(g)-want) <= 2e-6*size+1e-30) {
					t.Fatalf("m %d n %d batch %d k %v elem %d a %s b %s: element %d %d %d: got %g, want %g", m, n, batch, ks, elem, layoutA, layoutB, bt, i, j, g, want)
				}
			}
			if j := slices.Index(done[(bt*m+i)*n:][:n], false); j >= 0 {
				t.Fatalf("m %d n %d batch %d k %v: element %d %d %d was never done", m, n, batch, ks, bt, i, j)
			}
			if g := got[bt*m*(n+1)+i*(n+1)+n]; g != -77 {
				t.Fatalf("m %d n %d k %v: wrote beyond row %d: %g", m, n, ks, i, g)
			}
		}
	}
}

// checkPassing compares the parts of a kept result with those of a passed one, bit for bit.
func checkPassing(t *testing.T, workers *pool.Pool, p *Product, kept *Call, done []bool, passed []float32) {
	t.Helper()
	q := NewPassing(p.M, p.N, p.Batch, p.Terms, workers.Threads())
	if q == nil {
		return
	}
	was, want := slices.Clone(done), slices.Clone(passed)
	clear(done)
	clear(passed)
	q.Run(workers, &Call{A: kept.A, B: kept.B, Scales: kept.Scales, Extra: kept.Extra, Done: kept.Done, Scratch: random(q.ScratchLen())})
	if !slices.Equal(done, was) {
		t.Fatalf("m %d n %d batch %d: a product that passes its results on hands on other elements", p.M, p.N, p.Batch)
	}
	if !slices.Equal(passed, want) {
		t.Fatalf("m %d n %d batch %d: a product that passes its results on has others", p.M, p.N, p.Batch)
	}
}

// eachSet runs a test with each instruction set of the machine.
func eachSet(t *testing.T, f func(t *testing.T)) {
	for _, set := range isa.Sets() {
		t.Run(set.String(), func(t *testing.T) {
			defer isa.Limit(set)()
			f(t)
		})
	}
}

func TestProduct(t *testing.T) { eachSet(t, testProduct) }

func testProduct(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for i, c := range []struct {
		m, n, batch int
		k           []int
	}{
		{0, 3, 1, []int{4}}, {3, 0, 1, []int{4}}, {3, 4, 2, []int{0}}, {3, 4, 0, []int{5}}, {12, 4, 2, []int{3, 0}},
		{1, 1, 1, []int{1}}, {1, 17, 1, []int{33}}, {1, 1701, 1, []int{21, 8}}, {3, 1990, 2, []int{33}}, {2, 64, 1, []int{100}}, {8, 300, 2, []int{24, 8}}, {5, 1, 1, []int{9}},
		{9, 9, 1, []int{9}}, {100, 1, 1, []int{50}}, {13, 70, 3, []int{40}}, {64, 64, 9, []int{64}}, {25, 8, 1, []int{1030}},
		{130, 70, 1, []int{515, 16}}, {100, 33, 1, []int{7, 0, 600}}, {2100, 20, 1, []int{5}}, {9, 2100, 1, []int{6}}, {90, 3, 2, []int{70, 9}}, {300, 16, 1, []int{33}}, {40, 600, 1, []int{515}}, {1, 9000, 1, []int{70, 3}}, {3, 1300, 1, []int{8, 450}}, {18, 600, 1, []int{512, 5}}, {31, 2100, 1, []int{512}},
	} {
		for k, elem := range []micro.Elem{micro.F32, micro.BF16, micro.F16} {
			if i%3 != k && !long.CI() {
				continue
			}
			check(t, workers, r, c.m, c.n, c.batch, c.k, elem, "rows", "rows")
			check(t, workers, r, c.m, c.n, c.batch, c.k, elem, "columns", "columns")
		}
	}
}

// A weight that is far away is packed from fewer rows on, and one of 16 bits, too.
func TestFewRows(t *testing.T) {
	for _, c := range []struct {
		set        isa.Set
		m, n       int
		elem       micro.Elem // of the right operand
		contiguous bool       // its rows
		few        bool
	}{
		{isa.AVX512, 64, 2048, micro.F32, true, true}, {isa.AVX512, 65, 512, micro.F32, true, false},
		{isa.AVX512, 48, 2048, micro.F32, false, false}, {isa.AVX512, 16, 1024, micro.F32, false, true},
		{isa.AVX512, 64, 1024, micro.BF16, true, false}, {isa.AVX512, 24, 2048, micro.BF16, false, true},
		{isa.AVX2, 64, 512, micro.F32, true, true}, {isa.AVX2, 48, 1024, micro.F32, true, false},
		{isa.AVX2, 9, 2048, micro.F32, false, false}, {isa.AVX2, 8, 2048, micro.F32, false, true},
		{isa.AVX2, 24, 512, micro.F16, true, false}, {isa.Portable, 32, 2048, micro.F32, true, true},
	} {
		if !slices.Contains(isa.Sets(), c.set) {
			t.Logf("%v is not there", c.set)
			continue
		}
		release := isa.Limit(c.set)
		b := Operand{Elem: c.elem, Line: 1, Step: c.n}
		if !c.contiguous {
			b.Line, b.Step = b.Step, b.Line
		}
		p := New(c.m, c.n, 1, []Term{{K: c.n, A: Operand{Line: c.n, Step: 1}, B: b}}, 1)
		if p.layout.few != c.few {
			t.Errorf("%+v: got few %v", c, p.layout.few)
		}
		release()
	}
}

// Products of any shape, with any strides.
func TestProductProperty(t *testing.T) { eachSet(t, testProductProperty) }

func testProductProperty(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	r := rand.New(rand.NewPCG(3, 4))
	for range products(250) {
		ks := make([]int, 1+r.IntN(2))
		for i := range ks {
			ks[i] = r.IntN(90)
		}
		check(t, workers, r, 1+r.IntN(70), 1+r.IntN(140), 1+r.IntN(4), ks, micro.Elem(r.IntN(3)),
			layouts[r.IntN(len(layouts))], layouts[r.IntN(len(layouts))])
	}
}

// products is how many random products of all are computed without -long.
func products(all int) int {
	if long.Tests() {
		return all
	}
	return all / 2
}

// One thread and several give the same bits.
func TestProductDoesNotDependOnThreads(t *testing.T) {
	for _, s := range [][3]int{{150, 200, 1200}, {1, 900, 500}, {4, 5000, 80}} {
		m, n, k := s[0], s[1], s[2]
		x, y := random(m*k), random(k*n)
		var want []float32
		for threads := 1; threads <= 4; threads++ {
			workers := pool.New(threads)
			p := New(m, n, 1, []Term{{K: k, A: Operand{Line: k, Step: 1}, B: Operand{Line: 1, Step: n}}}, threads)
			got := make([]float32, m*n)
			p.Run(workers, call(p, x, y, got))
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, %d threads: the result differs from that of one thread", s, threads)
			}
			workers.Close()
		}
	}
}

// All micro-kernels of all sets give the same bits.
func TestMicroKernelsAgree(t *testing.T) {
	const k = 37
	x, y := random(32*k), random(64*k)
	for _, set := range isa.Sets() {
		for _, kernel := range micro.Kernels(set) {
			t.Run(fmt.Sprintf("%v/%dx%d", set, kernel.Rows, kernel.Cols), func(t *testing.T) {
				for cols := 1; cols <= kernel.Cols; cols++ {
					for rows := 1; rows <= kernel.Rows; rows++ {
						checkMicroKernel(t, kernel, rows, cols, k, x, y)
					}
				}
			})
		}
	}
}

func checkMicroKernel(t *testing.T, kernel *micro.Kernel, rows, cols, k int, x, y []float32) {
	got := slices.Repeat([]float32{3}, (kernel.Rows+1)*80)
	for add := range 2 {
		kernel.Run(k, &x[0], &y[0], 4*64, &got[0], 4*80, rows, cols, add)
	}
	for i := range kernel.Rows + 1 {
		for j := range 80 {
			want := float32(3)
			if i < rows && j < cols {
				want = 0
				for p := range k {
					want = float32(math.FMA(float64(x[p*kernel.Rows+i]), float64(y[p*64+j]), float64(want)))
				}
				want += want
			}
			if g := got[i*80+j]; math.Abs(float64(g-want)) > 1e-5 {
				t.Fatalf("rows %d, cols %d: element %d %d: got %g, want %g", rows, cols, i, j, g, want)
			}
		}
	}
}

// Products with every micro-kernel for bf16, also where another kernel is faster.
func TestBF16Products(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	defer func(old func() *micro.Kernel) { bf16Kernel = old }(bf16Kernel)
	r := rand.New(rand.NewPCG(5, 6))
	for _, kernel := range micro.BF16Kernels() {
		bf16Kernel = func() *micro.Kernel { return kernel }
		for range products(60) {
			check(t, workers, r, 7+r.IntN(90), 1+r.IntN(140), 1+r.IntN(3), []int{1 + r.IntN(700), r.IntN(40)}, micro.BF16,
				layouts[r.IntN(len(layouts))], layouts[r.IntN(len(layouts))])
		}
		for _, k := range [][]int{{32}, {64, 96}, {2080}, {4160, 32}, {64, 7}} { // the first have rows that tiles are loaded from
			check(t, workers, r, 40+r.IntN(60), 40+r.IntN(60), 1+r.IntN(2), k, micro.BF16, "rows", layouts[r.IntN(len(layouts))])
		}
	}
}

// Every micro-kernel for bf16 agrees with sums in float64, for all sizes of its tile and all layouts of the
// operands.
func TestBF16Kernels(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, kernel := range micro.BF16Kernels() {
		t.Run(fmt.Sprintf("%dx%d", kernel.Rows, kernel.Cols), func(t *testing.T) {
			for i := range 400 {
				rows, cols, k := 1+i%kernel.Rows, 1+r.IntN(3*kernel.Cols), 1+r.IntN(100)
				checkBF16Kernel(t, kernel, rows, cols,
					newMatrix(r, micro.BF16, layouts[r.IntN(len(layouts))], 1, rows, k), newMatrix(r, micro.BF16, layouts[r.IntN(len(layouts))], 1, k, cols))
			}
		})
	}
	if len(micro.BF16Kernels()) == 0 {
		t.Skip("this processor has no instructions for bf16")
	}
}

func checkBF16Kernel(t *testing.T, kernel *micro.Kernel, rows, cols int, a, b *matrix) {
	t.Helper()
	k := a.columns
	words := kernel.Words(k)
	// Memory beyond the operands must not be used: NaN would show.
	left, right := slices.Repeat([]float32{float32(math.NaN())}, kernel.Rows*words), slices.Repeat([]float32{float32(math.NaN())}, (cols+kernel.Cols)*words)
	kernel.PackLeft(left, words, 0, micro.Source{Base: a.pointer(), Elem: micro.BF16, Line: a.rowStep, Step: a.colStep}, rows, k)
	for j := 0; j < cols; j += kernel.Cols {
		s := micro.Source{Base: b.pointer(), Elem: micro.BF16, Line: b.colStep, Step: b.rowStep}
		kernel.PackRight(right[j*words:], s.At(j, 0), min(kernel.Cols, cols-j), k)
	}
	got := slices.Repeat([]float32{3}, (kernel.Rows+1)*(cols+1))
	for add := range 2 {
		kernel.Multiply(words, &left[0], 4*words, &right[0], &got[0], 4*(cols+1), rows, cols, add)
	}
	lines, columns := a.lines(0, false), b.lines(0, true)
	for i := range kernel.Rows + 1 {
		for j := range cols + 1 {
			want, size := 3.0, 3.0
			if i < rows && j < cols {
				want, size = 0, 0
				for p := range k {
					v := 2 * lines[i][p] * columns[j][p]
					want, size = want+v, size+math.Abs(v)
				}
			}
			if g := float64(got[i*(cols+1)+j]); !(math.Abs(g-want) <= 2e-6*size) {
				t.Fatalf("rows %d, cols %d, k %d: element %d %d: got %g, want %g", rows, cols, k, i, j, g, want)
			}
		}
	}
}

func FuzzProduct(f *testing.F) {
	workers := pool.New(2)
	f.Cleanup(workers.Close)
	f.Add(uint64(1), uint8(3), uint8(70), uint8(9), uint8(0), uint8(0))
	f.Add(uint64(2), uint8(8), uint8(16), uint8(33), uint8(1), uint8(5))
	f.Add(uint64(3), uint8(40), uint8(1), uint8(8), uint8(2), uint8(17))
	f.Add(uint64(4), uint8(53), uint8(37), uint8(41), uint8(0), uint8(8))
	f.Add(uint64(5), uint8(50), uint8(39), uint8(43), uint8(1), uint8(0))
	f.Add(uint64(6), uint8(49), uint8(35), uint8(44), uint8(1), uint8(9))
	f.Fuzz(func(t *testing.T, seed uint64, m, n, k, elem, lay uint8) {
		r := rand.New(rand.NewPCG(seed, 5))
		a, b := layouts[int(lay)%len(layouts)], layouts[int(lay)/len(layouts)%len(layouts)]
		check(t, workers, r, int(m), int(n), 1+int(seed%3), []int{int(k)}, micro.Elem(elem%3), a, b)
	})
}
