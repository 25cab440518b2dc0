package ranks

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/launch"
	"github.com/mcs-notebook/mcs/engine/internal/mesh"
)

// patience is how long ranks may go on after one has failed. They know it at once, but may be writing.
const patience = 20 * time.Second

// leaving is how long ranks that have nothing to do may take to end.
const leaving = 3 * time.Second

// Start runs commands on this machine as ranks 0, 1, … of a group, which their Join returns, and passes
// signals on to them. It returns when all have ended, with the error of the first that failed: an
// *exec.ExitError, with the number of the rank around it. The input of a command ends, at the latest, when
// this process does: see Parted.
func Start(commands []*exec.Cmd, signals <-chan os.Signal) error {
	if l, ok, _ := launch.Find(os.Getenv); ok {
		return fmt.Errorf("ranks: got %d ranks to start in a process that %s has started as rank %d of %d, want one way of the two", len(commands), l.By, l.Rank, l.Size)
	}
	p, err := newParty(len(commands))
	if err != nil {
		return err
	}
	defer p.ends(nil)
	r, err := p.run(commands, 0)
	if err != nil {
		return err
	}
	return r.wait(signals, p.ends)
}

// Lead runs commands on this machine as ranks 1, 2, … of a group of which this process is rank 0, and passes
// signals on to them. Stop ends them; its error is that of Start.
func Lead(ctx context.Context, commands []*exec.Cmd, signals <-chan os.Signal) (g *Group, stop func() error, err error) {
	p, err := newParty(len(commands) + 1)
	if err != nil {
		return nil, nil, err
	}
	r, err := p.run(commands, 1)
	if err != nil {
		return nil, nil, err
	}
	done := make(chan error, 1)
	go func() { done <- r.wait(signals, p.ends) }()
	stop = func() error {
		defer p.ends(nil)
		r.part()
		select {
		case err := <-done:
			return err
		case <-time.After(leaving):
			r.tell((*os.Process).Kill)
			return <-done
		}
	}
	g = &Group{here: true, launch: launch.Launch{By: launch.Own, Size: p.size, Meet: p.listener.Addr().String(), Here: true}, text: "TCP"}
	g.link, err = mesh.Process{Size: p.size, Here: true}.Join(ctx, func(context.Context) (mesh.Place, error) {
		return mesh.Place{Addr: g.launch.Meet, Key: keyOf(p.word, "", "")}, nil
	})
	if err != nil {
		p.ends(err)
		return nil, nil, errors.Join(err, stop())
	}
	return g, stop, nil
}

// A party is processes of this machine that meet at a port of this one.
type party struct {
	size     int
	listener net.Listener
	word     string // what they know and others do not
	ends     context.CancelCauseFunc
}

func newParty(size int) (*party, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("ranks: %w", err)
	}
	p := &party{size: size, listener: listener, word: rand.Text()}
	var meeting context.Context
	meeting, p.ends = context.WithCancelCause(context.Background())
	go mesh.Serve(meeting, listener, size, keyOf(p.word, "", ""))
	return p, nil
}

// run starts commands as ranks from a number on.
func (p *party) run(commands []*exec.Cmd, first int) (*running, error) {
	host, port, err := net.SplitHostPort(p.listener.Addr().String())
	if err != nil {
		return nil, err
	}
	r := &running{commands: commands, ended: make(chan ended)}
	for i, c := range commands {
		c.Env = append(c.Environ(), "MCS_RANK="+strconv.Itoa(first+i), "MCS_WORLD_SIZE="+strconv.Itoa(p.size), "MCS_MASTER_ADDR="+host, "MCS_MASTER_PORT="+port, secret+"="+p.word)
		if err := r.start(first+i, c); err != nil {
			p.ends(err)
			r.part()
			_ = r.wait(nil, p.ends)
			return nil, fmt.Errorf("ranks: rank %d: %w", first+i, err)
		}
	}
	return r, nil
}

// running is commands that run.
type running struct {
	commands []*exec.Cmd
	inputs   []io.Closer
	ended    chan ended
}

type ended struct {
	rank int
	err  error
}

func (r *running) start(rank int, c *exec.Cmd) error {
	input, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return err
	}
	r.inputs = append(r.inputs, input)
	go func() { r.ended <- ended{rank, c.Wait()} }()
	return nil
}

// part ends the inputs of all.
func (r *running) part() {
	for _, in := range r.inputs {
		in.Close()
	}
}

// wait waits for those that were started. When one fails, the others end soon.
func (r *running) wait(signals <-chan os.Signal, ends context.CancelCauseFunc) (first error) {
	var late <-chan time.Time
	for left := len(r.inputs); left > 0; {
		select {
		case e := <-r.ended:
			left--
			if e.err == nil {
				continue
			}
			why := fmt.Errorf("rank %d: %w", e.rank, e.err)
			if first == nil {
				first = why
				ends(errors.New(why.Error()))
				r.part()
				late = time.After(patience)
			} else if bySignal(e.err) && late != nil && !bySignal(first) { // the others may have been quicker
				first = why
			}
		case s := <-signals:
			r.tell(func(p *os.Process) error { return p.Signal(s) })
		case <-late:
			late = nil
			r.tell((*os.Process).Kill)
		}
	}
	return first
}

// bySignal says whether the system has ended a process.
func bySignal(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() < 0
}

func (r *running) tell(f func(p *os.Process) error) {
	for _, c := range r.commands[:len(r.inputs)] {
		_ = f(c.Process) // it may have ended
	}
}

// Started says whether Start has started this process.
func Started() bool {
	l, ok, _ := launch.Find(os.Getenv)
	return ok && l.By == launch.Own
}

// Parted waits until the process that has started this one by Start has ended, or lets it go because another
// rank has failed. It reads the standard input. Of other processes it returns false at once.
func Parted() bool {
	if !Started() {
		return false
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return true
}
