package program

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// embed has the variables of a file that embed another as text or bytes begin with it, as the compiler does.
// What it does not understand, such as folders, it leaves for the compiler to refuse.
func (p *local) embed(f *ast.File) {
	for _, d := range f.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for _, spec := range d.Specs {
			spec := spec.(*ast.ValueSpec)
			doc := spec.Doc
			if !d.Lparen.IsValid() {
				doc = d.Doc
			}
			if doc == nil || len(spec.Names) != 1 || len(spec.Values) > 0 {
				continue
			}
			for i, c := range doc.List {
				name, ok := strings.CutPrefix(c.Text, "//go:embed ")
				if value := p.embedded(strings.TrimSpace(name), spec.Type); ok && value != nil {
					spec.Values = []ast.Expr{value}
					doc.List = slices.Delete(doc.List, i, i+1)
					break
				}
			}
		}
	}
	blank := func(s ast.Spec) bool {
		i, ok := s.(*ast.ImportSpec)
		return ok && i.Path.Value == `"embed"` && i.Name != nil && i.Name.Name == "_"
	}
	f.Imports = slices.DeleteFunc(f.Imports, func(s *ast.ImportSpec) bool { return blank(s) })
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		if ok && g.Tok == token.IMPORT {
			g.Specs = slices.DeleteFunc(g.Specs, blank)
		}
		return ok && g.Tok == token.IMPORT && len(g.Specs) == 0
	})
}

// embedded is the content of a file below the package's folder, as a value of type string or []byte; nil if
// it is neither, or there is no such file.
func (p *local) embedded(name string, t ast.Expr) ast.Expr {
	if t == nil || !filepath.IsLocal(name) {
		return nil
	}
	text, err := regular.Read(filepath.Join(p.Dir, filepath.FromSlash(name)), regular.MaxSource)
	if err != nil {
		return nil
	}
	lit := &ast.BasicLit{ValuePos: t.Pos(), Kind: token.STRING, Value: strconv.Quote(string(text))}
	switch t := t.(type) {
	case *ast.Ident:
		if t.Name == "string" {
			return lit
		}
	case *ast.ArrayType:
		if e, ok := t.Elt.(*ast.Ident); ok && t.Len == nil && e.Name == "byte" {
			return &ast.CallExpr{Fun: &ast.ArrayType{Lbrack: t.Pos(), Elt: &ast.Ident{NamePos: t.Pos(), Name: "byte"}}, Lparen: t.Pos(), Args: []ast.Expr{lit}, Rparen: t.Pos()}
		}
	}
	return nil
}
