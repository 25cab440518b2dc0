package display

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// redrawEvery limits a live line to 10 changes a second: more cannot be read and costs the terminal work.
const redrawEvery = 100 * time.Millisecond

// shortWork gets no plain line: a log is not for what nobody waits for.
const shortWork = time.Second

// Progress shows the progress of long work. On a terminal it is one line that is drawn again and again;
// elsewhere it is a plain line for every 10 %, once the work has taken a second. All other output meanwhile
// goes through Write, so the live line stays below it. Several goroutines may call its methods.
type Progress struct {
	out   io.Writer
	live  bool
	width func() int
	style Style
	now   func() time.Time
	frame func(Frame) // nil: out is written to

	mu      sync.Mutex
	drawing Value     // above the live line, for frame, which has not got it yet
	looked  time.Time // when the state of a drawing was last computed
	block   []string  // lines of a drawing, above the live line
	rows    int       // of them that are on the screen
	current state
	shown   bool      // the live line is on the screen
	drawn   time.Time // when it was last drawn
	percent int64     // the tenth that was last reported in a plain line
	midLine bool      // the last output does not end in a newline
	echoed  bool      // … because the terminal wrote there itself
}

// state has the arguments of the last Update.
type state struct {
	task        string
	done, total int64
	note        string
	start       time.Time
	active      bool
}

// NewProgress shows progress on out. Live says that out is a terminal that understands escape sequences,
// and width returns its columns (nil: 80).
func NewProgress(out io.Writer, live bool, width func() int, style Style) *Progress {
	if width == nil {
		width = func() int { return 80 }
	}
	return &Progress{out: out, live: live, width: width, style: style, now: time.Now}
}

// A Frame is what there is to see of long work: a drawing, which is nil while it is as in the frame before,
// and the live line, which may be empty. Last says that the line will not change any more.
type Frame struct {
	Drawing Value
	Line    string
	Last    bool
}

// NewFrames shows progress in a place of the front end's own: show gets each frame to put there, no more of
// them than a person can read.
func NewFrames(width int, show func(Frame)) *Progress {
	return &Progress{out: io.Discard, live: true, width: func() int { return width }, now: time.Now, frame: show}
}

// Update says that done of total steps of task are done (total 0: the number is unknown); note is the
// work's current message, and took the time that it has taken (0: that since its first Update). A new task,
// or a task that starts again, ends the line of the task before.
func (p *Progress) Update(task string, done, total int64, note string, took time.Duration) {
	task, note = visible.Line(task), visible.Line(note)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.current.active && (p.current.task != task || p.current.total != total || done < p.current.done) {
		p.end()
	}
	if !p.current.active {
		p.current = state{start: now, active: true}
		p.percent, p.drawn = 0, time.Time{}
	}
	p.current.task, p.current.done, p.current.total, p.current.note = task, done, total, note
	if took > 0 { // what goes on beside other cells may be older than the line
		p.current.start = now.Add(-took)
	}
	if total > 0 && done >= total {
		p.end()
		return
	}
	if p.live {
		if now.Sub(p.drawn) >= redrawEvery {
			p.draw()
		}
		return
	}
	if total > 0 && 10*done/total > p.percent && now.Sub(p.current.start) >= shortWork {
		p.percent = 10 * done / total
		p.plain()
	}
}

// Draw shows a drawing that changes, above the live line, until Finish. state computes what it shows now
// (nil: nothing), only as often as a person can read it. A drawing that is too high for so many rows of the
// terminal is left out, and nothing is drawn where nothing can be drawn in place.
func (p *Progress) Draw(state func() Value, rows int) {
	if !p.live {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now().Sub(p.looked) < redrawEvery {
		return
	}
	p.looked = p.now()
	p.block = nil
	if v := state(); p.frame != nil {
		p.drawing = v
	} else if v != nil {
		p.block = strings.Split(Styled(v, p.width(), p.style), "\n")
	}
	if len(p.block) > rows-3 {
		p.block = nil
	}
	p.draw()
}

// Finish ends the line of work that stopped before its end, and takes the drawing away. Without them it does
// nothing.
func (p *Progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	p.erase()
	p.block, p.drawing = nil, nil
}

// Write prints b above the live line.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	p.erase()
	if p.echoed {
		p.freshLine()
	}
	n, err := p.out.Write(b)
	p.midLine = b[len(b)-1] != '\n'
	return n, err
}

