package main

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A family is work for kernels of one kind. All of them together launch every kind of kernel that the engine
// has, on M rows of N numbers, on products of N by N, or on what its function says.
type family struct {
	name string
	peak string // what its arithmetic is held against
	make func(w *work) func() []tensor.Tensor
}

// described is a family as the driver is told of it.
type described struct {
	Name string `json:"name"`
	Peak string `json:"peak"`
}

func describe() []described {
	var list []described
	for _, f := range families() {
		list = append(list, described{f.name, f.peak})
	}
	return list
}

func (w *work) family() func() []tensor.Tensor {
	for _, f := range families() {
		if f.name == w.Family {
			return f.make(w)
		}
	}
	return nil
}

func families() []family {
	var all []family
	for _, part := range [][]family{elementwise(), reductions(), rows(), indices(), products(), attentions(), convolutions(), others(), divided()} {
		all = append(all, part...)
	}
	return all
}

// of is a family of functions of x, M rows of N numbers, in f32.
func of(name string, f func(x tensor.Tensor) tensor.Tensor) family {
	return family{name, "f32", func(w *work) func() []tensor.Tensor {
		x := values(1, w.M, w.N)
		return func() []tensor.Tensor { return []tensor.Tensor{f(x)} }
	}}
}

// slope is a family that only computes the gradient of f, whose results are of x's shape.
func slope(name string, f func(x, weight, bias tensor.Tensor) tensor.Tensor, inputs int) family {
	return family{name, "f32", func(w *work) func() []tensor.Tensor {
		x, weight, bias, dy := values(1, w.M, w.N), values(2, w.N), values(3, w.N), values(5, w.M, w.N)
		wanted := []tensor.Tensor{x, weight, bias}[:inputs]
		return func() []tensor.Tensor { return tensor.Grad(f(x, weight, bias).Mul(dy).Sum(), wanted...) }
	}}
}

// named is a family that is a work of the other kinds.
func named(name, peak string, make func(w *work) *work) family {
	return family{name, peak, func(w *work) func() []tensor.Tensor { return make(w).build() }}
}

func elementwise() []family {
	return []family{
		of("scale", func(x tensor.Tensor) tensor.Tensor { return x.Mul(2) }),
		named("chain", "f32", func(w *work) *work { return &work{Kind: "chain", M: w.M, N: w.N} }),
		of("cast to bf16", func(x tensor.Tensor) tensor.Tensor { return x.Cast(dtype.BF16) }),
		of("cast to i8", func(x tensor.Tensor) tensor.Tensor { return x.Mul(100).Cast(dtype.I8) }),
		of("where", func(x tensor.Tensor) tensor.Tensor { return tensor.Where(x.Gt(0), x, x.Mul(0.1)) }),
		of("transposed", func(x tensor.Tensor) tensor.Tensor { return x.Transpose().Add(x.Transpose().Square()).Reshape(-1) }),
		of("broadcast rows and columns", func(x tensor.Tensor) tensor.Tensor { return x.Add(x.Slice(0, 0, 1)).Mul(x.Slice(1, 0, 1)) }),
		{"integers", "f32", func(w *work) func() []tensor.Tensor {
			x := values(1, w.M, w.N).Mul(1e6).Cast(dtype.I32).Eval()
			return func() []tensor.Tensor {
				return []tensor.Tensor{x.And(1023).Xor(x.Shr(3)).Add(x.Mod(7)).Or(x.Shl(2)).Maximum(x.Neg())}
			}
		}},
		of("functions", func(x tensor.Tensor) tensor.Tensor {
			y := x.Abs().Add(0.5)
			return x.Exp().Add(x.Expm1()).Add(y.Log()).Add(y.Log1p()).Add(y.Sqrt()).Add(y.Rsqrt()).Add(y.Recip()).Add(x.Sin()).Add(x.Cos()).
				Add(x.Tanh()).Add(x.Erf()).Add(x.Sigmoid()).Add(x.Silu()).Add(x.Gelu()).Add(y.Pow(x)).Add(x.Atan2(y)).Add(x.Div(y))
		}),
		of("comparisons", func(x tensor.Tensor) tensor.Tensor {
			y := x.Mul(16).Round()
			differs := y.Lt(x.Mul(16).Ceil()).Or(y.Le(x.Mul(16).Floor())).And(y.Eq(x).Not()).And(x.Ne(0).Or(x.Ge(0.5)).Or(x.IsNaN()))
			return tensor.Where(differs, x.Minimum(y), x.Sign().Maximum(y.Mod(3)))
		}),
	}
}

