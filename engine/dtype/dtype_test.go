package dtype

import "testing"

func TestNames(t *testing.T) {
	for _, dt := range All() {
		if got, err := Parse(dt.String()); got != dt || err != nil {
			t.Errorf("Parse(%q) = %v, %v", dt.String(), got, err)
		}
		if dt.Size() < 1 || dt.Float() && dt.Int() {
			t.Errorf("%v: size %d, float %v, int %v", dt, dt.Size(), dt.Float(), dt.Int())
		}
	}
	for _, name := range []string{"invalid", "", "F32", "float32"} {
		if _, err := Parse(name); err == nil {
			t.Errorf("Parse(%q) gave no error", name)
		}
	}
	if got, want := Type(99).String(), "dtype(99)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPromote(t *testing.T) {
	for _, c := range []struct{ a, b, want Type }{
		{Bool, U8, U8}, {U8, I32, I32}, {I32, I64, I64}, {I64, F16, F16}, {F16, BF16, F32}, {BF16, F32, F32}, {F32, F64, F64}, {Bool, Bool, Bool},
	} {
		if got := Promote(c.a, c.b); got != c.want {
			t.Errorf("Promote(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	for _, a := range All() {
		for _, b := range All() {
			p := Promote(a, b)
			if p != Promote(b, a) || Promote(a, a) != a || p < a || p < b {
				t.Errorf("Promote(%v, %v) = %v: want a symmetric result that is at least as wide as both", a, b, p)
			}
		}
	}
}
