package term

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/display/prose"
	"github.com/mcs-notebook/mcs/repl/term/key"
	"github.com/mcs-notebook/mcs/repl/term/paint"
	"github.com/mcs-notebook/mcs/repl/term/picture"
)

// A Deck is a talk: slides, one of which all screens show, and what the speaker does.
type Deck interface {
	Slide() Slide
	Changes() <-chan struct{} // gets a value after what is to be seen has changed
	Move(by int)
	Go(to int) // the slide with this number, from 1; −1: the last
	Blank()
	Run()
	Stop()
	Edit(text string)
	Answer(line string) // for a cell that asks for one
}

// A Slide is what a talk shows now.
type Slide struct {
	File    string
	N, Of   int // its number, from 1; 0 of 0: there is none
	ID      string
	Title   string // of a cell of Go
	Code    bool   // else Markdown
	Text    string
	Outputs []string
	State   string // "", "waiting" or "running"
	Took    string
	Replay  string // what is replayed; "": cells run
	Blank   bool
	Running bool // a cell runs, on this slide or another one
	Asks    bool // and waits for a line
}

// A presenter shows a talk in the terminal.
type presenter struct {
	deck    Deck
	tty     console
	source  *source
	keys    key.Decoder
	painter paint.Painter
	theme   theme

	id      string // of the slide that was drawn last
	top     int    // how many of its rows are above the window
	most    int    // how many can be
	number  string // what is typed of the number of a slide
	line    string // what is typed for a cell that asks
	notice  string
	leaving bool // q was pressed while a cell runs
}

// alternate switches to a screen of its own without a cursor, and back.
const alternate, ordinary = "\x1b[?1049h\x1b[H\x1b[2J\x1b[?25l", "\x1b[?25h\x1b[?1049l"

// errNoScreen is the error where a talk cannot be shown.
var errNoScreen = errors.New("a talk needs a terminal that moves its cursor; --web shows it in a browser")

// CanPresent says whether a talk can be shown here.
func CanPresent() error {
	if !IsTerminal() || os.Getenv("TERM") == "dumb" {
		return errNoScreen
	}
	return nil
}

// Present shows a talk in the terminal until the person leaves or ctx ends. Address is that of the speaker's
// page, which the audience is not to see: it is shown before the talk begins.
func Present(ctx context.Context, address string, d Deck) error {
	if err := CanPresent(); err != nil {
		return err
	}
	p := &presenter{deck: d, tty: openConsole(), source: newSource(os.Stdin),
		theme: theme{enabled: os.Getenv("NO_COLOR") == "", fixed: picture.DepthOf(os.Getenv) != picture.Few}}
	fmt.Fprintf(p.tty, "%s: %d slides. The speaker's page, for this machine only:\n  %s\nEnter begins, h lists the keys, q leaves.\n", visible.Line(d.Slide().File), d.Slide().Of, address)
	if err := p.tty.Raw(); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	defer p.tty.Cooked()
	for begun := false; !begun; {
		list, err := p.pressed(ctx)
		if err != nil || slices.ContainsFunc(list, leaves) {
			return nil
		}
		begun = len(list) > 0
	}
	fmt.Fprint(p.tty, alternate)
	defer fmt.Fprint(p.tty, ordinary)
	for {
		p.draw()
		list, err := p.pressed(ctx)
		if err != nil { // the terminal is gone, or the talk is to end
			return nil
		}
		for _, k := range list {
			if !p.press(k) {
				return nil
			}
		}
	}
}

func leaves(k key.Key) bool {
	return k == key.Key{Code: 'q'} || k == key.Key{Code: 'c', Mod: key.Ctrl} || k == key.Key{Code: 'd', Mod: key.Ctrl}
}

// pressed waits for keys, or until something else is to be drawn.
func (p *presenter) pressed(ctx context.Context) (list []key.Key, err error) {
	var late <-chan time.Time
	if p.keys.Open() {
		late = time.After(escapeDelay)
	}
	if rest := p.source.take(); len(rest) > 0 {
		p.keys.Feed(rest)
	} else {
		p.source.ask()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.deck.Changes():
			time.Sleep(20 * time.Millisecond) // more changes come together
			return nil, nil
		case <-p.tty.Changes():
			p.painter.Lose()
			p.painter.Raw("\x1b[2J\x1b[H")
			return nil, nil
		case <-late:
		case c := <-p.source.chunks:
			data := p.source.answered(c)
			if len(data) == 0 {
				return nil, c.err
			}
			p.keys.Feed(data)
		}
	}
	for {
		k, ok := p.keys.Next(late != nil)
		if !ok {
			return list, nil
		}
		list = append(list, k)
	}
}

