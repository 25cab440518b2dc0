package embed

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Table is a body without layers: a vector for each token, whatever stands beside it.
type Table struct {
	Embedding *nn.Embedding
}

// NewTable makes a model of a table with random vectors, normal with standard deviation 1, which pools by the
// mean and makes vectors of length 1. Texts that share many tokens are near to each other from the beginning.
// Lengths below 1 panic with a *tensor.Error.
func NewTable(vocab, width int, seed uint64) *Model {
	m := &Model{Body: &Table{nn.NewEmbedding(tensor.NewRNG(seed), vocab, width, 1)}, Pooling: []Pooling{Mean}, Normalize: true, Plain: true}
	nn.SetNames(m)
	return m
}

// Vectors maps tokens, integers [B T], to [B T width].
func (t *Table) Vectors(ids, _ tensor.Tensor) tensor.Tensor {
	x := t.Embedding.Forward(ids)
	return x.Cast(dtype.Promote(x.DType(), dtype.F32))
}

// Width is the length of a vector.
func (t *Table) Width() int { return t.Embedding.Weight.Len(1) }

// Vocab is the number of tokens.
func (t *Table) Vocab() int { return t.Embedding.Weight.Len(0) }

// Members lists the table.
func (t *Table) Members() []nn.Member { return []nn.Member{{Name: "embedding", Part: t.Embedding}} }

// String says what it is.
func (t *Table) String() string { return "table of vectors" }
