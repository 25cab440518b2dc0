package program

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/gomod"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/modules"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A place is where a package lies.
type place struct {
	dir    string
	root   string   // folder of the main module's go.mod, or ""
	path   string   // import path of a package of a module, "" for one of the user's own
	module string   // path@version of the module
	tags   []string // of the person's, for files of Go
}

// find is where an import path leads from a package: relative to its folder, below the module path of the
// go.mod nearest to it, or to a module that this go.mod or the session requires.
func (ps *Packages) find(ctx context.Context, from place, importPath string) (to place, own bool, err error) {
	if build.IsLocalImport(importPath) {
		return place{dir: filepath.Join(from.dir, filepath.FromSlash(importPath))}, true, nil
	}
	if _, compiled := stdlib.Name(importPath); compiled {
		return to, false, nil
	}
	root, main := from.root, ""
	if from.path == "" {
		root, main = gomod.Above(from.dir)
		if below, ok := strings.CutPrefix(importPath+"/", main+"/"); ok && main != "" {
			return place{dir: filepath.Join(root, filepath.FromSlash(below))}, true, nil
		}
	}
	if first, _, _ := strings.Cut(importPath, "/"); !strings.Contains(first, ".") {
		return to, false, nil // the standard library's; stdlib.WhyNot has the reason
	}
	if above, _, internal := cutInternal(importPath); internal && !strings.HasPrefix(from.path+"/", above) && !strings.HasPrefix(main+"/", above) {
		return to, false, &badPackage{importPath, "use of an internal package: only packages below " + strings.TrimSuffix(above, "/") + " may import it"}
	}
	b, err := ps.mods.Build(root)
	if err == nil {
		var found *modules.Found
		if found, err = b.Find(ctx, importPath); err == nil {
			return place{dir: found.Dir, root: root, path: importPath, module: found.Module.String(), tags: found.Tags}, true, nil
		}
	}
	return to, false, &badPackage{importPath, err.Error()}
}

// cutInternal cuts an import path before its last element internal; what is above ends in a slash.
func cutInternal(importPath string) (above, below string, found bool) {
	i := strings.LastIndex("/"+importPath+"/", "/internal/")
	if i < 0 {
		return "", "", false
	}
	return importPath[:i], importPath[i:], true
}

// read reads the files of a package that go build would take.
func (ps *Packages) read(at place) (*local, error) {
	p := &local{Package: &compile.Package{Dir: at.dir}, place: at, shown: ps.shownPath(at.dir)}
	switch {
	case at.path != "":
		p.shown = at.path
	case build.IsLocalImport("./"+p.shown) && !strings.HasPrefix(p.shown, "."):
		p.shown = "./" + p.shown
	}
	fail := func(format string, args ...any) (*local, error) {
		return nil, &badPackage{p.shown, fmt.Sprintf(format, args...)}
	}
	list, err := os.ReadDir(at.dir)
	if errors.Is(err, os.ErrNotExist) {
		return fail("no such file or directory") // each system has words of its own
	}
	if err != nil {
		if pe := new(os.PathError); errors.As(err, &pe) {
			err = pe.Err
		}
		return fail("%v", err)
	}
	texts := map[string][]byte{}
	for _, f := range list {
		name := f.Name()
		if f.IsDir() || strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") {
			continue
		}
		if texts[name], err = regular.Read(filepath.Join(at.dir, name), regular.MaxSource); err != nil {
			return nil, err
		}
	}
	names, err := choose(at, texts)
	if err != nil {
		return fail("%v", err)
	}
	sum := sha256.New()
	for _, name := range names {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(texts[name]), texts[name])
		p.files = append(p.files, &localFile{name: ps.fileName(at, name), text: string(texts[name])})
	}
	if len(p.files) == 0 {
		return fail("no Go files in the folder that go build would take")
	}
	sum.Sum(p.sum[:0])
	return p, nil
}

