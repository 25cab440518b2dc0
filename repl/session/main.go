package session

import (
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
)

// program parses, checks, lowers and compiles a program as one unit, after the packages of the user's that it
// imports. Its files stand where the cells 1, 2, … would.
func (ls *locals) program(files []ProgramFile) ([]*compile.Unit, error) {
	deps := map[string]*local{}
	var units []*compile.Unit
	var sources []compile.File
	for i, f := range files {
		file, err := ls.parseMain(i+1, f.Source)
		if err != nil {
			return nil, err
		}
		sources = append(sources, compile.File{N: i + 1, Text: f.Source, Syntax: file})
		more, others, err := ls.loadDeps(&local{Package: &compile.Package{Dir: folderOf(f)}, files: []*localFile{{ast: file}}}, nil)
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
	u, err := ls.c.Program(sources, packagesOf(deps))
	if err != nil {
		return nil, err
	}
	units = append(units, u)
	for _, u := range units {
		if err := ls.c.Build(ls.c.World.Stage(), u); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// folderOf is where a file of the program lies.
func folderOf(f ProgramFile) string {
	dir, err := filepath.Abs(filepath.Dir(f.Name))
	if err != nil {
		return filepath.Dir(f.Name)
	}
	return dir
}

// parseMain parses a file of a program as that of the cell n.
func (ls *locals) parseMain(n int, text string) (*ast.File, error) {
	file, err := ls.c.ParseFile(n, text)
	if err != nil {
		return nil, err
	}
	if file.Name.Name != "main" {
		return nil, ls.c.Refusal(&lower.Error{Pos: file.Name.Pos(), Msg: fmt.Sprintf("got package %s, want package main", file.Name.Name)})
	}
	return file, nil
}
