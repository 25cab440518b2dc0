package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Examples are inputs with their targets, in random order. Make them with Pairs, or of pictures with
// Images.Folder.
type Examples struct {
	Seed    uint64   // of the order; set it before the first batch is taken
	Classes []string // what the targets stand for, if they are classes with names

	rows  rows
	batch int

	order order
	mu    sync.Mutex
	print string
}

// rows are where examples come from.
type rows interface {
	len() int
	take(list []int) (Batch, error)
	part(list []int) rows
	hash(w io.Writer) // of all that they are
	String() string   // of one of them: "inputs f32[1], targets i64[]"
}

// Pairs gives out the rows of inputs [n …] and of targets [n …], batch at a time. In one epoch every row
// comes once; a batch of more rows than there are has them more than once. It evaluates both, and panics with
// a *tensor.Error if their numbers of rows differ, or if there is nothing.
func Pairs(inputs, targets tensor.Tensor, batch int) *Examples {
	fail := func(format string, args ...any) {
		panic(&tensor.Error{Op: "data.Pairs", Msg: fmt.Sprintf(format, args...)})
	}
	switch {
	case inputs.Rank() == 0 || targets.Rank() == 0 || inputs.Len(0) != targets.Len(0):
		fail("got inputs %v%v and targets %v%v, want the same number of rows",
			inputs.DType(), inputs.Shape(), targets.DType(), targets.Shape())
	case inputs.Len(0) == 0:
		fail("got no rows, want at least 1")
	case batch < 1:
		fail("got batch %d, want at least 1", batch)
	}
	tensor.Eval(inputs, targets)
	return &Examples{rows: pairs{inputs.Detach(), targets.Detach()}, batch: batch}
}

// Len is the number of examples.
func (e *Examples) Len() int { return e.rows.len() }

// Batch returns batch n, counted from 0. At the end of an epoch a batch takes the examples that are left and
// the first ones of the next epoch.
func (e *Examples) Batch(n int) (Batch, error) {
	if n < 0 {
		return Batch{}, fmt.Errorf("data: got batch number %d, want at least 0", n)
	}
	return e.rows.take(e.order.take(n, e.batch, e.Len(), e.shuffle))
}

// shuffle draws an epoch's order. It depends on the seed and the epoch only.
func (e *Examples) shuffle(epoch int) []int {
	return rand.New(rand.NewPCG(e.Seed, uint64(epoch))).Perm(e.Len())
}

// Split cuts the examples in two: share (0.9) of them, drawn by the seed, and the rest. Both get at least one
// example. A share that is not from 0 to 1, and fewer than two examples, panic with a *tensor.Error.
func (e *Examples) Split(share float64) (first, rest *Examples) {
	if !(share >= 0 && share <= 1) || e.Len() < 2 {
		panic(&tensor.Error{Op: "data.Split", Msg: fmt.Sprintf("got share %v of %d examples, want 0 to 1 of at least 2", share, e.Len())})
	}
	order := e.shuffle(-1) // no epoch has this order
	n := min(max(int(math.Round(share*float64(len(order)))), 1), len(order)-1)
	part := func(list []int) *Examples {
		return &Examples{Seed: e.Seed, Classes: e.Classes, rows: e.rows.part(list), batch: e.batch}
	}
	return part(order[:n]), part(order[n:])
}

// Fingerprint is made of the examples, the batch and the seed.
func (e *Examples) Fingerprint() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.print == "" {
		hash := sha256.New()
		fmt.Fprintf(hash, "pairs %d %d", e.batch, e.Seed)
		e.rows.hash(hash)
		e.print = hex.EncodeToString(hash.Sum(nil)[:16])
	}
	return e.print
}

// String says what there is.
func (e *Examples) String() string {
	text := fmt.Sprintf("%s, %s, %s", units.Plural(int64(e.Len()), "example"), e.rows, aBatch(e.batch, e.Len()))
	if e.Classes != nil {
		text += fmt.Sprintf(", %d classes", len(e.Classes))
	}
	return text
}

// pairs are the rows of two tensors.
type pairs struct{ inputs, targets tensor.Tensor }

func (p pairs) len() int { return p.inputs.Len(0) }

func (p pairs) take(list []int) (b Batch, err error) {
	err = tensor.Try(func() {
		b = p.pick(list)
		tensor.Eval(b.Inputs, b.Targets)
	})
	return b, err
}

func (p pairs) pick(list []int) Batch {
	index := tensor.From(list, len(list)).To(p.inputs.Device())
	return Batch{Inputs: p.inputs.Take(index, 0), Targets: p.targets.Take(index.To(p.targets.Device()), 0)}
}

func (p pairs) part(list []int) rows {
	b := p.pick(list)
	tensor.Eval(b.Inputs, b.Targets)
	return pairs{b.Inputs.Detach(), b.Targets.Detach()}
}

func (p pairs) hash(w io.Writer) {
	for _, t := range []tensor.Tensor{p.inputs, p.targets} {
		fmt.Fprintf(w, "\n%v%v\n", t.DType(), t.Shape())
		w.Write(t.Bytes())
	}
}

func (p pairs) String() string {
	return fmt.Sprintf("inputs %v%v, targets %v%v", p.inputs.DType(), p.inputs.Shape()[1:], p.targets.DType(), p.targets.Shape()[1:])
}
