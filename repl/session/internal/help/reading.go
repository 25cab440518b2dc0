package help

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/mcs-notebook/mcs/engine"
	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// enginePath begins the import paths of the engine's packages.
const enginePath = "github.com/mcs-notebook/mcs/engine/"

// ReadSource returns the source of the declaration that an Info describes. For declarations of a cell or
// of the user's packages it is the text as typed. For the engine it comes from the copy inside mcs, and
// for the standard library from the Go installation, if there is one.
func (i Info) ReadSource() (string, error) {
	switch {
	case i.Source != "":
		return i.Source, nil
	case i.path == "" && i.Cell > 0:
		return "", errors.New("it is a variable; the cell is " + i.Place)
	case i.path == "":
		return "", errors.New("it is part of the language")
	case i.symbol == "":
		return "", errors.New("of a package as a whole; ask for one of its names")
	}
	files, err := PackageFiles(i.path)
	if err != nil {
		return "", err
	}
	if text := declarationIn(files, i.symbol); text != "" {
		return text, nil
	}
	return "", fmt.Errorf("%s is not in the Go files of %s: assembly, or another platform's", i.symbol, i.path)
}

// PackageFiles returns the texts of the Go files of a package that is compiled into mcs.
func PackageFiles(pkg string) (texts []string, err error) {
	dir, own := strings.CutPrefix(pkg, enginePath)
	var files fs.FS = engine.Source
	root := ""
	if !own {
		if root = data.GoSource(pkg); root == "" {
			return nil, errors.New("it is compiled into mcs, and there is no Go installation here to read it from")
		}
		files, dir = os.DirFS(root), "."
	}
	names, err := fs.Glob(files, path.Join(dir, "*.go"))
	for _, name := range names {
		if own, _ := build.Default.MatchFile(root, name); strings.HasSuffix(name, "_test.go") || root != "" && !own {
			continue
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(b))
	}
	return texts, err
}

// declarationIn returns the declaration of a symbol, Name or Type.Name, with its comment.
func declarationIn(texts []string, symbol string) string {
	for _, text := range texts {
		if !strings.Contains(text, symbol[strings.LastIndexByte(symbol, '.')+1:]) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		found := map[string]SymbolText{}
		Symbols(text, file, found)
		if t, ok := found[symbol]; ok && t.Source != "" {
			if _, comment, ok := strings.Cut(t.Doc, "\n\n"); ok {
				return "// " + strings.ReplaceAll(comment, "\n", "\n// ") + "\n" + t.Source
			}
			return t.Source
		}
	}
	return ""
}

// A SymbolText is the documentation and the source of a package's symbol.
type SymbolText struct{ Doc, Source string }

// Symbols collects the declarations of a file, under the names of symbols that [stdlib.Doc] uses.
func Symbols(src string, file *ast.File, into map[string]SymbolText) {
	text := func(from, to token.Pos) string { return src[from-file.FileStart : to-file.FileStart] }
	add := func(name, declaration, source string, comments ...*ast.CommentGroup) {
		doc := declaration
		for _, c := range comments {
			if comment := strings.TrimSpace(c.Text()); comment != "" {
				doc += "\n\n" + comment
				break
			}
		}
		into[name] = SymbolText{doc, source}
	}
	if file.Doc != nil {
		add("", "package "+file.Name.Name, "", file.Doc)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name, end := d.Name.Name, d.End()
			if d.Recv != nil {
				name = world.Receiver(d) + "." + name
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
