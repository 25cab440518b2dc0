package mcsfile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []Cell
	}{
		{"empty", "", nil},
		{"blank lines only", "\n\n// %%\n\n// %%\n", nil},
		{"no mark at all", "x := 1\nx", []Cell{{Line: 1, Source: "x := 1\nx"}}},
		{"marks and a title", "// %% first\na := 1\n\n// %%\n\nb := 2\n", []Cell{
			{Title: "first", Line: 2, Source: "a := 1"},
			{Line: 6, Source: "b := 2"},
		}},
		{"markdown", "// %% [markdown]\n// # Title\n//\n// text\n// %%\nx := 1\n", []Cell{
			{Markdown: true, Line: 2, Source: "# Title\n\ntext"},
			{Line: 6, Source: "x := 1"},
		}},
		{"short markdown tag, title, no blank after slashes", "//%% [md] intro\n// hello\n", []Cell{
			{Markdown: true, Title: "intro", Line: 2, Source: "hello"},
		}},
		{"a quoted line in markdown is text", "// %% [markdown]\n// > quoted\n", []Cell{
			{Markdown: true, Line: 2, Source: "> quoted"},
		}},
		{"expected output", "// %%\nx\n// > [4 1024]\n// >\n// >   two\n", []Cell{
			{Line: 2, Source: "x", Checked: true, Want: []string{"[4 1024]", "", "  two"}, WantLine: 3},
		}},
		{"expecting nothing", "// %%\nx;\n// >\n", []Cell{{Line: 2, Source: "x;", Checked: true, WantLine: 3}}},
		{"expected output ends a cell", "a\n// > 1\nb\n// > 2\n", []Cell{
			{Line: 1, Source: "a", Checked: true, Want: []string{"1"}, WantLine: 2},
			{Line: 3, Source: "b", Checked: true, Want: []string{"2"}, WantLine: 4},
		}},
		{"magics and cell magics are source", "// %%\n%kernels f(x)\n// %%\n%%time\nf(x)\n", []Cell{
			{Line: 2, Source: "%kernels f(x)"},
			{Line: 4, Source: "%%time\nf(x)"},
		}},
		{"not marks", "// %%%\n// >x\n// 100 %%\n", []Cell{{Line: 1, Source: "// %%%\n// >x\n// 100 %%"}}},
		{"windows line ends and a byte order mark", "\ufeff// %%\r\nx\r\n// > 1\r\n", []Cell{
			{Line: 2, Source: "x", Checked: true, Want: []string{"1"}, WantLine: 3},
		}},
	} {
		if got := Parse("t.mcs", tt.text).Cells; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
}

func TestFormatIsParsedBack(t *testing.T) {
	cells := []Cell{
		{Markdown: true, Title: "intro", Source: "# Title\n\ntext"},
		{Markdown: true, Source: "a mark in prose:\n%% [markdown]\n\\%%\n\\\\%% x\n\\x\n> quoted"},
		{Source: "x := 1\n\n%whos"},
		{Title: "with output", Source: "x", Checked: true, Want: []string{"1", "", " 2"}},
		{Source: "x;", Checked: true},
	}
	text := Format(cells)
	got := Parse("t.mcs", text).Cells
	for i := range got {
		got[i].Line, got[i].WantLine = 0, 0
	}
	if !reflect.DeepEqual(got, cells) {
		t.Errorf("got %+v\nwant %+v\ntext:\n%s", got, cells, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("// %%\nx\n// > 1\n")
	f.Add("// %% [markdown]\n// # T\n// >\n// > q\n")
	f.Add("//%%\r\n%%time\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := Parse("f.mcs", text)
		last := 0
		for _, c := range file.Cells {
			if c.Line <= last || c.Line > len(file.lines) {
				t.Fatalf("cell at line %d after line %d of %d", c.Line, last, len(file.lines))
			}
			last = c.Line
		}
		// Writing without a run changes nothing, and the text is a fixed point.
		once := file.WithWant(nil)
		if twice := Parse("f.mcs", once).WithWant(nil); twice != once {
			t.Fatalf("second write differs: %q, then %q", once, twice)
		}
	})
}

func TestParams(t *testing.T) {
	f := Parse("t.mcs", `// %% [markdown]
// hidden := 1
// %%
text, other := "a", 2
steps := 300 // how many
var rate = 1e-3
var name string = "x"
quiet := false
low := -1
model := load(text)
	indented := 1
`)
	want := map[string]string{"steps": "300 // how many", "rate": "1e-3", "name": `"x"`, "quiet": "false", "low": "-1"}
	got := f.Params()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Params() = %q, want %q", got, want)
	}
	for _, tt := range []struct{ arg, value, err string }{
		{"steps=50", "50", ""},
		{"name=a=b", "a=b", ""},
		{"name=", "", ""},
		{"steps", "", "-p steps: got no name=value"},
		{"model=x", "", "-p model=x: t.mcs has no parameter model; it has low, name, quiet, rate, steps"},
	} {
		params, err := f.ParseParams([]string{tt.arg})
		name, _, _ := strings.Cut(tt.arg, "=")
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err || params[name] != tt.value {
			t.Errorf("-p %s: got %q, %v, want %q, %q", tt.arg, params, err, tt.value, tt.err)
		}
	}
	if _, err := Parse("t.mcs", "x").ParseParams([]string{"a=1"}); err == nil || !strings.Contains(err.Error(), "it has none") {
		t.Errorf("a file without parameters: got error %v", err)
	}
}

// TestMutants: every text is a file, whose lines are all kept when nothing is rewritten, and which can be
// rewritten.
func TestMutants(t *testing.T) {
	whole := "// %% [markdown]\n// # Title\n// %% first\nx := `a`\n// > 1\n// >\n// %%\n%%time\nf(x)\n// > [time]\n\ny\n// > 2\n"
	mutate.Each(6, 5000, []byte(whole), func(i int, mutant []byte) {
		f := Parse("m.mcs", string(mutant))
		again := Parse("m.mcs", f.WithWant(nil))
		if len(again.Cells) != len(f.Cells) {
			t.Errorf("mutant %d: %q has %d cells, and %d when it is written as it is", i, mutant, len(f.Cells), len(again.Cells))
		}
		want := map[*Cell][]string{}
		for _, c := range f.Code() {
			want[c] = []string{"new", "", "output"}
		}
		f.WithWant(want)
		f.ParseParams([]string{"x=2"})
		Format(f.Cells)
	})
}
