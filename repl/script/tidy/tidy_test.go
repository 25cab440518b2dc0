package tidy

import (
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

func TestCell(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"statements", "a:=1\nb:= a+2\n\n\n\nfor i:=range 3{\nfmt.Println(i)\n}", "a := 1\nb := a + 2\n\nfor i := range 3 {\n\tfmt.Println(i)\n}"},
		{"declarations among statements", "a:=1\nfunc f( )int{return a}\nf( )", "a := 1\nfunc f() int { return a }\nf()"},
		{"a command stays", "a:=1\n%time   f( a )\n\n!ls   -l\nx  := a", "a := 1\n%time   f( a )\n\n!ls   -l\nx := a"},
		{"a captured command stays", "v:=1\nfiles  :=  !ls   /\nlen( files )", "v := 1\nfiles  :=  !ls   /\nlen(files)"},
		{"help stays", "x:=1\nx?\ny:=2", "x := 1\nx?\ny := 2"},
		{"a whole command", "%%time\na:=1", "%%time\na:=1"},
		{"a hidden value", "x:=1\nx+1 ;", "x := 1\nx + 1;"},
		{"hidden with a comment", "x ; // not shown", "x; // not shown"},
		{"several on a line", "a:=1;b:=2;a+b", "a := 1\nb := 2\na + b"},
		{"a semicolon behind a statement", "a:=1;", "a := 1"},
		{"a list", "a:=1\na,a+1", "a := 1\na, a + 1"},
		{"a hidden list", "a:=1\na,a+1;", "a := 1\na, a + 1;"},
		{"operators of tensors", "y:=2*x+y\nm:=!mask|other\nx[0]=3", "y := 2*x + y\nm := !mask | other\nx[0] = 3"},
		{"indices of tensors", "y:=x[1:3,:]+x[...,::-1]\nz:=x[y[:,0],:]", "y := x[1:3,:] + x[...,::-1]\nz := x[y[:,0],:]"},
		{"aligned comments", "a:=x[:,0] // one\nlonger:=2 // two", "a := x[:,0] // one\nlonger := 2 // two"},
		{"comments", "// about a\na:=1 // one\n\n   // the end", "// about a\na := 1 // one\n\n// the end"},
		{"comments alone", "   // nothing", "// nothing"},
		{"comments around commands", "// before\n%time x\n// after\ny:=1", "// before\n%time x\n// after\ny := 1"},
		{"imports", "import   \"fmt\"\nimport \"os\"\nx:=1", "import \"fmt\"\nimport \"os\"\nx := 1"},
		{"raw strings", "s:=`a\n  // %time\n%time x\n`\nlen( s )", "s := `a\n  // %time\n%time x\n`\nlen(s)"},
		{"a label", "l:\nfor{break l}", "l:\nfor {\n\tbreak l\n}"},
	} {
		got, err := Cell(tt.src)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", tt.name, err, got, tt.want)
			continue
		}
		if again, err := Cell(got); err != nil || again != got {
			t.Errorf("%s: formatted again: %v\n%s\nwant\n%s", tt.name, err, again, got)
		}
	}
	for _, src := range []string{"for x in y:", "a := (", "x = = 1", "a := 1; func f() {}"} {
		if got, err := Cell(src); err == nil {
			t.Errorf("%q: got %q, want an error", src, got)
		}
	}
}

// Every session of this repository keeps its code, its commands and its expected output, and is formatted
// once and for all.
func TestSessionsStayTheSame(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../../examples/*.mcs", "../../../magics/testdata/*.mcs", "../../../tests/*/*.mcs", "../../../tests/*/testdata/*.mcs"} {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	if len(files) < 20 {
		t.Fatalf("%d files: too few to tell", len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := mcsfile.Parse(name, string(text))
		got, left := File(f)
		for _, l := range left {
			if c := cellAt(f, l.Line); !c.Checked || !strings.Contains(strings.Join(c.Want, "\n"), "In[") {
				t.Errorf("%s:%d: %v", name, l.Line, l.Err)
			}
		}
		now := mcsfile.Parse(name, got)
		if again, _ := File(now); again != got {
			t.Errorf("%s: formatted again it is another text", name)
		}
		if len(now.Cells) != len(f.Cells) {
			t.Errorf("%s: %d cells, want %d", name, len(now.Cells), len(f.Cells))
			continue
		}
		for i, c := range f.Cells {
			is := now.Cells[i]
			if c.Title != is.Title || c.Markdown != is.Markdown || !reflect.DeepEqual(c.Want, is.Want) || c.Checked != is.Checked {
				t.Errorf("%s:%d: the cell became %+v", name, c.Line, is)
			}
			if !c.Markdown && !slices.Equal(meaning(c.Source), meaning(is.Source)) {
				t.Errorf("%s:%d: other code:\n%s\nwas\n%s", name, c.Line, is.Source, c.Source)
			}
		}
	}
}

func cellAt(f *mcsfile.File, line int) mcsfile.Cell {
	for _, c := range f.Cells {
		if c.Line == line {
			return c
		}
	}
	return mcsfile.Cell{}
}

// meaning are the tokens of a cell without the ends of statements, the texts of commands, and what is hidden.
func meaning(src string) (list []string) {
	for _, t := range cell.Scan(src) {
		if !t.Ends() && t.Tok != token.COMMENT {
			list = append(list, t.Text(src))
		}
	}
	for _, p := range cell.Split(src) {
		if p.Quiet && isValue(p, src) {
			list = append(list, "hidden: "+strings.Join(strings.Fields(p.Text(src)), ""))
		}
	}
	return list
}
