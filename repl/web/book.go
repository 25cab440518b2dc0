package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// A book is a notebook that people look at, and its file. The server's mu guards it.
type book struct {
	path     string
	disk     string // the file's text when it was read or written last; "" if there was none
	nb       *notebook.Notebook
	seen     map[string]*seen // what there is to see of each cell, by its ID
	revision int              // counts the changes of cells' texts, which pages make of the newest only
	changes  int              // counts all changes that the file has after a save
	saved    int              // how many of them the file has
	kept     int              // how many unsaved has
	unsaved  string           // where changes are kept until they are saved
	stale    bool             // the file is newer than the changes that have come back
	records  bool             // the file is a .mcs file that keeps what only a notebook has
	lock     *durable.Lock
	notice   string // that changes have come back
	talk     bool   // it is presented: what changes is gone at the end
}

// seen is what there is to see of a cell below its text.
type seen struct {
	state   string // "", "waiting" or "running"
	count   int
	took    string
	ran     bool // the outputs are of this session
	outputs []output
}

// An output of a cell, and how it can change: text that goes on, or a display that is drawn again.
type output struct {
	made    notebook.Output
	stream  string // "stdout", "stderr" or ""
	text    string // of the stream
	display string
}

// value is the output as a notebook has it.
func (o output) value() notebook.Output {
	if o.stream != "" {
		return notebook.Printed(o.stream, o.text)
	}
	return o.made
}

// fragment is an output as a page gets it.
func fragment(o notebook.Output) string { return unstyled(o.HTML()) }

// aligned matches how a column of a table is aligned.
var aligned = lazy.Regexp(` style="text-align:(right|center|left)"`)

// unstyled is HTML whose columns have classes, as the page takes no style but its own.
func unstyled(html string) string { return aligned().ReplaceAllString(html, ` class="$1"`) }

// open reads a notebook's file, or begins one that is not there yet, and locks it against another mcs web.
// Changes that an earlier one has kept are shown as changes.
func open(path, dir string) (b *book, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(whole); err == nil {
		whole = real
	}
	sum := sha256.Sum256([]byte(whole))
	name := filepath.Join(dir, hex.EncodeToString(sum[:12]))
	b = &book{path: path, unsaved: name + ".unsaved" + filepath.Ext(path), seen: map[string]*seen{}}
	if b.lock, err = durable.TryLock(name + ".lock"); err != nil {
		if held := new(durable.HeldError); errors.As(err, &held) {
			return nil, fmt.Errorf("%s is open already, in %s: use that page, or end it", path, held.Holder)
		}
		return nil, err
	}
	if err := b.read(); err != nil {
		b.lock.Unlock()
		return nil, err
	}
	return b, nil
}

// read reads the file, and changes of it that were kept.
func (b *book) read() error {
	f := mcsfile.Parse(b.path, "")
	switch text, err := regular.Text(b.path, regular.MaxSource); {
	case err == nil:
		if b.disk = text; strings.TrimSpace(text) == "" {
			break
		}
		if f, err = notebook.Read(b.path, b.path); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if stat, err := os.Stat(b.unsaved); err == nil {
		if file, err := os.Stat(b.path); err == nil {
			b.stale = file.ModTime().After(stat.ModTime())
		}
		again, err := notebook.Read(b.unsaved, b.unsaved)
		if err != nil {
			return err
		}
		again.Name, f = b.path, again
		b.changes++
		b.kept = b.changes
		b.notice = fmt.Sprintf("Shown with changes of %s that were not saved. To be rid of them, end mcs web and delete %s", stat.ModTime().Format("Jan 2 15:04"), b.unsaved)
	}
	b.nb, b.records = notebook.FromFile(f), len(f.Kept) > 0
	if len(b.nb.Cells) == 0 {
		b.nb.Cells = []notebook.Cell{{Kind: "code", ID: "first", Metadata: map[string]any{}}}
	}
	for i := range b.nb.Cells {
		c := &b.nb.Cells[i]
		if !cellID().MatchString(c.ID) { // a notebook of another program may have any
			c.ID = rand.Text()
		}
		s := b.at(c.ID)
		for _, o := range c.Outputs {
			s.outputs = append(s.outputs, output{made: o})
		}
		if c.Count != nil {
			s.count = *c.Count
		}
	}
	return nil
}

// at is what there is to see of a cell.
func (b *book) at(id string) *seen {
	if b.seen[id] == nil {
		b.seen[id] = new(seen)
	}
	return b.seen[id]
}

// cell is the cell with an ID, or nil.
func (b *book) cell(id string) *notebook.Cell {
	if i := slices.IndexFunc(b.nb.Cells, func(c notebook.Cell) bool { return c.ID == id }); i >= 0 {
		return &b.nb.Cells[i]
	}
	return nil
}

// An edit is the text of a cell.
type edit struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Source string `json:"source"`
}

// cellID matches the names that cells may have, nbformat's.
var cellID = lazy.Regexp(`^[A-Za-z0-9_-]{1,64}$`)

