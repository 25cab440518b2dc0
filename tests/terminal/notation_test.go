package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Operators and indices of tensors are typed as they are, complained about where they stand, and saved as
// calls.
func TestTensorNotation(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.open(nil)
	run(p, "x := tensor.Arange(0, 6, 1).Reshape(2, 3); 2*x[:, 1:] - 1", "[[1. 3.]", " [7. 9.]]")
	run(p, "x[:, 0] = -1; x[x > 3]", "[4. 5.]")
	run(p, "x[0] * x[:, :2]", "In[3]:1:6: mul: got f32[3] and f32[2 2]")
	run(p, "%save session.go", "session.go")
	text, err := os.ReadFile(filepath.Join(h.dir, "session.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"x.Index(tensor.All, tensor.Span(1, tensor.Open)).Mul(2).Sub(1)", "x = x.SetIndex(-1, tensor.All, tensor.At(0))"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("got\n%s\nwant %s in it", text, want)
		}
	}
}
