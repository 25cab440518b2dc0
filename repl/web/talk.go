package web

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/term"
)

// A talk is a notebook of which all screens show one cell: those of the audience, and the speaker's. Each
// cell is a slide but the speaker's notes. The server's mu guards it.
type talk struct {
	slide  string // the cell that is shown
	blank  bool
	began  time.Time
	replay string // says what is replayed; "": cells run
	// recorded are the outputs that a replay shows, by cell, and source the texts that they are of.
	recorded map[string][]notebook.Output
	source   map[string]string
	wake     chan struct{} // gets a value after each event; nil: the terminal shows nothing
}

// present has outputs appear when their cells run, and not from the file. A replay shows those of the
// notebook with the file's name in the place of running anything.
func (s *server) present(replay bool) error {
	b := s.book
	b.talk = true
	if replay {
		if err := s.record(); err != nil {
			return err
		}
	}
	for _, c := range b.seen {
		c.outputs, c.count = nil, 0
	}
	s.talk.began = time.Now()
	if len(b.slides()) == 0 {
		return fmt.Errorf("%s has no cells", b.path)
	}
	return nil
}

// record reads what a replay shows. A cell counts as recorded if its text is the same in both files: the
// .mcs file and the notebook that was made of it.
func (s *server) record() error {
	b := s.book
	base := strings.TrimSuffix(b.path, filepath.Ext(b.path))
	made, now := base+notebook.Extension, base+".mcs"
	other := b.nb
	if name := map[bool]string{true: now, false: made}[b.path == made]; name != "" {
		switch f, err := notebook.Read(name, name); {
		case err == nil:
			other = notebook.FromFile(f)
		case errors.Is(err, fs.ErrNotExist) && b.path == made: // nothing to compare with
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s is not there, the recording of %s: mcs run %s -o %s makes it", made, b.path, b.path, made)
		default:
			return err
		}
	}
	s.talk.recorded, s.talk.source = map[string][]notebook.Output{}, map[string]string{}
	any := false
	for i, same := range b.nb.Same(other) {
		if same == nil {
			continue
		}
		c := &b.nb.Cells[i]
		outputs := same.Outputs
		if b.path == made {
			outputs = c.Outputs
		}
		s.talk.recorded[c.ID], s.talk.source[c.ID] = outputs, c.Source
		any = any || len(outputs) > 0
	}
	if !any {
		return fmt.Errorf("%s has no outputs of the cells of %s to replay: mcs run %s -o %s records them", made, b.path, now, made)
	}
	if s.talk.replay = "replayed: " + b.nb.Recorded(); b.path != made {
		s.talk.replay = "replayed: " + other.Recorded()
	}
	return nil
}

// play shows what a cell has put out when it was recorded. The caller holds mu, as those of the functions
// below do.
func (s *server) play(c *notebook.Cell) {
	s.clear(c.ID)
	list, ok := s.talk.recorded[c.ID]
	if !ok || s.talk.source[c.ID] != c.Source {
		s.place(c.ID, output{stream: "stderr", text: "The cell was changed since the recording: it is not replayed.\n"})
	} else if len(list) == 0 {
		s.place(c.ID, output{stream: "stderr", text: "The recorded cell has put out nothing.\n"})
	} else {
		for _, o := range list {
			s.place(c.ID, output{made: o})
		}
	}
	s.state(c.ID, "")
}

// slides are the cells that the audience sees, as their places in the notebook.
func (b *book) slides() (list []int) {
	for i := range b.nb.Cells {
		c := &b.nb.Cells[i]
		if !c.Notes() && !c.Skipped() && strings.TrimSpace(c.Source) != "" {
			list = append(list, i)
		}
	}
	return list
}

// at is the slide that is shown, as its place in a list of slides: the first, if its cell is gone.
func (s *server) at(slides []int) int {
	return max(slices.IndexFunc(slides, func(i int) bool { return s.book.nb.Cells[i].ID == s.talk.slide }), 0)
}

// A move is where the screens go.
type move struct {
	By    int  `json:"by"`    // so many slides on
	To    int  `json:"to"`    // the slide with this number, from 1; −1: the last
	Blank bool `json:"blank"` // show nothing, or again what was shown
}

// show has all screens show another slide, or nothing.
func (s *server) show(m move) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slides := s.book.slides()
	if len(slides) == 0 {
		return nil, refusal{http.StatusConflict, errors.New("the notebook has no cells to show")}
	}
	at := s.at(slides) + m.By
	switch {
	case m.To > 0:
		at = m.To - 1
	case m.To < 0:
		at = len(slides) - 1
	}
	at = min(max(at, 0), len(slides)-1)
	s.talk.blank = m.Blank && !s.talk.blank
	s.talk.slide = s.book.nb.Cells[slides[at]].ID
	s.send(event{Kind: "slide", Cell: s.talk.slide, State: map[bool]string{true: "blank"}[s.talk.blank]})
	return nothing{}, nil
}

// heading is the newest heading at or above a place of the notebook, without its marks.
func (b *book) heading(at int) string {
	for i := at; i >= 0; i-- {
		if c := &b.nb.Cells[i]; c.Kind == "markdown" && !c.Notes() {
			lines := strings.Split(c.Source, "\n")
			for _, line := range slices.Backward(lines) {
				if text := strings.TrimLeft(line, "#"); text != line && strings.HasPrefix(text, " ") {
					return strings.TrimSpace(text)
				}
			}
		}
	}
	return ""
}

// title is the line above a cell of Go: its own title, or the newest heading.
func (b *book) title(at int) string {
	c := &b.nb.Cells[at]
	if c.Kind != "code" {
		return ""
	}
	if title := c.Title(); title != "" {
		return title
	}
	return b.heading(at)
}

// A deck is the talk as the terminal shows it.
type deck struct{ *server }

func (d deck) Changes() <-chan struct{} { return d.talk.wake }
func (d deck) Move(by int)              { _, _ = d.show(move{By: by}) }
func (d deck) Go(to int)                { _, _ = d.show(move{To: to}) }
func (d deck) Blank()                   { _, _ = d.show(move{Blank: true}) }
func (d deck) Run()                     { _, _ = d.run(runRequest{Slide: true}) }
func (d deck) Stop()                    { _, _ = d.interrupt(nothing{}) }
func (d deck) Answer(line string)       { _, _ = d.line(lineRequest{line}) }

// Edit changes the text of the cell that is shown.
func (d deck) Edit(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slides := d.book.slides(); len(slides) > 0 {
		d.book.nb.Cells[slides[d.at(slides)]].Source = text
		d.changed("")
	}
}

// Slide is what is to be seen now.
func (d deck) Slide() (made term.Slide) {
	d.mu.Lock()
	defer d.mu.Unlock()
	made = term.Slide{File: filepath.Base(d.book.path), Replay: d.talk.replay, Blank: d.talk.blank, Running: d.running != "", Asks: d.asks != nil}
	slides := d.book.slides()
	if len(slides) == 0 {
		return made
	}
	at := d.at(slides)
	c := &d.book.nb.Cells[slides[at]]
	made.N, made.Of, made.ID, made.Title, made.Code, made.Text = at+1, len(slides), c.ID, d.book.title(slides[at]), c.Kind == "code", c.Source
	if seen := d.book.seen[c.ID]; seen != nil && made.Code {
		made.State, made.Took = seen.state, seen.took
		for _, o := range seen.outputs {
			made.Outputs = append(made.Outputs, o.value().ScreenText())
		}
	}
	return made
}
