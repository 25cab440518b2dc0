package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A report takes what the cells of a file put out, for a page or a notebook. The zero value takes nothing.
type report struct {
	name string // of the file to write

	mu      sync.Mutex
	outputs []notebook.Output // of the cell that runs
	stream  string            // of the text that was printed last
	printed []byte            // that text
	size    int               // bytes that the cell has printed
	cells   map[*mcsfile.Cell]ran
}

// ran is what a cell has put out.
type ran struct {
	n       int
	outputs []notebook.Output
}

// maxReported is how many bytes of a cell's printed text a report has.
const maxReported = 1 << 20

// listen has the report take what a session prints and shows.
func (r *report) listen(o *session.Options) {
	if r.name == "" {
		return
	}
	stdout := o.Stdout
	o.Stdout, o.Stderr = io.MultiWriter(stdout, reported{r, "stdout"}), io.MultiWriter(o.Stderr, reported{r, "stderr"})
	o.Render = func(v display.Value, _ int) display.Value { return display.Bundled(v, 0) }
	o.Show = func(v display.Value) {
		if v != nil {
			fmt.Fprintln(stdout, v.Text(0))
			r.add(notebook.Shown(v, 0))
		}
	}
}

// reported is a stream of a session.
type reported struct {
	*report
	stream string
}

func (r reported) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report.stream != r.stream {
		r.endText()
		r.report.stream = r.stream
	}
	room := maxReported - r.size
	if r.size += len(b); room >= 0 {
		r.printed = append(r.printed, b[:min(len(b), room)]...)
		if len(b) > room {
			r.printed = append(r.printed, "\n… the rest is left out\n"...)
		}
	}
	return len(b), nil
}

// endText makes an output of what was printed. The caller holds mu.
func (r *report) endText() {
	if len(r.printed) > 0 {
		r.outputs = append(r.outputs, notebook.Printed(r.stream, string(r.printed)))
	}
	r.stream, r.printed = "", r.printed[:0]
}

func (r *report) add(o notebook.Output) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endText()
	r.outputs = append(r.outputs, o)
}

// done takes the values of a cell that has ended.
func (r *report) done(o script.Outcome) {
	if r.name == "" {
		return
	}
	for i, v := range o.Result.Shown {
		n := 0
		if o.Result.Out && i == len(o.Result.Shown)-1 {
			n = o.N
		}
		if v != nil {
			r.add(notebook.Shown(v, n))
		}
	}
	if o.Result.Err != nil {
		r.add(notebook.Failed(visible.Text(o.Result.Err.Error())))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endText()
	if r.cells == nil {
		r.cells = map[*mcsfile.Cell]ran{}
	}
	r.cells[o.Cell], r.outputs, r.size = ran{o.N, r.outputs}, nil, 0
}

// write writes the report. Cells that have not run have no output.
func (r *report) write(f *mcsfile.File) error {
	if r.name == "" {
		return nil
	}
	nb := notebook.FromFile(f)
	code := f.Code()
	for i := range nb.Cells {
		c := &nb.Cells[i]
		if c.Kind != "code" {
			continue
		}
		c.Outputs, c.Count = nil, nil
		if at := slices.IndexFunc(code, func(m *mcsfile.Cell) bool { return m.Source == c.Source }); at >= 0 {
			if did, ok := r.cells[code[at]]; ok {
				c.Outputs, c.Count = did.outputs, &did.n
			}
			code = code[at+1:]
		}
	}
	nb.SetRecorded(time.Now(), deviceText(), version)
	text, err := nb.Text(r.name)
	if err == nil {
		err = durable.WriteFile(r.name, durable.Text(text))
	}
	if err != nil {
		return fmt.Errorf("run: -o: %w", err)
	}
	return nil
}
