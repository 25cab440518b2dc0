package session

import (
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
)

// A Sample says which code of a command's statements ran at one moment.
type Sample struct {
	At     time.Duration // since sampling began
	Lines  []string      // the lines of cells that were running, the outermost first: "In[3]:2"
	Memory int64         // held by tensors, in bytes
}

// A Sampling looks at a session's code from time to time, while a command runs statements. It reads the
// marks that statements set, and stops nothing.
//
// A mark says that a function has begun a statement, not that the function has returned. So the lines are:
// the statement that the command runs; then, of the functions that it may have called, the one whose mark
// changed last; and so on. The work of a statement after a call has returned is counted to the called
// function.
type Sampling struct {
	s     *Session
	until func() time.Duration
	slots []int
	marks []*int // of each slot, the variable that has its mark
	began time.Time
	looks []look
	stop  chan struct{}
	done  chan struct{}
}

// A look is a sample before it is interpreted.
type look struct {
	at     time.Duration
	memory int64
	marks  []int // by slot
}

// Sample begins to sample the session's code, from the goroutine of a command. The caller must call Stop.
// Another goroutine asks until how long to wait for the next sample. One takes the work some 10 µs: a
// processor has to wake up for it.
func (s *Session) Sample(until func() time.Duration) *Sampling {
	p := &Sampling{s: s, until: until, began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	for _, slot := range s.compiler.Slots() {
		if v := s.rt.Variable(lower.MarkVar(slot)); v.IsValid() {
			if at, ok := v.Addr().Interface().(*int); ok {
				p.slots, p.marks = append(p.slots, slot), append(p.marks, at)
			}
		}
	}
	go p.run()
	return p
}

func (p *Sampling) run() {
	defer close(p.done)
	next := time.NewTimer(p.until())
	defer next.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-next.C:
			p.looks = append(p.looks, look{time.Since(p.began), device.InUse(), p.read()})
			next.Reset(p.until())
		}
	}
}

// read reads the marks.
func (p *Sampling) read() []int {
	marks := make([]int, len(p.marks))
	for i, m := range p.marks {
		marks[i] = read(m)
	}
	return marks
}

// Stop ends the sampling and returns its samples.
func (p *Sampling) Stop() []Sample {
	close(p.stop)
	<-p.done
	var samples []Sample
	changed := make([]int, len(p.slots)) // when each mark changed last
	for i := range p.looks {
		l := &p.looks[i]
		for k, m := range l.marks {
			if i == 0 || m != p.looks[i-1].marks[k] {
				changed[k] = i
			}
		}
		samples = append(samples, Sample{l.at, p.lines(l, changed), l.memory})
	}
	return samples
}

func (p *Sampling) lines(l *look, changed []int) (lines []string) {
	mark := func(slot int) *lower.Mark {
		if k := slices.Index(p.slots, slot); k >= 0 {
			return p.s.compiler.Mark(l.marks[k])
		}
		return nil
	}
	m := mark(lower.LiteralSlot)
	if m == nil {
		m = mark(lower.CellSlot)
	}
	var chain []*lower.Mark
	for m != nil {
		chain = append(chain, m)
		lines = append(lines, p.s.places.lineOf(m))
		caller, at := m, -1
		m = nil
		for k, slot := range p.slots {
			c := p.s.compiler.Mark(l.marks[k])
			if slot >= lower.FirstSlot && c != nil && changed[k] > at && !slices.Contains(chain, c) && mayCall(caller, c) {
				m, at = c, changed[k]
			}
		}
	}
	return lines
}
