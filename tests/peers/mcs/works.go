package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/tokenizer"
)

// A work is one row of the table; works.py has the list.
type work struct {
	Kind   string `json:"kind"`
	M      int    `json:"m"`
	N      int    `json:"n"`
	K      int    `json:"k"`
	R      int    `json:"r"`
	T      int    `json:"t"`
	V      int    `json:"v"`
	Grad   bool   `json:"grad"`
	DType  string `json:"dtype"`
	Heads  int    `json:"heads"`
	KV     int    `json:"kv"`
	Count  int    `json:"count"`
	Vocab  int    `json:"vocab"`
	Layers int    `json:"layers"`
	Width  int    `json:"width"`
	Hidden int    `json:"hidden"`
	Batch  int    `json:"batch"`
	Tokens int    `json:"tokens"`
	Prompt int    `json:"prompt"`
	Bits   int    `json:"bits"`
	File   string `json:"file"` // that the work reads
	D      int    `json:"d"`    // the width of a head; 0 means 64
	Window int    `json:"window"`
	Cap    int    `json:"cap"`
	// Documents of equal length are one row.
	Documents int    `json:"documents"`
	Family    string `json:"family"`
	Op        string `json:"op"`
	Axis      int    `json:"axis"`
	// Of a convolution: [N C H W], results, and how the kernel moves. Of what orders elements: their shape.
	Image   []int `json:"image"`
	Out     int   `json:"out"`
	Kernel  int   `json:"kernel"`
	Stride  int   `json:"stride"`
	Padding int   `json:"padding"`
}

const epsilon = 1e-5

// build returns a function that does the work once. Its tensors are new in each run, so that graph and
// plan are looked up as in a user's loop. It returns nil for work that the engine does not have.
func (w *work) build() func() []tensor.Tensor {
	switch w.Kind {
	case "family":
		return w.family()
	case "lora":
		return w.lora()
	case "scale":
		x := values(1, w.M, w.N)
		return func() []tensor.Tensor { return []tensor.Tensor{x.Mul(2)} }
	case "sum", "sum_rows", "sum_columns", "max_rows":
		return w.reduction()
	case "softmax", "layer_norm", "rms_norm":
		return w.row()
	case "matmul":
		a, b := w.stored(values(1, w.N, w.N)), w.stored(values(2, w.N, w.N))
		return func() []tensor.Tensor { return []tensor.Tensor{a.MatMul(b)} }
	case "experts":
		return w.experts()
	case "matvec":
		// A linear layer holds its weight as [in out] here, and as [out in] in PyTorch: each side gets its
		// own order.
		x, weight := w.stored(values(1, 1, w.K)), w.stored(values(2, w.N, w.K).Transpose())
		return func() []tensor.Tensor { return []tensor.Tensor{x.MatMul(weight)} }
	case "codes":
		x, weight := values(1, 1, w.K), w.quantised()
		return func() []tensor.Tensor { return []tensor.Tensor{weight.MatMul(x)} }
	case "chain":
		x, y := values(1, w.M, w.N), values(2, w.M, w.N)
		return func() []tensor.Tensor {
			return []tensor.Tensor{x.Mul(y).Add(0.5).Tanh().Mul(x.Sigmoid()).Sub(y)}
		}
	case "linalg":
		return w.linalg()
	case "order":
		return w.order()
	case "attention":
		return w.attention()
	case "conv":
		return w.conv()
	case "cross_entropy":
		logits, targets := values(1, w.M, w.V), tensor.From(words(2, w.M, w.V)).Eval()
		return w.maybeGrad(tensor.Scalar(1).Eval(), []tensor.Tensor{logits}, func() tensor.Tensor {
			return tensor.CrossEntropy(logits, targets, tensor.CrossEntropyOptions{})
		})
	case "linear_cross_entropy":
		x, weight, targets := w.stored(values(1, w.M, w.N)), w.stored(values(2, w.V, w.N)), tensor.From(words(3, w.M, w.V)).Eval()
		return w.maybeGrad(tensor.Scalar(1).Eval(), []tensor.Tensor{x, weight}, func() tensor.Tensor {
			return tensor.LinearCrossEntropy(x, weight.Transpose(), targets, tensor.CrossEntropyOptions{})
		})
	case "adamw":
		return w.adamw()
	case "small":
		x, y := values(1, w.N, w.N), values(2, w.N, w.N)
		return func() []tensor.Tensor {
			sum := x.Add(y)
			sum.Floats()
			return []tensor.Tensor{sum}
		}
	case "train":
		return w.train()
	case "decode":
		return w.decode()
	case "gguf":
		return w.gguf()
	case "load":
		return w.load
	case "tokenise":
		return w.tokenise()
	}
	return nil
}