func reductions() []family {
	return []family{
		of("sum", func(x tensor.Tensor) tensor.Tensor { return x.Sum() }),
		of("sum of rows", func(x tensor.Tensor) tensor.Tensor { return x.Sum(1) }),
		of("sum of columns", func(x tensor.Tensor) tensor.Tensor { return x.Sum(0) }),
		of("mean of squares", func(x tensor.Tensor) tensor.Tensor { return x.Square().Mean(1) }),
		of("prod", func(x tensor.Tensor) tensor.Tensor { return x.Prod(1) }),
		of("max of rows", func(x tensor.Tensor) tensor.Tensor { return x.Max(1) }),
		of("min of columns", func(x tensor.Tensor) tensor.Tensor { return x.Min(0) }),
		of("arg max", func(x tensor.Tensor) tensor.Tensor { return x.ArgMax(1) }),
		of("arg min", func(x tensor.Tensor) tensor.Tensor { return x.ArgMin(1) }),
		{"sum of squares of several", "f32", func(w *work) func() []tensor.Tensor {
			x, y := values(1, w.M, w.N/2), values(2, w.M, w.N/2)
			return func() []tensor.Tensor { return []tensor.Tensor{tensor.SumSquares([]tensor.Tensor{x, y})} }
		}},
		of("cumulative sum", func(x tensor.Tensor) tensor.Tensor { return x.CumSum(1) }),
		of("cumulative max", func(x tensor.Tensor) tensor.Tensor { return x.CumMax(1) }),
		of("sort", func(x tensor.Tensor) tensor.Tensor { return x.Sort(1) }),
		of("arg sort", func(x tensor.Tensor) tensor.Tensor { return x.ArgSort(1) }),
		of("top 8", func(x tensor.Tensor) tensor.Tensor { top, _ := x.TopK(8); return top }),
	}
}

func rows() []family {
	list := []family{
		of("softmax", func(x tensor.Tensor) tensor.Tensor { return x.Softmax(-1) }),
		of("log softmax", func(x tensor.Tensor) tensor.Tensor { return x.LogSoftmax(-1) }),
		slope("softmax, gradient", func(x, _, _ tensor.Tensor) tensor.Tensor { return x.Softmax(-1) }, 1),
		slope("log softmax, gradient", func(x, _, _ tensor.Tensor) tensor.Tensor { return x.LogSoftmax(-1) }, 1),
		slope("layer norm, gradient", func(x, weight, bias tensor.Tensor) tensor.Tensor { return x.LayerNorm(weight, bias, epsilon) }, 3),
		slope("rms norm, gradient", func(x, weight, _ tensor.Tensor) tensor.Tensor { return x.RMSNorm(weight, epsilon) }, 2),
		named("cross entropy", "f32", func(w *work) *work { return &work{Kind: "cross_entropy", M: w.M, V: w.N} }),
		named("cross entropy, gradient", "f32", func(w *work) *work { return &work{Kind: "cross_entropy", M: w.M, V: w.N, Grad: true} }),
		of("cross entropy squared, gradient", func(x tensor.Tensor) tensor.Tensor { // needs the loss first
			loss := tensor.CrossEntropy(x, tensor.Range(x.Len(0)).Mod(x.Len(1)), tensor.CrossEntropyOptions{})
			return tensor.Grad(loss.Square(), x)[0]
		}),
	}
	for _, kind := range []string{"layer_norm", "rms_norm"} {
		list = append(list, named(kind, "f32", func(w *work) *work { return &work{Kind: kind, M: w.M, N: w.N} }))
	}
	return list
}

