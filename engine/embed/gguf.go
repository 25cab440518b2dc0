package embed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// pooled are the poolings of GGUF files, by their numbers (llama.cpp's llama_pooling_type).
var pooled = map[uint32]Pooling{1: Mean, 2: First, 3: Last}

// gguf reads the decoder of a GGUF file, whose vectors have length 1, as llama.cpp's.
func (l *loader) gguf() (*Model, error) {
	f, err := gguf.Open(l.dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	said, err := f.Metadata()
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%v.pooling_type", said["general.architecture"])
	number, _ := said[key].(uint32)
	pooling, ok := pooled[number]
	if !ok {
		return nil, fmt.Errorf("%s: %s: got %v, want 1 (mean), 2 (cls) or 3 (last): the file has no vectors of texts", l.dir, key, said[key])
	}
	for _, t := range f.Tensors() {
		if strings.HasPrefix(t.Name, "dense_") {
			return nil, fmt.Errorf("%s: tensor %q: dense layers behind the pooling are not read of a GGUF file", l.dir, t.Name)
		}
	}
	d, err := readDecoder(l.ctx, l.dir)
	if err != nil {
		return nil, err
	}
	l.m.Body, l.m.Tokenizer, l.m.Pooling, l.m.Normalize = d, d.Model.Tokenizer, []Pooling{pooling}, true
	nn.SetNames(&l.m)
	return &l.m, nil
}

// SaveGGUF writes the decoder of a model as a GGUF file, as [llm.SaveGGUF] does, which says how it pools: by
// the mean, the first vector or the last one. Readers make vectors of length 1, so another model is an error,
// as is one with dense layers. Prompts are not written.
func SaveGGUF(path string, m *Model, o llm.GGUF) error {
	d, ok := m.Body.(*Decoder)
	for number, p := range pooled {
		if ok && m.Normalize && len(m.Dense) == 0 && slices.Equal(m.Pooling, []Pooling{p}) {
			o.Says = map[string]any{"pooling_type": number}
			return llm.SaveGGUF(path, d.Model, o)
		}
	}
	return fmt.Errorf("embed: got %v, want a decoder with vectors of length 1, pooled by mean, cls or lasttoken, without dense layers", m)
}
