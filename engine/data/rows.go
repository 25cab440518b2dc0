package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Rows hand out sequences in batches: each batch has rows of one length, i64 [batch length]. Targets that do
// not count, and padding, are Ignored. Make them with Sequences.Padded or Sequences.Packed. In one epoch
// every sequence comes once, in an order that Seed and the epoch draw; the last batch of an epoch may have
// fewer rows.
type Rows struct {
	Seed uint64 // of the order; set it before the first batch is taken
	// Round is a number of which lengths are multiples, as each new length is planned anew; set it before the
	// first batch is taken. 0: 8, and about an eighth of the length of longer rows: 16 above 128, 32 above
	// 256, and so on.
	Round int

	of     *Sequences
	batch  int
	packed int     // length of the rows; 0: a row is one sequence
	rows   [][]int // the examples of each row
	most   int     // inputs of the longest sequence, beyond which a prompt with another answer is cut

	mu    sync.Mutex
	epoch int
	plan  [][]int // the rows of each batch of that epoch; nil before the first
}

// bucket is how many batches are sorted by length together.
const bucket = 50

// Padded gives out a sequence in each row, batch at a time. Rows of a batch are about equally long: each
// epoch is cut into windows of 50 batches, these are sorted by length, and the batches come in random order.
// Of preferences batch is the number of pairs; a batch has the chosen ones in its first half, and the
// rejected ones in the same order in the second. Of unpaired ones batch is the number of answers; they are
// the first half, in whose targets those not wanted have Unwanted added, and the second half has each prompt
// with the answer to another one, from which a loss can tell how far the model has moved in all.
func (s *Sequences) Padded(batch int) *Rows {
	if batch < 1 {
		s.fail("data.Padded", "got batch %d, want at least 1", batch)
	}
	rows := make([][]int, len(s.list))
	for i := range rows {
		rows[i] = []int{i}
	}
	return &Rows{of: s, batch: batch, rows: rows, most: s.longest()}
}

// Packed fills rows of so many tokens with several sequences each, one after the other, batch rows at a time;
// Batch.Starts tells them apart, for models that can learn from such rows (llm.Model can). Long sequences are
// placed first, each into the fullest row that has room. Length 0 is that of the longest sequence. A shorter
// one, and preferences, panic with a *tensor.Error.
func (s *Sequences) Packed(batch, length int) *Rows {
	longest := s.longest()
	length = cmp.Or(length, longest)
	switch {
	case batch < 1:
		s.fail("data.Packed", "got batch %d, want at least 1", batch)
	case s.halves() == 2:
		s.fail("data.Packed", "got %s records, want sequences: use Padded", s.Kind)
	case length < longest:
		s.fail("data.Packed", "got rows of %d, but a sequence has %d inputs: set Tokens.Length", length, longest)
	}
	return &Rows{of: s, batch: batch, packed: length, rows: s.pack(length)}
}

// pack puts the examples into rows of so many inputs.
func (s *Sequences) pack(length int) (rows [][]int) {
	order := ir.Indices(len(s.list))
	slices.SortStableFunc(order, func(a, b int) int { return s.inputs(b) - s.inputs(a) })
	withRoom := make([][]int, length+1) // rows by the room that they have
	some := make([]uint64, length/64+1) // a bit for each room that some row has
	for _, i := range order {
		n := s.inputs(i)
		room := firstSet(some, n)
		row := len(rows)
		if room < 0 {
			room, rows = length, append(rows, nil)
		} else {
			list := withRoom[room]
			row = list[len(list)-1]
			if withRoom[room] = list[:len(list)-1]; len(list) == 1 {
				some[room/64] &^= 1 << (room % 64)
			}
		}
		rows[row] = append(rows[row], i)
		room -= n
		withRoom[room] = append(withRoom[room], row)
		some[room/64] |= 1 << (room % 64)
	}
	return rows
}

