package magics_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

// longStep has a long line, and one that cannot be broken at a blank; without fusion eight values of it wait
// for the last product.
const longStep = `func long() float64 {
	sum := x.MatMul(x.Exp().Log()).Add(x.Neg().Exp()).MatMul(x.Silu().Add(x.Tanh())).Add(x.Sigmoid().MatMul(x)) // of many
	const separator = "----------------------------------------------------------------------------------------------------"
	_ = separator
	return sum.MatMul(tensor.Concat([]tensor.Tensor{x.Exp(), x.Neg(), x.Tanh(), x.Silu(), x.Sigmoid(), x.Sin(), x.Cos(), x.Abs()}, 0)[0:64]).Sum().Item()
}`

// Each report fits a screen of 80 columns and one of 40: a terminal would break the words of wider lines.
// Only a plot and code have a least width.
func TestReportsFitTheScreen(t *testing.T) {
	t.Parallel()
	var printed bytes.Buffer
	var said []display.Value
	s, err := session.New(session.Options{Dir: t.TempDir(), Stdout: &printed, Stderr: &printed, Commands: magics.Table{},
		Render: func(v display.Value, _ int) display.Value {
			if _, notice := v.(display.Lines); notice {
				said, v = append(said, v), display.Text("")
			}
			return v
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), "x := tensor.Ones(64, 64).Eval()\nfunc step() float64 {\n\ty := x.MatMul(x).Silu().Eval()\n\treturn y.Softmax(-1).Sum().Item()\n}\n"+longStep); r.Err != nil {
		t.Fatal(r.Err)
	}
	for i, command := range []string{
		"%time x.MatMul(x).Exp()",
		"%timeit -t 10ms x.MatMul(x)",
		"%timeit -w -t 10ms -cold x.MatMul(x)",
		"%timeit -t 10ms -save before x.MatMul(x)",
		"%timeit -t 10ms -vs before x.MatMul(x).Exp()",
		"%timeit -t 10ms -sweep n=2..8*2 tensor.Ones(n, n).Eval()",
		"%bench -t 10ms x.MatMul(x) ; x.MatMul(x).MatMul(x)",
		"%bench -w -t 10ms one := x.MatMul(x) ; another := x.MatMul(x).Sum()",
		"%profile -n 5 step()",
		"%lprof -n 5 step step()",
		"%profile -n 5 long()",
		"%lprof -n 5 long long()",
		"%graph step()",
		"%graph -fuse=off long()",
		"%kernels step()",
		"%kernels -t step()",
		"%kernels -w step()",
		"%roofline step()",
		"%mem -by cell",
		"%mem",
		"%guard",
		"profile.Record(ctx, func(context.Context) { step() })",
		"profile.RecordTimed(ctx, func(context.Context) { step() })",
		"profile.Diff(profile.Record(ctx, func(context.Context) { step() }), profile.Record(ctx, func(context.Context) { step() }))",
		"bench.Measure(ctx, func(n int) error { for range n { step() }; return nil }, bench.Options{Time: 2e7})",
		"bench.Compare(ctx, []bench.Case{{\"a rather long name\", func(n int) error { for range n { step() }; return nil }}, {\"another\", func(n int) error { for range n { step() }; return nil }}}, bench.Options{Time: 2e7})",
		"&train.History{Loss: []float64{2, 1}, Eval: []train.Point{{Step: 300, Loss: 1.5, Tokens: true}}, Total: 500, Stopped: \"the loss has not fallen for more than a hundred steps\", Notes: []string{strings.Repeat(\"a note \", 20)}}",
		"&train.Estimate{Peak: 1 << 40, Total: 1 << 30, Steps: 3, Tokens: 4096}",
		"block := nn.NewMLP(8, 16, 8)\nadapter := lora.Inject(block, lora.Config{Rank: 2})\n_ = adapter\nlora.Of(block)",
	} {
		if i%2 > 0 && !long.CI() && !strings.Contains(command, "-save") {
			continue
		}
		printed.Reset()
		said = nil
		r := s.Run(t.Context(), command)
		if r.Err != nil {
			t.Fatalf("%s: %v", command, r.Err)
		}
		for _, width := range []int{80, 40} {
			text := printed.String()
			for _, v := range append(said, r.Shown...) {
				text += "\n" + display.Render(v, width, nil).Text(width)
			}
			if len(text) < 5 {
				t.Errorf("%s shows %q", command, text)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if runewidth.StringWidth(line) > width {
					t.Errorf("%s: %q takes more than %d columns", command, line, width)
				}
			}
		}
	}
}
