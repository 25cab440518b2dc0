package dtype

import "testing"

func TestNames(t *testing.T) {
	for _, dt := range append(All(), C64, C128) {
		if got, err := Parse(dt.String()); got != dt || err != nil {
			t.Errorf("Parse(%q) = %v, %v", dt.String(), got, err)
		}
		if dt.Size() < 1 || dt.Float() && dt.Int() || dt.Complex() != (dt.Part() != dt) {
			t.Errorf("%v: size %d, float %v, int %v", dt, dt.Size(), dt.Float(), dt.Int())
		}
		if signed := dt.String()[0] == 'i' || dt.Float(); dt.Signed() != signed {
			t.Errorf("%v: signed %v", dt, dt.Signed())
		}
	}
	for _, name := range []string{"invalid", "", "F32", "float32", "complex64"} {
		if _, err := Parse(name); err == nil {
			t.Errorf("Parse(%q) gave no error", name)
		}
	}
	if got, want := Type(99).String(), "dtype(99)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The integers are as numpy.promote_types has them.
func TestPromote(t *testing.T) {
	for _, c := range []struct{ a, b, want Type }{
		{Bool, Bool, Bool}, {Bool, U8, U8}, {Bool, I8, I8}, {Bool, F16, F16},
		{U8, U16, U16}, {U8, U64, U64}, {I8, I16, I16}, {I32, I64, I64},
		{U8, I8, I16}, {U8, I16, I16}, {U8, I32, I32}, {U8, I64, I64},
		{U16, I8, I32}, {U16, I16, I32}, {U16, I32, I32}, {U16, I64, I64},
		{U32, I8, I64}, {U32, I16, I64}, {U32, I32, I64}, {U32, I64, I64},
		{U64, I8, F64}, {U64, I16, F64}, {U64, I32, F64}, {U64, I64, F64},
		{U64, F16, F16}, {I64, F16, F16}, {F16, BF16, F32}, {BF16, F32, F32}, {F32, F64, F64},
		{I64, C64, C64}, {F32, C64, C64}, {F64, C64, C128}, {F32, C128, C128}, {C64, C128, C128},
	} {
		if got := Promote(c.a, c.b); got != c.want {
			t.Errorf("Promote(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	all := append(All(), C64, C128)
	for _, a := range all {
		for _, b := range all {
			p := Promote(a, b)
			if p != Promote(b, a) || Promote(a, a) != a || Promote(p, a) != p || Promote(p, b) != p {
				t.Errorf("Promote(%v, %v) = %v: want a symmetric result that neither of the two changes", a, b, p)
			}
		}
	}
}
