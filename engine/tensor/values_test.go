package tensor

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// What short expressions hold; many are NumPy's and PyTorch's first examples.
func TestValues(t *testing.T) {
	x := From([][]float64{{1, 2, 3}, {4, 5, 6}})
	values, places := From([]float64{3, 9, 1, 9}).TopK(3)
	for _, c := range []struct {
		name string
		got  Tensor
		want []float64
	}{
		{"arange", Arange(1, 2, 0.25), []float64{1, 1.25, 1.5, 1.75}},
		{"arange down", Arange(3, 0, -1), []float64{3, 2, 1}},
		{"arange of nothing", Arange(2, 1, 1), nil},
		{"range", Range(4), []float64{0, 1, 2, 3}},
		{"linspace", Linspace(0, 1, 5), []float64{0, 0.25, 0.5, 0.75, 1}},
		{"linspace of one", Linspace(7, 9, 1), []float64{7}},
		{"eye", Eye(2), []float64{1, 0, 0, 1}},
		{"bytes", FromBytes(dtype.BF16, []byte{0x80, 0x3f, 0x00, 0xc0}, 2), []float64{1, -2}},
		{"large integer", From(1 << 40).Add(1), []float64{1<<40 + 1}},
		{"narrow", Range(3).Cast(dtype.U8).Sub(1), []float64{255, 0, 1}},
		{"transpose", x.Transpose(), []float64{1, 4, 2, 5, 3, 6}},
		{"reshape of a transpose", x.Transpose().Reshape(2, 3), []float64{1, 4, 2, 5, 3, 6}},
		{"column", x.Select(1, -1), []float64{3, 6}},
		{"every second, backwards", Range(6).SliceStep(0, -1, -7, -2), []float64{5, 3, 1}},
		{"flip", x.Flip(1), []float64{3, 2, 1, 6, 5, 4}},
		{"pad", From([]int{1}).Pad(0, 1, 2, -1), []float64{-1, 1, -1, -1}},
		{"concat promotes", Concat([]Tensor{Range(2), From([]float64{0.5})}, 0), []float64{0, 1, 0.5}},
		{"stack", Stack([]Tensor{Range(2), Range(2)}, -1), []float64{0, 0, 1, 1}},
		{"where with numbers", Where(x.Gt(3), 1, 0.5), []float64{0.5, 0.5, 0.5, 1, 1, 1}},
		{"clip", x.Clip(2, 5), []float64{2, 2, 3, 4, 5, 5}},
		{"relu", From([]float64{-1, 0, math.Inf(1)}).Relu(), []float64{0, 0, math.Inf(1)}},
		{"relu of NaN", From([]float64{math.NaN()}).Relu(), []float64{math.NaN()}},
		{"mean of a column", x.Mean(0), []float64{2.5, 3.5, 4.5}},
		{"variance", x.Var(1), []float64{2. / 3, 2. / 3}},
		{"norm", From([]float64{3, 4}).Norm(), []float64{5}},
		{"any", x.Gt(5).Any(1), []float64{0, 1}},
		{"all", x.Gt(0).All(), []float64{1}},
		{"any of nothing", Zeros(0).Gt(0).Any(), []float64{0}},
		{"sum of nothing", Zeros(0, 3).Sum(0), []float64{0, 0, 0}},
		{"mean of nothing", Zeros(0).Mean(), []float64{math.NaN()}},
		{"sum of a number, repeated", Full(2, 4, 3).Sum(0), []float64{8, 8, 8}},
		{"sum of an integer, repeated", From(2).Expand(4, 3).Sum(1), []float64{6, 6, 6, 6}},
		{"product of a number, repeated", Full(2, 3).Prod(), []float64{8}},
		{"narrow sum of a number", Full(2, 4, 3).Cast(dtype.BF16).Sum(1), []float64{6, 6, 6, 6}},
		{"argmax", x.ArgMax(-1), []float64{2, 2}},
		{"cumsum", Range(5).CumSum(0), []float64{0, 1, 3, 6, 10}},
		{"top values", values, []float64{9, 9, 3}},
		{"top places", places, []float64{1, 3, 0}},
		{"embedding", x.Take(From([]int{1, 0, 1}), 0), []float64{4, 5, 6, 1, 2, 3, 4, 5, 6}},
		{"take from the end", x.Take(From([]int{-1, 0, -3}), 1), []float64{3, 1, 1, 6, 4, 4}},
		{"take along, from the end", x.TakeAlong(From([][]int{{-1, 1, -2}}), 0), []float64{4, 5, 3}},
		{"scatter from the end", Zeros(3).ScatterAdd(0, From([]int{-1, 2, -3}), From([]float64{1, 5, 7})), []float64{7, 0, 6}},
		{"scatter along, from the end", Zeros(1, 3).ScatterAlong(1, From([][]int{{-1, 2, -3}}), From([][]float64{{1, 5, 7}})), []float64{7, 0, 6}},
		{"overwrite from the end", Zeros(3).Overwrite(0, From([]int{-2, 2}), From([]float64{1, 5})), []float64{0, 1, 5}},
		{"at the end", x.At(-1, -3), []float64{4}},
		{"scatter", Zeros(3).ScatterAdd(0, From([]int{2, 2}), From([]float64{1, 5})), []float64{0, 0, 6}},
		{"vector product", From([]int{1, 2, 3}).MatMul(From([]int{4, 5, 6})), []float64{32}},
		{"softmax of equal", Zeros(4).Softmax(0), []float64{0.25, 0.25, 0.25, 0.25}},
		{"softmax of large", From([]float64{1e30, -1e30}).Softmax(0), []float64{1, 0}},
		{"rows that count", CrossEntropy(Zeros(3, 4), From([]int{1, -100, 2}), CrossEntropyOptions{}), []float64{math.Log(4)}},
		{"rows of two targets do not count", CrossEntropy(From([][]float64{{5, 1, 1}, {0, 0, 0}, {9, 1, 1}}), From([]int{0, 2, 1}),
			CrossEntropyOptions{Ignore: []int{0, 1}}), []float64{math.Log(3)}},
		{"more bins than the dtype has numbers", From([]uint8{1, 255, 1}).BinCount(300).Slice(0, 1, 256).Clip(0, 9).Sum(), []float64{3}},
		{"places among bytes", From([]uint8{3, 5, 5}).SearchSorted(From([]int{-1, 5, 400}), true), []float64{0, 3, 3}},
		{"booleans in order", From([]bool{true, false, true}).ArgSort(0), []float64{1, 0, 2}},
		{"sets of booleans", From([]bool{true, false, true}).Unique().Counts, []float64{1, 2}},
		{"diff of booleans", From([]bool{true, false, true}).Diff(0), []float64{-1, 1}},
		{"losses of rows", CrossEntropy(Zeros(2, 4), From([]int{1, 3}), CrossEntropyOptions{Ignore: []int{3}, PerRow: true}), []float64{math.Log(4), 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.got.Float64s()
			same := slices.EqualFunc(got, c.want, func(a, b float64) bool {
				return a == b || math.Abs(a-b) <= 1e-6*math.Abs(b) || math.IsNaN(a) && math.IsNaN(b)
			})
			if !same {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Slices follow Python's rules for any bounds and steps.
func TestSliceLikePython(t *testing.T) {
	for length := range 5 {
		for start := -6; start <= 6; start++ {
			for stop := -6; stop <= 6; stop++ {
				for _, step := range []int{1, 2, 3, -1, -2} {
					got := Range(length).SliceStep(0, start, stop, step).Ints()
					if want := pythonSlice(length, start, stop, step); fmt.Sprint(got) != fmt.Sprint(want) {
						t.Fatalf("range(%d)[%d:%d:%d]: got %v, want %v", length, start, stop, step, got, want)
					}
				}
			}
		}
	}
}

// pythonSlice is list(range(length))[start:stop:step] by the language reference: bounds below 0 count from
// the end, and are clipped to where the walk may be.
func pythonSlice(length, start, stop, step int) []int {
	clip := func(i int) int {
		if i < 0 {
			i += length
		}
		if step > 0 {
			return min(max(i, 0), length)
		}
		return min(max(i, -1), length-1)
	}
	list := []int{}
	for i := clip(start); step > 0 && i < clip(stop) || step < 0 && i > clip(stop); i += step {
		list = append(list, i)
	}
	return list
}

// Pieces together are the whole.
func TestSplitAndChunk(t *testing.T) {
	x := Range(10).Reshape(5, 2)
	for name, parts := range map[string][]Tensor{"split": x.Split(0, 2), "chunk": x.Chunk(0, 3), "chunk, more than there are": x.Chunk(0, 7)} {
		if d := MaxAbsDiff(Concat(parts, 0), x); d != 0 {
			t.Errorf("%s: the pieces differ from the whole by %v", name, d)
		}
	}
}

func TestComparing(t *testing.T) {
	nan := math.NaN()
	a, b := From([]float64{1, nan, 3}), From([]float64{1, nan, 3.5})
	if d := MaxAbsDiff(a, b); d != 0.5 {
		t.Errorf("MaxAbsDiff: got %v, want 0.5 (a NaN equals a NaN)", d)
	}
	if d := MaxAbsDiff(a, From([]float64{1, 2, 3})); !math.IsNaN(d) {
		t.Errorf("MaxAbsDiff with NaN on one side: got %v, want NaN", d)
	}
	if !AllClose(Ones(3), Full(1.001), 0.01, 0) || AllClose(Ones(3), Full(1.1, 3), 0.01, 0) || AllClose(a, a, 1, 1) {
		t.Error("AllClose: want true within tolerance, false beyond it, false for NaN")
	}
	for want, f := range map[string]func(){
		"all_close: got f32[2] and f32[3 2], want one shape":    func() { AllClose(Ones(2), Ones(3, 2), 0, 0) },
		"max_abs_diff: got f32[2] and f32[2 1], want one shape": func() { MaxAbsDiff(Ones(2), Ones(2, 1)) },
	} {
		if err := Try(f); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