// load reads a safetensors file into memory that was never used before, as a program that starts has it.
func (w *work) load() []tensor.Tensor {
	device.Default().FreeCache()
	tensors, _, err := safetensors.Load(w.File)
	if err != nil {
		panic(&tensor.Error{Op: "load", Msg: err.Error()})
	}
	list := make([]tensor.Tensor, len(tensors))
	for i := range list {
		list[i] = tensors[fmt.Sprint("w", i)]
	}
	return list
}

func (w *work) tokenise() func() []tensor.Tensor {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(w.File), "text.txt"))
	var t *tokenizer.Tokenizer
	if err == nil {
		t, err = tokenizer.Load(w.File)
	}
	if err != nil {
		panic(&tensor.Error{Op: "tokenise", Msg: err.Error()})
	}
	lines := strings.SplitAfter(string(text), "\n")
	return func() []tensor.Tensor {
		var ids []int
		for _, line := range lines {
			ids = append(ids, t.Encode(line, false)...)
		}
		return []tensor.Tensor{tensor.From(ids)}
	}
}

// stored returns x in the work's element type and in the order of its own shape.
func (w *work) stored(x tensor.Tensor) tensor.Tensor {
	if t, ok := halves[w.DType]; ok {
		x = x.Cast(t)
	}
	return tensor.FromBytes(x.DType(), x.Bytes(), x.Shape()...).Eval()
}

var halves = map[string]dtype.Type{"bf16": dtype.BF16, "f16": dtype.F16}

// quantised is a weight of K by N numbers that codes of Bits bits hold exactly.
func (w *work) quantised() *quant.Weight {
	weight := tensor.From(exact(numbers(2, w.N*w.K), w.K, w.Bits), w.N, w.K)
	q, err := quant.Quantize(weight.Transpose(), quant.Config{Bits: w.Bits})
	if err != nil {
		panic(err)
	}
	return q
}

// maybeGrad runs f, and with Grad also the gradients of sum(f·dy) for the inputs.
func (w *work) maybeGrad(dy tensor.Tensor, inputs []tensor.Tensor, f func() tensor.Tensor) func() []tensor.Tensor {
	return func() []tensor.Tensor {
		y := f()
		if !w.Grad {
			return []tensor.Tensor{y}
		}
		return append([]tensor.Tensor{y}, tensor.Grad(y.Mul(dy).Sum(), inputs...)...)
	}
}

// experts sends M tokens of width N through K of Count feed-forward blocks each.
func (w *work) experts() func() []tensor.Tensor {
	x, weights := w.stored(values(1, w.M, w.N)), values(4, w.M, w.K)
	layer := func(seed uint32, in, out int) *nn.Grouped {
		return &nn.Grouped{Weight: w.stored(values(seed, w.Count, out, in)).Transpose()}
	}
	e := nn.Experts{GateUp: layer(2, w.N, 2*w.Hidden), Down: layer(3, w.Hidden, w.N)}
	r := nn.Routing{Index: tensor.From(words(5, w.M*w.K, w.Count), w.M, w.K).Eval(), Weights: weights}
	return w.maybeGrad(w.stored(values(6, w.M, w.N)), []tensor.Tensor{x}, func() tensor.Tensor { return e.Forward(x, r) })
}

func (w *work) lora() func() []tensor.Tensor {
	x, weight := w.stored(values(1, w.M, w.N)), w.stored(values(2, w.N, w.N))
	a, b, dy := w.stored(values(3, w.N, w.R)), w.stored(values(4, w.R, w.N)), w.stored(values(5, w.M, w.N))
	return w.maybeGrad(dy, []tensor.Tensor{x, a, b}, func() tensor.Tensor {
		return tensor.LoRALinear(x, weight, a, b, 2)
	})
}

