package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/mcs-notebook/mcs/repl/script"
)

// A cellRecord is what a cell did, for the process that has started this one. Each cell is written when it
// ends, so a fault loses no more than the cell that it ends.
type cellRecord struct {
	N       int
	Line    int
	Title   string
	Seconds float64
	Asked   bool
	Diff    string // how the output differs
	Error   string // what ended the run
	Value   string // the last value shown
}

// A record is a file of cellRecords, a line each. The zero value drops them.
type record struct{ file *os.File }

func openRecord(name string) (*record, error) {
	if name == "" {
		return &record{}, nil
	}
	f, err := os.Create(name)
	return &record{f}, err
}

func (r *record) add(o script.Outcome) {
	if r.file == nil {
		return
	}
	c := cellRecord{N: o.N, Line: o.Cell.Line, Title: o.Cell.Title, Seconds: o.Took.Seconds(), Asked: o.Asked, Diff: o.Diff, Value: o.Value}
	if o.Err != nil {
		c.Error = o.Err.Error()
	}
	if json.NewEncoder(r.file).Encode(c) != nil { // the other process finds fewer cells
		r.close()
		r.file = nil
	}
}

func (r *record) close() {
	if r.file != nil {
		r.file.Close()
	}
}

// readRecord reads the cells that a process has written, which a fault may have ended.
func readRecord(name string) (list []cellRecord) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var c cellRecord
		if d.Decode(&c) != nil {
			return list
		}
		list = append(list, c)
	}
}
