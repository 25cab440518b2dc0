package cuda

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

var librariesOf = flag.String("libraries", "off", "what MCS_LIBRARIES is for benchmarks of attention")

// An attended is an attention as a group, or its gradient, and its operands.
type attended struct {
	op              ir.Op
	dtype           dtype.Type
	batch, heads, d int
	shared          int // query heads that share the keys of one
	queries, keys   int
	causal          bool
	prompt          bool // nobody wants the logsumexp
	window          int  // of a causal one; 0: all
	cap             float64
	masked          bool // by a mask of all heads
}

func (a attended) String() string {
	s := fmt.Sprintf("%v %v %d×%d heads, %d×%d, width %d", a.op, a.dtype, a.batch, a.heads, a.queries, a.keys, a.d)
	if a.causal {
		s += ", causal"
	}
	if a.prompt {
		s += ", of a prompt"
	}
	if a.window > 0 {
		s += fmt.Sprintf(", a window of %d", a.window)
	}
	if a.cap > 0 {
		s += fmt.Sprintf(", capped at %g", a.cap)
	}
	if a.masked {
		s += ", masked"
	}
	return s
}

// group is the group; its operands and results are buffers 0, 1, … of these types.
func (a attended) group() (*backend.Group, []ir.Type) {
	q := ir.Type{DType: a.dtype, Shape: []int{a.batch, a.heads, a.queries, a.d}}
	k := ir.Type{DType: a.dtype, Shape: []int{a.batch, a.heads / max(1, a.shared), a.keys, a.d}}
	lse := ir.Type{DType: dtype.F32, Shape: q.Shape[:3]}
	in, out := []ir.Type{q, k, k}, []ir.Type{q, lse}
	if a.op == ir.AttentionGrad {
		in, out = []ir.Type{q, k, k, q, lse, q}, []ir.Type{q, k, k}
	}
	if a.masked {
		in = append(in, ir.Type{DType: dtype.Bool, Shape: []int{a.batch, 1, a.queries, a.keys}})
	}
	outs := out
	if a.prompt {
		out = out[:1]
	}
	inst := backend.Inst{Op: a.op, Outs: outs, Attr: ir.Sight{Window: a.window, Cap: a.cap}.Attr(1 / math.Sqrt(float64(a.d)))}
	if a.causal {
		inst.Attr.Flags = ir.Causal
	}
	g := &backend.Group{Name: a.String(), Kind: backend.Single}
	for n, t := range in {
		g.Inputs = append(g.Inputs, backend.Input{DType: t.DType, Layout: ir.Contiguous(t.Shape), Buf: n})
		inst.Args = append(inst.Args, backend.In(n))
	}
	for n, t := range out {
		g.Outputs = append(g.Outputs, backend.Output{Value: backend.Ref{Result: n}, Buf: len(in) + n, DType: t.DType, Shape: t.Shape})
	}
	g.Insts = []backend.Inst{inst}
	return g, append(in, out...)
}

// flops counts the multiplications and additions that are needed, whatever the kernels do: two products
// forward, five back, half of that where it is causal.
func (a attended) flops() float64 {
	products := 2.0
	if a.op == ir.AttentionGrad {
		products = 5
	}
	if a.causal {
		products /= 2
	}
	return products * 2 * float64(a.batch*a.heads*a.queries) * float64(a.keys*a.d)
}

func (a attended) command(t testing.TB, b backend.Backend) submit.Cmd {
	t.Helper()
	g, types := a.group()
	return command(t, b, g, types)
}

