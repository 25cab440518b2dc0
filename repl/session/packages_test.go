package session

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Each archive in testdata/packages is a session beside a folder of Go files. Its parts are taken in order:
// one that is called cell is run and compared with its `// > ` lines, one that is called remove names files
// that go away, any other is written as a file.
func TestPackages(t *testing.T) {
	archives, err := filepath.Glob("testdata/packages/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			s, out := newSession(t, Options{Source: filepath.Join(dir, "here")})
			for _, part := range archive.Files {
				switch part.Name {
				case "cell":
					checkCell(t, s, out, string(part.Data))
				case "remove":
					for _, f := range strings.Fields(string(part.Data)) {
						if err := os.RemoveAll(filepath.Join(dir, "here", f)); err != nil {
							t.Fatal(err)
						}
					}
				default:
					file := filepath.Join(dir, "here", part.Name)
					if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, part.Data, 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// checkCell runs a cell with its expected output in comments.
func checkCell(t *testing.T, s *Session, out *output, text string) {
	t.Helper()
	var src, want strings.Builder
	for line := range strings.Lines(text) {
		if expected, ok := strings.CutPrefix(line, "// >"); ok {
			want.WriteString(strings.TrimPrefix(expected, " "))
		} else {
			src.WriteString(line)
		}
	}
	if got := transcript(s, out, src.String()); got != want.String() {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", src.String(), indent(got), indent(want.String()))
	}
}

// A program finds packages beside its own files and below the module path of its go.mod.
func TestProgramImports(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module example.com/me\n\ngo 1.26\n",
		"util/util.go":   "package util\n\nimport \"example.com/me/deep/er\"\n\nvar Greeting = \"hello \" + er.Name\n\nfunc Fail(xs []int) int { return xs[1] }\n",
		"deep/er/er.go":  "package er\n\nvar Name = \"you\"\n",
		"wrong/wrong.go": "package wrong\n\nvar X int = \"\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ source, stdout, stderr, err string }{
		{`import ("fmt"; "example.com/me/util"; u "./util"); func main() { fmt.Println(util.Greeting, u.Greeting == util.Greeting) }`, "hello you true\n", "", ""},
		{`import "./util"; func main() { util.Fail(nil) }`, "", "panic: runtime error: index out of range [1] with length 0\n\ngoroutine 1 [running]:\nutil.Fail(...)\n\tutil/util.go:7\nmain.main(...)\n\t", ""},
		{`import "example.com/me/wrong"; func main() { println(wrong.X) }`, "", "", `wrong/wrong.go:3:13: cannot use "" (untyped string constant) as int value in variable declaration`},
		{`import "example.com/me/none"; func main() { none.X() }`, "", "", filepath.Join(dir, "main.go") + `:1:22: package ./none: no such file or directory`},
	} {
		var stdout, stderr bytes.Buffer
		files := []ProgramFile{{Name: filepath.Join(dir, "main.go"), Source: "package main; " + test.source}}
		_, err := RunProgram(t.Context(), files, Options{Stdout: &stdout, Stderr: &stderr, Source: dir})
		if err == nil && test.err != "" || err != nil && err.Error() != test.err {
			t.Errorf("%s:\ngot error %v, want %s", test.source, err, test.err)
		}
		if stdout.String() != test.stdout || !strings.HasPrefix(stderr.String(), test.stderr) {
			t.Errorf("%s:\ngot %q, %q, want %q, %q…", test.source, &stdout, &stderr, test.stdout, test.stderr)
		}
	}
}

// Completion, hints and inspection know the user's packages.
func TestPackageTools(t *testing.T) {
	dir := t.TempDir()
	text := "// Package util helps.\npackage util\n\n// Half halves n.\nfunc Half(n int) int { return n / 2 }\n\n// A Box holds things.\ntype Box struct {\n\tSize int // in mm\n\tinner int\n}\n\n// Open opens b.\nfunc (b *Box) Open(hard bool) {}\n\nfunc hidden() {}\n"
	if err := os.MkdirAll(filepath.Join(dir, "util"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "util", "util.go"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s, _ := newSession(t, Options{Source: dir})
	run(t, s, `import "./util"`, "box := &util.Box{Size: 2}")
	for _, c := range []struct{ cell, want string }{
		{"util.", "Box type struct: A Box holds things.\nHalf func (n int) int: Half halves n."},
		{"box.", "Open method (hard bool): Open opens b.\nSize field int: in mm"},
		{"uti", "util package ./util: Package util helps."},
	} {
		_, list := s.Complete(c.cell, len(c.cell))
		var got []string
		for _, item := range list {
			got = append(got, item.Text+" "+item.Kind+" "+item.Detail+": "+item.Doc)
		}
		if g := strings.Join(got, "\n"); g != c.want {
			t.Errorf("Complete(%s):\ngot\n%s\nwant\n%s", c.cell, g, c.want)
		}
	}
	for _, c := range []struct{ expr, typ, doc, source string }{
		{"util", "./util", "package util\n\nPackage util helps.", ""},
		{"util.Half", "func(n int) int", "func Half(n int) int\n\nHalf halves n.", "func Half(n int) int { return n / 2 }"},
		{"box.Open", "func(hard bool)", "func (b *Box) Open(hard bool)\n\nOpen opens b.", ""},
	} {
		info, err := s.Inspect(c.expr)
		if err != nil || info.Type != c.typ || info.Doc != c.doc || info.Source != c.source {
			t.Errorf("Inspect(%s): got %+v, %v", c.expr, info, err)
		}
	}
	for _, v := range s.Vars() {
		if v.Kind == "import" && v.Type != "./util" {
			t.Errorf("the import of %s leads to %s, want ./util", v.Name, v.Type)
		}
	}
}
