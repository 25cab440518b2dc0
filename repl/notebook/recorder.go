package notebook

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A Recorder takes what the cells of a session put out, for a notebook or a page.
type Recorder struct {
	mu      sync.Mutex
	outputs []Output // of the cell that runs
	stream  string   // of the text that was printed last
	printed []byte   // that text
	size    int      // bytes that the cell has printed
}

// Ran is what a cell has put out.
type Ran struct {
	N       int // its number
	Outputs []Output
}

// MaxRecorded is how many bytes of a cell's printed text are recorded.
const MaxRecorded = 1 << 20

// Listen has the recorder take what a session prints and shows, which the streams of the options get, too.
func (r *Recorder) Listen(o *session.Options) {
	stdout := cmp.Or(o.Stdout, io.Discard)
	o.Stdout = io.MultiWriter(stdout, tap{r, "stdout"})
	o.Stderr = io.MultiWriter(cmp.Or(o.Stderr, io.Discard), tap{r, "stderr"})
	o.Render = func(v display.Value, _ int) display.Value { return display.Bundled(v, 0) }
	o.Show = func(v display.Value) {
		if v != nil {
			fmt.Fprintln(stdout, v.Text(0))
			r.add(Shown(v, 0))
		}
	}
}

// A tap takes what is printed to a stream of a session.
type tap struct {
	*Recorder
	name string
}

func (r tap) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream != r.name {
		r.endText()
		r.stream = r.name
	}
	room := MaxRecorded - r.size
	if r.size += len(b); room >= 0 {
		r.printed = append(r.printed, b[:min(len(b), room)]...)
		if len(b) > room {
			r.printed = append(r.printed, "\n… the rest is left out\n"...)
		}
	}
	return len(b), nil
}

// endText makes an output of what was printed. The caller holds mu.
func (r *Recorder) endText() {
	if len(r.printed) > 0 {
		r.outputs = append(r.outputs, Printed(r.stream, string(r.printed)))
	}
	r.stream, r.printed = "", r.printed[:0]
}

func (r *Recorder) add(o Output) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endText()
	r.outputs = append(r.outputs, o)
}

// Ended returns what the cell that has ended with a result has put out.
func (r *Recorder) Ended(result session.Result) Ran {
	for i, v := range result.Shown {
		n := 0
		if result.Out && i == len(result.Shown)-1 {
			n = result.N
		}
		if v != nil {
			r.add(Shown(v, n))
		}
	}
	if result.Err != nil {
		r.add(Failed(visible.Text(result.Err.Error())))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endText()
	ran := Ran{result.N, r.outputs}
	r.outputs, r.size = nil, 0
	return ran
}

// Recorded is a file as a notebook with what its cells have put out; those that have not run have no output.
func Recorded(f *mcsfile.File, cells map[*mcsfile.Cell]Ran) *Notebook {
	nb := FromFile(f)
	code := f.Code()
	for i := range nb.Cells {
		c := &nb.Cells[i]
		if c.Kind != "code" {
			continue
		}
		c.Outputs, c.Count = nil, nil
		if at := slices.IndexFunc(code, func(m *mcsfile.Cell) bool { return m.Source == c.Source }); at >= 0 {
			if did, ok := cells[code[at]]; ok {
				c.Outputs, c.Count = did.Outputs, &did.N
			}
			code = code[at+1:]
		}
	}
	return nb
}
