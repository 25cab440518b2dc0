package style

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The changing state of the process in the engine, and why no context carries it. Variables that only
// initialisation sets are constants in effect. Three are not found by the test, because their types hide
// them: the default device, the generator of code without its own, as in math/rand, and package bench's
// cache of the machine's ceilings.
var processState = map[string]string{
	"engine/internal/backend.registry":            "the machine has each device once: which are open",
	"engine/internal/backend/cpu/gemm.blas":       "chosen when the processor is opened, before anything is computed",
	"engine/internal/backend/cpu/isa.level":       "what the processor has; tests lower it",
	"engine/internal/backend/cpu/micro.sink":      "keeps the compiler from leaving a loop out",
	"engine/internal/backend/cpu/micro.dotSums":   "a cache: memory of sums",
	"engine/internal/backend/cpu/micro.pairRooms": "a cache: memory of pairs",
	"engine/internal/box.traces":                  "says that nothing is being compiled",
	"engine/internal/events.*":                    "counts launches for as long as the process lives, and tells those who listen",
	"engine/internal/ir.asked":                    "says that no context has ever asked for origins",
	"engine/internal/ir.links":                    "a lock for nodes that forget their sources while others walk over them",
	"engine/internal/ir.walkers":                  "a cache: memory of walks",
	"engine/linalg.rooms":                         "a cache: memory of packed panels",
	"engine/internal/mpi.started":                 "MPI can be started once in a process",
	"engine/internal/plan.cache":                  "a cache: plans and kernels, by device",
	"engine/internal/plan.sharedTF32":             "the precision of code without a session, like the default device",
	"engine/internal/scope.count":                 "says that no goroutine has a scope",
	"engine/internal/scope.recent":                "those of scopes that were asked for last, found without a lock",
	"engine/internal/scope.scopes":                "the contexts themselves, by goroutine",
}

// initialisers are called when a package begins, and by nobody else.
var initialisers = map[string]bool{"init": true, "use": true, "useAVX2": true, "useAVX512": true, "useNEON": true}

// The engine keeps only the state of the process in the table.
func TestStateOfTheProcess(t *testing.T) {
	found := map[string]bool{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(filepath.Join(root, "engine"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() == "testdata" || d.Name() == "gen" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, v := range stateOf(t, path) {
			if all := filepath.ToSlash(name) + ".*"; processState[all] != "" {
				v = "*"
			}
			found[filepath.ToSlash(name)+"."+v] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if processState[name] == "" {
			t.Errorf("%s changes and belongs to the process: let a context or a session carry it, or say here why not", name)
		}
	}
	for name := range processState {
		if !found[name] {
			t.Errorf("%s is gone, or does not change any more", name)
		}
	}
}

// stateOf lists the variables of a package that functions other than init assign, or whose types several
// goroutines may change.
func stateOf(t *testing.T, dir string) (names []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var decls []ast.Decl
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		decls = append(decls, parsed.Decls...)
	}
	vars, changed := map[string]bool{}, map[string]bool{}
	for _, d := range decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, s := range g.Specs {
				s := s.(*ast.ValueSpec)
				for _, n := range s.Names {
					vars[n.Name] = true
					changed[n.Name] = changed[n.Name] || shared(s.Type) || slices.ContainsFunc(s.Values, shared)
				}
			}
		}
	}
	for _, d := range decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && (f.Recv != nil || !initialisers[f.Name.Name]) {
			for _, n := range assigned(f) {
				changed[n] = true
			}
		}
	}
	for n := range vars {
		if changed[n] && n != "_" {
			names = append(names, n)
		}
	}
	return names
}

// shared says whether a type, or the literal that gives a variable its type, has locks, atomics or pools.
func shared(e ast.Expr) (found bool) {
	if e == nil {
		return false
	}
	if _, isFunc := e.(*ast.FuncLit); isFunc {
		return false
	}
	ast.Inspect(e, func(n ast.Node) bool {
		if _, call := n.(*ast.CallExpr); call { // sync.OnceValue gives a function
			return false
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			if p, ok := s.X.(*ast.Ident); ok && (p.Name == "sync" || p.Name == "atomic") {
				found = true
			}
		}
		return !found
	})
	return found
}

// assigned lists the names that a function assigns, or assigns a part of, and does not declare.
func assigned(f *ast.FuncDecl) (names []string) {
	own := map[string]bool{}
	declare := func(list *ast.FieldList) {
		if list != nil {
			for _, field := range list.List {
				for _, n := range field.Names {
					own[n.Name] = true
				}
			}
		}
	}
	declare(f.Recv)
	assign := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.SelectorExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			case *ast.Ident:
				names = append(names, x.Name)
				return
			default:
				return
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			declare(n.Params)
			declare(n.Results)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					own[id.Name] = true
				}
			}
		case *ast.IncDecStmt:
			assign(n.X)
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					own[id.Name] = true
				} else {
					assign(e)
				}
			}
		}
		return true
	})
	return slices.DeleteFunc(names, func(n string) bool { return own[n] })
}