// indexed is a family of functions of a table of M rows of N numbers and of M/2 numbers of rows.
func indexed(name string, f func(table, index tensor.Tensor) tensor.Tensor) family {
	return family{name, "f32", func(w *work) func() []tensor.Tensor {
		table, index := values(1, w.M, w.N), tensor.From(words(2, w.M/2, w.M)).Eval()
		return func() []tensor.Tensor { return []tensor.Tensor{f(table, index)} }
	}}
}

func indices() []family {
	return []family{
		indexed("take rows", func(table, index tensor.Tensor) tensor.Tensor { return table.Take(index, 0) }),
		indexed("take rows, gradient", func(table, index tensor.Tensor) tensor.Tensor {
			return tensor.Grad(table.Take(index, 0).Square().Sum(), table)[0]
		}),
		indexed("scatter add", func(table, index tensor.Tensor) tensor.Tensor {
			return table.ScatterAdd(0, index, table.Slice(0, 0, index.Len(0)))
		}),
		indexed("put maximum", func(table, index tensor.Tensor) tensor.Tensor {
			return table.Put(0, index, table.Slice(0, 0, index.Len(0)), tensor.Greatest)
		}),
		indexed("overwrite", func(table, index tensor.Tensor) tensor.Tensor {
			return table.Overwrite(0, index, table.Slice(0, 0, index.Len(0)))
		}),
		{"take along", "f32", func(w *work) func() []tensor.Tensor {
			x, index := values(1, w.M, w.N), tensor.From(words(2, w.M*16, w.N), w.M, 16).Eval()
			return func() []tensor.Tensor {
				took := x.TakeAlong(index, 1)
				return []tensor.Tensor{took, x.ScatterAlong(1, index, took)}
			}
		}},
		of("pad", func(x tensor.Tensor) tensor.Tensor { return x.Pad(1, 3, 5, 0) }),
		of("concat", func(x tensor.Tensor) tensor.Tensor {
			return tensor.Concat([]tensor.Tensor{x.Slice(1, 0, x.Len(1)/2), x}, 1)
		}),
		of("concat of many", func(x tensor.Tensor) tensor.Tensor {
			pieces := make([]tensor.Tensor, 16)
			for i := range pieces {
				pieces[i] = x.Add(float64(i))
			}
			return tensor.Concat(pieces, 0)
		}),
		{"rope", "f32", func(w *work) func() []tensor.Tensor {
			x, positions := values(1, 1, w.N/64, w.M, 64), tensor.Range(w.M).Eval()
			return func() []tensor.Tensor { return []tensor.Tensor{x.Rope(positions, tensor.RopeOptions{})} }
		}},
	}
}

