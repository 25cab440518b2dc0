package display

import (
	"strings"
	"testing"
)

// A verdict is never cut: where the screen is narrow its heading is, then the names, and then each row is
// written on several lines.
func TestWholeColumns(t *testing.T) {
	const verdict = "2.64× faster [2.1, 2.9]"
	tab := NewTable("", ">median", "=vs x.MatMul(w).Add(b).Silu()")
	tab.Add("x.MatMul(w).Add(b).Silu()", "16.4 µs", "")
	tab.Add("x.Exp()", "5.42 µs", verdict)
	for width, want := range map[int]string{
		80: "                            median  vs x.MatMul(w).Add(b).Silu()\n" +
			"x.MatMul(w).Add(b).Silu()  16.4 µs\n" +
			"x.Exp()                    5.42 µs  2.64× faster [2.1, 2.9]",
		50: "                   median  vs x.MatMul(w).Add(b).…\n" + "x.MatMul(w).Add…",
		36: "           median  vs x.MatMul(w).A…\nx.MatMu…  16.4 µs\nx.Exp()   5.42 µs  2.64× faster\n                   [2.1, 2.9]",
		30: "x.MatMul(w).Add(b).Silu()\n  median 16.4 µs\nx.Exp()\n  median 5.42 µs\n  vs",
	} {
		got := tab.Text(width)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%d columns: got\n%s\nwant\n%s", width, got, want)
		}
		if width >= 50 && !strings.Contains(got, verdict) {
			t.Errorf("%d columns: got\n%s\nwant the verdict in it", width, got)
		}
	}
}

// Code is never cut: it goes on below, further in than it begins, beside a column that is broken, too.
func TestCodeColumns(t *testing.T) {
	tab := NewTable(">line", "=in", "~source")
	tab.Add(1, "", Cell{Text: "func step() {", Role: Code})
	tab.Add(2, "kernels 80 %, engine 20 %", Cell{Text: "    y := x.MatMul(x.Exp().Log()).Add(x.Neg().Exp()).MatMul(x) // of many", Role: Code})
	for width, want := range map[int]string{
		110: "line  in                         source\n" +
			"   1                             func step() {\n" +
			"   2  kernels 80 %, engine 20 %      y := x.MatMul(x.Exp().Log()).Add(x.Neg().Exp()).MatMul(x) // of many",
		61: "line  in             source\n" +
			"   1                 func step() {\n" +
			"   2  kernels 80 %,      y := x.MatMul(x.Exp().Log()).Add(x\n" +
			"      engine 20 %            .Neg().Exp()).MatMul(x) // of\n" +
			"                             many",
		30: "1\n  func step() {\n" +
			"2\n  in kernels 80 %, engine 20 %\n" +
			"      y := x.MatMul(x.Exp()\n" +
			"          .Log()).Add(x.Neg()\n" +
			"          .Exp()).MatMul(x) //\n" +
			"          of many",
	} {
		if got := tab.Text(width); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", width, got, want)
		}
	}
}