func (w *work) row() func() []tensor.Tensor {
	x, weight, bias, dy := values(1, w.M, w.N), values(2, w.N), values(3, w.N), values(5, w.M, w.N)
	switch w.Kind {
	case "softmax":
		return w.maybeGrad(dy, []tensor.Tensor{x}, func() tensor.Tensor { return x.Softmax(-1) })
	case "layer_norm":
		return w.maybeGrad(dy, []tensor.Tensor{x, weight, bias}, func() tensor.Tensor { return x.LayerNorm(weight, bias, epsilon) })
	}
	return w.maybeGrad(dy, []tensor.Tensor{x, weight}, func() tensor.Tensor { return x.RMSNorm(weight, epsilon) })
}

func (w *work) reduction() func() []tensor.Tensor {
	x := values(1, w.M, w.N)
	reduce := map[string]func() tensor.Tensor{
		"sum": func() tensor.Tensor { return x.Sum() }, "sum_rows": func() tensor.Tensor { return x.Sum(1) },
		"sum_columns": func() tensor.Tensor { return x.Sum(0) }, "max_rows": func() tensor.Tensor { return x.Max(1) },
	}[w.Kind]
	return func() []tensor.Tensor { return []tensor.Tensor{reduce()} }
}

func (w *work) order() func() []tensor.Tensor {
	x := values(1, w.Image...)
	do := map[string]func() tensor.Tensor{
		"sort":    func() tensor.Tensor { return x.Sort(w.Axis) },
		"argsort": func() tensor.Tensor { return x.ArgSort(w.Axis) },
		"median":  func() tensor.Tensor { return x.Median(w.Axis) },
		"cumsum":  func() tensor.Tensor { return x.CumSum(w.Axis) },
		"unique":  func() tensor.Tensor { return x.Unique().Values },
		"masked":  func() tensor.Tensor { return x.Index(tensor.Pick(x.Gt(0))) },
	}[w.Op]
	return func() []tensor.Tensor { return []tensor.Tensor{do()} }
}

func (w *work) attention() func() []tensor.Tensor {
	batch, d := max(w.Batch, 1), cmp.Or(w.D, 64)
	q, k, v := w.stored(values(1, batch, w.Heads, w.T, d)), w.stored(values(2, batch, w.KV, w.T, d)), w.stored(values(3, batch, w.KV, w.T, d))
	o := tensor.AttentionOptions{Causal: true, Window: w.Window, Cap: float64(w.Cap)}
	if w.Documents > 0 {
		o.Documents = tensor.Range(w.T).FloorDiv(w.T/w.Documents).Expand(batch, w.T).Eval()
	}
	return w.maybeGrad(w.stored(values(4, batch, w.Heads, w.T, d)), []tensor.Tensor{q, k, v}, func() tensor.Tensor {
		return tensor.Attention(q, k, v, o)
	})
}

func (w *work) conv() func() []tensor.Tensor {
	x, weight := w.stored(values(1, w.Image...)), w.stored(values(2, w.Out, w.Image[1], w.Kernel, w.Kernel))
	f := func() tensor.Tensor {
		return x.Conv2d(weight, tensor.Conv{Stride: w.Stride, Padding: w.Padding})
	}
	return w.maybeGrad(w.stored(values(3, f().Shape()...)), []tensor.Tensor{x, weight}, f)
}

// adamw steps Count parameters of a million numbers each, or of M by N, with moments of Bits bits.
func (w *work) adamw() func() []tensor.Tensor {
	m, n := cmp.Or(w.M, 1000), cmp.Or(w.N, 1000)
	weights, params, grads := make([]tensor.Tensor, w.Count), make([]nn.Param, w.Count), make([]tensor.Tensor, w.Count)
	for i := range w.Count {
		weights[i], grads[i] = w.stored(values(uint32(1+i), m, n)).Param(), w.stored(values(uint32(1001+i), m, n))
		params[i] = nn.NewParam(fmt.Sprint(i), &weights[i])
	}
	optimizer := optim.AdamW{WeightDecay: 0.1, Bits: w.Bits}.New(params)
	return func() []tensor.Tensor {
		optimizer.Update(grads, 1e-3, tensor.Tensor{}).Commit()
		return []tensor.Tensor{weights[0]}
	}
}
