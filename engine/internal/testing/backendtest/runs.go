package backendtest

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
)

// A Pausable backend can let its device wait, so that a test finds runs that are not done.
type Pausable interface {
	Pause()
	Resume()
}

// compile is Compile for groups that must compile.
func compile(t *testing.T, b backend.Backend, g *backend.Group) backend.Kernel {
	t.Helper()
	k, err := b.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// load is Load for a program without scratch memory of its own, which is added as the last place.
func load(t *testing.T, b backend.Backend, p *backend.Program) (backend.Loaded, ir.Buffer) {
	t.Helper()
	n := 1
	for i := range p.Launches {
		p.Launches[i].Scratch.Index = p.Bufs
		n = max(n, p.Launches[i].Kernel.Scratch())
	}
	p.Bufs++
	scratch, err := b.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	l, err := b.Load(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		b.Free(scratch)
	})
	return l, scratch
}

// scaling multiplies n floats by a number.
func scaling(n int) *backend.Group {
	l := ir.Contiguous([]int{n})
	return &backend.Group{
		Name: "scale", Kind: backend.Map,
		Inputs:  []backend.Input{{DType: dtype.F32, Layout: l}, {DType: dtype.F32, Layout: ir.Contiguous([]int{}), Buf: -1}},
		Insts:   []backend.Inst{{Op: ir.Mul, DType: dtype.F32, Shape: l.Shape, Args: []backend.Ref{backend.In(0), backend.In(1)}}},
		Outputs: []backend.Output{{Value: backend.Ref{}, Buf: 1, DType: dtype.F32, Shape: l.Shape}},
	}
}

// floats returns memory with these numbers, and numbers reads memory.
func floats(t *testing.T, b backend.Backend, x ...float32) ir.Buffer {
	t.Helper()
	buf, err := b.Alloc(4 * len(x))
	if err == nil {
		var raw []byte
		for _, f := range x {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
		}
		err = b.Upload(buf, 0, raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Free(buf) })
	return buf
}

func numbers(t *testing.T, b backend.Backend, buf ir.Buffer) (x []float32) {
	t.Helper()
	raw := make([]byte, buf.Bytes())
	if err := b.Download(t.Context(), raw, buf, 0); err != nil {
		t.Fatal(err)
	}
	for ; len(raw) > 0; raw = raw[4:] {
		x = append(x, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return x
}

// replay runs one loaded program several times, with other memory and numbers, and does not wait in between.
// Each time it uploads the operand of the next run over the operand of the last one.
func (s *suite) replay(t *testing.T) {
	b := s.dev.Backend()
	k := compile(t, b, scaling(2))
	p := &backend.Program{Bufs: 3, Scalars: 1, Commit: 2, Launches: []backend.Launch{
		{Kernel: k, Bufs: []backend.Place{{Index: 0, Offset: 64}, {Index: 1, Offset: 128}}, Scalars: []backend.Scalar{{Index: 0}}},
		{Kernel: k, Bufs: []backend.Place{{Index: 1, Offset: 128}, {Index: 2}}, Scalars: []backend.Scalar{{Index: -1, Value: ir.Scalar{F: 10}}}},
	}}
	loaded, scratch := load(t, b, p)
	x, arena := floats(t, b, make([]float32, 32)...), floats(t, b, make([]float32, 48)...)
	table := &backend.Table{Bufs: make([]ir.Buffer, 4), Scalars: make([]ir.Scalar, 1)}
	var outs []ir.Buffer
	for i := range 20 {
		raw := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(i)))
		if err := b.Upload(x, 64, append(raw, raw...)); err != nil {
			t.Fatal(err)
		}
		clear(raw)
		out := floats(t, b, -1, -1)
		copy(table.Bufs, []ir.Buffer{x, arena, out, scratch})
		table.Scalars[0] = ir.Scalar{F: float64(i % 3)}
		table.Reset()
		if err := b.Run(t.Context(), loaded, table, nil); err != nil {
			t.Fatal(err)
		}
		clear(table.Bufs)
		outs = append(outs, out)
	}
	for i, out := range outs {
		want := float32(10 * i * (i % 3))
		if got := numbers(t, b, out); !slices.Equal(got, []float32{want, want}) {
			t.Errorf("run %d: got %v, want %v", i, got, want)
		}
	}
}

