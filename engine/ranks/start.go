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

// Start runs commands on this machine as ranks 0, 1, … of a group, which their Join returns, and passes
// signals on to them. It returns when all have ended, with the error of the first that failed: an
// *exec.ExitError, with the number of the rank around it. The input of a command ends, at the latest, when
// this process does: see Parted.
func Start(commands []*exec.Cmd, signals <-chan os.Signal) error {
	meeting, ends := context.WithCancelCause(context.Background())
	defer ends(nil)
	r, _, err := startAll(meeting, commands, 0)
	if r == nil {
		return err
	}
	if err != nil {
		ends(err)
		r.part()
		r.wait(nil, ends)
		return err
	}
	return r.wait(signals, ends)
}

// startAll starts commands as ranks from first on, which meet at the place until the context ends. With an
// error those run that could be started: none, if there is no running.
func startAll(ctx context.Context, commands []*exec.Cmd, first int) (*running, mesh.Place, error) {
	size := first + len(commands)
	if l, ok, _ := launch.Find(os.Getenv); ok {
		return nil, mesh.Place{}, fmt.Errorf("ranks: got %d ranks to start in a process that %s has started as one of %d, want one way of the two", size, l.By, l.Size)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, mesh.Place{}, fmt.Errorf("ranks: %w", err)
	}
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, mesh.Place{}, err
	}
	word := rand.Text()
	names := map[string]string{"MCS_WORLD_SIZE": strconv.Itoa(size), "MCS_MASTER_ADDR": host, "MCS_MASTER_PORT": port, secret: word}
	place := mesh.Place{Addr: listener.Addr().String(), Key: keyOf(word, "", "")}
	go mesh.Serve(ctx, listener, size, place.Key)
	r := &running{commands: commands, ended: make(chan ended)}
	for i, c := range commands {
		c.Env = append(c.Environ(), "MCS_RANK="+strconv.Itoa(first+i))
		for name, value := range names {
			c.Env = append(c.Env, name+"="+value)
		}
		if err := r.start(first+i, c); err != nil {
			return r, place, fmt.Errorf("ranks: rank %d: %w", first+i, err)
		}
	}
	return r, place, nil
}

// running is commands that run.
type running struct {
	commands []*exec.Cmd
	inputs   []io.WriteCloser
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
