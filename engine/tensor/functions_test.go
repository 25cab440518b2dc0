package tensor

import "github.com/mcs-notebook/mcs/engine/dtype"

func init() {
	for name, f := range peerFunctions {
		peerOps[name] = f
	}
}

// ints is a list of settings.
func (c peerCase) ints(s string) (list []int) {
	settings, _ := c.Settings[s].([]any)
	for _, v := range settings {
		list = append(list, int(v.(float64)))
	}
	return list
}

func (c peerCase) n() int { return int(c.number("n")) }

// of makes a peer's function of a method without settings.
func of(f func(Tensor) Tensor) func(peerCase, []Tensor) Tensor {
	return func(_ peerCase, a []Tensor) Tensor { return f(a[0]) }
}

func of2(f func(Tensor, Operand) Tensor) func(peerCase, []Tensor) Tensor {
	return func(_ peerCase, a []Tensor) Tensor { return f(a[0], a[1]) }
}

func along(f func(Tensor, int) Tensor) func(peerCase, []Tensor) Tensor {
	return func(c peerCase, a []Tensor) Tensor { return f(a[0], c.axis()) }
}

// over makes a peer's function of a reduction over the axes of the settings.
func over(f func(Tensor, ...int) Tensor) func(peerCase, []Tensor) Tensor {
	return func(c peerCase, a []Tensor) Tensor { return f(a[0], c.ints("axes")...) }
}

// anyAxis is a function that goes along one axis if it is given one.
func anyAxis(f func(Tensor, ...int) Tensor) func(Tensor, int) Tensor {
	return func(x Tensor, axis int) Tensor { return f(x, axis) }
}