// firstSet is the first bit from n on that is set, or −1.
func firstSet(set []uint64, n int) int {
	for w := n / 64; w < len(set); w++ {
		word := set[w]
		if w == n/64 {
			word &= ^uint64(0) << (n % 64)
		}
		if word != 0 {
			return 64*w + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// Len is the number of batches of an epoch.
func (r *Rows) Len() int { return (len(r.rows) + r.batch - 1) / r.batch }

// Batch returns batch n, counted from 0.
func (r *Rows) Batch(n int) (Batch, error) {
	if n < 0 {
		return Batch{}, fmt.Errorf("data: got batch number %d, want at least 0", n)
	}
	if r.Round < 0 {
		return Batch{}, fmt.Errorf("data: got Round %d, want at least 0", r.Round)
	}
	return r.fill(r.planned(n / r.Len())[n%r.Len()]), nil
}

// planned are the batches of an epoch.
func (r *Rows) planned(epoch int) [][]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plan == nil || r.epoch != epoch {
		r.epoch, r.plan = epoch, r.draw(epoch)
	}
	return r.plan
}

// draw cuts an epoch into batches. They depend on the seed and the epoch only.
func (r *Rows) draw(epoch int) [][]int {
	random := rand.New(rand.NewPCG(r.Seed, uint64(epoch)))
	order := random.Perm(len(r.rows))
	if r.packed == 0 {
		for window := range slices.Chunk(order, bucket*r.batch) {
			slices.SortStableFunc(window, func(a, b int) int { return r.length(a) - r.length(b) })
		}
	}
	plan := slices.Collect(slices.Chunk(order, r.batch))
	random.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	return plan
}

// length is that of a row that is one example.
func (r *Rows) length(row int) int { return r.of.inputs(r.rows[row][0]) }

// sequence is that of an example in a half of a batch of rows, where it is of row i.
func (r *Rows) sequence(batch []int, i, example, half int) []int32 {
	if half == 0 || r.of.Kind != UnpairedKind {
		return r.of.store.at(r.of.list[example] + half)
	}
	other := (batch[(i+len(batch)-1)%len(batch)] + 1/len(batch)) % len(r.rows) // a batch of one takes another of the data
	split := func(example int) (ids []int32, answer int) {
		ids = r.of.store.at(r.of.list[example])
		return ids, slices.IndexFunc(ids, func(id int32) bool { return id >= 0 })
	}
	prompt, n := split(example)
	answer, m := split(r.rows[other][0])
	ids := slices.Concat(prompt[:n], answer[m:])
	return ids[:min(len(ids), r.most+1)]
}

// width is the length of a batch's rows.
func (r *Rows) width(batch []int) (n int) {
	if r.packed > 0 {
		return r.packed
	}
	for i, row := range batch {
		n = max(n, r.length(row))
		if r.of.Kind == UnpairedKind {
			n = max(n, len(r.sequence(batch, i, r.rows[row][0], 1))-1)
		}
	}
	round := cmp.Or(r.Round, max(8, 1<<bits.Len(uint(n-1))/16))
	return (n + round - 1) / round * round
}

// fill makes a batch of rows.
func (r *Rows) fill(batch []int) Batch {
	width, halves := r.width(batch), r.of.halves()
	inputs, targets := make([]int64, len(batch)*halves*width), make([]int64, len(batch)*halves*width)
	for i := range targets {
		targets[i] = Ignored
	}
	var starts []int64
	if r.packed > 0 {
		starts = make([]int64, len(inputs))
	}
	for i, row := range batch {
		for half := range halves {
			at := (half*len(batch) + i) * width
			list := make([][]int32, len(r.rows[row]))
			for k, example := range r.rows[row] {
				list[k] = r.sequence(batch, i, example, half)
			}
			fillRow(list, inputs[at:at+width], targets[at:at+width], starts[min(at, len(starts)):])
		}
	}
	shape := []int{len(batch) * halves, width}
	b := Batch{Inputs: tensor.From(inputs, shape...), Targets: tensor.From(targets, shape...)}
	if starts != nil {
		b.Starts = tensor.From(starts, shape...)
	}
	counted := 0
	for _, id := range targets {
		if id != Ignored {
			counted++
		}
	}
	return b.tallied(counted)
}

// fillRow writes a row's sequences one after the other. Starts is empty where a row has one only. What is
// left is a document of its own.
func fillRow(sequences [][]int32, inputs, targets, starts []int64) {
	at := 0
	for _, ids := range sequences {
		for i, id := range ids[:len(ids)-1] {
			inputs[at+i] = int64(tokenOf(id))
			if next := ids[i+1]; next >= 0 {
				targets[at+i] = int64(next)
			}
			if len(starts) > 0 {
				starts[at+i] = int64(at)
			}
		}
		at += len(ids) - 1
	}
	if len(starts) > 0 {
		for i := at; i < len(inputs); i++ {
			starts[i] = int64(at)
		}
	}
}

// Waste is the share of the places of an epoch's rows that are padding.
func (r *Rows) Waste() float64 {
	places, tokens := 0, 0
	for _, batch := range r.planned(0) {
		places += len(batch) * r.of.halves() * r.width(batch)
		for i, row := range batch {
			for _, e := range r.rows[row] {
				for half := range r.of.halves() {
					tokens += len(r.sequence(batch, i, e, half)) - 1
				}
			}
		}
	}
	return 1 - float64(tokens)/float64(max(1, places))
}

// Fingerprint is made of the sequences, the cut and the seed.
func (r *Rows) Fingerprint() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "rows %d %d %d %d of %s", r.batch, r.packed, r.Seed, r.Round, r.of.Fingerprint()))
	return hex.EncodeToString(sum[:16])
}

// String says what there is.
func (r *Rows) String() string {
	how := "padded"
	if r.packed > 0 {
		how = fmt.Sprintf("packed into %s of %d", units.Plural(int64(len(r.rows)), "row"), r.packed)
	}
	return fmt.Sprintf("%s, %s, %d a batch, %.1f %% padding", r.of, how, r.batch, 100*r.Waste())
}
