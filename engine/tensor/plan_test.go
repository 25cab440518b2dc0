package tensor

import (
	"strings"
	"testing"
)

// A plan names its launches and what is fused into each; describing it computes nothing.
func TestPlan(t *testing.T) {
	x, w := Ones(2, 3).Eval(), Ones(3, 4).Eval()
	y := x.MatMul(w).Add(Ones(4).Eval()).Silu().Sum()
	text := y.Plan()
	for _, want := range []string{"on cpu", "1. matmul", "matmul(a0, a1) f32[2 4]", "silu", "sum"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the plan\n%s", want, text)
		}
	}
	if y.Evaluated() {
		t.Error("the description has evaluated the tensor")
	}
	var unfused string
	Within(WithFusion(t.Context(), false), func() { unfused = y.Plan() })
	if strings.Count(unfused, "\n4. ") != 1 || strings.Contains(text, "\n4. ") {
		t.Errorf("fusion must save launches: with\n%s\nwithout\n%s", text, unfused)
	}
	if text := y.Eval().Plan(); text != "" {
		t.Errorf("got %q for what is computed, want nothing", text)
	}
}
