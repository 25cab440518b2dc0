package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A docWriter collects the documentation of one package: symbol ("Reader", "Reader.Read", "" for the package)
// to text: the declaration, a blank line, what the comment says.
type docWriter struct {
	fset *token.FileSet
	pkg  *types.Package
	full bool
	doc  *doc.Package
	text map[string]string
}

// packageDocs returns a package's documentation as the archive keeps it: symbol, NUL, text, NUL, in order of
// symbols.
func packageDocs(p part, sp *sourcePackage) ([]byte, error) {
	w := &docWriter{fset: token.NewFileSet(), pkg: sp.Types, full: p.fullDocs, text: map[string]string{}}
	var files []*ast.File
	for _, name := range slices.Concat(sp.GoFiles, sp.CgoFiles) {
		f, err := parser.ParseFile(w.fset, filepath.Join(sp.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	var err error
	if w.doc, err = doc.NewFromFiles(w.fset, files, sp.Path); err != nil {
		return nil, err
	}
	w.put("", "package "+sp.Name+` // import "`+sp.Path+`"`, w.doc.Doc)
	w.values(w.doc.Consts)
	w.values(w.doc.Vars)
	w.funcs("", w.doc.Funcs)
	for _, t := range w.doc.Types {
		w.typ(t)
	}
	var b bytes.Buffer
	for _, symbol := range slices.Sorted(maps.Keys(w.text)) {
		fmt.Fprintf(&b, "%s\x00%s\x00", symbol, w.text[symbol])
	}
	return b.Bytes(), nil
}

func (w *docWriter) put(symbol, decl, comment string) {
	if !w.full {
		comment = w.doc.Synopsis(comment)
	}
	text := decl
	if comment = strings.TrimSpace(comment); comment != "" {
		text += "\n\n" + comment
	}
	w.text[symbol] = strings.ReplaceAll(text, "\x00", "")
}

func (w *docWriter) typ(t *doc.Type) {
	for _, spec := range t.Decl.Specs {
		if s, ok := spec.(*ast.TypeSpec); ok && s.Name.Name == t.Name {
			w.fields(s)
			if !w.full {
				ast.Inspect(s, dropComments)
			}
			decl := &ast.GenDecl{Tok: token.TYPE, Specs: []ast.Spec{&ast.TypeSpec{
				Name: s.Name, TypeParams: s.TypeParams, Assign: s.Assign, Type: s.Type}}}
			w.put(t.Name, w.print(decl), t.Doc)
		}
	}
	w.values(t.Consts)
	w.values(t.Vars)
	w.funcs("", t.Funcs)
	w.funcs(t.Name+".", t.Methods)
}

// fields documents the exported fields and interface methods that have comments.
func (w *docWriter) fields(s *ast.TypeSpec) {
	var list *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, f := range list.List {
		comment := cmp.Or(f.Doc.Text(), f.Comment.Text())
		for _, name := range f.Names {
			if !name.IsExported() {
				continue
			}
			decl := name.Name + " " + w.print(f.Type)
			if _, ok := f.Type.(*ast.FuncType); ok && list.Opening.IsValid() {
				if _, isInterface := s.Type.(*ast.InterfaceType); isInterface {
					decl = name.Name + strings.TrimPrefix(w.print(f.Type), "func")
				}
			}
			w.put(s.Name.Name+"."+name.Name, decl, comment)
		}
	}
}

func dropComments(n ast.Node) bool {
	if f, ok := n.(*ast.Field); ok {
		f.Doc, f.Comment = nil, nil
	}
	return true
}

func (w *docWriter) funcs(prefix string, funcs []*doc.Func) {
	for _, f := range funcs {
		decl := *f.Decl
		decl.Doc, decl.Body = nil, nil
		w.put(prefix+f.Name, w.print(&decl), f.Doc)
	}
}

func (w *docWriter) values(values []*doc.Value) {
	for _, v := range values {
		for _, spec := range v.Decl.Specs {
			s, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			comment := cmp.Or(s.Doc.Text(), s.Comment.Text(), v.Doc)
			for _, name := range s.Names {
				obj := w.pkg.Scope().Lookup(name.Name)
				if obj != nil && name.IsExported() {
					w.put(name.Name, types.ObjectString(obj, types.RelativeTo(w.pkg)), comment)
				}
			}
		}
	}
}

// print formats a node with the comments that belong to it.
func (w *docWriter) print(node any) string {
	var b bytes.Buffer
	config := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 4}
	if err := config.Fprint(&b, w.fset, node); err != nil {
		return ""
	}
	return b.String()
}
