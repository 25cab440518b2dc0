// Package embed turns texts into vectors that lie close together when the texts mean something alike.
//
// [Load] reads a folder as sentence-transformers, transformers and model2vec write it: an encoder (BERT, of
// which MiniLM, BGE, E5 and GTE are weights; RoBERTa and XLM-R; MPNet; DistilBERT; ModernBERT; Nomic BERT),
// the decoder of a language model (Qwen3-Embedding, EmbeddingGemma), or a table of a vector for each token.
// [New] makes an encoder with random weights, and [NewTable] such a table. Parameters carry the names of the
// checkpoints, so that adapters fit them.
//
//	m := embed.Load(ctx, "all-MiniLM-L6-v2")
//	docs := m.Encode(ctx, texts...)                     // f32 [texts width]
//	q := m.EncodeAs(ctx, "query", "how long is a day?") // with the prompt of that name
//	m.Similarity(q, docs).TopK(3)
//
// [LoadReranker] reads models that compare a query with each document, word by word.
//
// Reading order: embed.go, encode.go; config.go, encoder.go, decoder.go, table.go, pool.go; folder.go,
// save.go; contrast.go; rerank.go.
package embed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/tokenizer"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Body turns tokens into a vector for each of them: an [Encoder], a [Decoder] or a [Table].
type Body interface {
	nn.Module
	// Vectors maps tokens, integers [B T], to [B T width]. Seen is a bool [B T] that is false for padding;
	// the zero Tensor: there is none.
	Vectors(ids, seen tensor.Tensor) tensor.Tensor
	// Width is the length of a vector.
	Width() int
	// Vocab is the number of tokens.
	Vocab() int
}

// A Model turns texts into vectors: tokens, a vector for each, one of them all, and what follows.
type Model struct {
	Body      Body
	Pooling   []Pooling // one, or several whose vectors are put side by side
	Dense     []*Dense  // layers after the pooling, mostly none
	Dims      int       // how many numbers of a vector are kept, the first ones (matryoshka); 0: all
	Normalize bool      // vectors have length 1, after that
	MaxTokens int       // longer texts are cut, special tokens included; 0: as many as the body takes

	// Prompts are what texts begin with by what they are: {"query": "query: ", "passage": "passage: "}.
	Prompts map[string]string
	Prompt  string // the name of the prompt of texts of which nothing is said; empty: none

	Dot       bool                 // Similarity is the product of vectors, not the cosine of their angle
	Tokenizer *tokenizer.Tokenizer // nil: tokens are bytes
	Plain     bool                 // texts get no special tokens
	Without   []int                // tokens that are left out
	Lower     bool                 // texts are taken in lower case

	files      map[string][]byte // what Load found beside the weights, by path
	stored     []string          // the names of the body's weights that it has read
	bodyPath   string            // the folders of the weights within that of the model
	densePaths []string
}

// To moves the model to a device: see nn.To.
func (m *Model) To(d device.Device) { nn.To(m, d) }

// Forward maps tokens, integers [B T], to a vector for each text, [B width]. Where a text has ended the token
// is −1. Gradients reach the weights.
func (m *Model) Forward(ids tensor.Tensor) tensor.Tensor {
	seen := ids.Ge(0)
	ids = ids.Maximum(0)
	x := pool(m.Pooling, m.Body.Vectors(ids, seen), seen)
	for _, d := range m.Dense {
		x = d.Forward(x)
	}
	if n := m.Width(); n < x.Len(-1) {
		x = x.Slice(-1, 0, n)
	}
	if m.Normalize {
		x = normal(x)
	}
	return x
}

// Width is the length of a text's vector.
func (m *Model) Width() int {
	width := m.Body.Width() * max(1, len(m.Pooling))
	if n := len(m.Dense); n > 0 {
		width = m.Dense[n-1].Out()
	}
	if m.Dims > 0 && m.Dims < width {
		return m.Dims
	}
	return width
}

// Similarity compares each row of a [n width] with each row of b [m width], [n m]: by the cosine of their
// angle, or by their product where the model says so.
func (m *Model) Similarity(a, b tensor.Tensor) tensor.Tensor {
	if !m.Dot {
		a, b = normal(a), normal(b)
	}
	return a.MatMul(b.Transpose())
}

// normal makes rows as long as 1. Those of length 0 stay so.
func normal(x tensor.Tensor) tensor.Tensor {
	return x.Div(x.Square().Sum(-1).Sqrt().Maximum(1e-12).Unsqueeze(-1))
}

// Members lists the body and the layers after the pooling.
func (m *Model) Members() []nn.Member {
	list := m.Body.Members()
	for i, d := range m.Dense {
		list = append(list, nn.Member{Name: fmt.Sprintf("%d_Dense", i+2), Part: d})
	}
	return list
}

// String says what the model is.
func (m *Model) String() string {
	var how []string
	for _, p := range m.Pooling {
		how = append(how, string(p))
	}
	if m.Normalize {
		how = append(how, "length 1")
	}
	if len(m.Prompts) > 0 {
		how = append(how, "prompts "+strings.Join(slices.Sorted(maps.Keys(m.Prompts)), ", "))
	}
	parameters, bytes := nn.Size(m)
	return fmt.Sprintf("%v: width %d, vocabulary %d, %s · %d parameters, %s",
		m.Body, m.Width(), m.Body.Vocab(), strings.Join(how, ", "), parameters, units.Bytes(int64(bytes)))
}
