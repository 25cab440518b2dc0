package program

import (
	"context"
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
)

// A File is a source file of a program.
type File struct {
	Name, Source string
}

// Program parses, checks, lowers and compiles a program as one unit, after the user's packages that it
// imports. Its files get the numbers of the cells 1, 2, ….
func (ps *Packages) Program(ctx context.Context, files []File) ([]*compile.Unit, error) {
	deps := map[string]*local{}
	var units []*compile.Unit
	var sources []compile.File
	for i, f := range files {
		file, err := ps.parseMain(i+1, f.Source)
		if err != nil {
			return nil, err
		}
		sources = append(sources, compile.File{N: i + 1, Text: f.Source, Syntax: file})
		more, others, err := ps.loadDeps(ctx, &local{Package: &compile.Package{Dir: folderOf(f)}, place: place{dir: folderOf(f)}, files: []*localFile{{ast: file}}}, nil)
		if err != nil {
			return nil, err
		}
		maps.Copy(deps, more)
		for _, u := range others {
			if !slices.Contains(units, u) {
				units = append(units, u)
			}
		}
	}
	u, err := ps.c.Program(sources, packagesOf(deps))
	if err != nil {
		return nil, err
	}
	units = append(units, u)
	for _, u := range units {
		if err := ps.c.Build(ps.c.World.Stage(), u); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// folderOf is where a file of the program lies.
func folderOf(f File) string {
	dir, err := filepath.Abs(filepath.Dir(f.Name))
	if err != nil {
		return filepath.Dir(f.Name)
	}
	return dir
}

// parseMain parses a file of a program as that of the cell n.
func (ps *Packages) parseMain(n int, text string) (*ast.File, error) {
	file, err := ps.c.ParseFile(n, text)
	if err != nil {
		return nil, err
	}
	if file.Name.Name != "main" {
		return nil, ps.c.Refusal(&lower.Error{Pos: file.Name.Pos(), Msg: fmt.Sprintf("got package %s, want package main", file.Name.Name)})
	}
	return file, nil
}
