package compile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/session/internal/generic"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// sources are the packages whose generic functions come as source, not compiled.
type sources struct {
	compiler *Compiler
	loaded   map[string]*sourcePackage
}

// A sourcePackage is the generic part of a compiled package.
type sourcePackage struct {
	pkg     *types.Package
	decls   map[string]*world.Decl
	methods map[string][]*world.Decl
}

// load reads a package's generic part, once.
func (ss *sources) load(path string) (*sourcePackage, error) {
	if p := ss.loaded[path]; p != nil {
		return p, nil
	}
	texts, ok := generic.Source(path)
	if !ok {
		return nil, fmt.Errorf("the generic functions of package %s are not available in cells", path)
	}
	p := &sourcePackage{decls: map[string]*world.Decl{}, methods: map[string][]*world.Decl{}}
	var files []*ast.File
	fset := token.NewFileSet()
	for _, text := range texts {
		f, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		base := fset.File(f.FileStart)
		for _, d := range f.Decls {
			src := text[base.Offset(d.Pos()):base.Offset(d.End())]
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					recv := world.Receiver(d)
					p.methods[recv] = append(p.methods[recv], &world.Decl{Tok: token.FUNC, Src: src, Recv: recv, Name: d.Name.Name, Generic: true, Slot: ss.compiler.nextSlot()})
					continue
				}
				p.decls[d.Name.Name] = &world.Decl{Tok: token.FUNC, Src: src, Names: []string{d.Name.Name}, Generic: true, Slot: ss.compiler.nextSlot()}
			case *ast.GenDecl:
				if d.Tok == token.TYPE {
					name := d.Specs[0].(*ast.TypeSpec).Name.Name
					p.decls[name] = &world.Decl{Tok: token.TYPE, Src: src, Names: []string{name}, Generic: true}
				}
			}
		}
	}
	conf := types.Config{Importer: ss.compiler.importer, Sizes: ss.compiler.sizes}
	var err error
	if p.pkg, err = conf.Check(path, fset, files, nil); err != nil {
		return nil, fmt.Errorf("generic source of %s: %w", path, err)
	}
	ss.loaded[path] = p
	return p, nil
}

// compiled returns the object of the compiled package that corresponds to an object of a source package,
// because cells know the compiled package. It returns any other object unchanged.
func (ss *sources) compiled(o types.Object) types.Object {
	if p := ss.loaded[o.Pkg().Path()]; p == nil || p.pkg != o.Pkg() {
		return o
	}
	pkg, err := ss.compiler.importer.Import(o.Pkg().Path())
	if err != nil {
		return o
	}
	if c := pkg.Scope().Lookup(o.Name()); c != nil {
		return c
	}
	return o
}