func products() []family {
	var list []family
	for _, t := range []string{"f32", "f16", "bf16"} {
		list = append(list,
			named("product "+t, t, func(w *work) *work { return &work{Kind: "matmul", N: w.N, DType: t} }),
			named("one row "+t, t, func(w *work) *work { return &work{Kind: "matvec", N: w.N, K: w.N, DType: t} }),
			named("LoRA "+t, t, func(w *work) *work { return &work{Kind: "lora", M: w.N, N: w.N, R: 16, DType: t} }),
			named("LoRA of one row "+t, t, func(w *work) *work { return &work{Kind: "lora", M: 1, N: w.N, R: 16, DType: t} }))
	}
	for _, bits := range []int{8, 4} {
		list = append(list,
			named(fmt.Sprintf("one row, int%d", bits), "f32", func(w *work) *work { return &work{Kind: "codes", N: w.N, K: w.N, Bits: bits} }),
			coded(fmt.Sprintf("product int%d", bits), bits, func(x tensor.Tensor, weight *quant.Weight) tensor.Tensor { return weight.MatMul(x) }),
			coded(fmt.Sprintf("dequantise int%d", bits), bits, func(_ tensor.Tensor, weight *quant.Weight) tensor.Tensor { return weight.Dequantized() }),
			coded(fmt.Sprintf("take from int%d", bits), bits, func(_ tensor.Tensor, weight *quant.Weight) tensor.Tensor {
				return weight.Take(tensor.Range(min(weight.Out, 256)), dtype.F32)
			}))
	}
	return append(list,
		named("LoRA f32, gradient", "f32", func(w *work) *work { return &work{Kind: "lora", M: w.N, N: w.N, R: 16, Grad: true} }),
		square("product with bias and GELU", func(x, y, bias tensor.Tensor) tensor.Tensor { return tensor.Linear(x, y, bias).Gelu() }),
		square("product with residual", func(x, y, _ tensor.Tensor) tensor.Tensor { return x.MatMul(y).Silu().Add(x) }),
		square("product, left transposed", func(x, y, _ tensor.Tensor) tensor.Tensor { return x.Transpose().MatMul(y) }),
		square("product, right transposed", func(x, y, _ tensor.Tensor) tensor.Tensor { return x.MatMul(y.Transpose()) }),
		family{"batch of products", "f32", func(w *work) func() []tensor.Tensor {
			n := max(w.N/16, 8)
			x, y := values(1, 64, n, n), values(2, 64, n, n)
			return func() []tensor.Tensor { return []tensor.Tensor{x.MatMul(y)} }
		}},
		family{"product of few columns", "f32", func(w *work) func() []tensor.Tensor {
			x, y := values(1, w.M, w.N), values(2, w.N, 16)
			return func() []tensor.Tensor { return []tensor.Tensor{x.MatMul(y)} }
		}},
		family{"product of each row with one of 8 matrices, gradient", "f32", func(w *work) func() []tensor.Tensor {
			x, y, index := values(1, w.M, w.N), values(2, 8, w.N, w.N), tensor.Range(w.M).Mod(8).Eval()
			return func() []tensor.Tensor {
				return append(tensor.Grad(tensor.GroupedMatMul(x, y, index).Square().Sum(), x, y), tensor.GroupedMatMul(x, y, index))
			}
		}})
}

// square is a family of products of N by N.
func square(name string, f func(x, y, bias tensor.Tensor) tensor.Tensor) family {
	return family{name, "f32", func(w *work) func() []tensor.Tensor {
		x, y, bias := values(1, w.N, w.N), values(2, w.N, w.N), values(3, w.N)
		return func() []tensor.Tensor { return []tensor.Tensor{f(x, y, bias)} }
	}}
}

// coded is a family with a weight of N by N in codes, and 128 rows beside it.
func coded(name string, bits int, f func(x tensor.Tensor, weight *quant.Weight) tensor.Tensor) family {
	return family{name, "f32", func(w *work) func() []tensor.Tensor {
		weight, x := (&work{N: w.N, K: w.N, Bits: bits}).quantised(), values(1, 128, w.N)
		return func() []tensor.Tensor { return []tensor.Tensor{f(x, weight)} }
	}}
}

func attentions() []family {
	var list []family
	for _, t := range []string{"f32", "f16", "bf16"} {
		for _, grad := range []bool{false, true} {
			name := "attention " + t
			if grad {
				name += ", forward and gradient"
			}
			list = append(list, named(name, t, func(w *work) *work {
				return &work{Kind: "attention", Batch: 4, Heads: 16, KV: 4, T: max(w.M/8, 16), DType: t, Grad: grad}
			}))
		}
		list = append(list, family{"attention of one query " + t, t, func(w *work) func() []tensor.Tensor {
			keys := max(w.M/2, 16)
			q, k, v := w.as(t, 1, 16, 16, 1, 64), w.as(t, 2, 16, 4, keys, 64), w.as(t, 3, 16, 4, keys, 64)
			return func() []tensor.Tensor { return []tensor.Tensor{tensor.Attention(q, k, v, tensor.AttentionOptions{})} }
		}})
	}
	for _, kept := range []dtype.Type{dtype.F32, dtype.F16, dtype.BF16, dtype.I8} {
		list = append(list, family{"attention to pages of " + kept.String(), "f32", func(w *work) func() []tensor.Tensor { return w.decoding(kept) }})
	}
	return append(list, family{"attention with a mask", "f32", func(w *work) func() []tensor.Tensor {
		t := max(w.M/16, 16)
		q, k, v := values(1, 4, 8, t, 64), values(2, 4, 8, t, 64), values(3, 4, 8, t, 64)
		mask := values(4, t, t).Gt(0).Eval()
		return func() []tensor.Tensor {
			return []tensor.Tensor{tensor.Attention(q, k, v, tensor.AttentionOptions{Mask: mask})}
		}
	}})
}

