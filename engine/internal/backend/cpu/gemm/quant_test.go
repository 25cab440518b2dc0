package gemm

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// A codesCase is x[m k]·w with w [k n] in codes, or x[m n]·wᵀ if it is transposed.
type codesCase struct {
	bits, group, m, k, n int
	transposed           bool
}

func (c codesCase) String() string {
	turned := ""
	if c.transposed {
		turned = "/transposed"
	}
	return fmt.Sprintf("int%d/%d/%dx%dx%d%s", c.bits, c.group, c.m, c.n, c.k, turned)
}

// prepare returns a product of x with random codes, its arguments, its inputs and the codes.
func (c codesCase) prepare(threads int) (p *Product, args *Call, x, z []float32, codes []byte) {
	groups, blocks := (c.k+c.group-1)/c.group, (c.n+micro.Lanes-1)/micro.Lanes
	r := rand.New(rand.NewPCG(3, 4))
	codes = make([]byte, blocks*micro.Lanes*groups*c.group*c.bits/8)
	for i := range codes {
		codes[i] = byte(r.Uint32())
	}
	scales := random(blocks * micro.Lanes * groups)
	cols, steps := c.n, c.k
	if c.transposed {
		cols, steps = c.k, c.n
	}
	t := Term{K: steps, A: Operand{Line: steps, Step: 1}, Codes: &Codes{K: c.k, N: c.n, Bits: c.bits, Group: c.group, Transposed: c.transposed}}
	p = New(c.m, cols, 1, []Term{t}, threads)
	x, z = random(c.m*steps), make([]float32, c.m*cols)
	args = call(p, x, nil, z)
	args.B[0] = unsafe.Pointer(unsafe.SliceData(codes))
	args.Scales, args.Extra = []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(scales))}, []unsafe.Pointer{nil}
	return p, args, x, z, codes
}

// Products of any shape agree with those of the dequantised weight.
func TestCodes(t *testing.T) { eachSet(t, testCodes) }

func testCodes(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		c := codesCase{4 * (1 + r.IntN(2)), 32 << r.IntN(3), 1 + r.IntN(120), 1 + r.IntN(700), 1 + r.IntN(200), r.IntN(2) == 0}
		p, args, x, z, _ := c.prepare(3)
		p.Run(workers, args)
		q := p.Terms[0].quant(args, 0)
		for range 50 {
			i, j := r.IntN(c.m), r.IntN(p.N)
			want, size := 0.0, 0.0
			for s := range p.Terms[0].K {
				w := 0.0
				if c.transposed {
					w = q.At(j, s)
				} else {
					w = q.At(s, j)
				}
				v := float64(x[i*p.Terms[0].K+s]) * w
				want, size = want+v, size+math.Abs(v)
			}
			if got := float64(z[i*p.N+j]); !(math.Abs(got-want) <= 2e-6*size+1e-30) {
				t.Fatalf("%v: element %d %d: got %g, want %g", c, i, j, got, want)
			}
		}
	}
}

// BenchmarkCodes multiplies rows by the weights of decoders in codes. For few rows it reports how fast the
// codes are read, compared with a search through them that finds nothing; for many rows how fast the
// product is, compared with the weight in f32.
func BenchmarkCodes(b *testing.B) {
	workers := pool.New(2)
	defer workers.Close()
	for _, bits := range []int{8, 4} {
		for _, s := range [][2]int{{896, 128}, {896, 896}, {896, 4864}, {4864, 896}, {1536, 8960}, {8960, 1536}, {896, 151936}} {
			for _, rows := range []int{1, 2, 4, 8} {
				c := codesCase{bits, 64, rows, s[0], s[1], false}
				b.Run(c.String(), func(b *testing.B) {
					p, args, _, _, codes := c.prepare(2)
					other := bytes.Repeat([]byte{1}, len(codes))
					search := func(_, lo, hi int) { bytes.IndexByte(other[lo:hi], 0) }
					inTurns(b, "B", float64(len(codes)), func() { p.Run(workers, args) }, float64(len(codes)), func() { workers.Range(len(codes), 1<<14, search) })
				})
			}
		}
		for _, rows := range []int{16, 32, 48, 64, 128, 256, 1024} {
			for _, transposed := range []bool{false, true} {
				c := codesCase{bits, 64, rows, 896, 4864, transposed}
				b.Run(c.String(), func(b *testing.B) {
					p, args, _, _, _ := c.prepare(2)
					lie, n, k := "nn", c.n, c.k
					if transposed {
						lie, n, k = "nt", c.k, c.n
					}
					plain, _ := benchCase{micro.F32, rows, n, k, lie, 2}.prepare(workers)
					flops := 2 * float64(rows) * float64(n) * float64(k)
					inTurns(b, "FLOP", flops, func() { p.Run(workers, args) }, flops, plain)
				})
			}
		}
	}
}
