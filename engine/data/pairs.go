package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Examples are inputs with their targets, in random order. Make them with Pairs.
type Examples struct {
	Seed uint64 // of the order; set it before the first batch is taken

	inputs, targets tensor.Tensor
	batch           int

	order order
	mu    sync.Mutex
	print string
}

// Pairs gives out the rows of inputs [n …] and of targets [n …], batch at a time. In one epoch every row
// comes once. It evaluates both, and panics with a *tensor.Error if their numbers of rows differ, or if there
// is nothing.
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
	return &Examples{inputs: inputs.Detach(), targets: targets.Detach(), batch: batch}
}

// Len is the number of examples.
func (e *Examples) Len() int { return e.inputs.Len(0) }

// Batch returns batch n, counted from 0. At the end of an epoch a batch takes the examples that are left and
// the first ones of the next epoch.
func (e *Examples) Batch(n int) (Batch, error) {
	if n < 0 {
		return Batch{}, fmt.Errorf("data: pairs: got batch number %d, want at least 0", n)
	}
	var b Batch
	err := tensor.Try(func() {
		b = e.rows(e.order.take(n, e.batch, e.Len(), e.shuffle))
		tensor.Eval(b.Inputs, b.Targets)
	})
	return b, err
}

func (e *Examples) rows(list []int) Batch {
	index := tensor.From(list, len(list)).To(e.inputs.Device())
	return Batch{Inputs: e.inputs.Take(index, 0), Targets: e.targets.Take(index.To(e.targets.Device()), 0)}
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
		b := e.rows(list)
		p := Pairs(b.Inputs, b.Targets, e.batch)
		p.Seed = e.Seed
		return p
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
		for _, t := range []tensor.Tensor{e.inputs, e.targets} {
			fmt.Fprintf(hash, "\n%v%v\n", t.DType(), t.Shape())
			hash.Write(t.Bytes())
		}
		e.print = hex.EncodeToString(hash.Sum(nil)[:16])
	}
	return e.print
}

// String says what there is.
func (e *Examples) String() string {
	return fmt.Sprintf("%d examples, inputs %v%v, targets %v%v, %d a batch", e.Len(),
		e.inputs.DType(), e.inputs.Shape()[1:], e.targets.DType(), e.targets.Shape()[1:], e.batch)
}