// decoding is a step of four texts, of one page to four of them, through a layer of attention whose cache
// stores vectors in a dtype.
func (w *work) decoding(kept dtype.Type) func() []tensor.Tensor {
	const texts, heads, shared, width = 4, 8, 2, 64
	page := max(w.M/4, 16)
	layer := func(seed uint32, in, out int) *nn.Linear {
		return &nn.Linear{Weight: values(seed, in, out).Mul(0.05).Eval()}
	}
	a := nn.Attention{Q: layer(1, heads*width, heads*width), K: layer(2, heads*width, shared*width), V: layer(3, heads*width, shared*width),
		O: layer(4, heads*width, heads*width), Heads: heads, KVHeads: shared}
	cache, all := nn.NewCache(kept, shared, texts*texts*page, width, width), tensor.Range(texts*page).Unsqueeze(0)
	var pages [][]int
	var last, slots []int
	for i := range texts {
		pages = append(pages, tensor.Range(texts).Add(texts*i).Ints())
		last = append(last, (i+1)*page-1)
		slots = append(slots, texts*i*page+last[i])
		a.Continue(values(uint32(10+i), 1, texts*page, heads*width), nn.Step{
			Positions: all, Slots: tensor.Range(texts * page).Add(texts * i * page), Pages: tensor.From(pages[i]).Unsqueeze(0), Page: page, Last: all,
		}, cache)
		tensor.Eval(cache.Tensors()...)
	}
	x, at := values(5, texts, 1, heads*width), tensor.From(last).Reshape(texts, 1).Eval()
	s := nn.Step{Positions: at, Slots: tensor.From(slots).Eval(), Pages: tensor.From(pages).Eval(), Page: page, Last: at}
	return func() []tensor.Tensor {
		y := a.Continue(x, s, cache)
		tensor.Eval(append(cache.Tensors(), y)...)
		return []tensor.Tensor{y} // the cache is the next run's, too
	}
}

func convolutions() []family {
	var list []family
	for _, t := range []string{"f32", "f16", "bf16"} {
		for _, grad := range []bool{false, true} {
			name := "convolution " + t
			if grad {
				name += ", forward and gradient"
			}
			list = append(list, named(name, t, func(w *work) *work {
				side := max(w.M/64, 4)
				return &work{Kind: "conv", Image: []int{8, 64, side, side}, Out: 64, Kernel: 3, Padding: 1, DType: t, Grad: grad}
			}))
		}
	}
	list = append(list, named("convolution apart, forward and gradient", "f32", func(w *work) *work {
		side := max(w.M/64, 4)
		return &work{Kind: "conv", Image: []int{8, 64, side, side}, Out: 64, Kernel: 3, Stride: 2, Padding: 1, Grad: true}
	}), family{"convolution of each channel alone, forward and gradient", "f32", func(w *work) func() []tensor.Tensor {
		side := max(w.M/64, 4)
		x, weight, dy := values(1, 8, 64, side, side), values(2, 64, 1, 3, 3), values(3, 8, 64, side, side)
		return func() []tensor.Tensor {
			y := x.Conv2d(weight, tensor.Conv{Padding: 1, Groups: 64})
			return append(tensor.Grad(y.Mul(dy).Sum(), x, weight), y)
		}
	}})
	pool := func(x tensor.Tensor) tensor.Tensor { return x.Reshape(1, 1, x.Len(0), x.Len(1)).MaxPool2d(2) }
	return append(list, of("max pool", pool), of("max pool, forward and gradient", func(x tensor.Tensor) tensor.Tensor {
		return tensor.Grad(pool(x).Sum(), x)[0]
	}), of("max pool of windows that overlap, forward and gradient", func(x tensor.Tensor) tensor.Tensor {
		return tensor.Grad(x.Reshape(1, 1, x.Len(0), x.Len(1)).MaxPool2d(3, tensor.Pool{Stride: 2, Padding: 1}).Sum(), x)[0]
	}))
}