// fileName is how messages call a file: util/util.go, gonum.org/v1/gonum@v0.16.0/stat/stat.go.
func (ps *Packages) fileName(at place, name string) string {
	if at.path == "" {
		return ps.shownPath(filepath.Join(at.dir, name))
	}
	module, version, _ := strings.Cut(at.module, "@")
	if version != "" {
		version = "@" + version
	}
	return path.Join(module+version+strings.TrimPrefix(at.path, module), name)
}

// pureTags are the words by which packages let people leave out assembly and unsafe memory.
var pureTags = []string{"purego", "noasm", "appengine", "safe", "nounsafe", "generic", "disableunsafe"}

// A view is how a package may see this machine and Go: its build constraints choose other files in each.
type view struct {
	arch     string // "": this machine's
	releases int    // the newest Go 1.N; 0: this one
}

// views are the ways to look at a package of a module, until one of them needs neither assembly, unsafe nor
// the compiler's directives: processors that have 64 bits and little ends as well, for which hardly anybody
// writes assembly, then Go before it had what some files lean on.
var views = []view{{}, {releases: 23}, {arch: "mips64le"}, {arch: "riscv64"}, {arch: "loong64"}, {arch: "mips64le", releases: 20}}

// choose returns the files of a package that are to be loaded. Of a module's package those are chosen that
// package compile can take, if its build constraints offer them; otherwise what stands in the way is refused
// later, by file and line.
func choose(at place, texts map[string][]byte) (names []string, err error) {
	looks, tags := views[:1], at.tags
	if at.path != "" {
		looks, tags = views, slices.Concat(tags, pureTags)
	}
	for i, look := range looks {
		c := build.Default
		c.CgoEnabled, c.BuildTags = false, tags
		c.GOARCH = cmp.Or(look.arch, c.GOARCH)
		if look.releases > 0 {
			c.ReleaseTags = c.ReleaseTags[:look.releases]
		}
		var some []string
		pure := true
		for name, text := range texts {
			c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
			ok, err := c.MatchFile(at.dir, name)
			if err != nil {
				return nil, err
			}
			if ok {
				some = append(some, name)
				pure = pure && (at.path == "" || isPure(text))
			}
		}
		slices.Sort(some)
		if i == 0 || pure {
			names = some
		}
		if pure {
			break
		}
	}
	return names, nil
}

// impure are texts of what cells do not have.
var impure = []string{"\n//go:linkname ", "runtime.AddCleanup("}

// isPure says whether a file of Go has neither a function without a body, nor an import of unsafe or C, nor
// what cells do not have.
func isPure(text []byte) bool {
	if slices.ContainsFunc(impure, func(s string) bool { return bytes.Contains(text, []byte(s)) }) {
		return false
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return true // the compiler says what is wrong
	}
	for _, spec := range f.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p == "unsafe" || p == "C" {
			return false
		}
	}
	return !slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Body == nil
	})
}

// Get has code import from a module from now on, see [modules.Build.Get].
func (ps *Packages) Get(ctx context.Context, module string) (modules.Version, error) {
	path, version, asked := strings.Cut(module, "@")
	for _, m := range stdlib.Modules() {
		if !strings.HasPrefix(path+"/", m.Path+"/") {
			continue
		}
		if asked && version != m.Version {
			return modules.Version{}, fmt.Errorf("%s: this mcs has %s@%s compiled in; mcs build --with %[1]s makes another", module, m.Path, cmp.Or(m.Version, "FOLDER"))
		}
		return ps.mods.Have(modules.Version(m)), nil
	}
	root, _ := gomod.Above(ps.home)
	return ps.mods.Get(ctx, root, module)
}

// GoMod returns a go.mod and a go.sum for a program of the cells, see [modules.Build.GoMod].
func (ps *Packages) GoMod(ctx context.Context, name string) (mod, sum string, err error) {
	root, _ := gomod.Above(ps.home)
	b, err := ps.mods.Build(root)
	if err != nil {
		return "", "", err
	}
	tags := build.Default.ReleaseTags
	return b.GoMod(ctx, name, strings.TrimPrefix(tags[len(tags)-1], "go"))
}
