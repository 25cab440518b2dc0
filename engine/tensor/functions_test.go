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

// over makes a peer's function of a reduction over the axes of the settings.
func over(f func(Tensor, ...int) Tensor) func(peerCase, []Tensor) Tensor {
	return func(c peerCase, a []Tensor) Tensor { return f(a[0], c.ints("axes")...) }
}

// peerFunctions are those of testdata/functions.json and random.json, which tests/peers/tensor_functions.py
// and tensor_random.py write.
var peerFunctions = map[string]func(c peerCase, a []Tensor) Tensor{
	"diag":     func(c peerCase, a []Tensor) Tensor { return Diag(a[0]) },
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
	"mean_squares":         func(c peerCase, a []Tensor) Tensor { return MeanSquares(a[0], a[1]) },
	"binary_cross_entropy": func(c peerCase, a []Tensor) Tensor { return BinaryCrossEntropy(a[0], a[1]) },
	"kl_divergence":        func(c peerCase, a []Tensor) Tensor { return KLDivergence(a[0], a[1]) },
	"cosine_similarity":    func(c peerCase, a []Tensor) Tensor { return CosineSimilarity(a[0], a[1], c.axis()) },
	"elu":                  func(c peerCase, a []Tensor) Tensor { return a[0].Elu(c.number("alpha")) },
	"leaky_relu":           func(c peerCase, a []Tensor) Tensor { return a[0].LeakyRelu(c.number("alpha")) },
	"lerp":                 func(c peerCase, a []Tensor) Tensor { return a[0].Lerp(a[1], c.number("alpha")) },
	"bitcast": func(c peerCase, a []Tensor) Tensor {
		dt, err := dtype.Parse(c.Settings["to"].(string))
		check("bitcast", err)
		return a[0].Bitcast(dt)
	},
	"quantile":       func(c peerCase, a []Tensor) Tensor { return a[0].Quantile(c.number("q"), c.axis()) },
	"roll":           func(c peerCase, a []Tensor) Tensor { return a[0].Roll(c.axis(), c.n()) },
	"repeat":         func(c peerCase, a []Tensor) Tensor { return a[0].Repeat(c.axis(), c.n()) },
	"diagonal":       func(c peerCase, a []Tensor) Tensor { return a[0].Diagonal(c.n()) },
	"bin_count":      func(c peerCase, a []Tensor) Tensor { return a[0].BinCount(c.n()) },
	"move_axis":      func(c peerCase, a []Tensor) Tensor { return a[0].MoveAxis(c.axis(), int(c.number("to"))) },
	"meshgrid":       func(c peerCase, a []Tensor) Tensor { return Meshgrid(a...)[c.n()] },
	"search_sorted":  func(c peerCase, a []Tensor) Tensor { return a[0].SearchSorted(a[1], c.number("right") != 0) },
	"unique_values":  func(c peerCase, a []Tensor) Tensor { return a[0].Unique().Values },
	"unique_first":   func(c peerCase, a []Tensor) Tensor { return a[0].Unique().First },
	"unique_inverse": func(c peerCase, a []Tensor) Tensor { return a[0].Unique().Inverse },
	"unique_counts":  func(c peerCase, a []Tensor) Tensor { return a[0].Unique().Counts },
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
