package tensor

import (
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// everyDevice opens the devices of this machine.
func everyDevice(t *testing.T) (list []device.Device) {
	t.Helper()
	for _, f := range device.List() {
		if f.Missing != "" {
			continue
		}
		d, err := device.Lookup(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// onEach runs a test with each device as the default one.
func onEach(t *testing.T, f func(t *testing.T)) {
	before := device.Default().String()
	defer device.Use(before)
	for _, d := range everyDevice(t) {
		if err := device.Use(d.String()); err != nil {
			t.Fatal(err)
		}
		t.Run(d.String(), f)
	}
}

// The functions of angles agree with package math, near 0 and where eˣ or x² overflow, and so do their
// slopes.
func TestTrig(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(Tensor) Tensor
		want func(float64) float64
		at   []float64
	}{
		{"tan", Tensor.Tan, math.Tan, []float64{-1, 0, 0.5, 4}},
		{"asin", Tensor.Asin, math.Asin, []float64{-1, -0.9, 0, 1e-5, 0.3, 0.99999, 1, 1.5}},
		{"acos", Tensor.Acos, math.Acos, []float64{-1, -0.9, 0, 0.3, 0.99999, 1, -2}},
		{"atan", Tensor.Atan, math.Atan, []float64{-1e9, -1, 0, 1e-5, 3, math.Inf(1)}},
		{"sinh", Tensor.Sinh, math.Sinh, []float64{-89, -2, -1e-5, 0, 1e-5, 0.5, 1, 89, math.Inf(-1)}},
		{"cosh", Tensor.Cosh, math.Cosh, []float64{-89, -2, 0, 1e-5, 89, math.Inf(1)}},
		{"asinh", Tensor.Asinh, math.Asinh, []float64{-1e30, -1e4, -1e-5, 0, 1e-5, 2, 1e7, 1e30, math.Inf(1)}},
		{"acosh", Tensor.Acosh, math.Acosh, []float64{0.5, 1, 1.0001, 2, 1e30, math.Inf(1), math.NaN()}},
		{"atanh", Tensor.Atanh, math.Atanh, []float64{-1, -0.9999, -1e-5, 0, 1e-5, 0.5, 0.9999, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T) {
				x := From(c.at)
				for i, got := range c.f(x).Float64s() {
					in := float64(float32(c.at[i]))
					if want := c.want(in); got != want && !(math.Abs(got-want) <= 2e-5*math.Abs(want)) && !(got != got && want != want) {
						t.Errorf("%s(%v) = %v, want %v", c.name, in, got, want)
					}
				}
				p := From([]float64{1e-4, 0.5}).Param()
				if c.name == "acosh" {
					p = From([]float64{1.5, 40}).Param()
				}
				at, slopes := p.Float64s(), Grad(c.f(p).Sum(), p)[0].Float64s()
				for i, got := range slopes {
					const h = 1e-5
					want := (c.want(at[i]+h) - c.want(at[i]-h)) / (2 * h)
					if !(math.Abs(got-want) <= 1e-3*math.Abs(want)+1e-4) {
						t.Errorf("slope of %s at %v: got %v, want %v", c.name, at[i], got, want)
					}
				}
			})
		})
	}
}

// An odd function has its slope at 0, too.
func TestSlopeAtZero(t *testing.T) {
	for name, f := range map[string]func(Tensor) Tensor{
		"asin": Tensor.Asin, "atan": Tensor.Atan, "sinh": Tensor.Sinh, "asinh": Tensor.Asinh, "atanh": Tensor.Atanh,
	} {
		x := From(0.0).Param()
		if got := Grad(f(x), x)[0].Item(); math.Abs(got-1) > 1e-6 {
			t.Errorf("slope of %s at 0: got %v, want 1", name, got)
		}
	}
}

// What NumPy users expect, made of the ops that there are.
func TestCompositions(t *testing.T) {
	onEach(t, func(t *testing.T) {
		inf := math.Inf(1)
		x := From([][]int{{1, 2, 3}, {4, 5, 6}})
		f := From([]float64{7, -7, 7, -7, 6})
		g := From([]float64{3, 3, -3, -3, 3})
		low, at := From([]int{3, 1, 2, 1}).BottomK(3)
		for _, c := range []struct {
			name  string
			got   Tensor
			shape []int
			want  []float64
		}{
			{"tril", x.Tril(0), []int{2, 3}, []float64{1, 0, 0, 4, 5, 0}},
			{"tril below", x.Tril(-1), []int{2, 3}, []float64{0, 0, 0, 4, 0, 0}},
			{"triu", x.Triu(0), []int{2, 3}, []float64{1, 2, 3, 0, 5, 6}},
			{"triu above", x.Triu(2), []int{2, 3}, []float64{0, 0, 3, 0, 0, 0}},
			{"triu of nothing", Zeros(0, 3).Triu(0), []int{0, 3}, nil},
			{"one hot", From([]int{1, 0, 5, -1}).OneHot(2), []int{4, 2}, []float64{0, 1, 1, 0, 0, 0, 0, 0}},
			{"tile", From([]int{1, 2}).Tile(2), []int{4}, []float64{1, 2, 1, 2}},
			{"tile with a new axis", From([]int{1, 2}).Tile(2, 1), []int{2, 2}, []float64{1, 2, 1, 2}},
			{"tile of more axes", x.Tile(2), []int{2, 6}, []float64{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
			{"tile by 0", From([]int{1, 2}).Tile(0), []int{0}, nil},
			{"pad edge", From([]int{1, 2, 3}).PadEdge(0, 2, 1), []int{6}, []float64{1, 1, 1, 2, 3, 3}},
			{"pad reflect", From([]int{1, 2, 3}).PadReflect(0, 5, 2), []int{10}, []float64{2, 1, 2, 3, 2, 1, 2, 3, 2, 1}},
			{"pad reflect of one", From([]int{1}).PadReflect(0, 1, 1), []int{3}, []float64{1, 1, 1}},
			{"pad wrap", From([]int{1, 2, 3}).PadWrap(0, 4, 1), []int{8}, []float64{3, 1, 2, 3, 1, 2, 3, 1}},
			{"pad by less than nothing", From([]int{1, 2, 3}).PadEdge(0, -1, 1), []int{3}, []float64{2, 3, 3}},
			{"cumprod", From([]int{1, 2, 3, 4, 5}).CumProd(0), []int{5}, []float64{1, 2, 6, 24, 120}},
			{"cumprod of columns", x.CumProd(-2), []int{2, 3}, []float64{1, 2, 3, 4, 10, 18}},
			{"log sum exp", From([]float64{1000, 1000}).LogSumExp(), []int{}, []float64{1000 + math.Ln2}},
			{"log sum exp of nothing possible", From([]float64{-inf, -inf}).LogSumExp(0), []int{}, []float64{-inf}},
			{"is inf", From([]float64{-inf, inf, 0, math.NaN()}).IsInf(), []int{4}, []float64{1, 1, 0, 0}},
			{"fmod", f.Fmod(g), []int{5}, []float64{1, -1, 1, -1, 0}},
			{"fmod of integers", f.Cast(dtype.I32).Fmod(g.Cast(dtype.I32)), []int{5}, []float64{1, -1, 1, -1, 0}},
			{"fmod by infinity", From([]float64{-1}).Fmod(inf), []int{1}, []float64{-1}},
			{"truncated division", f.TruncDiv(g), []int{5}, []float64{2, -2, -2, 2, 2}},
			{"truncated division of integers", f.Cast(dtype.I64).TruncDiv(g.Cast(dtype.I64)), []int{5}, []float64{2, -2, -2, 2, 2}},
			{"truncated division by 0", From([]int{-5, 5}).TruncDiv(From([]int{0})), []int{2}, []float64{0, 0}},
			{"truncated division of bytes", From([]uint8{200}).TruncDiv(7), []int{1}, []float64{28}},
			{"smallest", low, []int{3}, []float64{1, 1, 2}},
			{"places of the smallest", at, []int{3}, []float64{1, 3, 2}},
			{"nonzero", From([][]int{{0, 1}, {2, 0}}).NonZero(), []int{2, 2}, []float64{0, 1, 1, 0}},
			{"nonzero of nothing", Zeros(2, 2).NonZero(), []int{2, 0}, nil},
			{"nonzero of a number", From(5).NonZero(), []int{0, 1}, nil},
		} {
			if got := c.got.Shape(); !slices.Equal(got, c.shape) {
				t.Errorf("%s: got shape %v, want %v", c.name, got, c.shape)
				continue
			}
			for i, got := range c.got.Float64s() {
				if got != c.want[i] && math.Abs(got-c.want[i]) > 1e-3 {
					t.Errorf("%s: got %v, want %v", c.name, c.got.Float64s(), c.want)
					break
				}
			}
		}
	})
}

// einsum is the definition: the sum over every value of every letter.
func einsum(equation string, lengths map[rune]int, ts []Tensor, in []string, out string) []float64 {
	var letters []rune
	for r := range lengths {
		letters = append(letters, r)
	}
	slices.Sort(letters)
	at := map[rune]int{}
	place := func(axes string) int {
		p := 0
		for _, r := range axes {
			p = p*lengths[r] + at[r]
		}
		return p
	}
	size := 1
	for _, r := range out {
		size *= lengths[r]
	}
	sums := make([]float64, size)
	data := make([][]float64, len(ts))
	for i, t := range ts {
		data[i] = t.Float64s()
	}
	var walk func(i int)
	walk = func(i int) {
		if i < len(letters) {
			for at[letters[i]] = 0; at[letters[i]] < lengths[letters[i]]; at[letters[i]]++ {
				walk(i + 1)
			}
			return
		}
		p := 1.0
		for k := range ts {
			p *= data[k][place(in[k])]
		}
		sums[place(out)] += p
	}
	walk(0)
	return sums
}

func TestEinsum(t *testing.T) {
	lengths := map[rune]int{'a': 2, 'b': 3, 'i': 4, 'j': 3, 'k': 5}
	for _, c := range []struct {
		equation string
		in       []string
		out      string
	}{
		{"ij->ji", []string{"ij"}, "ji"},
		{"ij", []string{"ij"}, "ij"},
		{"ji", []string{"ji"}, "ij"},
		{"ij->i", []string{"ij"}, "i"},
		{"ij -> ", []string{"ij"}, ""},
		{"ii->i", []string{"ii"}, "i"},
		{"ii", []string{"ii"}, ""},
		{"iii->i", []string{"iii"}, "i"},
		{"iaiji->ja", []string{"iaiji"}, "ja"},
		{"...ii->...i", []string{"abii"}, "abi"},
		{"i,i->i", []string{"i", "i"}, "i"},
		{"i,j->ij", []string{"i", "j"}, "ij"},
		{"ij,jk", []string{"ij", "jk"}, "ik"},
		{"bij,bjk->bik", []string{"bij", "bjk"}, "bik"},
		{"...ij,...jk->...ik", []string{"abij", "abjk"}, "abik"},
		{"...ij,jk", []string{"abij", "jk"}, "abik"},
		{"...,...", []string{"ab", "ab"}, "ab"},
		{"aij,bjk,ki->ab", []string{"aij", "bjk", "ki"}, "ab"},
		{"aij,j->", []string{"aij", "j"}, ""},
		{"aij,kb->ab", []string{"aij", "kb"}, "ab"},
	} {
		used := map[rune]int{}
		var ts []Tensor
		rng := NewRNG(1)
		for _, axes := range c.in {
			shape := []int{}
			for _, r := range axes {
				used[r] = lengths[r]
				shape = append(shape, lengths[r])
			}
			ts = append(ts, rng.RandInt(-9, 9, shape...))
		}
		wantShape := []int{}
		for _, r := range c.out {
			wantShape = append(wantShape, lengths[r])
		}
		got, want := Einsum(c.equation, ts), einsum(c.equation, used, ts, c.in, c.out)
		if !slices.Equal(got.Shape(), wantShape) || !slices.Equal(got.Float64s(), want) {
			t.Errorf("%q: got %v %v, want %v %v", c.equation, got.Shape(), got.Float64s(), wantShape, want)
		}
	}
	if got := Einsum("...i,...i->...", []Tensor{Ones(2, 1, 4), Ones(3, 4)}); !slices.Equal(got.Shape(), []int{2, 3}) || got.Sum().Item() != 24 {
		t.Errorf("axes of ... of length 1 broadcast: got %v", got)
	}
	if got := Einsum("...,...->", []Tensor{Ones(3, 1), Ones(1, 4)}); got.Item() != 12 {
		t.Errorf("axes of ... that are summed broadcast: got %v, want 12", got.Item())
	}
	for _, c := range []struct {
		equation string
		ts       []Tensor
	}{
		{"ij,jk->ik", []Tensor{Ones(2, 3)}},
		{"ij->ij", []Tensor{Ones(2)}},
		{"ij->ik", []Tensor{Ones(2, 3)}},
		{"ij->ii", []Tensor{Ones(2, 3)}},
		{"ii->i", []Tensor{Ones(2, 3)}},
		{"ij,jk->ik", []Tensor{Ones(2, 3), Ones(4, 5)}},
		{"i?->i", []Tensor{Ones(2, 3)}},
		{"i->i->i", []Tensor{Ones(2)}},
		{"......->", []Tensor{Ones(2)}},
	} {
		if err := Try(func() { Einsum(c.equation, c.ts) }); err == nil {
			t.Errorf("%q: got no error", c.equation)
		}
	}
}
