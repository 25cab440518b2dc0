package ranks

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/internal/launch"
	"github.com/mcs-notebook/mcs/engine/internal/mesh"
)

// Helpers are the processes that Lead has started. Their methods may be called at any time.
type Helpers struct {
	running *running
	gone    []chan struct{} // by rank − 1; closed when the process has ended
	why     []error
	end     sync.Once
}

// Lead starts commands on this machine as ranks 1, 2, … of a group, which their Join returns, and returns the
// group with this process as rank 0. The input of a command ends, at the latest, when this process does.
func Lead(ctx context.Context, commands []*exec.Cmd) (*Group, *Helpers, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, meeting, fmt.Errorf("waited for %v", meeting))
	defer cancel()
	ctx, ends := context.WithCancelCause(ctx)
	defer ends(nil)
	limit, err := limitOf(os.Getenv(limited))
	if err != nil {
		return nil, nil, err
	}
	r, place, err := startAll(ctx, commands, 1)
	if r == nil {
		return nil, nil, err
	}
	h := &Helpers{running: r, why: make([]error, len(commands))}
	for range commands {
		h.gone = append(h.gone, make(chan struct{}))
	}
	go func() {
		for range r.inputs {
			e := <-r.ended
			if h.why[e.rank-1] = e.err; e.err == nil {
				h.why[e.rank-1] = fmt.Errorf("its process has ended")
			}
			close(h.gone[e.rank-1])
			ends(fmt.Errorf("rank %d: %w", e.rank, h.why[e.rank-1]))
		}
	}()
	size := len(commands) + 1
	g := &Group{limit: limit, here: true, text: "TCP", launch: launch.Launch{By: launch.Own, Size: size, Meet: place.Addr, Here: true}}
	if err == nil {
		g.link, err = mesh.Process{Size: size, Here: true}.Join(ctx, func(context.Context) (mesh.Place, error) { return place, nil })
	}
	if err != nil {
		ends(err)
		h.End()
		return nil, nil, err
	}
	return g, h, nil
}

// Tell writes a line to the input of each.
func (h *Helpers) Tell(line string) {
	for _, in := range h.running.inputs {
		_, _ = fmt.Fprintln(in, line) // it may have ended
	}
}

// End ends their inputs; a process that is still there after a while is killed.
func (h *Helpers) End() {
	h.end.Do(func() {
		h.running.part()
		time.AfterFunc(patience, func() { h.running.tell((*os.Process).Kill) })
	})
}

// PID is the number of the process of a rank from 1 on.
func (h *Helpers) PID(rank int) int { return h.running.commands[rank-1].Process.Pid }

// Why waits until the process of a rank from 1 on has ended, for so long at most, and returns why it has; nil
// if it has not.
func (h *Helpers) Why(rank int, most time.Duration) error {
	select {
	case <-h.gone[rank-1]:
		return h.why[rank-1]
	case <-time.After(most):
		return nil
	}
}

// Beside names a device for each of ranks 1 … n−1, while rank 0 is on one of that name: the others of its
// kind, or of the processor a share of the threads.
func Beside(name string, n int) ([]string, error) {
	return beside(name, n, device.List(), runtime.GOMAXPROCS(0))
}

func beside(name string, n int, found []device.Found, threads int) (names []string, err error) {
	kind, _, numbered := strings.Cut(name, ":")
	for _, f := range found {
		if f.Missing == "" && f.Name != name && (numbered || f.Name != kind+":0") && strings.HasPrefix(f.Name, kind+":") {
			names = append(names, f.Name)
		}
	}
	switch others := len(names); {
	case (kind == "cuda" || others > 0) && others < n-1:
		return nil, fmt.Errorf("ranks: got %d ranks, want at most one for each of the %d devices %s", n, others+1, kind)
	case others > 0:
		return names[:n-1], nil
	case name == "cpu":
		name = fmt.Sprintf("cpu:%d", max(1, threads/n))
	}
	return slices.Repeat([]string{name}, n-1), nil
}
