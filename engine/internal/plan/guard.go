package plan

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/internal/units"
)

var guard = &scope.Key{Name: "guard"}

// WithGuard returns a context within which, as long as on says so, each launch is waited for and its result
// is looked at: the first that has a NaN or an infinity is an error.
func WithGuard(ctx context.Context, on *atomic.Bool) context.Context {
	return context.WithValue(ctx, guard, on)
}

// Guarded says whether that is so.
func Guarded(ctx context.Context) bool {
	on, _ := ctx.Value(guard).(*atomic.Bool)
	return on != nil && on.Load()
}

// submitGuarded is submit that looks at each result. Launches that must all run or none do all run: then the
// error says so afterwards, and what was made is valid.
func (p *plan) submitGuarded(ctx context.Context, s *state, in *inputs, times []time.Duration) (found, err error) {
	for i := range p.groups {
		if i == p.program.Commit {
			ctx = context.WithoutCancel(ctx)
		}
		if err := p.runOne(ctx, s, times, i); err != nil {
			return nil, err
		}
		if found != nil {
			continue
		}
		bad, err := p.unsound(ctx, s, i)
		if err != nil {
			return nil, err
		}
		if bad == nil {
			continue
		}
		found = p.diagnose(ctx, s, in, i, bad)
		if i < p.program.Commit {
			return nil, found
		}
	}
	return found, nil
}

// runOne runs launch i and waits for it.
func (p *plan) runOne(ctx context.Context, s *state, times []time.Duration, i int) error {
	loaded, err := p.one(i)
	if err != nil {
		return err
	}
	if times != nil {
		times = times[i : i+1]
	}
	began := s.table.Began
	s.table.Reset()
	if err := p.dev.Seen(p.dev.Backend().Run(ctx, loaded, &s.table, times)); err != nil {
		return err
	}
	began = cmp.Or(began, s.table.Began)
	defer func() {
		s.table.Reset()
		s.table.Began = began
	}()
	return p.dev.Await(ctx, &ir.Data{Run: s.table.Outcome()})
}

// A flaw is what is wrong with the numbers of a value.
type flaw struct {
	typ       ir.Type
	nan, inf  int
	first     int // the place of the first, in C order
	low, high float64
}

// look counts NaN and infinities, and finds the range of the finite numbers.
func look(typ ir.Type, numbers func(yield func(float64) bool)) *flaw {
	f := &flaw{typ: typ, first: -1, low: math.Inf(1), high: math.Inf(-1)}
	i := 0
	for x := range numbers {
		switch {
		case math.IsNaN(x):
			f.nan++
		case math.IsInf(x, 0):
			f.inf++
		default:
			f.low, f.high = min(f.low, x), max(f.high, x)
		}
		if f.first < 0 && f.nan+f.inf > 0 {
			f.first = i
		}
		i++
	}
	return f
}

func (f *flaw) bad() bool { return f.nan+f.inf > 0 }

// what says how many of the numbers are none: "NaN in 3 of 20 elements of f32[4 5], the first at [0 4]".
func (f *flaw) what() string {
	name, n := "NaN", f.nan+f.inf
	switch {
	case f.nan == 0:
		name = "infinity"
	case f.inf > 0:
		name = fmt.Sprintf("NaN (%d) and infinity (%d)", f.nan, f.inf)
	}
	text := fmt.Sprintf("%s in %d of %d elements of %v%v", name, n, ir.Size(f.typ.Shape), f.typ.DType, f.typ.Shape)
	if at := ir.IndexOf(f.first, f.typ.Shape); len(at) > 0 {
		text += fmt.Sprintf(", the first at %v", at)
	}
	return text
}

// spread is the range of the numbers: "f32[4 5] from -2 to 3.1".
func (f *flaw) spread() string {
	text := fmt.Sprintf("%v%v", f.typ.DType, f.typ.Shape)
	if f.low <= f.high {
		text += fmt.Sprintf(" from %s to %s", units.Float(f.low), units.Float(f.high))
	}
	if f.bad() {
		text += fmt.Sprintf(" with %s", strings.Join(slices.DeleteFunc([]string{counted(f.nan, "NaN"), counted(f.inf, "infinity")}, func(s string) bool { return s == "" }), ", "))
	}
	return text
}

func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

// unsound looks at what launch i has written; it returns nil if all of it is finite.
func (p *plan) unsound(ctx context.Context, s *state, i int) (*flaw, error) {
	for _, o := range p.groups[i].Outputs {
		if !o.DType.Float() {
			continue
		}
		f, err := p.lookAt(ctx, p.memoryOf(s, i, o.Buf), ir.Type{DType: o.DType, Shape: o.Shape}, o.Layout())
		if err != nil || f.bad() {
			return f, err
		}
	}
	return nil, nil
}

