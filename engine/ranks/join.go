package ranks

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/launch"
	"github.com/mcs-notebook/mcs/engine/internal/mpi"
)

// Join returns the group of the processes that a launcher has started together, this one among them, or nil
// if none has. It waits until all are there, for five minutes at most, or until the context ends. An
// environment of a launcher that is not complete is an error that names what is missing.
func Join(ctx context.Context) (*Group, error) {
	l, ok, err := launch.Find(os.Getenv)
	if err != nil || !ok {
		return nil, err
	}
	g := &Group{launch: l, here: l.Here, started: l.By == launch.Own}
	if g.limit, err = limitOf(os.Getenv(limited)); err != nil {
		return nil, err
	}
	if l.Meet != "" {
		g.text = "TCP"
		g.link, err = byTCP(ctx, l)
	} else {
		var w *mpi.World
		if w, err = mpi.Open(l.Size); err == nil {
			g.link, g.text = pieces{w, mpi.Most / l.Size}, fmt.Sprintf("MPI (%v)", w)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ranks: started by %s as rank %d of %d: %w", l.By, l.Rank, l.Size, err)
	}
	return g, nil
}

// Exit ends a process that may have called Join, as os.Exit does: some MPI libraries want to know that a
// process which has closed its group is about to end.
func Exit(code int) { mpi.Exit(code) }

// Again says whether a launcher has started the processes again after a failure, so that they should go on
// from a checkpoint.
func Again() bool { return launch.Attempt(os.Getenv) > 0 }

// Place makes a device the default that this rank does not share with those of the same machine. Of the
// device of that name, "" for the fastest, it takes the one with this rank's number among them, or of the
// processor its share of the threads. A name with a number stays as it is, and one process takes the device
// of that name. The devices are then linked, as by Near.
func (g *Group) Place(ctx context.Context, name string) error {
	if g.Size() > 1 && !strings.Contains(name, ":") {
		var err error
		if name, err = g.place(name); err != nil {
			return err
		}
	}
	if name != "" {
		if err := device.Use(name); err != nil {
			return err
		}
	}
	return g.Near(ctx)
}

// Near links the default devices of all ranks, if they can be: numbers move between them without the host.
// Devices of several machines choose nothing by its time.
func (g *Group) Near(ctx context.Context) error {
	if g.Size() == 1 {
		return nil
	}
	hosts, err := g.hosts()
	if err != nil {
		return err
	}
	alike(hosts)
	return g.approach(ctx)
}

// hosts are the names of the ranks' machines.
func (g *Group) hosts() ([]string, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("ranks: %w", err)
	}
	return g.Texts(host)
}

// alike has the default device compute as those of other machines do, if there are any.
func alike(hosts []string) {
	if l, ok := backend.Default().Backend().(backend.Linker); ok && len(slices.Compact(slices.Clone(hosts))) > 1 {
		l.Untimed()
	}
}

// place chooses among the devices of a kind.
func (g *Group) place(name string) (string, error) {
	hosts, err := g.hosts()
	if err != nil {
		return "", err
	}
	here, local := 0, 0 // ranks of this machine, and those before this one
	for rank, other := range hosts {
		if other == hosts[g.Rank()] {
			here++
		}
		if rank == g.Rank() {
			local = here - 1
		}
	}
	return placed(name, device.List(), local, here, runtime.GOMAXPROCS(0), !g.started)
}

// placed is the device of one of the ranks that a machine has. A launcher may show each process a device of
// its own, as the only one.
func placed(name string, found []device.Found, local, here, threads int, shown bool) (string, error) {
	var there []string
	for _, f := range found {
		kind, _, _ := strings.Cut(f.Name, ":")
		if f.Missing == "" && (name == "" || name == kind) {
			name = kind
			there = append(there, f.Name)
		}
	}
	switch {
	case name == "cpu":
		return fmt.Sprintf("cpu:%d", max(1, threads/max(1, here))), nil
	case len(there) == 0:
		return name, nil // opening it says why
	case len(there) == 1 && (shown || here == 1):
		return there[0], nil
	case local >= len(there):
		return "", fmt.Errorf("ranks: got %d ranks on this machine, want at most one for each of its %d devices %s", here, len(there), name)
	}
	return there[local], nil
}
