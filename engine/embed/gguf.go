package embed

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// pooled are the poolings of GGUF files, by their numbers (llama.cpp's llama_pooling_type).
var pooled = map[uint32]Pooling{1: Mean, 2: First, 3: Last}

// dense are the layers after the pooling, as files call them.
var dense = []string{"dense_2", "dense_3"}

// gguf reads the decoder of a GGUF file, whose vectors have length 1, as llama.cpp's.
func (l *loader) gguf() error {
	f, err := gguf.Open(l.dir)
	if err != nil {
		return err
	}
	defer f.Close()
	said, err := f.Metadata()
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%v.pooling_type", said["general.architecture"])
	number, _ := said[key].(uint32)
	pooling, ok := pooled[number]
	if !ok {
		return fmt.Errorf("%s: %s: got %v, want 1 (mean), 2 (cls) or 3 (last): the file has no vectors of texts", l.dir, key, said[key])
	}
	d, err := readDecoder(l.ctx, l.dir)
	if err != nil {
		return err
	}
	l.m.Body, l.m.Tokenizer, l.m.Pooling, l.m.Normalize = d, d.Model.Tokenizer, []Pooling{pooling}, true
	for _, name := range dense {
		info, err := f.Info(name + ".weight")
		if err != nil {
			break
		}
		if len(info.Shape) != 2 || info.Shape[1] != l.m.Width() {
			return fmt.Errorf("%s: tensor %q: got %v, want a matrix whose rows have %d numbers", l.dir, info.Name, info.Shape, l.m.Width())
		}
		w, err := f.Tensor(info.Name)
		if err != nil {
			return err
		}
		l.m.Dense = append(l.m.Dense, &Dense{Layer: &nn.Linear{Weight: w.Transpose().Eval().Param()}, out: info.Shape[0]})
	}
	nn.SetNames(&l.m)
	return nil
}

// SaveGGUF writes the decoder of a model as a GGUF file, as [llm.SaveGGUF] does, which says how it pools: by
// the mean, the first vector or the last one, and with up to two dense layers without bias and activation
// (EmbeddingGemma). Readers make vectors of length 1, so another model is an error. Prompts are not written.
func SaveGGUF(path string, m *Model, o llm.GGUF) error {
	d, ok := m.Body.(*Decoder)
	o.Says, o.Tensors = map[string]any{}, map[string]tensor.Tensor{}
	for number, p := range pooled {
		if slices.Equal(m.Pooling, []Pooling{p}) {
			o.Says["pooling_type"] = number
		}
	}
	ok = ok && m.Normalize && len(o.Says) == 1 && len(m.Dense) <= len(dense)
	for i, after := range m.Dense {
		l, linear := after.Layer.(*nn.Linear)
		if ok = ok && linear && l.Bias.IsNone() && after.Act.Apply == nil; !ok {
			break
		}
		o.Says[dense[i]+"_feat_in"], o.Says[dense[i]+"_feat_out"] = uint32(l.Weight.Len(0)), uint32(l.Weight.Len(1))
		o.Tensors[dense[i]+".weight"] = l.Weight.Detach().Transpose()
	}
	if !ok {
		return fmt.Errorf("embed: got %v, want a decoder with vectors of length 1, pooled by mean, cls or lasttoken, and at most two dense layers, which only multiply", m)
	}
	return llm.SaveGGUF(path, d.Model, o)
}
