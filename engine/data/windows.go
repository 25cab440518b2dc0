package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Batch is what one step learns from. In text each target is the token that follows its input, and both are
// i64 [batch length]; data of other kinds has the shapes and dtypes that its model wants, with an example in
// each row.
type Batch struct {
	Inputs, Targets tensor.Tensor
	// Starts is there where several documents share a row: i64 [batch length], the place in the row at which
	// a token's document begins. A token sees its own document only, and its position counts from there.
	Starts tensor.Tensor

	known tally
}

// A tally is how many of some targets count, as the maker of a batch knows: to read them again from a device
// would wait for it.
type tally struct {
	targets *ir.Node // what the tensor held: others can be put in its place, or into it
	counted int
}

// Ignored is a target that does not count, as in PyTorch: padding, or part of a prompt.
const Ignored = -100

// Tokens is the number of targets that are tokens; 0 for data that has none, where inputs or targets are no
// integers, or a target (an image's class) is not that of one input.
func (b Batch) Tokens() int {
	if !b.Inputs.DType().Int() || !b.Targets.DType().Int() || !slices.Equal(b.Inputs.Shape(), b.Targets.Shape()) {
		return 0
	}
	return b.Targets.Size()
}

// Counted is the number of targets over which a loss is the mean: of tokens those that are not Ignored, of
// other data the examples.
func (b Batch) Counted() int {
	switch {
	case b.Tokens() == 0:
		return b.Examples()
	case b.known.targets == access.Node(b.Targets, "data.Batch"):
		return b.known.counted
	}
	n := 0
	for _, id := range b.Targets.Ints() {
		if id != Ignored {
			n++
		}
	}
	return n
}

// tallied is the batch, of whose targets so many count.
func (b Batch) tallied(counted int) Batch {
	b.known = tally{access.Node(b.Targets, "data.Batch"), counted}
	return b
}

// Examples is the number of rows of the inputs.
func (b Batch) Examples() int {
	if b.Inputs.Rank() == 0 {
		return 1
	}
	return b.Inputs.Len(0)
}

// A Source gives batches by number. The same number gives the same batch, in any process.
type Source interface {
	Batch(n int) (Batch, error)
	// Fingerprint names the data and how it is cut, so that a run that goes on can tell whether it goes on
	// with the same.
	Fingerprint() string
}

// Batches are windows of a text in random order. Make them with Windows.
type Batches struct {
	Seed uint64 // of the order; set it before the first batch is taken

	text          string
	length, batch int

	order order
	mu    sync.Mutex
	print string
}

// Windows cuts text into windows of length tokens (bytes) and gives them out batch at a time. In one epoch
// every window comes once; the next epoch cuts at other places. A batch of more windows than there are takes
// from several epochs. Batch returns an error for lengths below 1
// and for a text that is too short.
func Windows(text string, length, batch int) *Batches {
	return &Batches{text: text, length: length, batch: batch}
}

// Len is the number of windows of an epoch.
func (b *Batches) Len() int {
	if b.length < 1 || len(b.text) <= b.length {
		return 0
	}
	return max(1, (len(b.text)-b.length)/b.length)
}

// Batch returns batch n, counted from 0. At the end of an epoch a batch takes the windows that are left and
// the first ones of the next epoch.
func (b *Batches) Batch(n int) (Batch, error) {
	if n < 0 || b.length < 1 || b.batch < 1 {
		return Batch{}, fmt.Errorf("data: windows: got length %d, batch %d, number %d, want positive ones", b.length, b.batch, n)
	}
	if b.Len() == 0 {
		return Batch{}, fmt.Errorf("data: windows: the text has %d tokens, want more than the window's %d", len(b.text), b.length)
	}
	inputs := make([]int64, 0, b.batch*b.length)
	targets := make([]int64, 0, b.batch*b.length)
	for _, start := range b.starts(n) {
		for i := start; i < start+b.length; i++ {
			inputs = append(inputs, int64(b.text[i]))
			targets = append(targets, int64(b.text[i+1]))
		}
	}
	return Batch{Inputs: tensor.From(inputs, b.batch, b.length), Targets: tensor.From(targets, b.batch, b.length)}.tallied(len(targets)), nil
}

// starts returns where the windows of batch n begin.
func (b *Batches) starts(n int) []int { return b.order.take(n, b.batch, b.Len(), b.shuffle) }

// shuffle draws an epoch's cut and order. They depend on the seed and the epoch only.
func (b *Batches) shuffle(epoch int) []int {
	random := rand.New(rand.NewPCG(b.Seed, uint64(epoch)))
	n := b.Len()
	first := random.IntN(min(b.length, len(b.text)-b.length*n))
	starts := random.Perm(n)
	for i := range starts {
		starts[i] = first + starts[i]*b.length
	}
	return starts
}

// Fingerprint is made of the text, the cut and the seed.
func (b *Batches) Fingerprint() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.print == "" {
		hash := sha256.New()
		fmt.Fprintf(hash, "bytes %d %d %d\n%s", b.length, b.batch, b.Seed, b.text)
		b.print = hex.EncodeToString(hash.Sum(nil)[:16])
	}
	return b.print
}

// String says what there is.
func (b *Batches) String() string {
	return fmt.Sprintf("%d tokens, %d windows of %d, %s", len(b.text), b.Len(), b.length, aBatch(b.batch, b.Len()))
}