// Echoed says that the terminal itself has written behind the last output: the ^C of an interrupt. The
// live line, if there is one, is drawn over it.
func (p *Progress) Echoed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.midLine, p.echoed = !p.shown, !p.shown
}

// FreshLine starts a new line unless the last output ended one.
func (p *Progress) FreshLine() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freshLine()
}

func (p *Progress) freshLine() {
	if p.midLine {
		io.WriteString(p.out, "\n")
		p.midLine, p.echoed = false, false
	}
}

// end leaves the last state of the work on the screen.
func (p *Progress) end() {
	if !p.current.active {
		return
	}
	if p.frame != nil {
		p.frame(Frame{Line: p.line(p.width(), nil), Last: true})
	} else if p.live {
		block := p.block
		p.block = nil // it stays below
		p.draw()
		io.WriteString(p.out, "\n")
		p.shown, p.block = false, block
	} else if p.now().Sub(p.current.start) >= shortWork {
		p.plain()
	}
	p.current = state{}
}

func (p *Progress) plain() {
	p.freshLine()
	fmt.Fprintln(p.out, p.line(0, nil))
}

func (p *Progress) draw() {
	if p.frame != nil {
		f := Frame{Drawing: p.drawing}
		p.drawing = nil
		if p.current.active {
			f.Line = p.line(p.width(), nil)
		}
		p.drawn = p.now()
		p.frame(f)
		return
	}
	p.freshLine()
	// One write a frame, so that a slow terminal never shows half of it.
	var frame strings.Builder
	frame.WriteString("\r" + p.upwards())
	for _, l := range p.block {
		frame.WriteString(l + "\x1b[K\n")
	}
	if p.current.active {
		frame.WriteString(p.line(p.width(), p.style))
	}
	frame.WriteString("\x1b[K")
	if len(p.block) < p.rows {
		frame.WriteString("\x1b[J")
	}
	io.WriteString(p.out, frame.String())
	p.shown, p.drawn, p.rows = true, p.now(), len(p.block)
}

// upwards moves the cursor to the first line of the drawing on the screen.
func (p *Progress) upwards() string {
	if p.rows == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA", p.rows)
}

func (p *Progress) erase() {
	if !p.shown {
		return
	}
	if p.rows > 0 {
		io.WriteString(p.out, "\r"+p.upwards()+"\x1b[J")
	} else {
		io.WriteString(p.out, "\r\x1b[K")
	}
	p.shown, p.rows, p.drawn, p.looked = false, 0, time.Time{}, time.Time{}
}

// The bar's width in columns; it is left out of plain lines.
const barColumns = 15

// line is `step 120/300 ██████░░░░░░░░░ loss 2.31 · 8.0 s, 12.0 s left`, cut to less than width columns (the
// last one stays free: a terminal would wrap); width 0 has no limit and no bar.
func (p *Progress) line(width int, style Style) string {
	c := &p.current
	count := units.Int(c.done)
	if c.total > 0 {
		count += "/" + units.Int(c.total)
	}
	elapsed := p.now().Sub(c.start)
	times := units.Duration(elapsed.Round(time.Millisecond))
	if c.total > 0 && c.done > 0 && c.done < c.total && elapsed >= time.Second {
		left := time.Duration(float64(elapsed) / float64(c.done) * float64(c.total-c.done))
		times += ", " + units.Duration(left.Round(time.Millisecond)) + " left"
	}
	head, tail := strings.TrimSpace(c.task+" "+count), times
	if c.note != "" {
		tail = c.note + " · " + times
	}
	if width <= 0 {
		return head + " · " + tail
	}
	room := width - 1 - runewidth.StringWidth(head)
	bar := ""
	if c.total > 0 && room >= barColumns+12 {
		bar = " " + style.Paint(Good, progressBar(c.done, c.total))
		room -= barColumns + 1
	}
	if room < 4 {
		return runewidth.Truncate(head, max(width-1, 0), "…")
	}
	return style.Paint(Strong, head) + bar + " " + runewidth.Truncate(tail, room-1, "…")
}

// progressBar draws the share that is done in eighths of a column.
func progressBar(done, total int64) string {
	eighths := int(8 * barColumns * float64(min(done, total)) / float64(total))
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar + strings.Repeat("░", barColumns-len([]rune(bar)))
}
