package session

import (
	"runtime"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// A Sample says which code of a command's statements ran at one moment.
type Sample struct {
	At     time.Duration // since sampling began
	Lines  []string      // the lines of cells that were under way, the outermost first: "In[3]:2"; none: not known
	Apart  bool          // no code of cells was under way
	Memory int64         // held by tensors, in bytes
}

// A Sampling looks at a session's code from time to time, while a command runs statements. The code is
// followed meanwhile: each goroutine notes which steps of the interpreter it has under way. Nothing is
// stopped.
//
// The lines are those of the goroutine that runs the statements. While it waits for others, those of a
// goroutine that runs stand below them, of several another one in each sample.
type Sampling struct {
	s     *Session
	until func() time.Duration
	began time.Time
	looks []look
	// Took is how much longer the code took for being followed; Stop sets it.
	Took  time.Duration
	alone bool // Go uses one processor only
	stop  chan struct{}
	done  chan struct{}
}

// A look is a sample before it is interpreted.
type look struct {
	at     time.Duration
	memory int64
	steps  []yaegi.Step // the innermost first
}

// Sample begins to sample the session's code. The caller must call Stop. Another goroutine asks until how
// long to wait for the next sample. One takes the work some 10 µs: a processor has to wake up for it.
func (s *Session) Sample(until func() time.Duration) *Sampling {
	p := &Sampling{s: s, until: until, began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	if p.alone = runtime.GOMAXPROCS(0) == 1; p.alone {
		// Go would give the sampler its turn where the code waits, never where it works. Now the system does.
		runtime.GOMAXPROCS(2)
	}
	s.places.follow(true)
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
			p.looks = append(p.looks, look{time.Since(p.began), device.InUse(), p.steps()})
			next.Reset(p.until())
		}
	}
}

// steps are those under way.
func (p *Sampling) steps() []yaegi.Step {
	main := p.s.interp.Thread(p.s.main.Load())
	if !main.Waits() {
		return main.Steps(nil)
	}
	var running []*yaegi.Thread
	for _, t := range p.s.interp.Threads() {
		if t != main && t.Runs() {
			running = append(running, t)
		}
	}
	if len(running) == 0 {
		return main.Steps(nil)
	}
	return main.Steps(running[len(p.looks)%len(running)].Steps(nil))
}

// Stop ends the sampling and returns its samples.
func (p *Sampling) Stop() (samples []Sample) {
	close(p.stop)
	<-p.done
	f := &p.s.places.followed
	f.mu.Lock()
	for _, l := range p.looks {
		samples = append(samples, Sample{l.at, p.s.places.linesOf(l.steps), len(l.steps) == 0, l.memory})
	}
	f.mu.Unlock()
	p.Took = p.s.interp.Followed()
	p.s.places.follow(false)
	if p.alone {
		runtime.GOMAXPROCS(1)
	}
	return samples
}
