package term

import (
	"image/color"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/term/picture"
)

// askPatience is how long the terminal may take to say what it can show, before the first plot. All terminals
// answer the last question, and only a slow line makes that take long.
const askPatience = time.Second

// A chooser is a value that says how images are shown from now on, as %plot -images returns.
type chooser interface {
	Images() string
}

// pictures shows plots as the terminal can: as images, in colours, or as text.
type pictures struct {
	env func(string) string
	// ask puts a question to the terminal; nil: it cannot be asked.
	ask func(question string, answered func([]byte) bool, learn func([]byte) (rest []byte))

	mu      sync.Mutex
	set     picture.Setting
	known   bool
	screen  picture.Screen
	columns func() int
	rows    func() int
	pixels  func() (columns, rows, width, height int)
	theme   theme
}

// choose sets how images are shown.
func (p *pictures) choose(set string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set, p.known = picture.Setting(set), false
}

// look finds out what the terminal can show, once.
func (p *pictures) look() picture.Screen {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known {
		return p.screen
	}
	s, question := picture.Guess(p.env, p.set)
	if !p.theme.enabled {
		s.Depth = picture.Few
	}
	if p.pixels != nil {
		s.SetPixels(p.pixels())
	}
	if question != "" && p.ask != nil {
		p.ask(question, picture.Answered, func(typed []byte) []byte { return s.Learn(typed, p.set) })
	}
	p.screen, p.known = s, true
	return s
}

// A pictured value is a plot that is ready for this terminal.
type pictured struct {
	display.Value        // as text, for whoever has no terminal
	drawn         string // with escape sequences
	image         bool   // drawn stands on lines of its own
}

// show draws what can be painted; nil if text shows it best.
func (p *pictures) show(v display.Painter, prompt int) *pictured {
	s := p.look()
	columns := p.columns()
	if s.Images == picture.None {
		if s.Depth == picture.Few {
			return nil
		}
		text, ok := v.Blocks(columns-prompt, func(upper, lower color.NRGBA) string { return picture.Half(s.Depth, upper, lower) }, p.theme.style().Spans)
		if !ok {
			return nil
		}
		return &pictured{Value: display.Text(v.Text(columns)), drawn: text}
	}
	c, r := s.Fit(v.Proportion(), 1, min(columns, 100), max(p.rows()-4, 6))
	ground := "light"
	if s.Dark {
		ground = "dark"
	}
	img := v.Render(c*s.CellWidth, r*s.CellHeight, float64(s.CellHeight)/16, ground)
	return &pictured{Value: display.Text(v.Text(columns)), drawn: strings.TrimSuffix(picture.Image(s.Images, img, c, r, s.Wrapped), "\n"), image: true}
}

// ask writes a question to the terminal and reads until it is answered or the patience is over. Other bytes
// that come are keys, and are read later. It does nothing while a cell reads standard input.
func (e *cellEditor) ask(question string, answered func([]byte) bool, learn func([]byte) (rest []byte)) {
	if !e.source.turn.TryLock() {
		return
	}
	defer e.source.turn.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.raw || e.console.Ahead() > 0 || e.console.Raw() != nil { // lines typed ahead belong to the next cell as they are
		return
	}
	defer e.console.Cooked()
	typed := e.source.take()
	if _, err := e.console.Write([]byte(question)); err != nil {
		e.source.unread(typed)
		return
	}
	for end := time.After(askPatience); !answered(typed); {
		e.source.ask()
		select {
		case c := <-e.source.chunks:
			typed = append(typed, e.source.answered(c)...)
			if c.err == nil {
				continue
			}
		case <-end:
		case <-e.closed:
		}
		break
	}
	e.source.unread(learn(typed))
}

// newPictures shows plots in the process's own terminal.
func (nb *notebook) newPictures(dumb bool) *pictures {
	p := &pictures{env: os.Getenv, columns: columns, rows: rows, pixels: windowPixels, theme: nb.theme}
	if e, ok := nb.editor.(*cellEditor); ok {
		p.ask = e.ask
	}
	if dumb {
		p.set = "off"
	}
	return p
}
