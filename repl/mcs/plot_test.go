package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Through a pipe a live plot is shown once, as it is at the end, before the value of the cell.
func TestLivePlot(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"cell.mcs": `p := plot.Live(ctx, "a").Titled("live")
for i := range 5 {
	p.Add(float64(i), float64(i*i))
}
println("done")
"value"
`})
	stdout, stderr, code := mcs(t, dir, "", "run", "cell.mcs")
	if code != 0 || strings.Count(stdout, "live") != 1 || !strings.Contains(stdout, "15 ┤") || !strings.HasSuffix(stdout, "\"value\"\n") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// A cell that ends in a plot shows it, %plot draws any numbers, and -o writes a file.
func TestPlot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cell, stdout, stderr string }{
		{`plot.Line([]int{1, 2}).Titled("up")`, "up\n2.0 ┤", ""},
		{`plot.Line([]int{1, 2}).Named("a").And(plot.Line([]int{3, 4}).Named("b")).Log("y")`, "⠉ b\n", ""},
		{`tensor.Ones(2, 2).Plot()`, "┌────┐\n│", ""},
		{`%plot tensor.Arange(0, 3, 1)`, "\n2.0 ┤", ""},
		{"type volt float32\n%plot []volt{0, 2}", "\n2.0 ┤", ""},
		{`%plot -o a.svg plot.Scatter([]int{1}, []int{2})`, "wrote a.svg, ", ""},
		{`%plot -o a.txt []int{1}`, "", "%plot: -o a.txt: want a name that ends in .svg or .png"},
		{`%plot -o a.png plot.Heat(tensor.Ones(2, 2))`, "wrote a.png, ", ""},
		{`plot.Image(tensor.Ones(3, 4, 5)).Save("b.png")`, "", ""},
		{`%plot 3`, "", "%plot: got values of type int, want a tensor or a slice of numbers"},
		{`%plot tensor.Ones(1, 1, 1)`, "", "%plot: got shape [1 1 1], want 1 axis (a line) or 2 (a heat map); plot.Hist takes any shape"},
		{`%plot func() {}()`, "", "%plot: got no value"},
		{`x := plot.Line(tensor.Ones(1, 1, 1))`, "", "In[1]:1:11: plot.Line: got shape [1 1 1]"},
	} {
		dir := writeFiles(t, map[string]string{"cell.mcs": c.cell + "\n"})
		stdout, stderr, code := mcs(t, dir, "", "run", "cell.mcs")
		if (code != 0) != (c.stderr != "") || !strings.Contains("\n"+stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit %d\n%s%swant %q and %q", c.cell, code, stdout, stderr, c.stdout, c.stderr)
		}
		if strings.Contains(c.cell, "a.svg") {
			if text, err := os.ReadFile(filepath.Join(dir, "a.svg")); err != nil || !strings.HasPrefix(string(text), "<svg ") {
				t.Errorf("a.svg: %v %.20s", err, text)
			}
		}
	}
}
