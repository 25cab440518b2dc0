package tensor

import (
	"strings"
	"testing"
)

func TestHTML(t *testing.T) {
	named := From([]float32{1, 2}).Named("<b>")
	for _, c := range []struct {
		name string
		t    Tensor
		want []string // in this order
	}{
		{"none", Tensor{}, []string{"<p>no tensor</p>"}},
		{"scalar", From(float32(3)), []string{"<p>f32[]", "<table>", "<td style=\"text-align:right\">3.</td></tr>\n</table>"}},
		{"matrix", Range(4).Reshape(2, 2), []string{"<tr>", ">0<", ">1<", "</tr>", "<tr>", ">2<", ">3<"}},
		{"three axes", Range(8).Reshape(2, 2, 2), []string{"<p>[0, :, :]</p>", ">3<", "<p>[1, :, :]</p>", ">7<"}},
		{"large", Zeros(2000, 2000), []string{">…</td>", "<tr>"}},
		{"many matrices", Zeros(50, 5, 5), []string{"[2, :, :]", "<p>…</p>", "[47, :, :]"}},
		{"empty", Zeros(0, 3), []string{"<table>\n</table>"}},
		{"a name of a file", named, []string{"&lt;b&gt;"}},
	} {
		rest := c.t.HTML()
		for _, part := range c.want {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Errorf("%s: no %s in %s", c.name, part, rest)
				break
			}
			rest = after
		}
		if strings.Count(c.t.HTML(), "<td") > 400 {
			t.Errorf("%s: has %d cells", c.name, strings.Count(c.t.HTML(), "<td"))
		}
	}
}