// divided is work that threadgroups share in parts, which further launches put together, and work of few
// rows, or of wide ones. It is as large as that takes at small sizes, too.
func divided() []family {
	list := []family{
		long("sum of two rows", 2, 1<<16, func(x tensor.Tensor) tensor.Tensor { return x.Sum(1) }),
		narrow("sum of few columns", 4096, 32, func(x tensor.Tensor) tensor.Tensor { return x.Sum(0) }),
		narrow("sort of long rows", 2, 8192, func(x tensor.Tensor) tensor.Tensor { return x.Sort(1) }),
		narrow("top 8 of long rows", 2, 8192, func(x tensor.Tensor) tensor.Tensor { top, _ := x.TopK(8); return top }),
		of("cumulative sum of columns", func(x tensor.Tensor) tensor.Tensor { return x.Reshape(-1, 32, x.Len(1)).CumSum(1) }),
		long("cumulative sum of two rows, gradient", 2, 1<<16, func(x tensor.Tensor) tensor.Tensor {
			return tensor.Grad(x.CumSum(1).Mul(x.Detach()).Sum(), x)[0]
		}),
		long("cumulative max of two rows", 2, 1<<12, func(x tensor.Tensor) tensor.Tensor { return x.CumMax(1) }),
		long("arg max of two rows", 2, 1<<16, func(x tensor.Tensor) tensor.Tensor { return x.ArgMax(1) }),
		long("softmax of two rows", 2, 1<<16, func(x tensor.Tensor) tensor.Tensor { return x.Softmax(1) }),
		updating("take along two rows", func(x, index tensor.Tensor) tensor.Tensor { return x.TakeAlong(index, 1) }),
		updating("scatter into two rows", func(x, index tensor.Tensor) tensor.Tensor {
			return x.ScatterAlong(1, index, x.Slice(1, 0, index.Len(1)))
		}),
		updating("scatter into 10 places of two rows", func(x, index tensor.Tensor) tensor.Tensor {
			return tensor.Zeros(2, 10).ScatterAlong(1, index.Mod(10), x.Slice(1, 0, index.Len(1)))
		}),
		updating("put maximum into two rows", func(x, index tensor.Tensor) tensor.Tensor {
			return x.PutAlong(1, index, x.Slice(1, 0, index.Len(1)), tensor.Greatest)
		}),
		of("sum of squares of a view", func(x tensor.Tensor) tensor.Tensor {
			return tensor.SumSquares([]tensor.Tensor{x.Transpose().Slice(0, 1, x.Len(1))})
		}),
		{"layer norm of wide rows, gradient", "f32", func(w *work) func() []tensor.Tensor {
			wide := 8192
			x, dy := values(1, max(w.M*w.N/wide, 2), wide), values(2, max(w.M*w.N/wide, 2), wide)
			weight, bias := values(3, wide), values(4, wide)
			return func() []tensor.Tensor {
				return tensor.Grad(x.LayerNorm(weight, bias, epsilon).Mul(dy).Sum(), x, weight, bias)
			}
		}},
	}
	for _, t := range []string{"f32", "bf16"} {
		list = append(list,
			family{"product of a long inner axis " + t, t, func(w *work) func() []tensor.Tensor {
				long := max(w.M*w.N/256, 2048)
				x, y := w.as(t, 1, 64, long), w.as(t, 2, long, 64)
				return func() []tensor.Tensor { return []tensor.Tensor{x.MatMul(y)} }
			}},
			named("LoRA of 12 rows "+t, t, func(w *work) *work { return &work{Kind: "lora", M: 12, N: max(w.N, 576), R: 16, DType: t} }),
			family{"attention of one text's query " + t, t, func(w *work) func() []tensor.Tensor {
				keys := max(2*w.M, 1024)
				q, k, v := w.as(t, 1, 1, 8, 1, 64), w.as(t, 2, 1, 2, keys, 64), w.as(t, 3, 1, 2, keys, 64)
				return func() []tensor.Tensor { return []tensor.Tensor{tensor.Attention(q, k, v, tensor.AttentionOptions{})} }
			}})
	}
	return list
}

