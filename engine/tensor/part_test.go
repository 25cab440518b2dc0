package tensor

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

var everyIndex = flag.Bool("indices", false, "hold all 5,000 indices against NumPy, not every eighth")

// An indexCase is what NumPy answers for an index; tests/peers/tensor_index.py writes and describes them.
type indexCase struct {
	shape          []int
	index          string
	tensors        []Tensor
	yShape         []int
	taken, written string // sums; "" where NumPy gives an error
}

func indexCases(t *testing.T) (list []indexCase) {
	t.Helper()
	f, err := os.Open("testdata/index.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]json.RawMessage
	if err := json.NewDecoder(z).Decode(&lines); err != nil {
		t.Fatal(err)
	}
	read := func(raw json.RawMessage, to any) {
		if err := json.Unmarshal(raw, to); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	for _, line := range lines {
		var c indexCase
		var tensors [][]json.RawMessage
		read(line[0], &c.shape)
		read(line[1], &c.index)
		read(line[2], &tensors)
		read(line[3], &c.yShape)
		c.taken, c.written = strings.Trim(string(line[4]), `"`), strings.Trim(string(line[5]), `"`)
		for _, raw := range tensors {
			var shape []int
			var mask string
			var index []int
			read(raw[0], &shape)
			if raw[1][0] == '"' {
				read(raw[1], &mask)
				for _, b := range mask {
					index = append(index, int(b-'0'))
				}
				c.tensors = append(c.tensors, FromAs(dtype.Bool, index).Reshape(shape...))
				continue
			}
			read(raw[1], &index)
			c.tensors = append(c.tensors, From(index).Reshape(shape...))
		}
		list = append(list, c)
	}
	return list
}

// sumOf is the CRC-32 of lists of integers as the script writes them.
func sumOf(lists ...[]int) string {
	texts := make([]string, len(lists))
	for i, list := range lists {
		texts[i] = strings.Trim(fmt.Sprint(list), "[]")
	}
	return fmt.Sprint(crc32.ChecksumIEEE([]byte(strings.Join(texts, ";"))))
}

// numbered is 0, 1, 2 … times a factor plus an offset, of a shape, as f32 parameters.
func numbered(shape []int, factor, offset float64) Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return Range(n).Cast(dtype.F32).Mul(factor).Add(offset).Reshape(shape...)
}

// weighted is the sum of element k times 1 + k%period.
func weighted(y Tensor, period int) Tensor {
	w := Range(y.Size()).Mod(period).Add(1).Cast(dtype.F32)
	return y.Flatten().Mul(w).Sum()
}

// gradients are those of a loss, zeros for what it does not depend on.
func gradients(loss Tensor, params ...Tensor) (list []Tensor) {
	for _, p := range params {
		g := ZerosLike(p)
		_ = Try(func() { g = Grad(loss, p)[0] })
		list = append(list, g)
	}
	return list
}

func wholeNumbers(ts ...Tensor) [][]int {
	Eval(ts...)
	lists := make([][]int, len(ts))
	for i, t := range ts {
		lists[i] = t.Cast(dtype.I64).Ints()
	}
	return lists
}

// Taking and writing parts give NumPy's values, shapes, errors and gradients.
func TestIndexAgainstNumPy(t *testing.T) {
	cases := indexCases(t)
	step := 16
	if *everyIndex {
		step = 1
	}
	wrong := 0
	for i := 0; i < len(cases) && wrong < 10; i += step {
		c := cases[i]
		x, y := numbered(c.shape, 1, 0).Param(), numbered(c.yShape, -1, -1).Param()
		taken, written, nothing := "", "", false
		errTake := Try(func() {
			part := x.I(c.index, c.tensors...)
			nothing = part.Size() == 0
			lists := wholeNumbers(append([]Tensor{part}, gradients(weighted(part, 7), x)...)...)
			taken = sumOf(part.Shape(), lists[0], lists[1])
		})
		errWrite := Try(func() {
			z := x.SetI(c.index, y, c.tensors...)
			if !slices.Equal(z.Shape(), c.shape) {
				t.Errorf("f32%v.SetI(%q, f32%v): got shape %v", c.shape, c.index, c.yShape, z.Shape())
			}
			written = sumOf(wholeNumbers(append([]Tensor{z}, gradients(weighted(z, 5), x, y)...)...)...)
		})
		if c.taken == "" && nothing { // an index out of range is found where something is taken
			continue
		}
		if taken != c.taken {
			wrong++
			t.Errorf("case %d: f32%v.I(%q, %v): got %s (%v), want %q as NumPy", i, c.shape, c.index, c.tensors, taken, errTake, c.taken)
		}
		if written != c.written {
			wrong++
			t.Errorf("case %d: f32%v.SetI(%q, f32%v, %v): got %s (%v), want %q as NumPy", i, c.shape, c.index, c.yShape, c.tensors, written, errWrite, c.written)
		}
	}
	if len(cases) != 5000 {
		t.Errorf("got %d cases, want 5000", len(cases))
	}
}

// The typed form and the text say the same.
func TestPartsAndTheirText(t *testing.T) {
	x := Range(60).Reshape(3, 4, 5)
	rows, mask := From([]int{2, 0}), From([]bool{true, false, true})
	for _, c := range []struct {
		text    string
		tensors []Tensor
		parts   []Part
		shape   []int
	}{
		{"", nil, nil, []int{3, 4, 5}},
		{"1", nil, []Part{At(1)}, []int{4, 5}},
		{":, 0", nil, []Part{All, At(0)}, []int{3, 5}},
		{" 1:3 ,-1 ", nil, []Part{Span(1, 3), At(-1)}, []int{2, 5}},
		{"1:, ..., ::-1", nil, []Part{Span(1, Open), Rest, SpanStep(Open, Open, -1)}, []int{2, 4, 5}},
		{":2, None, 3:0:-2", nil, []Part{Span(Open, 2), NewAxis, SpanStep(3, 0, -2)}, []int{2, 1, 2, 5}},
		{"[2, 0],", nil, []Part{Pick(rows)}, []int{2, 4, 5}},
		{"?, 0", []Tensor{mask}, []Part{Pick(mask), At(0)}, []int{2, 5}},
		{"?, :, ?", []Tensor{rows, rows}, []Part{Pick(rows), All, Pick(rows)}, []int{2, 4}},
	} {
		a, b := x.I(c.text, c.tensors...), x.Index(c.parts...)
		if !slices.Equal(a.Shape(), c.shape) || !slices.Equal(a.Ints(), b.Ints()) || !slices.Equal(b.Shape(), c.shape) {
			t.Errorf("I(%q): got %v, Index %v, want shape %v", c.text, a, b, c.shape)
		}
		a, b = x.SetI(c.text, -1, c.tensors...), x.SetIndex(-1, c.parts...)
		if !slices.Equal(a.Ints(), b.Ints()) || x.Sub(a).CountNonZero().Item() != float64(x.Index(c.parts...).Size()) {
			t.Errorf("SetI(%q): got %v, SetIndex %v", c.text, a, b)
		}
	}
}

// A mistake in an index is named with its column, or with the tensor's axis.
func TestIndexMistakes(t *testing.T) {
	x := Zeros(2, 3)
	for _, c := range []struct {
		text    string
		tensors []Tensor
		want    string
	}{
		{"1:x", nil, `i: got "x" at column 3 of "1:x", want ","`},
		{"1, two", nil, `i: got "two" at column 4 of "1, two", want a number, a range, ..., None, ? or a list`},
		{":, , 0", nil, `i: got "" at column 4 of ":, , 0", want a number, a range, ..., None, ? or a list`},
		{"[0, 1", nil, `i: got the end at column 6 of "[0, 1", want ","`},
		{"[0,]", nil, `i: got "]" at column 4 of "[0,]", want a number or ]`},
		{"0 1", nil, `i: got "1" at column 3 of "0 1", want ","`},
		{"99999999999999999999", nil, `i: got "99999999999999999999" at column 1 of "99999999999999999999", want a number`},
		{":, ?", nil, `i: got "?" at column 4 of ":, ?", want a tensor for it behind the text`},
		{":", []Tensor{x}, `i: got 1 tensors for ":", want one for each ?`},
		{"0, 0, 0", nil, "i: got parts of 3 axes for f32[2 3], want 2 at most"},
		{"..., 0, ...", nil, "i: got two Rest (...) for f32[2 3], want one at most"},
		{":, 3", nil, "i: got index 3 on axis 1 of f32[2 3], want one in -3…2"},
		{"::0", nil, "i: got step 0 on axis 0 of f32[2 3], want any other"},
		{"?", []Tensor{x}, "i: got index f32[2 3] for f32[2 3], want integers or a mask of booleans"},
		{":, ?", []Tensor{From([]bool{true, false})}, "i: got mask bool[2] from axis 1 of f32[2 3] on, want bool[3]"},
		{"?", []Tensor{From([]bool{true}).Reshape()}, "i: got a mask without axes for f32[2 3], want one axis at least"},
		{"[0, 1], [0, 1, 2]", nil, "i: got i64[2] and i64[3], want shapes that broadcast (lengths equal or 1, aligned at the end)"},
	} {
		err := Try(func() { x.I(c.text, c.tensors...) })
		if err == nil || err.Error() != c.want {
			t.Errorf("I(%q): got %v, want %s", c.text, err, c.want)
		}
	}
	err := Try(func() { x.SetI(":, 0", Ones(3)) })
	if want := "set_i: got f32[3] for a part of shape [2] of f32[2 3], want a shape that broadcasts to it"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, axis := range []string{"?, 0", "0, ?"} { // the device finds it, and the message names the tensor's own axis
		err := Try(func() { x.I(axis, From([]int{7})).Bytes() })
		if want := fmt.Sprintf("gather: index 7 at position 0 is out of range for axis %d of length %d", strings.Index(axis, "?")/3, 2+strings.Index(axis, "?")/3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", axis, err, want)
		}
	}
}

// What is written takes the tensor's dtype, as in NumPy; the tensor itself stays.
func TestSetIndexKeepsDType(t *testing.T) {
	for _, c := range []struct {
		x    Tensor
		y    Operand
		want []int
	}{
		{From([]int{1, 2, 3}), 7.9, []int{7, 2, 3}},
		{From([]int{1, 2, 3}), From([]float32{-1.5}), []int{-1, 2, 3}},
		{From([]bool{false, false, true}), true, []int{1, 0, 1}},
		{From([]float32{1, 2, 3}), From([]int{9}), []int{9, 2, 3}},
	} {
		before := c.x.Cast(dtype.I64).Ints()
		y := c.x.SetI("0:1", c.y)
		if y.DType() != c.x.DType() || !slices.Equal(y.Cast(dtype.I64).Ints(), c.want) || !slices.Equal(c.x.Cast(dtype.I64).Ints(), before) {
			t.Errorf("%v with %v: got %v, want %v", c.x, c.y, y, c.want)
		}
	}
	err := Try(func() { From([]int8{1}).SetI("0", 300) })
	if err == nil || !strings.Contains(err.Error(), "got 300 beside i8[1], want a number from -128 to 127") {
		t.Errorf("got %v", err)
	}
}

// A mask that is filled with one value is not evaluated; neither is the tensor.
func TestMaskedFillIsLazy(t *testing.T) {
	x := Arange(-2, 2, 1)
	mask := x.Lt(0)
	y := x.SetIndex(0, Pick(mask))
	if mask.Evaluated() || y.Evaluated() {
		t.Error("something was evaluated")
	}
	if got := y.Floats(); !slices.Equal(got, []float32{0, 0, 0, 1}) {
		t.Errorf("got %v", got)
	}
}
