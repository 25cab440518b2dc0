package main

import (
	"context"
	"hash/crc32"
	"os"
	"strings"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// decoder is the model of the work. Its weights come from their names, as in peer_decoder.py.
func (w *work) decoder() *llm.Model {
	m := llm.New(llm.Config{Vocab: w.Vocab, Layers: w.Layers, Width: w.Width, Heads: w.Heads, KVHeads: w.KV, Hidden: w.Hidden})
	w.fill(nn.Params(m))
	if t, ok := halves[w.DType]; ok {
		nn.Convert(m, t)
	}
	return m
}

func (w *work) fill(params []nn.Param) {
	for _, p := range params {
		name, shape := p.Name, p.Value().Shape()
		switch {
		case strings.Contains(name, "norm"):
			p.Value().Set(tensor.Ones(shape...))
		case strings.HasSuffix(name, "lora_B"):
			p.Value().Set(tensor.Zeros(shape...))
		case strings.HasSuffix(name, "lora_A"):
			p.Value().Set(w.named(name+".weight", shape[1], shape[0]).Transpose())
		case strings.HasSuffix(name, "_proj.weight"): // [in out] here, [out in] in transformers
			p.Value().Set(w.named(name, shape[1], shape[0]).Transpose())
		default:
			p.Value().Set(w.named(name, shape...))
		}
		p.Value().Eval()
	}
}

// named returns a weight [out in] made from its name. A weight that is stored in codes is rounded to
// values that the codes hold exactly.
func (w *work) named(name string, shape ...int) tensor.Tensor {
	seed, n := crc32.ChecksumIEEE([]byte(name)), shape[0]*shape[1]
	x := numbers(seed, n)
	if bits := codeBits[w.DType]; bits > 0 {
		x = exact(x, shape[1], bits)
	}
	return tensor.From(x, shape...).Mul(1.0 / 32)
}

// codeBits has the bits of the types whose weights are stored in codes.
var codeBits = map[string]int{"int8": 8, "int4": 4}

// train does one step of LoRA training a run: forward, backward, clipping, AdamW. The step is compiled, as
// torch.compile's is.
func (w *work) train() func() []tensor.Tensor {
	m := w.decoder()
	m.Config.Compute = halves[w.DType] // f32 for the others
	adapter, err := lora.Inject(m, lora.Config{Rank: w.R})
	if err != nil {
		panic(err)
	}
	w.fill(adapter.Params())
	params := nn.Values(adapter.Params())
	optimizer := optim.AdamW{}.New(adapter.Params())
	ids, targets := tensor.From(words(1, w.Batch*w.T, w.Vocab), w.Batch, w.T).Eval(), tensor.From(words(2, w.Batch*w.T, w.Vocab), w.Batch, w.T).Eval()
	step := tensor.Compile(func(batch ...tensor.Tensor) []tensor.Tensor {
		loss := m.Loss(batch[0], batch[1])
		grads := tensor.Grad(loss, params...)
		scale, norm := optim.ClipScale(grads, 1)
		optimizer.Update(grads, 1e-3, scale).CommitIf(loss.Add(norm), loss, norm)
		return []tensor.Tensor{loss, norm}
	})
	for range 2 { // so that the loss that is compared is one after updates
		step(ids, targets)
	}
	return func() []tensor.Tensor { return step(ids, targets) }
}

// gguf decodes from a file, which it writes if there is none.
func (w *work) gguf() func() []tensor.Tensor {
	if _, err := os.Stat(w.File); err != nil {
		m := llm.New(llm.Config{Vocab: w.Vocab, Layers: w.Layers, Width: w.Width, Heads: w.Heads, KVHeads: w.KV, Hidden: w.Hidden, Context: 512})
		if err := llm.SaveGGUF(w.File, m, llm.GGUF{Type: w.DType}); err != nil {
			panic(&tensor.Error{Op: "gguf", Msg: err.Error()})
		}
	}
	m, err := llm.Load(context.Background(), w.File)
	if err != nil {
		panic(&tensor.Error{Op: "gguf", Msg: err.Error()})
	}
	nn.Freeze(m)
	prompt := words(1, w.Prompt, w.Vocab)
	return func() []tensor.Tensor {
		ids, err := m.GenerateTokens(context.Background(), prompt, llm.Sampling{Tokens: w.Tokens})
		if err != nil {
			panic(err)
		}
		return []tensor.Tensor{tensor.From([]float32{float32(len(ids) - len(prompt))})}
	}
}

// decode goes on from a prompt, always with the best word.
func (w *work) decode() func() []tensor.Tensor {
	m, prompt := w.decoder(), words(1, w.Prompt, w.Vocab)
	nn.Freeze(m)
	if bits := codeBits[w.DType]; bits > 0 {
		if _, err := quant.Module(m, quant.Config{Bits: bits}, quant.AllLinear, "embed_tokens"); err != nil {
			panic(err)
		}
	}
	return func() []tensor.Tensor {
		ids, err := m.GenerateTokens(context.Background(), prompt, llm.Sampling{Tokens: w.Tokens})
		if err != nil {
			panic(err)
		}
		return []tensor.Tensor{tensor.From(ids[len(prompt):])}
	}
}
