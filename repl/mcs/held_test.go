package main

import (
	"strings"
	"testing"
)

// What a person holds of a training step keeps its value: logits that nothing but the gradient read, before
// the step and after it. Numbers that mean nothing are refused by name.
func TestHeldTensorsStay(t *testing.T) {
	t.Parallel()
	const session = `x, classes := tensor.Arange(0, 12, 1).Sin().Reshape(4, 3).Eval(), tensor.From([]int{0, 1, 1, 0})
w := tensor.Arange(0, 6, 1).Cos().Reshape(3, 2).Param()
o := optim.AdamW{}.New([]nn.Param{nn.NewParam("w", &w)})
same := 0
for range 4 {
	logits := x.MatMul(w)
	want := x.MatMul(tensor.From(w.Floats()).Reshape(3, 2)).Floats()
	loss := tensor.CrossEntropy(logits, classes, tensor.CrossEntropyOptions{})
	o.Update(tensor.Grad(loss, w), 0.1, tensor.Tensor{}).CommitIf(loss)
	if slices.Equal(logits.Floats(), want) {
		same++
	}
}
fmt.Println("held", same)
y := x.Overwrite(0, tensor.From([]int{1}), tensor.Zeros(1, 3)).Eval()
fmt.Println("kept", x.At(1, 0).Item() != 0, y.At(1, 0).Item())
optim.AdamW{Beta1: 2}.New(nil)
`
	stdout, stderr, code := mcs(t, t.TempDir(), session, "run", "-")
	for _, want := range []string{"held 4\n", "kept true 0\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("got %q and the error %q, want %q", stdout, stderr, want)
		}
	}
	if want := "optim.AdamW: got Beta1 2, want at least 0 and less than 1"; code == 0 || !strings.Contains(stderr, want) {
		t.Errorf("code %d, got the error %q, want %q", code, stderr, want)
	}
}

// What %time and %%time show is the result of their cell.
func TestTimedValues(t *testing.T) {
	t.Parallel()
	const cells = "x := tensor.Ones(3)\n// %%\n%time x.Add(1)\n// %%\nfmt.Println(\"sum\", _.Sum().Item())\n" +
		"// %%\n%%time\ny := x.Mul(4)\ny.Max()\n// %%\nfmt.Println(\"max\", _.Item())\n" +
		"// %%\n%time z := y.Add(1)\n// %%\nfmt.Println(\"declared\", _.Sum().Item(), z.Sum().Item())\n" +
		"// %%\n%%time\na := z.Add(1)\nb := a.Add(1)\n// %%\nfmt.Println(\"both\", a.Max().Item(), b.Max().Item(), _.Max().Item())\n"
	stdout, stderr, code := mcs(t, t.TempDir(), cells, "run", "-")
	for _, want := range []string{"sum 6\n", "max 4\n", "[5. 5. 5.]", "declared 15 15\n", "both 6 7 7\n"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("code %d, got %q and the error %q, want %q", code, stdout, stderr, want)
		}
	}
}
