package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// adamWRun is how many elements are stepped at a time: results that are not stored as they are computed stay
// in the first-level cache meanwhile.
const adamWRun = 1024

// adamWStream is how much a step must store for that to go past the caches. It is more than elsewhere because
// the next step reads it. What is changed in place was read into the caches anyhow.
const adamWStream = 64 << 20

// An adamWTensor is one parameter with what belongs to it.
type adamWTensor struct {
	values   *perWorker // p, g
	states   *perWorker // m, v, and w if there are masters: apart, since numbers of f32 beside such that are converted are copied
	outs     [4]*backend.Output
	stream   [4]bool    // which of them go past the caches
	round    vec.ID     // to the parameter's type and back; only with masters
	register dtype.Type // in which it is computed
	stepped  int        // place of what is stepped among the results: p, or w
}

// adamWSpare is how many floats a worker needs beside: four results, masters that count, and whether they do.
const adamWSpare = 6 * adamWRun

// compileAdamW steps all tensors of an optimizer in one launch.
func compileAdamW(c *standalone) func(*launch) {
	if c.in.Outs[0].DType == dtype.F64 {
		return compileAdamWOf(c, dtype.F64, vec.Doubles())
	}
	return compileAdamWOf(c, dtype.F32, vec.Floats())
}

// compileAdamWOf computes in T, which is the type of register.
func compileAdamWOf[T vec.Float](c *standalone, register dtype.Type, runs *vec.Runs[T]) func(*launch) {
	g, in := c.g, c.in
	lists := ir.StepLists(in.Op, in.Attr.Flags)
	count := len(in.Outs) / lists
	tensors := make([]adamWTensor, count)
	type piece struct{ tensor, start, n int }
	var pieces []piece
	for t := range tensors {
		tensors[t].register = register
		shape := in.Outs[t].Shape
		specs := [2]tile.Spec{{Group: g, Shape: shape}, {Group: g, Shape: shape}}
		for part := range lists + 1 {
			s := &specs[min(part/2, 1)]
			s.Outs = append(s.Outs, tile.Out{Value: in.Args[ir.AdamWSettings+part*count+t], DType: register})
		}
		tensors[t].values, tensors[t].states = c.program(specs[0], adamWRun), c.program(specs[1], adamWRun)
		if in.Attr.Flags&ir.Masters != 0 {
			tensors[t].round, tensors[t].stepped = roundings[in.Outs[t].DType], 3
		}
		for part := range lists {
			o := outputOf(g, part*count+t)
			tensors[t].outs[part], tensors[t].stream[part] = o, o != nil && streamsFrom(adamWStream, g, o)
		}
		n := ir.Size(shape)
		for start := 0; start < n; start += chunk {
			pieces = append(pieces, piece{t, start, min(chunk, n-start)})
		}
	}
	return func(l *launch) {
		step := adamWStep[T](l, g, in)
		spare := elements[T](l.scratch.bytes(register.Size() * adamWSpare * l.pool.Threads()))
		l.pool.Range(len(pieces), 4, func(worker, lo, hi int) {
			for _, p := range pieces[lo:hi] {
				for i := 0; i < p.n; i += adamWRun {
					stepAdamW(&tensors[p.tensor], l, worker, runs, step, spare[adamWSpare*worker:], p.start+i, min(adamWRun, p.n-i))
				}
			}
		})
	}
}

// adamWStep reads the settings. It is nil for a step that is not to be made.
func adamWStep[T vec.Float](l *launch, g *backend.Group, in *backend.Inst) *vec.AdamWStep[T] {
	number := func(i int) float64 { return numberOf(l, inputOf(g, in.Args[i])).F }
	lr, beta1, beta2 := number(0), number(1), number(2)
	if guard := number(8); math.IsInf(guard, 0) || math.IsNaN(guard) {
		return nil
	}
	return &vec.AdamWStep[T]{
		Scale:         T(number(7)),
		OneMinusBeta1: T(1 - beta1),
		OneMinusBeta2: T(1 - beta2),
		Decay:         T(lr * number(4)),
		Rate:          T(lr / number(5)),
		Root:          T(1 / math.Sqrt(number(6))),
		Eps:           T(number(3)),
	}
}

// stepAdamW updates n elements. Results that are rounded, that go past the caches, or that are not outputs,
// go through spare memory.
func stepAdamW[T vec.Float](t *adamWTensor, l *launch, worker int, runs *vec.Runs[T], s *vec.AdamWStep[T], spare []T, start, n int) {
	x, states := t.values.at(worker).Fetch(start, n), t.states.at(worker).Fetch(start, n)
	was := [4]unsafe.Pointer{x[0]}
	copy(was[1:], states)
	var final, to [4]unsafe.Pointer
	for i, o := range t.outs {
		to[i] = unsafe.Pointer(&spare[i*adamWRun])
		if o == nil {
			continue
		}
		final[i] = unsafe.Add(l.pointer(o.Buf), start*o.DType.Size())
		if o.DType == t.register && (!t.stream[i] || final[i] == was[i]) {
			to[i] = final[i]
		}
	}
	if s == nil {
		to = was
	} else {
		p := x[0]
		if t.stepped != 0 {
			p = unsafe.Pointer(&spare[4*adamWRun])
			masterOrParam(p, unsafe.Pointer(&spare[5*adamWRun]), states[2], x[0], t.round, n)
		}
		runs.AdamWTo(to[t.stepped], to[1], to[2], p, x[1], states[0], states[1], s, n)
		to[0] = to[t.stepped]
	}
	for i, o := range t.outs {
		switch {
		case o == nil || to[i] == final[i]:
		case o.DType == dtype.F32:
			vec.StreamTo(final[i], to[i], n)
		default:
			narrowTo(o.DType, final[i], to[i], n)
		}
	}
}

// roundings round to a narrower type and back.
var roundings = map[dtype.Type]vec.ID{dtype.F16: vec.RoundF16, dtype.BF16: vec.RoundBF16}

// masterOrParam sets d to what is stepped of n parameters with masters: the master where it rounds to its
// parameter, else the parameter, which somebody has set. Bools has room for n bools.
func masterOrParam(d, bools, master, param unsafe.Pointer, round vec.ID, n int) {
	vec.Of(round)(d, master, nil, nil, n)
	vec.Of(vec.Eq)(bools, d, param, nil, n)
	vec.Of(vec.Where)(d, bools, master, param, n)
}
