package tensor

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/few"
)

// Compile returns a function that does what f does without running f's Go code each time: f is run once for
// each combination of shapes and dtypes of its arguments, and what it computes is replayed from then on. That
// saves building the graph, which is most of the time of small models.
//
// The results are evaluated, and without history: gradients are taken inside of f. New in each call are
//
//   - the arguments; a number that changes is one as [Scalar];
//   - all tensors from outside that f reads by a handle, with the values that they have then;
//   - random tensors, with the numbers that the generator would give;
//   - what [Varying] says.
//
// A tensor from outside that f Sets has its new value after the call; an optimizer's Commit is such a Set.
// All else is Go, and happened when f was run: a Go number that f computes with is that of the trace, and
// text that it prints is printed then. So that nothing that changes is frozen in silence, f is run again in
// the 2nd, 3rd, 5th, 9th … call, and the call fails if it now computes something else. To read a tensor
// inside of f is an error; [Callback] gets values after each call.
//
// The function may be called by several goroutines; calls run one after the other. f itself must not start
// goroutines that compute. f may reach tensors by its arguments and by handles only: a parameter behind the
// history of a result from outside is refused.
func Compile(f func(args ...Tensor) []Tensor) func(args ...Tensor) []Tensor {
	c := &compiled{f: f}
	return c.call
}

// Varying is a number that changes: Varying asks f for it now, and a compiled function in each call.
func Varying(f func() float64) Tensor { return wrap(varying(backend.Default(), dtype.F32, f)) }

func varying(dev ir.Device, dt dtype.Type, f func() float64) *ir.Node {
	n := ir.Number(dev, dt, f())
	if tr := tracing(); tr != nil {
		tr.vary(n, func(*invocation) ir.Scalar { return ir.Scalar{F: f()} })
	}
	return n
}

// Callback evaluates tensors and calls f with them. In a compiled function that happens after each call, in
// the order of the Callbacks. f must not keep the tensors: they are freed when it returns.
func Callback(f func(values []Tensor), ts ...Tensor) {
	tr := tracing()
	if tr == nil {
		Eval(ts...)
		f(ts)
		return
	}
	c := callback{f: f}
	for _, t := range ts {
		c.ts = append(c.ts, t.real("callback"))
	}
	tr.after = append(tr.after, c)
}

// compiled is a function with what was traced of it.
type compiled struct {
	f       func(...Tensor) []Tensor
	mu      sync.Mutex
	replays []*replay  // the one that was used last comes last
	now     invocation // of the call under way
}

// maxReplays is how many combinations of arguments are kept.
const maxReplays = 32

func (c *compiled) call(args ...Tensor) []Tensor {
	if tracing() != nil {
		return c.f(args...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := &c.now
	defer few.Clear(now.args)
	now.args = slices.Grow(now.args[:0], len(args))[:len(args)]
	for i, t := range args {
		n := t.real("compile")
		if n.Value() == nil && n.Op != ir.Const {
			t.Eval()
		}
		now.args[i] = n
	}
	p := c.find(now.args)
	switch {
	case p == nil:
		p = newReplay(c.f, now.args)
		c.replays = append(c.replays, p)
		p.bind(now.args)
	case bits.OnesCount(uint(p.calls)) == 1: // 1, 2, 4, … calls were made
		again := newReplay(c.f, now.args)
		if what := p.differs(again); what != "" {
			fail("compile", "got a function that %s in call %d: make what changes an argument, a tensor that it reads, or Varying", what, p.calls+1)
		}
		again.calls = p.calls
		c.replays[len(c.replays)-1], p = again, again
		p.bind(now.args)
	default:
		for i, r := range p.draws {
			if r == nil {
				r = DefaultRNG()
			}
			p.drawn[i] = r.next()
		}
	}
	now.drawn = p.drawn
	results := p.run(now)
	p.calls++
	return results
}

// find returns the replay for these arguments, which is then the last of the list, or nil.
func (c *compiled) find(args []*ir.Node) *replay {
	for i := len(c.replays) - 1; i >= 0; i-- {
		p := c.replays[i]
		if !p.takes(args) {
			continue
		}
		if i < len(c.replays)-1 {
			c.replays = append(slices.Delete(c.replays, i, i+1), p)
		}
		if p.bind(args) {
			return p
		}
		c.replays = c.replays[:len(c.replays)-1] // a tensor from outside lies otherwise in memory than it did
		return nil
	}
	if len(c.replays) == maxReplays {
		c.replays = slices.Delete(c.replays, 0, 1)
	}
	return nil
}
