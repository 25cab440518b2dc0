package tensor

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Package fmt writes one element as it writes the Go number, and of more each element so.
func TestFormat(t *testing.T) {
	loss := Scalar(1.5)
	for _, c := range []struct {
		x            any
		format, want string
	}{
		{loss, "loss %.4f", "loss 1.5000"},
		{loss, "%v|%s|%+v|%g|%8.2f|%-6.1f|%e", ""},
		{loss, "%d", "%!d(float32=1.5)"},
		{Ones(1, 1).Div(3), "%v", "0.33333334"},
		{Scalar(0.1).Cast(dtype.F64).Mul(3), "%.3g", "0.3"},
		{From([]int{7}), "%d %03d %x %.1f %v", "7 007 7 7.0 7"},
		{From([]uint64{math.MaxUint64}), "%d", "18446744073709551615"},
		{From([]int{1}).Eq(1), "%v %t", "true true"},
		{Scalar(math.NaN()), "%.2f %v", "NaN NaN"},
		{Range(3), "%d", "[0 1 2]"},
		{Range(3), "%.1f", "[0.0 1.0 2.0]"},
		{From([][]float32{{0.25, -1}, {10, 2}}), "%.1f", "[[ 0.2 -1.0]\n [10.0  2.0]]"},
		{Range(2000).Cast(dtype.I32), "%d", "[   0    1    2 … 1997 1998 1999]"},
		{Zeros(0), "%.1f", "[]"},
		{Range(2), "%v", "i64[2] cpu 16 B\n[0 1]"},
		{Range(2), "%s", "i64[2] cpu 16 B\n[0 1]"},
		{Tensor{}, "%.4f", "no tensor"},
		{struct {
			Step int
			Loss Tensor
		}{3, loss}, "%+v", "{Step:3 Loss:1.5}"},
		{[]Tensor{loss, From([]int{2})}, "%v", "[1.5 2]"},
	} {
		args := []any{}
		for range strings.Count(c.format, "%") {
			args = append(args, c.x)
		}
		if c.want == "" { // as the number
			c.want = fmt.Sprintf(strings.ReplaceAll(c.format, "%s", "%v"), float32(1.5), float32(1.5), float32(1.5), float32(1.5), float32(1.5), float32(1.5), float32(1.5))
		}
		if got := fmt.Sprintf(c.format, args...); got != c.want {
			t.Errorf("%s: got %q, want %q", c.format, got, c.want)
		}
	}
	if got, want := fmt.Sprintln(7, loss), "7 1.5\n"; got != want {
		t.Errorf("Println: got %q, want %q", got, want)
	}
}

// JSON of a tensor is that of the nested slices of Go that it was made from.
func TestMarshalJSON(t *testing.T) {
	freed := Ones(2).Eval()
	freed.Free()
	for _, c := range []struct {
		x    any
		want string // or the error's end
	}{
		{map[string]any{"loss": Scalar(1.5)}, `{"loss":1.5}`},
		{From([][]float32{{0.1, 2}, {1e-9, -4}}), `[[0.1,2],[1e-9,-4]]`},
		{From([]float64{0.1, 1e21}), `[0.1,1e+21]`},
		{From([]uint64{math.MaxUint64}), `[18446744073709551615]`},
		{From([]int{math.MinInt64, 3}).Reshape(2, 1), `[[-9223372036854775808],[3]]`},
		{From([]int{1, 2}).Eq(1), `[true,false]`},
		{Zeros(2, 0), `[[],[]]`},
		{Zeros(0, 2), `[]`},
		{From([][]int{{1, 2}, {3, 4}}).T(), `[[1,3],[2,4]]`},
		{Range(1500), ""},
		{Tensor{}, `null`},
		{From([]float64{1, math.NaN()}), "json: got NaN in f32[2], want a finite number"},
		{From([]float64{math.Inf(-1)}), "json: got -Inf in f32[1], want a finite number"},
		{freed, "freed"},
	} {
		got, err := json.Marshal(c.x)
		if err != nil {
			got = []byte(err.Error())
		}
		switch {
		case c.want == "":
			var back []int
			if err := json.Unmarshal(got, &back); err != nil || len(back) != 1500 || back[1499] != 1499 {
				t.Errorf("got %d numbers and %v, want 1500", len(back), err)
			}
		case string(got) != c.want && (err == nil || !strings.HasSuffix(string(got), c.want)):
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
