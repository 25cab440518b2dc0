package runner

import (
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
)

const (
	// joinFor is how long printed text waits for more, and joinBytes how much of it waits.
	joinFor   = 50 * time.Millisecond
	joinBytes = 32 << 10
	// lineWidth is how many columns the live line of long work has: pages scroll or break it, and what it
	// says about an interruption is not to be cut.
	lineWidth = 120
	// MaxPrinted is how many bytes a cell may print that are sent: notebooks keep them, and browsers show
	// them.
	MaxPrinted = 4 << 20
)

// An output sends what cells print and show. What a goroutine prints after its cell has ended is sent as the
// newest cell's.
type output struct {
	progress *display.Progress

	mu      sync.Mutex
	to      func(kind string, content any) // who has asked for the newest cell; nil: nothing of it is sent
	name    string                         // of the stream whose text waits
	waiting []byte
	timer   *time.Timer
	printed int    // bytes of the cell so far
	line    string // the display of the live line, or ""
	drawing string // the display of the drawing, or ""
}

func newOutput() *output {
	o := new(output)
	o.timer = time.AfterFunc(time.Hour, o.flush)
	o.progress = display.NewFrames(lineWidth, o.frame)
	return o
}

// begin is called before a cell runs.
func (o *output) begin(to func(kind string, content any)) {
	o.flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to, o.printed, o.line, o.drawing = to, 0, "", ""
}

// end is called when the cell has ended, before its values are sent.
func (o *output) end() {
	o.progress.Finish()
	o.mu.Lock()
	defer o.mu.Unlock()
	if left := o.printed - MaxPrinted; left > 0 {
		o.send()
		o.write("stderr", []byte(fmt.Sprintf("\n… %s more that the cell has printed are left out: print less, or to a file\n", units.Bytes(int64(left)))))
	}
	o.send()
}

// hush has nothing sent until the returned function is called.
func (o *output) hush() (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.send()
	to := o.to
	o.to = nil
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.send()
		o.to = to
	}
}

// stream is the writer of standard output or standard error.
func (o *output) stream(name string) io.Writer { return stream{o, name} }

type stream struct {
	*output
	name string
}

func (s stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := max(MaxPrinted-s.printed, 0)
	if s.printed += len(b); room > 0 {
		s.clearOrWrite(s.name, b[:min(len(b), room)])
	}
	return len(b), nil
}

// cleared matches what clears a terminal's screen, as the command clear prints it.
var cleared = lazy.Regexp(`(?:\x1b\[H|\x1b\[1;1H|\x1b\[3J)*\x1b\[2J(?:\x1b\[H|\x1b\[1;1H|\x1b\[3J)*`)

// clearOrWrite sends printed text, in which clearing the screen clears the cell's output. The caller holds
// mu, as those of the functions below do.
func (o *output) clearOrWrite(name string, b []byte) {
	for {
		at := cleared().FindIndex(b)
		if at == nil {
			o.write(name, b)
			return
		}
		o.write(name, b[:at[0]])
		o.send()
		o.publishNow("clear_output", map[string]any{"wait": false})
		o.line, o.drawing = "", ""
		b = b[at[1]:]
	}
}

// write has printed text sent soon.
func (o *output) write(name string, b []byte) {
	if len(b) == 0 {
		return
	}
	if o.name != name {
		o.send()
		o.name = name
	}
	if o.waiting = append(o.waiting, b...); len(o.waiting) == len(b) {
		o.timer.Reset(joinFor)
	}
	for len(o.waiting) > joinBytes {
		o.sendPart(joinBytes)
	}
}

// send sends the text that waits.
func (o *output) send() { o.sendPart(len(o.waiting)) }

// sendPart sends at most n bytes, and no part of a letter if the rest of it waits. Bytes that are no text are
// cut anywhere.
func (o *output) sendPart(n int) {
	if n == 0 {
		return
	}
	if n < len(o.waiting) {
		for back := range min(utf8.UTFMax, n) {
			if utf8.RuneStart(o.waiting[n-back]) {
				n -= back
				break
			}
		}
	}
	text := string(o.waiting[:n])
	o.waiting = append(o.waiting[:0], o.waiting[n:]...)
	o.publishNow("stream", map[string]any{"name": o.name, "text": text})
}

// flush sends the text that waits.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.send()
}

// publishNow sends a message of the cell, before the text that waits.
func (o *output) publishNow(kind string, content any) {
	if o.to != nil {
		o.to(kind, content)
	}
}

// publish sends a message of the cell.
func (o *output) publish(kind string, content any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.send()
	o.publishNow(kind, content)
}

// show sends a value that stands by itself.
func (o *output) show(v display.Value) {
	if list, ok := v.(bundles); ok {
		for _, each := range list {
			o.show(each)
		}
		return
	}
	if v != nil {
		o.publish("display_data", displayed(Bundled(v), ""))
	}
}

// displayed is the content of a message with a value, whose display has a name if it will change.
func displayed(b display.Bundle, id string) map[string]any {
	transient := map[string]any{}
	if id != "" {
		transient["display_id"] = id
	}
	return map[string]any{"data": b, "metadata": map[string]any{}, "transient": transient}
}

// place shows a value in a display, which *id names; a new one if it is empty.
func (o *output) place(id *string, b display.Bundle) {
	o.send()
	kind := "update_display_data"
	if *id == "" {
		kind, *id = "display_data", rand.Text()
	}
	o.publishNow(kind, displayed(b, *id))
}

// frame shows the live line and the drawing of long work, each in a display of its own, which changes.
func (o *output) frame(f display.Frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f.Drawing != nil {
		o.place(&o.drawing, display.Drawn(f.Drawing, TextWidth))
	}
	if f.Line != "" {
		o.place(&o.line, display.Bundle{display.PlainText: f.Line})
	}
	if f.Last {
		o.line = ""
	}
}

// drawn shows the last state of a drawing in the place where it has changed; ok is false if there is none.
func (o *output) drawn(b display.Bundle) (ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.drawing == "" {
		return false
	}
	o.place(&o.drawing, b)
	return true
}
