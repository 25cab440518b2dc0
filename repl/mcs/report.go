package main

import (
	"time"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// A report takes what the cells of a file put out, for a page or a notebook. The zero value takes nothing.
type report struct {
	name string // of the file to write
	notebook.Recorder
	cells map[*mcsfile.Cell]notebook.Ran
}

// done takes the values of a cell that has ended.
func (r *report) done(o script.Outcome) {
	if r.name == "" {
		return
	}
	if r.cells == nil {
		r.cells = map[*mcsfile.Cell]notebook.Ran{}
	}
	r.cells[o.Cell] = r.Ended(o.Result)
}

// write writes the report. Cells that have not run have no output.
func (r *report) write(f *mcsfile.File) error {
	if r.name == "" {
		return nil
	}
	nb := notebook.Recorded(f, r.cells)
	nb.SetRecorded(time.Now(), deviceText(), version)
	text, err := nb.Text(r.name)
	if err == nil {
		err = durable.WriteFile(r.name, durable.Text(text))
	}
	return ofCommand("run: -o", err)
}
