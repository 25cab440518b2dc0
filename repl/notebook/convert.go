package notebook

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/repl/script/gofile"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// Extension is that of notebooks.
const Extension = ".ipynb"

// Read reads a .mcs file, or a notebook as one. The name is for messages.
func Read(path, name string) (*mcsfile.File, error) {
	if filepath.Ext(path) != Extension {
		return mcsfile.Read(path, name)
	}
	text, err := regular.Text(path, regular.MaxSource)
	if err != nil {
		return nil, err
	}
	nb, err := Parse(name, []byte(text))
	if err != nil {
		return nil, err
	}
	f := mcsfile.Parse(name, nb.File())
	f.Made = true
	return f, nil
}

// Kinds are, in words, the extensions of the files that Text writes.
const Kinds = ".mcs, .ipynb, .md, .html or .go"

// Text returns a file's cells as the text of another file, whose name says of which kind.
func Text(f *mcsfile.File, name string) (string, error) {
	switch filepath.Ext(name) {
	case ".mcs":
		return f.Text(), nil // it has what a notebook has kept
	case ".go":
		var cells []string
		for _, c := range f.Code() {
			cells = append(cells, c.Source)
		}
		return gofile.Program(cells)
	}
	return FromFile(f).Text(name)
}

// Text returns the notebook as the text of a file, whose name says of which kind: a notebook, a page or
// Markdown.
func (nb *Notebook) Text(name string) (string, error) {
	switch filepath.Ext(name) {
	case Extension:
		return string(nb.Format()), nil
	case ".md":
		return nb.Markdown(), nil
	case ".html":
		return nb.HTML(strings.TrimSuffix(filepath.Base(name), ".html")), nil
	}
	return "", fmt.Errorf("got %s, want a name that ends in %s", name, Kinds)
}
