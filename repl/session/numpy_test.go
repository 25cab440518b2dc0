package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A numpyValue is what NumPy answered: one array, with its type if it is an operand, or several.
type numpyValue struct {
	Kind   string
	Shape  []int
	Values []any // numbers, or the texts nan, inf and -inf
	Parts  []numpyValue
}

func (v *numpyValue) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, &v.Parts)
	}
	type plain numpyValue
	return json.Unmarshal(b, (*plain)(v))
}

func (v numpyValue) numbers() []float64 {
	list := make([]float64, len(v.Values))
	for i, x := range v.Values {
		list[i], _ = strconv.ParseFloat(fmt.Sprint(x), 64)
	}
	return list
}

// A line of NumPy is answered with Go that has NumPy's value (tests/peers/numpy_lines.py), or with words. Of
// the lines more than half have Go; each that has words stands in the list.
func TestAnswersHaveNumPysValues(t *testing.T) {
	b, err := os.ReadFile("testdata/numpy.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Names map[string]numpyValue
		Lines []struct {
			Line  string
			Value numpyValue
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	s, _ := newSession(t, Options{})
	for _, name := range slices.Sorted(maps.Keys(file.Names)) {
		run(t, s, fmt.Sprintf("%s := tensor.From(%s, %s)", name, listed(file.Names[name]), strings.Trim(fmt.Sprintf("%#v", file.Names[name].Shape), "[]int{}")))
	}
	pasted := 0
	for _, c := range file.Lines {
		goText := c.Line
		if r := s.Run(t.Context(), c.Line); r.Err != nil {
			_, hint, _ := strings.Cut(firstLine(r.Err), "\x00")
			var ok bool
			if goText, ok = strings.CutPrefix(hint, "write "); !ok {
				goText, ok = meant(c.Line, hint)
			}
			if !ok {
				t.Logf("%s: %s", c.Line, hint)
				if hint == "" {
					t.Errorf("%s: no answer: %v", c.Line, r.Err)
				}
				continue
			}
			if r := s.Run(t.Context(), goText); r.Err != nil {
				t.Errorf("%s: pasted: %s: %v", c.Line, goText, r.Err)
				continue
			}
		}
		pasted++
		run(t, s, "got := _")
		v := reflect.ValueOf(varNamed(t, s, "got"))
		if problem := differs(v, c.Value); problem != "" {
			t.Errorf("%s: pasted: %s: %s", c.Line, goText, problem)
		}
	}
	t.Logf("%d of %d lines have Go", pasted, len(file.Lines))
	if len(file.Lines) < 60 || 2*pasted < len(file.Lines) {
		t.Errorf("%d of %d lines have Go, want half of at least 60", pasted, len(file.Lines))
	}
}

// listed writes values as a slice of Go.
func listed(v numpyValue) string {
	list := make([]string, len(v.Values))
	for i, x := range v.numbers() {
		switch {
		case v.Kind == "bool":
			list[i] = fmt.Sprint(x != 0)
		case math.IsNaN(x):
			list[i] = "math.NaN()"
		case math.IsInf(x, 0):
			list[i] = fmt.Sprintf("math.Inf(%v)", math.Copysign(1, x))
		default:
			list[i] = fmt.Sprint(x)
		}
	}
	return "[]" + v.Kind + "{" + strings.Join(list, ", ") + "}"
}

func varNamed(t *testing.T, s *Session, name string) any {
	for _, v := range s.Vars() {
		if v.Name == name {
			return v.Value
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// differs compares a value of Go with one of NumPy: a tensor, a list of them, a number, or a list of numbers.
func differs(v reflect.Value, want numpyValue) string {
	if x, ok := v.Interface().(tensor.Tensor); ok {
		if want.Parts != nil || !slices.Equal(x.Shape(), want.Shape) {
			return fmt.Sprintf("got shape %v, want %v and %d parts", x.Shape(), want.Shape, len(want.Parts))
		}
		return apart(x.Float64s(), want.numbers())
	}
	switch v.Kind() {
	case reflect.Slice:
		if want.Parts == nil { // a shape
			break
		}
		if v.Len() != len(want.Parts) {
			return fmt.Sprintf("got %d parts, want %d", v.Len(), len(want.Parts))
		}
		for i := range v.Len() {
			if problem := differs(v.Index(i), want.Parts[i]); problem != "" {
				return fmt.Sprintf("part %d: %s", i, problem)
			}
		}
		return ""
	case reflect.Bool:
		return apart([]float64{map[bool]float64{true: 1}[v.Bool()]}, want.numbers())
	}
	var got []float64
	for field := range strings.FieldsSeq(strings.Trim(fmt.Sprint(v.Interface()), "[]")) {
		x, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return "got " + field
		}
		got = append(got, x)
	}
	return apart(got, want.numbers())
}

// apart says where numbers differ by more than f32 explains.
func apart(got, want []float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("got %v, want %v", got, want)
	}
	for i, w := range want {
		g := got[i]
		same := g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= 1e-5*(1+math.Abs(w))
		if !same && !(math.Abs(w) == math.MaxFloat64 && math.Abs(g) == math.MaxFloat32 && g*w > 0) { // f64 there
			return fmt.Sprintf("got %v at %d, want %v", g, i, w)
		}
	}
	return ""
}
