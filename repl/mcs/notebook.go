package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/term"
)

// notebook opens the terminal, with a file to step through if one is named.
func notebook(ctx context.Context, files []string) error {
	var file term.File
	for _, name := range files {
		f, err := readFile(name)
		if err != nil {
			return err
		}
		file = term.File{Name: filepath.Base(name), Path: name, Steps: steps(f)}
	}
	var s *session.Session
	return term.Run(ctx, term.Options{
		Open: func(o session.Options) (term.Session, error) {
			if len(files) > 0 {
				o.Source = folder(files[0])
			}
			var err error
			s, err = openSession(o)
			return s, err
		},
		Complete: func(cell string, pos int) (int, []session.Completion) {
			return magics.Table{}.Complete(s, cell, pos)
		},
		Banner: banner(),
		File:   file,
	})
}

// steps are the cells of a file, each with the prose above it.
func steps(f *mcsfile.File) (list []term.Step) {
	var prose []string
	for _, cell := range f.Cells {
		if cell.Markdown {
			prose = append(prose, cell.Source)
			continue
		}
		list = append(list, term.Step{Prose: strings.Join(prose, "\n\n"), Title: cell.Title, Text: cell.Source})
		prose = nil
	}
	return list
}
