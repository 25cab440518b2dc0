package session

import (
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
)

// A Sample says what the statements of a command were doing at one time.
type Sample struct {
	At     time.Duration // since sampling began
	Lines  []string      // the lines of cells that were under way, the outermost first: "In[3]:2"
	Memory int64         // that tensors hold, in bytes
}

// A Sampling looks at a session's code from time to time, while a command runs statements. It reads the marks
// that statements set, which stops nothing.
//
// A mark says which statement a function has begun, not that it has returned. So the lines are those of the
// statement that the command runs, of the function that this may have called whose mark has changed last, and
// so on: what a statement goes on to do after a function has returned counts to the function.
type Sampling struct {
	s     *Session
	slots []int
	marks []*int // of each slot, the variable that statements note themselves in
	began time.Time
	looks []look
	stop  chan struct{}
	done  chan struct{}
}

// A look is a sample that is not yet understood.
type look struct {
	at     time.Duration
	memory int64
	marks  []int // by slot
}

// sampleEvery is the time between two looks, which take a microsecond or two.
const sampleEvery = time.Millisecond

// Sample begins to look at what the session's code does, from the goroutine of a command. Stop must follow.
func (s *Session) Sample() *Sampling {
	p := &Sampling{s: s, began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	for slot := range s.compiler.Slots() {
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
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticks.C:
			p.looks = append(p.looks, look{time.Since(p.began), device.InUse(), p.read()})
		}
	}
}

// read reads the marks while the interpreter may write them: each is one word.
//
//go:norace
func (p *Sampling) read() []int {
	marks := make([]int, len(p.marks))
	for i, m := range p.marks {
		marks[i] = *m
	}
	return marks
}

// Stop ends the sampling and returns its samples.
func (p *Sampling) Stop() []Sample {
	close(p.stop)
	<-p.done
	var samples []Sample
	changed := make([]int, len(p.slots)) // when each mark was another one last
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
