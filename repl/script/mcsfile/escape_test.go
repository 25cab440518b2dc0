package mcsfile

import (
	"strings"
	"testing"
)

// TestLinesThatLookLikeMarks: a saved cell comes back as one cell that means the same.
func TestLinesThatLookLikeMarks(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"none", "x := 1 // %% not at the line's begin", "x := 1 // %% not at the line's begin"},
		{"a raw string", "s := `a\n// %%\nb`", "s := (`a\n//` + ` %%\nb`)"},
		{"a mark with a title, and expected output", "s := `a\n//%% b\n// > 3\n`", "s := (`a\n//` + `%% b\n//` + ` > 3\n`)"},
		{"the last line of a raw string", "s := `a\n// > 3`", "s := (`a\n//` + ` > 3`)"},
		{"a comment in a function", "func f() {\n// %% setup\n}", "func f() {\n/// %% setup\n}"},
		{"a comment that quotes", "// > 3\nx", "/// > 3\nx"},
		{"a long comment", "/*\n// %%\n*/", "/*\n/// %%\n*/"},
		{"below a command", "%%time\ns := `\n// %%\n`", "%%time\ns := (`\n//` + ` %%\n`)"},
		{"a raw string that has no end", "s := `a\n// %%", "s := (`a\n//` + ` %%)"},
		{"indented", "\t// %%\nx", "\t// %%\nx"},
	} {
		got := withoutMarks(tt.source)
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		cells := Parse("t.mcs", Format([]Cell{{Source: "first"}, {Source: tt.source}, {Source: "last"}})).Cells
		if len(cells) != 3 || cells[1].Source != got || cells[1].Checked {
			t.Errorf("%s: it comes back as %+v", tt.name, cells)
		}
	}
}

// FuzzFormat: whatever a cell holds, as many cells come back as were written, and none expects output.
func FuzzFormat(f *testing.F) {
	for _, source := range []string{"`\n// %%\n`", "%%time\n// > 1", "/* `\n// %% */ `\n// >\n`", "x\r\n// %%", "0\n//%%\r\n0", "!ls `\n// %%\n"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if strings.TrimSpace(source) == "" {
			t.Skip("no cell")
		}
		text := Format([]Cell{{Source: "first"}, {Source: source}, {Source: "last"}})
		cells := Parse("t.mcs", text).Cells
		if len(cells) != 3 || cells[1].Checked || cells[2].Source != "last" {
			t.Errorf("%q: it comes back as %+v from\n%s", source, cells, text)
		}
	})
}