// long is a family of functions of some rows of at least so many numbers.
func long(name string, rows, least int, f func(x tensor.Tensor) tensor.Tensor) family {
	return family{name, "f32", func(w *work) func() []tensor.Tensor {
		x := values(1, rows, max(w.M*w.N/rows, least))
		return func() []tensor.Tensor { return []tensor.Tensor{f(x)} }
	}}
}

// updating is a family of functions of two long rows, and of places in each: of a quarter as many.
func updating(name string, f func(x, index tensor.Tensor) tensor.Tensor) family {
	return family{name, "f32", func(w *work) func() []tensor.Tensor {
		length := max(w.M*w.N/2, 1<<14)
		x, index := values(1, 2, length), tensor.From(words(2, length/2, length), 2, length/4).Eval()
		return func() []tensor.Tensor { return []tensor.Tensor{f(x, index)} }
	}}
}

// narrow is a family of functions of at least so many rows of a length.
func narrow(name string, least, length int, f func(x tensor.Tensor) tensor.Tensor) family {
	return family{name, "f32", func(w *work) func() []tensor.Tensor {
		x := values(1, max(w.M*w.N/length, least), length)
		return func() []tensor.Tensor { return []tensor.Tensor{f(x)} }
	}}
}

func (w *work) as(t string, seed uint32, shape ...int) tensor.Tensor {
	return (&work{DType: t}).stored(values(seed, shape...))
}

func others() []family {
	return []family{
		named("adamw", "f32", func(w *work) *work { return &work{Kind: "adamw", Count: 2, M: w.M / 2, N: w.N} }),
		named("adamw of 8 bits", "f32", func(w *work) *work { return &work{Kind: "adamw", Bits: 8, Count: 2, M: w.M / 2, N: w.N} }),
		named("adamw with masters", "bf16", func(w *work) *work { return &work{Kind: "adamw", Count: 2, M: w.M / 2, N: w.N, DType: "bf16"} }),
		named("adamw of 8 bits with masters", "bf16", func(w *work) *work {
			return &work{Kind: "adamw", Bits: 8, Count: 2, M: w.M / 2, N: w.N, DType: "bf16"}
		}),
		{"uniform", "f32", func(w *work) func() []tensor.Tensor {
			return func() []tensor.Tensor { return []tensor.Tensor{tensor.Rand(w.M, w.N)} }
		}},
		{"normal", "f32", func(w *work) func() []tensor.Tensor {
			return func() []tensor.Tensor { return []tensor.Tensor{tensor.Randn(w.M, w.N)} }
		}},
		of("dropout", func(x tensor.Tensor) tensor.Tensor { return tensor.Dropout(x, 0.1) }),
		of("categorical", func(x tensor.Tensor) tensor.Tensor { return tensor.Categorical(x, 1) }),
		{"range", "f32", func(w *work) func() []tensor.Tensor {
			return func() []tensor.Tensor { return []tensor.Tensor{tensor.Range(w.M * w.N)} }
		}},
	}
}
