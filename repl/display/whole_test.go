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