// press does what a key means; it returns false if the person leaves.
func (p *presenter) press(k key.Key) bool {
	s := p.deck.Slide()
	leaving, number := p.leaving, 0
	p.leaving, p.notice = false, ""
	if s.Asks {
		if p.typed(k) {
			return true
		}
	}
	if k.Mod == 0 && k.Code >= '0' && k.Code <= '9' && len(p.number) < 6 {
		p.number += string(rune(k.Code))
		return true
	}
	fmt.Sscan(p.number, &number)
	p.number = ""
	switch k {
	case key.Key{Code: key.Right}, key.Key{Code: ' '}, key.Key{Code: key.PageDown}:
		p.deck.Move(1)
	case key.Key{Code: key.Left}, key.Key{Code: key.PageUp}:
		p.deck.Move(-1)
	case key.Key{Code: key.Home}:
		p.deck.Go(1)
	case key.Key{Code: key.End}:
		p.deck.Go(-1)
	case key.Key{Code: key.Up}:
		p.top = max(p.top-3, 0)
	case key.Key{Code: key.Down}:
		p.top = min(p.top+3, p.most)
	case key.Key{Code: key.Enter}:
		if number > 0 {
			p.deck.Go(number)
		} else {
			p.deck.Run()
		}
	case key.Key{Code: 'b'}, key.Key{Code: '.'}:
		p.deck.Blank()
	case key.Key{Code: 'e'}:
		p.edit(s)
	case key.Key{Code: 'h'}:
		p.notice = "→ Space on · ← back · Enter runs · 7 Enter slide 7 · ↑ ↓ scroll · e edits · b blanks · Ctrl-C stops · q leaves"
	case key.Key{Code: 'c', Mod: key.Ctrl}, key.Key{Code: 'i'}:
		if p.notice = "no cell runs; q leaves"; s.Running {
			p.notice = ""
			p.deck.Stop()
		}
	case key.Key{Code: 'q'}, key.Key{Code: 'd', Mod: key.Ctrl}:
		if !s.Running || leaving {
			return false
		}
		p.leaving, p.notice = true, "a cell runs: q again stops it and leaves"
	}
	return true
}

// typed takes a key of the line that a cell asks for; false: it means something else.
func (p *presenter) typed(k key.Key) bool {
	switch {
	case k.Code == key.Enter:
		p.deck.Answer(p.line)
		p.line = ""
	case k.Code == key.Backspace:
		if letters := []rune(p.line); len(letters) > 0 {
			p.line = string(letters[:len(letters)-1])
		}
	case k.Code == key.Paste:
		p.line += strings.ReplaceAll(k.Text, "\n", " ")
	case k.Mod == 0 && k.Code < key.None && k.Code >= ' ':
		p.line += string(rune(k.Code))
	default:
		return false
	}
	return true
}

// edit lets the person change the cell with an editor.
func (p *presenter) edit(s Slide) {
	if !s.Code {
		p.notice = "only cells of Go are edited in a talk"
		return
	}
	fmt.Fprint(p.tty, ordinary)
	_ = p.tty.Cooked()
	text, err := editText(s.Text)
	_ = p.tty.Raw()
	fmt.Fprint(p.tty, alternate)
	p.painter.Lose()
	if err != nil {
		p.notice = err.Error()
	} else if text != s.Text {
		p.deck.Edit(text)
	}
}

