package session

import (
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/repl/display"
)

// drawings are what the code of a cell has drawn while it ran, in the order of the first changes. A cell
// shows their last states.
type drawings struct {
	mu      sync.Mutex
	running int // cells; a command's cell may run others
	list    []progress.Drawing
}

// draw hears of a change. A drawing of code that outlives its cell is not shown.
func (s *Session) draw(d progress.Drawing) {
	s.drawings.mu.Lock()
	running := s.drawings.running > 0
	if running && !slices.Contains(s.drawings.list, d) {
		s.drawings.list = append(s.drawings.list, d)
	}
	s.drawings.mu.Unlock()
	if running && s.opts.Draw != nil {
		s.opts.Draw(func() display.Value { return drawn(d) })
	}
}

func drawn(d progress.Drawing) display.Value {
	v, ok := display.Own(d.Snapshot())
	if !ok {
		return nil
	}
	return v
}

func (d *drawings) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running++
}

// end takes the drawings of the cell that ends.
func (d *drawings) end() []progress.Drawing {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	list := d.list
	d.list = nil
	return list
}

// showDrawings adds the last states to what the cell shows, before the value of its last expression.
func (s *Session) showDrawings(r *Result) {
	var last []display.Value
	for _, d := range s.drawings.end() {
		v := drawn(d)
		if v == nil {
			continue
		}
		if s.opts.Render != nil {
			v = s.opts.Render(v, 0)
		} else {
			v = display.Render(v, 0, nil)
		}
		last = append(last, v)
	}
	at := len(r.Shown)
	if r.Out && at > 0 { // nothing is shown of a cell that ended before
		at--
	}
	for i := range last {
		r.Drawn = append(r.Drawn, at+i)
	}
	r.Shown = slices.Insert(r.Shown, at, last...)
}
