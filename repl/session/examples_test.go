package session

import (
	"context"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// notExamples are packages whose examples need the network, other processes, a compiler's view of memory, or
// files beside them, and imports that mark such examples elsewhere.
var notExamples = regexp.MustCompile(`^(unsafe|syscall|os/exec|os/signal|net|net/.*|plugin|runtime.*|testing.*|database/.*|debug/.*|expvar|log/syslog|simd.*|go/.*|internal/.*|crypto/.*|image.*|html/template|archive/.*|mime/.*|embed)$`)

// TestExamples runs the standard library's own examples that say what they print, each as a program of its
// own: the file that it stands in, with a main function that calls it.
func TestExamples(t *testing.T) {
	root, err := goRoot()
	if err != nil {
		t.Skip(err)
	}
	var list []corpusProgram
	err = filepath.WalkDir(filepath.Join(root, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "internal" {
			return fs.SkipDir
		}
		if ok, _ := filepath.Match("example*_test.go", d.Name()); !ok {
			return nil
		}
		programs, err := examplesIn(root, path)
		list = append(list, programs...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Skipf("the Go installation has no examples in %s", root)
	}
	n := runCorpus(t, "the standard library's examples", list)
	if *allPrograms && (n.passed < 505 || n.misbehaved > 0) {
		t.Errorf("%d examples behave as under go run, want at least 505; %d misbehave, want none", n.passed, n.misbehaved)
	}
}

// goRoot is where the Go distribution is.
func goRoot() (string, error) {
	if root := os.Getenv("MCS_TEST_GOROOT"); root != "" { // the go command's own has no programs: it came from the proxy
		return root, nil
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("the go command does not say where its distribution is: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// examplesIn are the programs that the examples of a file make.
func examplesIn(root, path string) (list []corpusProgram, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(text), "//go:build") || slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return notExamples.MatchString(strings.Trim(i.Path.Value, `"`))
	}) {
		return nil, nil
	}
	name := fset.Position(file.Name.Pos()).Offset
	src := string(text[:name]) + "main" + string(text[name+len(file.Name.Name):])
	pkg, err := filepath.Rel(filepath.Join(root, "src"), filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, e := range doc.Examples(file) {
		if e.Output == "" {
			continue
		}
		list = append(list, corpusProgram{
			name: filepath.ToSlash(pkg) + "." + "Example" + e.Name,
			src:  fmt.Sprintf("%s\nfunc main() { Example%s() }\n", src, e.Name),
			want: e.Output, unordered: e.Unordered, ask: true,
		})
	}
	return list, nil
}

// behaves says whether a program has its stated output under go run. The toolchain may refuse an example
// that needs the other files of its package.
func (p corpusProgram) behaves(path string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", path)
	cmd.Dir = filepath.Dir(path)
	out, err := cmd.CombinedOutput()
	return err == nil && p.printed(string(out)) == p.printed(p.want)
}

// printed returns a program's output in the form in which it is compared: package testing ignores space
// around an example's output, and the authors of examples also ignore spaces at the ends of lines.
func (p corpusProgram) printed(out string) string {
	if !p.ask {
		return strings.TrimSpace(out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if p.unordered {
		slices.Sort(lines)
	}
	return strings.Join(lines, "\n")
}
