package main

import (
	"context"

	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/term"
)

// notebook opens the terminal, with the cells of a file in the history if one is named.
func notebook(ctx context.Context, files []string) error {
	var preload []string
	for _, name := range files {
		f, err := readFile(name)
		if err != nil {
			return err
		}
		for _, cell := range f.Code() {
			preload = append(preload, cell.Source)
		}
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
		Banner:  banner(),
		Preload: preload,
	})
}
