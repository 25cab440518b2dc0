package modules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// A Build is the modules that the code of a main module may import: what its go.mod and the session require,
// each in the version that Go's minimal version selection chooses. The graph is pruned as Go prunes it: of a
// module that says go 1.17 or newer its own requirements count, and not those of the modules it requires.
type Build struct {
	c        *Client
	root     string        // folder of go.mod, or ""
	main     *modfile.File // or nil
	sums     *sums
	asked    []module.Version  // by %get, in order
	selected map[string]string // path -> version; nil if it must be chosen anew
	vendored map[string]module.Version
	vendor   string
	used     map[string]string // path -> version in which a package was found last
}

// Main reads the go.mod of a folder; without a folder nothing is required yet.
func (c *Client) Main(root string) (*Build, error) {
	b := &Build{c: c, root: root, sums: readSums(root), used: map[string]string{}}
	if root == "" {
		return b, nil
	}
	name := filepath.Join(root, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if b.main, err = modfile.Parse("go.mod", text, nil); err != nil {
		return nil, err
	}
	return b, b.readVendor()
}

// require adds a requirement to those of the main module.
func (b *Build) require(m module.Version) {
	b.asked = append(slices.DeleteFunc(b.asked, func(o module.Version) bool { return o.Path == m.Path }), m)
	b.selected = nil
}

// roots are the requirements of the main module and of the session, which has the last word.
func (b *Build) roots() (list []module.Version) {
	if b.main != nil {
		for _, r := range b.main.Require {
			if !slices.ContainsFunc(b.asked, func(m module.Version) bool { return m.Path == r.Mod.Path }) {
				list = append(list, r.Mod)
			}
		}
	}
	return append(list, b.asked...)
}

// replaced returns what stands for a module: another module, or a folder, whose version is empty.
func (b *Build) replaced(m module.Version) module.Version {
	if b.main != nil {
		for _, r := range b.main.Replace {
			if r.Old.Path == m.Path && (r.Old.Version == "" || r.Old.Version == m.Version) {
				return r.New
			}
		}
	}
	return m
}

// local is the folder of a module that a folder replaces.
func (b *Build) local(m module.Version) string {
	if filepath.IsAbs(m.Path) {
		return m.Path
	}
	return filepath.Join(b.root, filepath.FromSlash(m.Path))
}

// excluded says whether the main module's go.mod excludes a version.
func (b *Build) excluded(m module.Version) bool {
	return b.main != nil && slices.ContainsFunc(b.main.Exclude, func(e *modfile.Exclude) bool { return e.Mod == m })
}

// requirements are those of a module, and whether it says go 1.17 or newer.
func (b *Build) requirements(ctx context.Context, m module.Version) (list []module.Version, pruned bool, err error) {
	r := b.replaced(m)
	var text []byte
	if r.Version == "" {
		text, err = os.ReadFile(filepath.Join(b.local(r), "go.mod"))
	} else {
		text, err = b.c.goMod(ctx, r, b.sums)
	}
	if err != nil {
		return nil, false, err
	}
	f, err := modfile.ParseLax(m.String()+"/go.mod", text, nil)
	if err != nil {
		return nil, false, err
	}
	for _, req := range f.Require {
		if !b.excluded(req.Mod) {
			list = append(list, req.Mod)
		}
	}
	return list, f.Go != nil && semver.Compare("v"+f.Go.Version, "v1.17") >= 0, nil
}

// fetchers is how many go.mod files are fetched at once.
const fetchers = 12

// choose makes the list of versions: of each module the highest that any module of the graph requires.
func (b *Build) choose(ctx context.Context) error {
	if b.selected != nil {
		return nil
	}
	type node struct {
		module.Version
		deep bool // its requirements are followed whatever they say
	}
	chosen, seen := map[string]string{}, map[node]bool{}
	take := func(m module.Version) {
		if chosen[m.Path] == "" || semver.Compare(m.Version, chosen[m.Path]) > 0 {
			chosen[m.Path] = m.Version
		}
	}
	var level []node
	for _, m := range b.roots() {
		take(m)
		level = append(level, node{Version: m})
	}
	for len(level) > 0 {
		type answer struct {
			list   []module.Version
			pruned bool
			err    error
		}
		answers := make([]answer, len(level))
		var wait sync.WaitGroup
		free := make(chan bool, fetchers)
		for i, n := range level {
			free <- true
			wait.Go(func() {
				answers[i].list, answers[i].pruned, answers[i].err = b.requirements(ctx, n.Version)
				<-free
			})
		}
		wait.Wait()
		var next []node
		for i, n := range level {
			if answers[i].err != nil {
				return answers[i].err
			}
			for _, m := range answers[i].list {
				take(m)
				if d := (node{m, true}); (n.deep || !answers[i].pruned) && !seen[d] {
					seen[d] = true
					next = append(next, d)
				}
			}
		}
		level = next
	}
	if b.main != nil && b.main.Module != nil {
		delete(chosen, b.main.Module.Mod.Path)
	}
	b.selected = chosen
	return nil
}

// A Found is where a package lies.
type Found struct {
	Dir    string
	Module module.Version // its version is empty if a folder of the person's replaces it
	Tags   []string       // of GOFLAGS
}

// A NoModuleError says that no required module has a package.
type NoModuleError struct{ Path string }

func (e *NoModuleError) Error() string {
	return fmt.Sprintf("no required module has it; fetch its module with %%get %s, or add @VERSION", e.Path)
}

// Find fetches the module that has a package, unless the cache has it, and returns the package's folder.
func (b *Build) Find(ctx context.Context, importPath string) (*Found, error) {
	if b.vendored != nil {
		return b.findVendored(importPath)
	}
	if err := b.choose(ctx); err != nil {
		return nil, err
	}
	var found []*Found
	for path := importPath; path != "."; path = parent(path) {
		version := b.selected[path]
		if version == "" {
			continue
		}
		m := module.Version{Path: path, Version: version}
		r, dir, err := b.replaced(m), "", error(nil)
		if r.Version == "" {
			dir = b.local(r)
		} else if dir, err = b.c.unpack(ctx, r, b.sums); err != nil {
			return nil, err
		}
		dir = filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(importPath[len(path):], "/")))
		if hasGo(dir) {
			b.used[path] = version
			m.Version = cmp.Or(r.Version, "")
			found = append(found, &Found{dir, m, b.c.env.Tags})
		}
	}
	switch len(found) {
	case 0:
		for path := importPath; path != "."; path = parent(path) {
			if version := b.selected[path]; version != "" {
				return nil, fmt.Errorf("%s@%s has no such package", path, version)
			}
		}
		return nil, &NoModuleError{importPath}
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("ambiguous import: both %s and %s have it", found[0].Module, found[1].Module)
}

