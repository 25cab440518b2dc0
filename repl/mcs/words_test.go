package main

import (
	"strings"
	"testing"
)

// What people from Python type is answered by the program with what to write, and what they type by mistake
// with a note.
func TestAnswersToPython(t *testing.T) {
	t.Parallel()
	const setup = "x := tensor.Ones(2, 3)\nxs := []int{1, 2, 3}\nn := 3\n"
	for _, tt := range []struct{ cell, stdout, stderr string }{
		{"for row in x:", "", "write for i := range x.Len(0) { row := x.At(i); fmt.Println(row) }"},
		{"x ** 2", "", "write x.Pow(2)"},
		{"squares = [v*v for v in xs]", "", "write squares := []int{}; for _, v := range xs { squares = append(squares, v * v) }; squares"},
		{"out = !ls", "", "undefined: out; write out := !ls"},
		{"!cd ..", "", "changes the folder of the command alone; write %cd .."},
		{"%ls -l", "", "%ls: no such command; write !ls -l"},
		{"% time x.Sum()", "", "write %time x.Sum()"},
		{"xs[7]", "", "index out of range [7] with length 3"},
		{"2*n^3", "(^ is exclusive or; a power is math.Pow(float64(n), 3))", ""},
		{"%bench a := n ; a := n + 1", "", "got the name a twice"},
		{"print(xs)", "", "[1 2 3]"},
		{"tensor.New([]float32{1, 2})", "", "write tensor.From([]float32{1, 2})"},
		{"tensor.Einsum(`ij,jk->ik`, x, x)", "", "a list of them is []tensor.Tensor{…}"},
		{"tensor.Where(q > 3, q, 0)", "", "undefined: q\n"},
		{"[]float64{0.00000037659603435713507, 1.36e-08}", "[3.7659603435713507e-07 1.36e-08] []float64", ""},
		{"nn.Params(nn.NewMLP(3, 4, 2))", "[\n  0.weight f32[3 4], trainable\n  0.bias f32[4], trainable\n", ""},
		{"struct{ A int; M nn.Layer }{1, nn.NewMLP(3, 4, 2)}", "M: Sequential: 3 layers …}", ""},
		{"plot.Line(x, y)", "", "undefined: y\n    plot.Line(x, y)\n                 ^\n"},
	} {
		stdout, stderr, _ := mcs(t, t.TempDir(), setup+tt.cell+"\n", "run", "-")
		if !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: got %q and the error\n%s\nwant %q and %q", tt.cell, stdout, stderr, tt.stdout, tt.stderr)
		}
	}
}

// A regression is shown in its own units.
func TestRegressionUnits(t *testing.T) {
	t.Parallel()
	const session = `type line struct{ layer *nn.Linear }
func (l line) Members() []nn.Member { return []nn.Member{{Name: "layer", Part: l.layer}} }
func (l line) Loss(x, y tensor.Tensor) tensor.Tensor { return l.layer.Forward(x).Sub(y).Square().Mean() }
type points struct{}
func (points) Fingerprint() string { return "points" }
func (points) Batch(int) (data.Batch, error) { return data.Batch{Inputs: tensor.Ones(4, 1), Targets: tensor.Ones(4, 1)}, nil }
run := train.Run(ctx, line{nn.NewLinear(1, 1)}, points{}, train.Options{Steps: 3, LR: optim.Constant(0.1)})
fmt.Println(run.Plot().YLabel == "")
run.Text(80)
`
	stdout, stderr, code := mcs(t, t.TempDir(), session, "run", "-")
	text := stdout + stderr
	if code != 0 || !strings.Contains(stdout, "true\n") || !strings.Contains(text, "samples/s") || strings.Contains(text, "tokens/s") || strings.Contains(text, " 0 B") {
		t.Errorf("code %d, got\n%s", code, text)
	}
}
