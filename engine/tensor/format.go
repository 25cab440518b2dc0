package tensor

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Format writes the tensor for package fmt, and evaluates it. One element is written as a Go number of its
// dtype or as a bool: %v is 0.25, %.1f is 0.2. Of more, %v and %s are [Tensor.String], and other verbs write
// the values alone, each in that form, those that Text shows: %.1f is [0.2 0.5]. Verbs of floats write
// integers, too.
func (t Tensor) Format(s fmt.State, verb rune) {
	if t.IsNone() || t.Freed() {
		fmt.Fprint(s, t.Brief())
		return
	}
	outsideOnly("print")
	n := t.Eval().node("print")
	one := ir.Size(n.Shape) == 1
	if one && verb == 's' {
		verb = 'v'
	}
	if !one && (verb == 'v' || verb == 's') {
		fmt.Fprint(s, t.String())
		return
	}
	directive, shown := fmt.FormatString(s, verb), shownIndices(n.Shape)
	list := []string{}
	for _, v := range goNumbers(n, shown, strings.ContainsRune("eEfFgG", verb)) {
		list = append(list, fmt.Sprintf(directive, v))
	}
	if one {
		fmt.Fprint(s, list[0])
		return
	}
	fmt.Fprint(s, inBrackets(100, shown, list))
}

// goNumbers are the shown elements as Go values, integers as float64 if asked for.
func goNumbers(n *ir.Node, shown [][]int, floats bool) (list []any) {
	if n.DType.Complex() {
		im := shownFloats(n.Src[1], shown)
		for i, re := range shownFloats(n.Src[0], shown) {
			z := any(complex(re, im[i]))
			if n.DType == dtype.C64 {
				z = complex64(complex(re, im[i]))
			}
			list = append(list, z)
		}
		return list
	}
	values, size := shownValues(n, shown), n.DType.Size()
	for i := range len(values) / size {
		if floats && n.DType.Int() {
			list = append(list, element(n.DType, values, i))
		} else {
			list = append(list, goNumber(n.DType, ir.Load(n.DType, values[i*size:])))
		}
	}
	return list
}

// goNumber is an element as a Go value of its dtype; f16 and bf16 are float32.
func goNumber(dt dtype.Type, v ir.Scalar) any {
	switch {
	case dt == dtype.Bool:
		return v.I != 0
	case dt == dtype.F64:
		return v.F
	case dt.Float():
		return float32(v.F)
	case dt == dtype.U64:
		return uint64(v.I)
	}
	return v.I
}

// MarshalJSON writes the elements as nested lists, one for each axis, and a tensor of no axes as a number. No
// tensor is null. JSON has no NaN, no infinity and no complex numbers: they are an error, as in Go.
func (t Tensor) MarshalJSON() (text []byte, err error) {
	if t.IsNone() {
		return []byte("null"), nil
	}
	err = Try(func() { text = t.json() })
	return text, err
}

func (t Tensor) json() []byte {
	outsideOnly("json")
	n := t.Eval().node("json")
	if n.DType.Complex() {
		fail("json", "got %v, want real numbers: JSON has no others", n)
	}
	values, text, size := hostBytes(n), []byte(nil), n.DType.Size()
	var list func(axis int)
	list = func(axis int) {
		if axis == len(n.Shape) {
			number, err := json.Marshal(goNumber(n.DType, ir.Load(n.DType, values)))
			if err != nil {
				fail("json", "got %v in %v, want a finite number", ir.Load(n.DType, values).F, n)
			}
			values = values[size:]
			text = append(text, number...)
			return
		}
		text = append(text, '[')
		for i := range n.Shape[axis] {
			if i > 0 {
				text = append(text, ',')
			}
			list(axis + 1)
		}
		text = append(text, ']')
	}
	list(0)
	return text
}