// parent is the path above a path, or ".".
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "."
}

// hasGo says whether a folder has a file of Go.
func hasGo(dir string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(list, func(f os.DirEntry) bool { return !f.IsDir() && strings.HasSuffix(f.Name(), ".go") })
}

// readVendor reads vendor/modules.txt, if the go command would: it is there, and GOFLAGS does not say
// -mod=mod.
func (b *Build) readVendor() error {
	dir := filepath.Join(b.root, "vendor")
	text, err := os.ReadFile(filepath.Join(dir, "modules.txt"))
	old := b.main.Go == nil || semver.Compare("v"+b.main.Go.Version, "v1.14") < 0
	if errors.Is(err, os.ErrNotExist) && b.c.env.Mod != "vendor" || b.c.env.Mod == "mod" || b.c.env.Mod == "" && old {
		return nil
	}
	if err != nil {
		return err
	}
	b.vendor, b.vendored = dir, map[string]module.Version{}
	var at module.Version
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 3 && f[0] == "#":
			at = module.Version{Path: f[1], Version: f[2]}
		case len(f) == 1 && !strings.HasPrefix(f[0], "#"):
			b.vendored[f[0]] = at
		}
	}
	return nil
}

// findVendored finds a package in the vendor folder, which has all that the main module may import.
func (b *Build) findVendored(importPath string) (*Found, error) {
	m, ok := b.vendored[importPath]
	if !ok {
		return nil, fmt.Errorf("the vendor folder of %s does not have it; go mod vendor adds what the code imports, and GOFLAGS=-mod=mod leaves the folder out", b.main.Module.Mod.Path)
	}
	b.used[m.Path] = m.Version
	return &Found{filepath.Join(b.vendor, filepath.FromSlash(importPath)), m, b.c.env.Tags}, nil
}

// GoMod returns the text of a go.mod, and of a go.sum, for a program with this path that imports what was
// imported through the build.
func (b *Build) GoMod(ctx context.Context, path, goVersion string) (mod, sum string, err error) {
	f := new(modfile.File)
	if err := errors.Join(f.AddModuleStmt(path), f.AddGoStmt(goVersion)); err != nil {
		return "", "", err
	}
	used := maps.Clone(b.used)
	for _, m := range b.asked {
		used[m.Path] = m.Version
	}
	var list []module.Version
	for _, path := range slices.Sorted(maps.Keys(used)) {
		list = append(list, module.Version{Path: path, Version: used[path]})
	}
	if b.main != nil {
		for _, r := range b.main.Replace {
			if err := f.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, r.New.Version); err != nil {
				return "", "", err
			}
		}
	}
	// All of them are required by the program itself, so Go reads and checks the go.mod of each.
	all := &Build{c: b.c, root: b.root, main: b.main, sums: b.sums, asked: list}
	if err := all.choose(ctx); err != nil {
		return "", "", err
	}
	for _, m := range list {
		asked := slices.ContainsFunc(b.asked, func(a module.Version) bool { return a.Path == m.Path })
		f.AddNewRequire(m.Path, cmp.Or(all.selected[m.Path], m.Version), !asked)
	}
	f.SetRequireSeparateIndirect(f.Require)
	f.Cleanup()
	text, err := f.Format()
	return string(text), b.sums.lines(), err
}

// Asked are the modules that the session has asked for, in order.
func (b *Build) Asked() []module.Version { return slices.Clone(b.asked) }