// draw shows the slide, in the middle of the window if it is less tall.
func (p *presenter) draw() {
	columns, rows := p.tty.Size()
	s := p.deck.Slide()
	if s.ID != p.id {
		p.id, p.top = s.ID, 0
	}
	if p.leaving && !s.Running {
		p.leaving, p.notice = false, ""
	}
	var made []paint.Row
	if !s.Blank {
		made = p.body(s, columns)
	}
	foot := p.said(s, columns)
	room := max(rows-len(foot)-1, 1)
	p.most = max(len(made)-room, 0)
	foot = append(foot, p.status(s, columns))
	p.top = min(p.top, p.most)
	above := max((room-len(made))/3, 0) // the eye takes what is a little above the middle for the middle
	frame := paint.Frame{Rows: make([]paint.Row, above, rows)}
	frame.Rows = append(frame.Rows, made[p.top:min(p.top+room, len(made))]...)
	for len(frame.Rows) < room {
		frame.Rows = append(frame.Rows, nil)
	}
	frame.Rows = append(frame.Rows, foot...)
	frame.Rows = frame.Rows[max(len(frame.Rows)-rows, 0):]
	p.painter.Draw(frame, columns)
	p.painter.Raw("\x1b[?25l")
	_, _ = p.tty.Write(p.painter.Take())
}

// The column of a slide is as wide as the window less the margins, and at most so wide that the eye finds its
// next line.
const (
	slideMargin = 4
	widest      = 110
)

// body is a slide as rows. Its lines begin in one column, so that the widest of them stands in the middle.
func (p *presenter) body(s Slide, columns int) []paint.Row {
	width := min(columns-2*slideMargin, widest)
	var lines []string
	add := func(text string) { lines = append(lines, strings.Split(strings.TrimRight(text, "\n"), "\n")...) }
	switch {
	case s.Of == 0:
		add("The notebook has no cells.")
	case s.Code:
		if s.Title != "" {
			add(p.theme.paint(bold, visible.Line(s.Title)) + "\n" + p.theme.paint(grey, strings.Repeat("─", width)) + "\n")
			lines = append(lines, "")
		}
		add(p.theme.live(strings.ReplaceAll(visible.Text(s.Text), "\t", "    ")))
	default:
		add(prose.Set(s.Text, width, p.theme.style()))
	}
	if len(s.Outputs) > 0 {
		lines = append(lines, "")
	}
	for _, text := range s.Outputs {
		add(text)
	}
	wide := width
	for _, line := range lines {
		n := 0
		for _, span := range paint.Styled(line) {
			n += runewidth.StringWidth(span.Text)
		}
		wide = max(wide, min(n, columns))
	}
	margin := strings.Repeat(" ", (columns-wide)/2)
	var list []paint.Row
	for _, line := range lines {
		l := paint.NewLayout(columns, len(margin))
		l.Text(margin, "")
		for _, span := range p.theme.spans(line) {
			l.Text(span.Text, span.Style)
		}
		list = append(list, l.Rows()...)
	}
	return list
}

// said are the rows below a slide: what is replayed, what a cell asks, and an answer to a key.
func (p *presenter) said(s Slide, columns int) (list []paint.Row) {
	if s.Replay != "" {
		list = append(list, paint.NewRow(columns, p.theme.span(" "+visible.Line(s.Replay), yellow)))
	}
	if s.Asks {
		list = append(list, paint.NewRow(columns, p.theme.span(" the cell waits for a line: ", bold), p.theme.span(p.line+"▏", none)))
	}
	if p.notice != "" {
		for _, line := range display.Wrap(visible.Line(p.notice), columns-2, 0) {
			list = append(list, paint.NewRow(columns, p.theme.span(" "+line, grey)))
		}
	}
	return list
}

// status is the last row: what runs, and the place in the talk.
func (p *presenter) status(s Slide, columns int) paint.Row {
	left := ""
	switch {
	case s.State == "running":
		left = "runs; Ctrl-C stops it"
	case s.State == "waiting":
		left = "waits for the cell that runs"
	case s.Running:
		left = "a cell of another slide runs"
	case p.most > 0:
		left = "↑ ↓ scroll"
	case s.Took != "":
		left = s.Took
	}
	place := fmt.Sprintf("%d/%d ", s.N, s.Of)
	if p.number != "" {
		place = "slide " + p.number + ": Enter  " + place
	}
	if s.Blank {
		left, place = "blank: b shows the slide", ""
	}
	left = runewidth.Truncate(" "+visible.Line(left), max(columns-len(place)-1, 1), "…")
	gap := max(columns-runewidth.StringWidth(left)-runewidth.StringWidth(place)-1, 1)
	return paint.NewRow(columns, p.theme.span(left+strings.Repeat(" ", gap)+place, grey))
}
