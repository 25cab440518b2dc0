package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/journal"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/term"
)

// keeping says what a notebook does about the end of a process.
type keeping struct {
	resume bool // an earlier one's cells run again
	none   bool // nothing of this one is kept
}

// openNotebook opens the terminal, with a file to step through if one is named, or resumes a session that was
// cut off.
func openNotebook(ctx context.Context, files []string, keep keeping) error {
	dir, _ := journal.Place("journals")
	var old *journal.Left
	var cells []journal.Entry
	if keep.resume {
		if old = journal.Newest(dir); old == nil {
			return errors.New("--resume: no session was cut off")
		}
		var err error
		if cells, err = old.Read(); err != nil {
			return err
		}
	}
	var file term.File
	for _, name := range files {
		f, err := readFile(name)
		if err != nil {
			return err
		}
		file = term.File{Name: filepath.Base(name), Path: name, Steps: steps(f.Cells)}
	}
	head := banner()
	if line := offer(dir); !keep.resume && line != "" {
		head += "\n" + line
	}
	var s *session.Session
	var stderr io.Writer
	var kept *journal.Journal
	o := term.Options{
		Open: func(o session.Options) (term.Session, error) {
			if len(files) > 0 {
				o.Source = folder(files[0])
			}
			stderr = o.Stderr
			if !keep.none {
				kept = openJournal(stderr)
			}
			var err error
			o.Stdout, o.Stderr = io.MultiWriter(o.Stdout, kept), io.MultiWriter(o.Stderr, kept)
			s, err = openSession(o)
			return &journaled{Session: s, journal: kept}, err
		},
		Complete: func(cell string, pos int) (int, []session.Completion) {
			return magics.Table{}.Complete(s, cell, pos)
		},
		Banner: head,
		Left:   func() { kept.Remove() },
		File:   file,
	}
	if keep.resume {
		o.Begin = func(run func(cell string) session.Result) term.File {
			rest := resumed(cells, kept, run, func(step term.Step) {
				fmt.Fprintf(stderr, "not run again: %s %s\n", visible.Line(cell.Line(step.Prose, 1)), visible.Line(cell.Line(step.Text, 1)))
			})
			old.Remove() // what runs again, and what does not, is in the new journal
			return term.File{Name: "the rest of the session", Steps: rest}
		}
	}
	return term.Run(ctx, o)
}

// steps are the cells of a file that run, each with the prose above it.
func steps(cells []mcsfile.Cell) (list []term.Step) {
	var prose []string
	for _, cell := range cells {
		if cell.Markdown {
			prose = append(prose, cell.Source)
			continue
		}
		list = append(list, term.Step{Prose: strings.Join(prose, "\n\n"), Title: cell.Title, Text: cell.Source})
		prose = nil
	}
	return list
}