// memoryOf is the memory of launch i's buffer.
func (p *plan) memoryOf(s *state, i, buf int) backend.Slice {
	return s.table.At(p.program.Launches[i].Bufs[buf])
}

// lookAt looks at numbers in the memory of the device.
func (p *plan) lookAt(ctx context.Context, from backend.Slice, typ ir.Type, l ir.Layout) (*flaw, error) {
	size, last := typ.DType.Size(), l.Offset
	for k, d := range l.Shape {
		if d == 0 {
			return look(typ, func(func(float64) bool) {}), nil
		}
		last += max(0, (d-1)*l.Stride[k])
	}
	data := make([]byte, (last+1)*size)
	if err := p.dev.Seen(p.dev.Backend().Download(ctx, data, from.Buf, from.Offset)); err != nil {
		return nil, err
	}
	at := func(place int) float64 { return numberAt(typ.DType, data[place*size:]) }
	return look(typ, func(yield func(float64) bool) {
		index := make([]int, len(l.Shape))
		for n, place := ir.Size(l.Shape), l.Offset; n > 0; n-- {
			if !yield(at(place)) {
				return
			}
			for k := len(index) - 1; k >= 0; k-- {
				index[k]++
				place += l.Stride[k]
				if index[k] < l.Shape[k] {
					break
				}
				place -= l.Stride[k] * l.Shape[k]
				index[k] = 0
			}
		}
	}), nil
}

func numberAt(dt dtype.Type, b []byte) float64 {
	if dt == dtype.F32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	v := ir.Load(dt, b)
	if dt.Float() {
		return v.F
	}
	return ir.FloatOf(dt, v.I)
}

// diagnose finds the operation of launch i that has made the NaN or infinity, by computing its nodes one by
// one. Where the graph or the launch's operands are gone, the error names the launch only.
func (p *plan) diagnose(ctx context.Context, s *state, in *inputs, i int, bad *flaw) error {
	if in.graph != nil && i < p.program.Commit {
		if err := p.diagnoseNodes(ctx, in.graph, p.from[i]); err != nil {
			return err
		}
	}
	var from, reads []string
	if all := p.originsOf(in); all != nil {
		from = ir.Origins(all[i])
	}
	group := p.groups[i]
	for _, input := range group.Inputs {
		if input.Buf < 0 || !input.DType.Float() {
			continue
		}
		over := slices.ContainsFunc(group.Outputs, func(o backend.Output) bool {
			return o.Offset == input.Layout.Offset && p.memoryOf(s, i, o.Buf) == p.memoryOf(s, i, input.Buf)
		})
		if over {
			reads = append(reads, fmt.Sprintf("%v%v, which was overwritten", input.DType, input.Layout.Shape))
		} else if f, err := p.lookAt(ctx, p.memoryOf(s, i, input.Buf), ir.Type{DType: input.DType, Shape: input.Layout.Shape}, input.Layout); err == nil {
			reads = append(reads, f.spread())
		}
	}
	return unfinite(group.Name, bad, strings.Join(from, " · "), reads)
}

// diagnoseNodes returns the error of the first node whose value is not finite, or nil.
func (p *plan) diagnoseNodes(ctx context.Context, w *ir.Graph, nodes []int32) error {
	ctx = WithFusion(context.WithValue(ctx, guard, (*atomic.Bool)(nil)), false)
	see := func(n *ir.Node) *flaw {
		if n.Outs != nil || !n.DType.Float() || Run(ctx, []*ir.Node{n}) != nil {
			return nil
		}
		d := backend.Hold(n)
		if d == nil {
			return nil
		}
		b := d.Buf.(*backend.Block)
		defer b.Release()
		f, err := p.lookAt(ctx, backend.Slice{Buf: b.Raw()}, n.Type(), *d.Layout)
		if err != nil {
			return nil
		}
		return f
	}
	for _, at := range nodes {
		n := w.Nodes[at]
		if n.Op == ir.Const {
			continue
		}
		bad := see(n)
		if bad == nil || !bad.bad() {
			continue
		}
		var reads []string
		for _, k := range w.Sources(int(at)) {
			if src := w.Nodes[k]; src.Op != ir.Const {
				if f := see(src); f != nil {
					reads = append(reads, strings.TrimSpace(src.Name+" "+f.spread()))
				}
			}
		}
		return unfinite(n.Op.String(), bad, strings.Join(ir.Origins([]ir.Origin{n.Origin}), ""), reads)
	}
	return nil
}

// unfinite is the error of an operation or a launch.
func unfinite(op string, bad *flaw, from string, reads []string) error {
	text := "got " + bad.what() + ", want finite numbers"
	if from != "" {
		text += "; it comes from " + from
	}
	if len(reads) > 0 {
		text += "; it reads " + strings.Join(reads, ", ")
	}
	return &ir.Error{Op: op, Msg: text}
}