// command compiles a group and gives it operands: a few thousand numbers, again and again.
func command(t testing.TB, b backend.Backend, g *backend.Group, types []ir.Type) submit.Cmd {
	t.Helper()
	k, err := b.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	cmd := submit.Cmd{Kernel: k}
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range types {
		var few []byte
		for n := range 1 << 12 {
			x := ir.Scalar{F: r.Float64() - 0.5}
			if typ.DType == dtype.Bool && n/64%7 != 4 { // the first 64 keys of every fourth query are hidden
				x.I = 1
			}
			few = ir.Append(typ.DType, few, x)
		}
		data := make([]byte, ir.Size(typ.Shape)*typ.DType.Size())
		for i := 0; i < len(data); i += len(few) {
			copy(data[i:], few)
		}
		buf, err := b.Alloc(len(data))
		if err == nil {
			err = b.Upload(buf, 0, data)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd.Bufs = append(cmd.Bufs, backend.Slice{Buf: buf})
	}
	t.Cleanup(func() {
		for _, s := range cmd.Bufs {
			b.Free(s.Buf)
		}
		k.Close()
	})
	return cmd
}

// attentionBackends are cuDNN and our own kernels.
func attentionBackends(t testing.TB) (library, own backend.Backend) {
	return withLibrary(t, "cudnn", "always"), withLibrary(t, "cudnn", "off")
}

// TestAttentionLibraryOnGPU holds attention that libraries compute against the reference: all of the suite's
// that cuDNN has, and all of f32 by cuBLASLt's products, in each layout.
func TestAttentionLibraryOnGPU(t *testing.T) {
	b := withLibrary(t, "cudnn", "always")
	backendtest.Ops(t, func() (backend.Backend, error) { return b, nil }, []dtype.Type{dtype.F32, dtype.F16, dtype.BF16}, ir.Attention, ir.AttentionGrad)
}

// TestLargeAttentionLibraryOnGPU holds large attention of the libraries' against our own kernels', a gradient
// in parts, too, and that of f32 against the reference, because our own kernels add up thousands of numbers
// one after the other. A gradient repeats its bits.
func TestLargeAttentionLibraryOnGPU(t *testing.T) {
	library, own := attentionBackends(t)
	reference, err := ref.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []attended{
		{op: ir.Attention, dtype: dtype.BF16, batch: 2, heads: 8, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true},
		{op: ir.Attention, dtype: dtype.F16, batch: 2, heads: 8, d: 128, queries: 300, keys: 700},
		{op: ir.Attention, dtype: dtype.BF16, batch: 2, heads: 8, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true, prompt: true},
		{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 2, heads: 8, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true},
		{op: ir.AttentionGrad, dtype: dtype.F16, batch: 2, heads: 8, d: 128, queries: 333, keys: 777, causal: true},
		{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 2, heads: 8, shared: 2, d: 64, queries: 8192, keys: 8192, causal: true},
		{op: ir.Attention, dtype: dtype.BF16, batch: 2, heads: 8, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true, window: 200},
		{op: ir.Attention, dtype: dtype.F16, batch: 2, heads: 8, d: 128, queries: 333, keys: 777, causal: true, window: 100},
		{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 2, heads: 8, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true, window: 200},
		{op: ir.AttentionGrad, dtype: dtype.F16, batch: 2, heads: 8, d: 128, queries: 333, keys: 777, causal: true, window: 100},
		{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 1, heads: 4, d: 128, queries: 8192, keys: 8192, causal: true, window: 1024},
		{op: ir.AttentionGrad, dtype: dtype.F16, batch: 2, heads: 4, shared: 2, d: 64, queries: 2300, keys: 2500, causal: true, window: 300},
		{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 1, heads: 4, d: 128, queries: 1024, keys: 1024, cap: 0.3},
		{op: ir.Attention, dtype: dtype.BF16, batch: 2, heads: 8, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true, cap: 0.3},
		{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 2, heads: 8, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true, cap: 0.3},
		{op: ir.Attention, dtype: dtype.F16, batch: 2, heads: 8, d: 128, queries: 333, keys: 777, causal: true, window: 100, cap: 0.3},
		{op: ir.AttentionGrad, dtype: dtype.F16, batch: 2, heads: 8, d: 128, queries: 333, keys: 777, causal: true, window: 100, cap: 0.3},
		{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 1, heads: 8, shared: 2, d: 256, queries: 1024, keys: 1024, causal: true, cap: 0.3},
		{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 1, heads: 8, shared: 2, d: 256, queries: 2048, keys: 2048, causal: true, window: 400, cap: 0.3},
		{op: ir.Attention, dtype: dtype.BF16, batch: 2, heads: 8, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true, masked: true},
		{op: ir.Attention, dtype: dtype.F16, batch: 2, heads: 8, d: 128, queries: 333, keys: 1024, masked: true},
		{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 2, heads: 8, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true, masked: true},
		{op: ir.AttentionGrad, dtype: dtype.F16, batch: 1, heads: 8, d: 128, queries: 1024, keys: 1024, masked: true, cap: 0.3},
		{op: ir.Attention, dtype: dtype.F32, batch: 1, heads: 4, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true},
		{op: ir.AttentionGrad, dtype: dtype.F32, batch: 1, heads: 4, shared: 4, d: 64, queries: 1024, keys: 1024, causal: true},
		{op: ir.AttentionGrad, dtype: dtype.F32, batch: 1, heads: 2, d: 128, queries: 333, keys: 777, causal: true},
		{op: ir.AttentionGrad, dtype: dtype.F32, batch: 1, heads: 2, shared: 2, d: 64, queries: 2048, keys: 2048},
	} {
		t.Run(a.String(), func(t *testing.T) {
			results := map[backend.Backend][][]byte{}
			backends, truth := []backend.Backend{own, library, library}, own
			if a.dtype == dtype.F32 {
				backends, truth = append(backends, reference), reference
			}
			for _, b := range backends {
				cmd := a.command(t, b)
				if a.op == ir.AttentionGrad { // of its own o and logsumexp
					forward := a
					forward.op = ir.Attention
					first := forward.command(t, own)
					values := runAndRead(t, own, first, len(first.Bufs)-2)
					for i, v := range values {
						if err := b.Upload(cmd.Bufs[3+i].Buf, 0, v); err != nil {
							t.Fatal(err)
						}
					}
				}
				if k, ok := cmd.Kernel.(backend.SourceKernel); ok && by(k) != map[bool]string{true: a.library()}[b == library] {
					t.Fatalf("got attention by %q:\n%.300s", by(k), k.Source())
				}
				group, _ := a.group()
				got := runAndRead(t, b, cmd, len(group.Inputs))
				for i, again := range results[b] {
					if !slices.Equal(again, got[i]) {
						t.Errorf("result %d: the bits are not those of the run before", i)
					}
				}
				results[b] = got
			}
			near := 1e-2
			if a.dtype == dtype.F32 {
				near = 1e-5
			}
			for i, want := range results[truth] {
				typ := a.dtype
				if a.op == ir.Attention && i == 1 {
					typ = dtype.F32 // the logsumexp
				}
				e := apart(typ, results[library][i], want)
				t.Logf("result %d: the library is %.2g away, our own kernels %.2g", i, e, apart(typ, results[own][i], want))
				if !(e < near) {
					t.Errorf("result %d: got %.2g away relative to its size, want %g", i, e, near)
				}
			}
		})
	}
}

// library is the one that computes attention of the dtype.
func (a attended) library() string {
	if a.dtype == dtype.F32 {
		return "cublasLt"
	}
	return "cudnn"
}

// by is the library that a kernel calls, or empty.
func by(k backend.SourceKernel) string {
	for _, name := range []string{"cublasLt", "cudnn"} {
		if strings.Contains(k.Source(), name) {
			return name
		}
	}
	return ""
}

// apart is how far values are from others, relative to their size.
func apart(dt dtype.Type, got, want []byte) float64 {
	far, size := 0.0, 0.0
	for at := 0; at < len(want); at += dt.Size() {
		g, w := ir.Load(dt, got[at:]).F, ir.Load(dt, want[at:]).F
		if g != w { // infinities may be equal
			far += (g - w) * (g - w)
		}
		if !math.IsInf(w, 0) {
			size += w * w
		}
	}
	return math.Sqrt(far / size)
}

// runAndRead runs a command and reads its buffers from one on.
func runAndRead(t *testing.T, b backend.Backend, cmd submit.Cmd, from int) (values [][]byte) {
	t.Helper()
	if err := submit.Run(t.Context(), b, []submit.Cmd{cmd}, nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range cmd.Bufs[from:] {
		v := make([]byte, s.Buf.Bytes())
		if err := b.Download(t.Context(), v, s.Buf, 0); err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	return values
}

// BenchmarkAttentionOnGPU times attention of 4×16 heads and 2,048 tokens, its gradient, and a step of
// decoding, on the device's clock: TFLOP/s of the operations that are needed, and GB/s of keys and values for
// a step of decoding. -libraries off is our own kernels, -libraries always cuDNN and, for f32,
// cuBLASLt's products.
func BenchmarkAttentionOnGPU(b *testing.B) {
	if err := machine.Present(); err != nil {
		b.Skip(err)
	}
	b.Setenv("MCS_LIBRARIES", *librariesOf)
	on, err := open(machine, *number)
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { on.(*gpu.Backend).Close() })
	var list []attended
	for _, dt := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
		for _, d := range []int{64, 128} {
			for _, causal := range []bool{false, true} {
				list = append(list, attended{op: ir.Attention, dtype: dt, batch: 4, heads: 16, d: d, queries: 2048, keys: 2048, causal: causal},
					attended{op: ir.AttentionGrad, dtype: dt, batch: 4, heads: 16, d: d, queries: 2048, keys: 2048, causal: causal})
			}
			list = append(list, attended{op: ir.Attention, dtype: dt, batch: 4, heads: 16, d: d, queries: 1, keys: 2048},
				attended{op: ir.Attention, dtype: dt, batch: 1, heads: 16, d: d, shared: 8, queries: 1, keys: 8192})
		}
	}
	for _, a := range list {
		b.Run(a.String(), func(b *testing.B) {
			cmd := a.command(b, on)
			best := fastest(b, on, slices.Repeat([]submit.Cmd{cmd}, runs))
			if a.queries == 1 {
				bytes := 2 * a.batch * a.heads / max(1, a.shared) * a.keys * a.d * a.dtype.Size()
				b.ReportMetric(float64(bytes)/best.Seconds()/1e9, "GB/s")
			} else {
				b.ReportMetric(a.flops()/best.Seconds()/1e12, "TFLOP/s")
			}
			b.ReportMetric(float64(best.Nanoseconds())/1e3, "µs")
		})
	}
}

// BenchmarkAttentionRunsOnGPU times runs of a gradient that are queued one behind the other, as a training
// step's are: in the same memory, which a graph is replayed for, and in new results and a new workspace. Of
// the host's time it tells what the memory takes and what the run; a run may wait for those before it.
func BenchmarkAttentionRunsOnGPU(b *testing.B) {
	on := withLibrary(b, "cudnn", "always")
	a := attended{op: ir.AttentionGrad, dtype: dtype.BF16, batch: 4, heads: 16, shared: 4, d: 64, queries: 2048, keys: 2048, causal: true}
	cmd := a.command(b, on)
	launch := backend.Launch{Kernel: cmd.Kernel, Scratch: backend.Place{Index: len(cmd.Bufs)}}
	var same []ir.Buffer
	for i, s := range cmd.Bufs {
		launch.Bufs = append(launch.Bufs, backend.Place{Index: i})
		same = append(same, s.Buf)
	}
	alloc := func(bytes int) ir.Buffer {
		buf, err := on.Alloc(bytes)
		if err != nil {
			b.Fatal(err)
		}
		return buf
	}
	same = append(same, alloc(cmd.Kernel.Scratch()))
	p, err := on.Load(&backend.Program{Bufs: len(same), Commit: 1, Launches: []backend.Launch{launch}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	for _, c := range []struct {
		name string
		from int // the first buffer that is new in each run
	}{{"the same memory", len(same)}, {"a new workspace", len(same) - 1}, {"new results", 6}} {
		b.Run(c.name, func(b *testing.B) {
			var memory, runs time.Duration
			for range b.N {
				start := time.Now()
				list := slices.Clone(same)
				for i := c.from; i < len(list); i++ {
					list[i] = alloc(same[i].Bytes())
				}
				taken := time.Now()
				memory += taken.Sub(start)
				if err := on.Run(b.Context(), p, &backend.Table{Bufs: list}, nil); err != nil {
					b.Fatal(err)
				}
				runs += time.Since(taken)
				for _, buf := range list[c.from:] {
					on.Free(buf)
				}
			}
			if err := on.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(memory.Nanoseconds())/1e3/float64(b.N), "memory-µs/op")
			b.ReportMetric(float64(runs.Nanoseconds())/1e3/float64(b.N), "run-µs/op")
		})
	}
}
