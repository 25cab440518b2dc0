package session

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/mcs-notebook/mcs/stdlib"
)

// doc is what is known about a symbol of a package, compiled or the user's, as [stdlib.Doc] has it: the
// declaration, and after a blank line the comment.
func (s *Session) doc(path, symbol string) string {
	if p := s.locals.byPath[path]; p != nil {
		return p.symbol(symbol).doc
	}
	return stdlib.Doc(path, symbol)
}

// packageTitle is how people call the package with this path: ./util for one of their own.
func (s *Session) packageTitle(path string) string {
	if p := s.locals.byPath[path]; p != nil {
		return p.shown
	}
	return path
}

// A symbolText is what the source of a package says about one of its symbols.
type symbolText struct{ doc, source string }

func (p *local) symbol(name string) symbolText {
	if p.symbols == nil {
		p.symbols = map[string]symbolText{}
		for _, f := range p.files {
			f.symbols(p.symbols)
		}
	}
	return p.symbols[name]
}

// symbols notes what a file declares, under the names that [stdlib.Doc] has for symbols.
func (f *localFile) symbols(into map[string]symbolText) {
	text := func(from, to token.Pos) string { return f.text[from-f.ast.FileStart : to-f.ast.FileStart] }
	add := func(name, declaration, source string, comments ...*ast.CommentGroup) {
		doc := declaration
		for _, c := range comments {
			if comment := strings.TrimSpace(c.Text()); comment != "" {
				doc += "\n\n" + comment
				break
			}
		}
		into[name] = symbolText{doc, source}
	}
	if f.ast.Doc != nil {
		add("", "package "+f.ast.Name.Name, "", f.ast.Doc)
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name, end := d.Name.Name, d.End()
			if d.Recv != nil {
				name = receiver(d) + "." + name
			}
			if d.Body != nil {
				end = d.Body.Pos()
			}
			add(name, strings.TrimSpace(text(d.Pos(), end)), text(d.Pos(), d.End()), d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					source := "type " + text(spec.Pos(), spec.End())
					add(spec.Name.Name, source, source, spec.Doc, d.Doc, spec.Comment)
					if st, ok := spec.Type.(*ast.StructType); ok {
						for _, field := range st.Fields.List {
							for _, id := range field.Names {
								add(spec.Name.Name+"."+id.Name, id.Name+" "+text(field.Type.Pos(), field.Type.End()), "", field.Doc, field.Comment)
							}
						}
					}
				case *ast.ValueSpec:
					source := d.Tok.String() + " " + text(spec.Pos(), spec.End())
					for _, id := range spec.Names {
						add(id.Name, source, source, spec.Doc, spec.Comment, d.Doc)
					}
				}
			}
		}
	}
}