// peerFunctions are those of testdata/functions.json and random.json, which tests/peers/tensor_functions.py
// and tensor_random.py write.
var peerFunctions = map[string]func(c peerCase, a []Tensor) Tensor{
	"log2": of(Tensor.Log2), "log10": of(Tensor.Log10), "exp2": of(Tensor.Exp2), "trunc": of(Tensor.Trunc), "cbrt": of(Tensor.Cbrt),
	"signbit": of(Tensor.Signbit), "is_finite": of(Tensor.IsFinite), "is_inf": of(Tensor.IsInf),
	"softplus": of(Tensor.Softplus), "log_sigmoid": of(Tensor.LogSigmoid), "trace": of(Tensor.Trace), "diag": of(Diag),
	"hypot": of2(Tensor.Hypot), "log_add_exp": of2(Tensor.LogAddExp), "copysign": of2(Tensor.Copysign),
	"next_after": of2(Tensor.NextAfter), "shl": of2(Tensor.Shl), "shr": of2(Tensor.Shr),
	"sort": along(anyAxis(Tensor.Sort)), "arg_sort": along(anyAxis(Tensor.ArgSort)), "cum_max": along(anyAxis(Tensor.CumMax)), "cum_min": along(anyAxis(Tensor.CumMin)),
	"diff": along(Tensor.Diff), "median": along(anyAxis(Tensor.Median)),

	"sum_axes": over(Tensor.Sum), "prod_axes": over(Tensor.Prod), "max_axes": over(Tensor.Max), "min_axes": over(Tensor.Min),
	"any_axes": over(Tensor.Any), "all_axes": over(Tensor.All), "count_non_zero_axes": over(Tensor.CountNonZero),
	"permute": over(Tensor.Permute), "flip_axes": over(Tensor.Flip),
	"tile":   func(c peerCase, a []Tensor) Tensor { return a[0].Tile(c.ints("counts")...) },
	"expand": func(c peerCase, a []Tensor) Tensor { return a[0].Expand(c.ints("shape")...) },
	"slice": func(c peerCase, a []Tensor) Tensor {
		x, starts, stops := a[0], c.ints("starts"), c.ints("stops")
		for axis, step := range c.ints("steps") {
			x = x.SliceStep(axis, starts[axis], stops[axis], step)
		}
		return x
	},

	"masked":               func(c peerCase, a []Tensor) Tensor { return a[0].Masked(a[1]) },
	"kron":                 func(c peerCase, a []Tensor) Tensor { return a[0].Kron(a[1]) },
	"norm":                 func(c peerCase, a []Tensor) Tensor { return a[0].Norm(c.axis()) },
	"mean_squares":         func(c peerCase, a []Tensor) Tensor { return MeanSquares(a[0], a[1]) },
	"binary_cross_entropy": func(c peerCase, a []Tensor) Tensor { return BinaryCrossEntropy(a[0], a[1]) },
	"kl_divergence":        func(c peerCase, a []Tensor) Tensor { return KLDivergence(a[0], a[1]) },
	"cosine_similarity":    func(c peerCase, a []Tensor) Tensor { return CosineSimilarity(a[0], a[1], c.axis()) },

	"elu":        func(c peerCase, a []Tensor) Tensor { return a[0].Elu(c.number("alpha")) },
	"leaky_relu": func(c peerCase, a []Tensor) Tensor { return a[0].LeakyRelu(c.number("alpha")) },
	"lerp":       func(c peerCase, a []Tensor) Tensor { return a[0].Lerp(a[1], c.number("alpha")) },
	"bitcast": func(c peerCase, a []Tensor) Tensor {
		dt, err := dtype.Parse(c.Settings["to"].(string))
		check("bitcast", err)
		return a[0].Bitcast(dt)
	},
	"count_non_zero": func(c peerCase, a []Tensor) Tensor { return a[0].CountNonZero(c.axis()) },
	"sample_var":     func(c peerCase, a []Tensor) Tensor { return a[0].SampleVar(c.axis()) },
	"quantile":       func(c peerCase, a []Tensor) Tensor { return a[0].Quantile(c.number("q"), c.axis()) },
	"roll":           func(c peerCase, a []Tensor) Tensor { return a[0].Roll(c.axis(), c.n()) },
	"repeat":         func(c peerCase, a []Tensor) Tensor { return a[0].Repeat(c.axis(), c.n()) },
	"diagonal":       func(c peerCase, a []Tensor) Tensor { return a[0].Diagonal(c.n()) },
	"bin_count":      func(c peerCase, a []Tensor) Tensor { return a[0].BinCount(c.n()) },
	"move_axis":      func(c peerCase, a []Tensor) Tensor { return a[0].MoveAxis(c.axis(), int(c.number("to"))) },
	"meshgrid":       func(c peerCase, a []Tensor) Tensor { return Meshgrid(a...)[c.n()] },
	"search_sorted":  func(c peerCase, a []Tensor) Tensor { return a[0].SearchSorted(a[1], c.number("right") != 0) },
	"is_in":          func(c peerCase, a []Tensor) Tensor { return a[0].IsIn(a[1]) },
	"unique_values":  func(c peerCase, a []Tensor) Tensor { return a[0].Unique().Values },
	"unique_first":   func(c peerCase, a []Tensor) Tensor { return a[0].Unique().First },
	"unique_inverse": func(c peerCase, a []Tensor) Tensor { return a[0].Unique().Inverse },
	"unique_counts":  func(c peerCase, a []Tensor) Tensor { return a[0].Unique().Counts },
	"outer":          func(c peerCase, a []Tensor) Tensor { return a[0].Outer(a[1]) },
	"vec_dot":        func(c peerCase, a []Tensor) Tensor { return a[0].VecDot(a[1], c.axis()) },
	"tensor_dot":     func(c peerCase, a []Tensor) Tensor { return a[0].TensorDot(a[1], c.ints("axes"), c.ints("to")) },
	"put": func(c peerCase, a []Tensor) Tensor {
		return a[0].Put(c.axis(), a[1], a[2], Combination(c.number("how")))
	},
	"put_along": func(c peerCase, a []Tensor) Tensor {
		index, updates := a[1], a[len(a)-1]
		if rows, ok := c.Settings["index"].([]any); ok {
			var flat []int
			for _, row := range rows {
				for _, v := range row.([]any) {
					flat = append(flat, int(v.(float64)))
				}
			}
			index = From(flat, len(rows), -1)
		}
		return a[0].PutAlong(c.axis(), index, updates, Combination(c.number("how")))
	},
}
