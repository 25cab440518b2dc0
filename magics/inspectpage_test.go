package magics_test

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
)

// A page shows what the terminal does, with nothing of the session's that the page would take for its own.
func TestInspectPages(t *testing.T) {
	s := sessionIn(t, t.TempDir())
	for _, cell := range []string{"// Area is *not* <b>bold</b>.\nfunc Area(a_b int) int { return a_b }", "x := tensor.Range(6)", "x.Eval();", "word := \"<i>`\""} {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	for _, c := range []struct {
		name           string
		all            bool
		markdown, html string
	}{
		{"Area", false, "**`Area func(a_b int) int`** func", "<b><code>Area func(a_b int) int</code></b> func"},
		{"Area", false, `Area is \*not\* &lt;b>bold&lt;/b>.`, "Area is *not* &lt;b&gt;bold&lt;/b&gt;."},
		{"Area", true, "return a_b", "return a_b"},
		{"x", false, "i64[6]", "i64[6]"},
		{"word", false, "```go\n\"<i>`\"", "<pre>&#34;&lt;i&gt;`&#34;"},
		{"strings.Cut", false, "func Cut(s, sep string)", "func Cut(s, sep string)"},
		{"tensor", false, "- `", "<li><code>"},
	} {
		v, err := (magics.Table{}).Inspect(s, c.name, c.all)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		b := display.Bundled(v, 80)
		if !strings.Contains(b[display.Markdown], c.markdown) || !strings.Contains(b[display.HTMLText], c.html) {
			t.Errorf("%s: got\n%s\n%s\nwant %q and %q", c.name, b[display.Markdown], b[display.HTMLText], c.markdown, c.html)
		}
	}
	if v, err := (magics.Table{}).Inspect(s, "%time", false); err != nil || !strings.Contains(v.Text(80), "%time") {
		t.Errorf("a command: got %v, %v", v, err)
	}
	if _, err := (magics.Table{}).Inspect(s, "%tim", false); err == nil {
		t.Error("a command that is not there: no error")
	}
}
