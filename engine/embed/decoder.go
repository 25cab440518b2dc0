package embed

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Decoder is a language model as a body (Qwen3-Embedding, EmbeddingGemma): the vectors that its output
// matrix would get. Its layers have the names of a folder without one: "layers.0.self_attn.q_proj".
type Decoder struct{ Model *llm.Model }

// readDecoder reads the decoder of a folder.
func readDecoder(ctx context.Context, dir string) (*Decoder, error) {
	m, err := llm.LoadBody(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Decoder{m}, nil
}

// Vectors maps tokens, integers [B T], to [B T width]: see [llm.Model.Vectors].
func (d *Decoder) Vectors(ids, seen tensor.Tensor) tensor.Tensor { return d.Model.Vectors(ids, seen) }

// Width is the length of a token's vector.
func (d *Decoder) Width() int { return d.Model.Config.Width }

// Vocab is the number of tokens.
func (d *Decoder) Vocab() int { return d.Model.Config.Vocab }

// Room is the number of tokens of the longest text; 0: the folder does not say.
func (d *Decoder) Room() int { return d.Model.Config.Context }

// Members lists those of the model, without its output matrix.
func (d *Decoder) Members() []nn.Member {
	var list []nn.Member
	for _, m := range d.Model.Members() {
		if _, name, ok := strings.Cut(m.Name, "."); ok {
			m.Name = name
			list = append(list, m)
		}
	}
	return list
}

// String says the family and the lengths.
func (d *Decoder) String() string {
	c := d.Model.Config
	return fmt.Sprintf("%s decoder: %d layers × %d, %d heads, texts of %d tokens", c.Family, c.Layers, c.Width, c.Heads, c.Context)
}