// change makes the notebook consist of these cells. Cells that it has keep what else belongs to them.
func (b *book) change(list []edit) error {
	cells, ids := make([]notebook.Cell, len(list)), map[string]bool{}
	for i, e := range list {
		if !cellID().MatchString(e.ID) || ids[e.ID] || !slices.Contains([]string{"code", "markdown", "raw"}, e.Kind) {
			return fmt.Errorf("cell %d: got the name %.70q and the kind %.20q, want a new name, and code, markdown or raw", i+1, e.ID, e.Kind)
		}
		ids[e.ID] = true
		cells[i] = notebook.Cell{ID: e.ID, Metadata: map[string]any{}}
		if old := b.cell(e.ID); old != nil {
			cells[i] = *old
		}
		cells[i].Kind, cells[i].Source = e.Kind, e.Source
	}
	b.nb.Cells = cells
	return nil
}

// text is the text of the file as it is to be saved. A notebook has outputs; a .mcs file has what it expects,
// which mcs test -u writes.
func (b *book) text() string {
	if filepath.Ext(b.path) != notebook.Extension {
		if b.records {
			return b.nb.File()
		}
		return b.nb.Lines()
	}
	out := notebook.Notebook{Metadata: b.nb.Metadata, Cells: slices.Clone(b.nb.Cells)}
	for i := range out.Cells {
		c := &out.Cells[i]
		if s := b.seen[c.ID]; s != nil && s.ran && c.Kind == "code" {
			out.ForgetRecorded()
			c.Outputs, c.Count = nil, nil
			if s.count > 0 {
				c.Count = new(s.count)
			}
			for _, o := range s.outputs {
				c.Outputs = append(c.Outputs, o.value())
			}
		}
	}
	return string(out.Format())
}

// errOthers is the error of a file that another program has changed.
var errOthers = errors.New("the file was changed by another program since it was read")

// save writes the file, whole or not at all. Changes of another program are replaced only if over says so.
func (b *book) save(over bool) error {
	now, err := regular.Text(b.path, regular.MaxSource)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !over {
		return err
	}
	if (now != b.disk || b.stale) && !over {
		return errOthers
	}
	text := b.text()
	if err := durable.WriteFile(b.path, durable.Text(text)); err != nil {
		return err
	}
	b.disk, b.saved, b.kept = text, b.changes, b.changes
	if err := os.Remove(b.unsaved); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.notice, b.stale = "", false
	return nil
}

// keep writes changes that are not saved to the place where the next mcs web finds them, and returns it; ""
// if all is saved.
func (b *book) keep() (where string, err error) {
	if b.changes == b.saved || b.talk {
		return "", nil
	}
	if b.kept != b.changes {
		if err := durable.WriteFile(b.unsaved, durable.Text(b.text())); err != nil {
			return "", err
		}
		b.kept = b.changes
	}
	return b.unsaved, nil
}

func (b *book) close() { b.lock.Unlock() }

// A view is the whole notebook as a page gets it.
type view struct {
	Name   string   `json:"name"`
	Path   string   `json:"path"`
	Saved  bool     `json:"saved"`
	Notice string   `json:"notice"`
	Cells  []viewed `json:"cells"`
	Asks   string   `json:"asks"`  // the cell that waits for a line of input
	Names  string   `json:"names"` // the table of variables
	Slide  string   `json:"slide"` // the cell that a talk shows
	Blank  bool     `json:"blank"`
	Began  int64    `json:"began"`  // when the talk began, in milliseconds of Unix time
	Replay string   `json:"replay"` // what a replay replays
}

// viewed is a cell of a view.
type viewed struct {
	edit
	Title   string   `json:"title"`
	Prose   string   `json:"prose"`
	Role    string   `json:"role"` // in a talk: "slide", "notes" or ""
	Head    string   `json:"head"` // the line above the slide
	State   string   `json:"state"`
	Count   int      `json:"count"`
	Took    string   `json:"took"`
	Outputs []string `json:"outputs"` // as HTML
}

// cells are those of the notebook as pages get them, with their outputs or without.
func (b *book) cells(outputs bool) []viewed {
	list, slides := make([]viewed, len(b.nb.Cells)), b.slides()
	for i := range b.nb.Cells {
		c := &b.nb.Cells[i]
		v := viewed{edit: edit{c.ID, c.Kind, c.Source}, Title: c.Title(), Head: b.title(i)}
		if c.Notes() {
			v.Role = "notes"
		} else if slices.Contains(slides, i) {
			v.Role = "slide"
		}
		switch c.Kind {
		case "markdown":
			v.Prose = unstyled(c.Prose())
		case "raw":
			v.Prose = "<pre>" + html.EscapeString(c.Source) + "</pre>"
		}
		if s := b.seen[c.ID]; s != nil && outputs && c.Kind == "code" {
			v.State, v.Count, v.Took = s.state, s.count, s.took
			for _, o := range s.outputs {
				v.Outputs = append(v.Outputs, fragment(o.value()))
			}
		}
		list[i] = v
	}
	return list
}

// view is the notebook as a page gets it. The caller holds mu.
func (s *server) view() *view {
	b := s.book
	v := &view{Name: filepath.Base(b.path), Path: b.path, Saved: b.changes == b.saved, Notice: b.notice, Cells: b.cells(true), Names: s.names,
		Slide: s.talk.slide, Blank: s.talk.blank, Began: s.talk.began.UnixMilli(), Replay: s.talk.replay}
	if slides := b.slides(); len(slides) > 0 {
		v.Slide = b.nb.Cells[slides[s.at(slides)]].ID
	}
	if s.asks != nil {
		v.Asks = s.running
	}
	return v
}
