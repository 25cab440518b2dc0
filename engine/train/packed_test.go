package train

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A fixedSource has its batches, over and over.
type fixedSource []data.Batch

func (f fixedSource) Batch(n int) (data.Batch, error) { return f[n%len(f)], nil }
func (f fixedSource) Fingerprint() string             { return "fixed" }

// rowOf puts documents one after the other into a row of so many tokens. The targets of the first masked
// tokens of a document do not count.
func rowOf(length, masked int, documents ...[]int) data.Batch {
	inputs, targets, starts := make([]int, length), make([]int, length), make([]int, length)
	at := 0
	for _, d := range documents {
		for i := range d[1:] {
			inputs[at+i], targets[at+i], starts[at+i] = d[i], d[i+1], at
			if i < masked {
				targets[at+i] = data.Ignored
			}
		}
		at += len(d) - 1
	}
	for i := at; i < length; i++ {
		targets[i], starts[i] = data.Ignored, at
	}
	return data.Batch{Inputs: tensor.From(inputs, 1, length), Targets: tensor.From(targets, 1, length), Starts: tensor.From(starts, 1, length)}
}

func documents(lengths ...int) (list [][]int) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range lengths {
		d := make([]int, n)
		for i := range d {
			d[i] = r.IntN(256)
		}
		list = append(list, d)
	}
	return list
}

// Documents in one row teach what they teach in rows of their own: the loss, weighed by tokens, and so the
// step.
func TestPackedIsUnpacked(t *testing.T) {
	for _, c := range []struct {
		name   string
		config llm.Config
	}{
		{"all keys", llm.Config{Vocab: 256, Layers: 2, Width: 32, Heads: 4, KVHeads: 2, Hidden: 48, Seed: 1}},
		{"windows", llm.Config{Vocab: 256, Layers: 2, Width: 32, Heads: 4, Hidden: 48, Window: 5, Local: []bool{true, false}, Seed: 1}},
		{"in bf16", llm.Config{Vocab: 256, Layers: 2, Width: 32, Heads: 4, Hidden: 48, Compute: dtype.BF16, Seed: 1}},
		{"checkpointed", llm.Config{Vocab: 256, Layers: 2, Width: 32, Heads: 4, Hidden: 48, Checkpoint: true, Seed: 1}},
	} {
		docs := documents(9, 14, 5, 21)
		packed := rowOf(48, 2, docs...)
		var alone []data.Batch
		for _, d := range docs {
			b := rowOf(len(d)+2, 2, d)
			alone = append(alone, data.Batch{Inputs: b.Inputs, Targets: b.Targets}) // padding behind it
		}
		run := func(source fixedSource, accumulate int) (*History, *llm.Model) {
			m := llm.New(c.config)
			h, err := Run(context.Background(), m, source, Options{Steps: 3, LR: optim.Constant(0.1), Optimizer: optim.SGD{}, Accumulate: accumulate})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			return h, m
		}
		within := 1e-6
		if c.config.Compute != dtype.Invalid {
			within = 2e-3
		}
		h, m := run(fixedSource{packed}, 1)
		want, wantModel := run(alone, len(alone))
		for i := range want.Loss {
			if math.Abs(h.Loss[i]/want.Loss[i]-1) > within {
				t.Errorf("%s: step %d: packed loss %.9g, want %.9g of single documents", c.name, i+1, h.Loss[i], want.Loss[i])
			}
		}
		for i, p := range nn.Params(m) {
			if off := tensor.MaxAbsDiff(p.Value(), nn.Params(wantModel)[i].Value()); off > within {
				t.Errorf("%s: %s: differs by %g", c.name, p.Name, off)
			}
		}
		if got, err := Evaluate(context.Background(), wantModel, fixedSource(alone), len(alone)); err != nil {
			t.Error(err)
		} else if whole, err := Evaluate(context.Background(), wantModel, fixedSource{packed}, 1); err != nil || math.Abs(whole/got-1) > within {
			t.Errorf("%s: evaluated packed %.9g, error %v, want %.9g", c.name, whole, err, got)
		}
	}
}

// What is in one document does not reach another one, bit by bit.
func TestPackedDocumentsAreApart(t *testing.T) {
	m := llm.New(llm.Config{Vocab: 256, Layers: 2, Width: 32, Heads: 4, Hidden: 48, Seed: 1})
	docs := documents(9, 14, 5)
	b := rowOf(32, 0, docs...)
	b.Targets = tensor.Where(b.Starts.Eq(8), b.Targets, tensor.FullLike(b.Targets, data.Ignored)) // the second one only
	before := m.PackedLoss(b.Inputs, b.Targets, b.Starts).Item()
	for _, other := range []int{0, 2} {
		changed := slices.Clone(docs)
		changed[other] = documents(40)[0][:len(docs[other])]
		c := rowOf(32, 0, changed...)
		if after := m.PackedLoss(c.Inputs, b.Targets, b.Starts).Item(); after != before {
			t.Errorf("document %d changed the loss of the second: %v, want %v", other, after, before)
		}
	}
}

// Batches of a step weigh as many targets as count in them, compiled or not; parts of equal weight are what
// they were.
func TestAccumulationWeighsTokens(t *testing.T) {
	docs := documents(30, 6)
	source := fixedSource{rowOf(32, 0, docs[0]), rowOf(32, 3, docs[1])}
	for i := range source {
		source[i].Starts = tensor.Tensor{}
	}
	m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 48, Seed: 1})
	want := (29*m.Loss(source[0].Inputs, source[0].Targets).Item() + 2*m.Loss(source[1].Inputs, source[1].Targets).Item()) / 31
	for _, compile := range []bool{false, true} {
		m := llm.New(m.Config)
		h, err := Run(context.Background(), m, source, Options{Steps: 4, LR: optim.Constant(1e-6), Accumulate: 2, Compile: compile})
		if err != nil || math.Abs(h.Loss[0]/want-1) > 1e-6 {
			t.Errorf("compile %v: got loss %v, error %v, want %v", compile, h.Loss, err, want)
		}
	}
}

func TestPackedRefused(t *testing.T) {
	packed := rowOf(8, 0, documents(5)[0])
	plain, none := packed, packed
	plain.Starts = tensor.Tensor{}
	none.Targets = tensor.FullLike(none.Targets, data.Ignored)
	m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 48, Seed: 1})
	layer := WithLoss(nn.Sequential{nn.NewEmbedding(tensor.NewRNG(1), 256, 8, 1), nn.NewLinear(8, 256)}, nn.CrossEntropyLoss)
	for _, c := range []struct {
		model      Model
		source     fixedSource
		accumulate int
		want       string
	}{
		{layer, fixedSource{packed}, 1, "packs several documents into a row, and train.withLoss has no method PackedLoss"},
		{m, fixedSource{packed, plain}, 2, "another one of the same step has not"},
		{m, fixedSource{packed, none}, 2, "a batch has no target that counts"},
	} {
		_, err := Run(context.Background(), c.model, c.source, Options{Steps: 1, LR: optim.Constant(1), Accumulate: c.accumulate})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if _, err := Evaluate(context.Background(), m, fixedSource{none}, 2); err == nil || !strings.Contains(err.Error(), "no target counts in 2 batches") {
		t.Errorf("got %v", err)
	}
}