// commit lets a launch fail before one that must not take effect then: it writes over what it reads.
func (s *suite) commit(t *testing.T) {
	b := s.dev.Backend()
	take := &backend.Group{
		Name: "take", Kind: backend.Single,
		Inputs:  []backend.Input{{DType: dtype.F32, Layout: ir.Contiguous([]int{2})}, {DType: dtype.I64, Layout: ir.Contiguous([]int{1}), Buf: 1}},
		Insts:   []backend.Inst{{Op: ir.Gather, DType: dtype.F32, Shape: []int{1}, Args: []backend.Ref{backend.In(0), backend.In(1)}}},
		Outputs: []backend.Output{{Value: backend.Ref{}, Buf: 2, DType: dtype.F32, Shape: []int{1}}},
	}
	place := &backend.Group{
		Name: "place", Kind: backend.Single,
		Inputs: []backend.Input{
			{DType: dtype.F32, Layout: ir.Contiguous([]int{2})}, {DType: dtype.I64, Layout: ir.Contiguous([]int{1}), Buf: 1}, {DType: dtype.F32, Layout: ir.Contiguous([]int{1}), Buf: 2},
		},
		Insts: []backend.Inst{{Op: ir.Overwrite, Attr: ir.Attr{Flags: ir.InPlace}, DType: dtype.F32, Shape: []int{2},
			Args: []backend.Ref{backend.In(0), backend.In(1), backend.In(2)}}},
		Outputs: []backend.Output{{Value: backend.Ref{}, Buf: 3, DType: dtype.F32, Shape: []int{2}}},
	}
	p := &backend.Program{Bufs: 6, Commit: 1, Launches: []backend.Launch{
		{Kernel: compile(t, b, take), Bufs: []backend.Place{{Index: 0}, {Index: 1}, {Index: 2}}},
		{Kernel: compile(t, b, place), Bufs: []backend.Place{{Index: 4}, {Index: 3}, {Index: 5}, {Index: 4}}},
	}}
	loaded, scratch := load(t, b, p)
	index, first := floats(t, b, 0, 0), floats(t, b, 0, 0) // two i64
	table := &backend.Table{Bufs: []ir.Buffer{floats(t, b, 5, 6), index, floats(t, b, 0), first, floats(t, b, 7, 8), floats(t, b, 9), scratch}}
	run := func(at byte) error {
		if err := b.Upload(index, 0, []byte{at, 0, 0, 0, 0, 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
		table.Reset()
		if err := b.Run(t.Context(), loaded, table, nil); err != nil {
			return err
		}
		if err := b.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		return table.Outcome().Err()
	}
	if err := run(9); err == nil {
		t.Error("an index beyond the end: no error")
	}
	if got := numbers(t, b, table.Bufs[4]); !slices.Equal(got, []float32{7, 8}) {
		t.Errorf("after an error: what was to be written over only as a whole is %v", got)
	}
	if err := run(1); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if got := append(numbers(t, b, table.Bufs[2]), numbers(t, b, table.Bufs[4])...); !slices.Equal(got, []float32{6, 9, 8}) {
		t.Errorf("afterwards: got %v", got)
	}
}

// lateErrors checks evaluations with an error that the device may find late. Values that depend on the failed
// run cannot be read, others can, and callers that only wait get the error once.
func (s *suite) lateErrors(t *testing.T) {
	graph := func() (bad, other *ir.Node) {
		nodes, err := build(s.dev, "late errors", dtype.F32, Case{Build: func(b *B, dt dtype.Type) []*ir.Node {
			x := b.Normal(dt, 3, 2)
			return []*ir.Node{b.New(ir.Gather, ir.Attr{}, x, b.Ints(dtype.I64, []int{2}, 1, 3)), b.New(ir.Neg, ir.Attr{}, x)}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return nodes[0], nodes[1]
	}
	bad, _ := graph()
	want := ""
	if err := plan.Run(t.Context(), []*ir.Node{bad}); err != nil {
		want = err.Error()
	} else if _, err = read(bad); err != nil {
		want = err.Error()
	}
	if want == "" {
		t.Fatal("an index beyond the end: no error")
	}
	for _, how := range []string{"read", "evaluate further", "wait", "land"} {
		bad, other := graph()
		after, err := ir.New(ir.Exp, ir.Attr{}, bad)
		if err != nil {
			t.Fatal(err)
		}
		flight := &backend.Flight{}
		ctx := backend.WithFlight(t.Context(), flight)
		err = errors.Join(plan.Run(ctx, []*ir.Node{bad}), plan.Run(ctx, []*ir.Node{other}))
		if err == nil {
			switch how {
			case "read":
				_, err = read(bad)
			case "evaluate further":
				if err = plan.Run(ctx, []*ir.Node{after}); err == nil {
					_, err = read(after)
				}
			case "wait":
				err = s.dev.Sync(ctx)
			case "land":
				err = flight.Wait(ctx)
			}
			if _, again := read(bad); again == nil {
				t.Errorf("%s: the value that failed can be read", how)
			}
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", how, err, want)
		}
		if err := errors.Join(s.dev.Sync(ctx), flight.Wait(ctx)); err != nil {
			t.Errorf("%s: told twice: %v", how, err)
		}
		if _, err := read(other); err != nil {
			t.Errorf("%s: a value that has nothing to do with it: %v", how, err)
		}
	}
}

// flight gives a device much work and reads no result. The device must not take all of that at once, because
// there is not enough memory for it.
func (s *suite) flight(t *testing.T) {
	length := 1 << 16
	if s.few {
		length = 1 << 12
	}
	nodes, err := build(s.dev, "flight", dtype.F32, Case{Build: func(b *B, dt dtype.Type) []*ir.Node {
		return []*ir.Node{b.Normal(dt, length)}
	}})
	if err != nil {
		t.Fatal(err)
	}
	x := nodes[0]
	for range 300 {
		if x, err = ir.New(ir.Neg, ir.Attr{}, x); err != nil {
			t.Fatal(err)
		}
		if err := plan.Run(t.Context(), []*ir.Node{x}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := read(x); err != nil {
		t.Error(err)
	}
}

// paused checks which calls wait while the device does nothing: a download, until its context is done, and
// Run, when enough runs are under way.
func (s *suite) paused(t *testing.T, p Pausable) {
	b := s.dev.Backend()
	loaded, scratch := load(t, b, &backend.Program{Bufs: 2, Commit: 1, Launches: []backend.Launch{
		{Kernel: compile(t, b, scaling(2)), Bufs: []backend.Place{{Index: 0}, {Index: 1}}, Scalars: []backend.Scalar{{Index: -1, Value: ir.Scalar{F: 3}}}},
	}})
	table := &backend.Table{Bufs: []ir.Buffer{floats(t, b, 1, 2), floats(t, b, 0, 0), scratch}}
	if err := b.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Pause()
	defer p.Resume()
	if err := b.Run(t.Context(), loaded, table, nil); err != nil {
		t.Fatal(err)
	}
	reason := errors.New("enough")
	soon := func() context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Millisecond, func() { cancel(reason) })
		return ctx
	}
	got := []byte("as it was")
	if err := b.Download(soon(), got[:8], table.Bufs[1], 0); !errors.Is(err, reason) {
		t.Errorf("download: got %v, want the context's cause", err)
	}
	if err := b.Sync(soon()); !errors.Is(err, reason) {
		t.Errorf("sync: got %v, want the context's cause", err)
	}
	if err := s.dev.Await(soon(), &ir.Data{Run: table.Outcome()}); !errors.Is(err, reason) {
		t.Errorf("settle: got %v, want the context's cause", err)
	}
	ctx := soon()
	for i := range 10_000 {
		table.Reset()
		err := b.Run(ctx, loaded, table, nil)
		if errors.Is(err, reason) {
			break
		}
		if err != nil || i == 9_999 {
			t.Fatalf("run %d of a device that does nothing: %v", i, err)
		}
	}
	p.Resume()
	if x := numbers(t, b, table.Bufs[1]); !slices.Equal(x, []float32{3, 6}) {
		t.Errorf("afterwards: got %v", x)
	}
}
