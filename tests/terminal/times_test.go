package terminal

import "testing"

// TestTimesComeInOrder: output and values of a cell's commands come in order, timed statements print once,
// and variables that %time declares exist.
func TestTimesComeInOrder(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	cell := func(text string, see ...string) {
		t.Helper()
		run(p, text, see...)
	}
	cell("x := tensor.Randn(64, 64).Eval()", "In [2]:")
	cell("fmt.Println(\"fir\" + \"st\")\n%time y := x.MatMul(x)\nfmt.Println(\"sec\" + \"ond\")", "first", "· 1 launch ·", "second")
	cell("y.Evaluated()", "Out[3]: true")
	cell("%timeit -t 50ms fmt.Println(\"pri\" + \"nted\")", "printed", "median of", "lines that later runs printed")
	cell("%timeit -t 50ms _ = x.MatMul(x)", "median of", "1 launch,")
	leave(t, p)
}
