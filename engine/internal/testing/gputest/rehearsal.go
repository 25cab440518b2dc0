package gputest

import (
	"maps"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// A Rehearsal is a backend that is asked for what a driver's device would be asked for. It computes on the
// processor, and notes the texts that the device would need.
type Rehearsal struct {
	backend.Backend
	// Library is that of the device, of which there is none at first.
	Library *kernel.Library
	device  gpu.Info

	mu    sync.Mutex
	texts map[string]string
}

// NewRehearsal returns one that has seen nothing.
func NewRehearsal(device gpu.Info) *Rehearsal {
	return &Rehearsal{Backend: cpu.New(0), device: device, texts: map[string]string{}}
}

// Texts are those that were needed so far, by the names of their functions.
func (r *Rehearsal) Texts() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.texts)
}

// Info is that of the device's backend, but for what the processor cannot do.
func (r *Rehearsal) Info() backend.Info {
	i := gpu.InfoOf("rehearsal", r.device)
	i.Hints.Permuted = nil
	return i
}

// Compile notes the texts of a group.
func (r *Rehearsal) Compile(g *backend.Group) (backend.Kernel, error) {
	limits := gpu.LimitsOf(r.device)
	limits.Library = r.Library
	k, err := kernel.Render(g, limits)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	for _, d := range k.Dispatches {
		if d.Library == nil {
			r.texts[d.Function] = d.Text
		}
	}
	r.mu.Unlock()
	exact, err := r.Backend.Compile(inGo(g))
	return rehearsed{exact, k.Launches()}, err
}

// Lends every routine: Go code computes it.
func (r *Rehearsal) Lends(ir.Routine) bool { return true }

// inGo is a group of a routine as one of Go code.
func inGo(g *backend.Group) *backend.Group {
	if len(g.Insts) != 1 || g.Insts[0].Attr.Kernel == nil || g.Insts[0].Attr.Kernel.Routine == nil {
		return g
	}
	own := g.Insts[0].Attr.Kernel
	plain, k := *g, *own
	k.Go = fake.RoutineCode(own)
	plain.Insts = slices.Clone(g.Insts)
	plain.Insts[0].Attr.Kernel = &k
	return &plain
}

// A rehearsed kernel counts the launches that the device would make. Those of a library's calls are more, if
// the library makes several.
type rehearsed struct {
	backend.Kernel
	launches int
}

func (k rehearsed) Launches() int { return k.launches }

// Load loads a program for the processor.
func (r *Rehearsal) Load(p *backend.Program) (backend.Loaded, error) {
	plain := *p
	plain.Launches = slices.Clone(p.Launches)
	for i := range plain.Launches {
		plain.Launches[i].Kernel = plain.Launches[i].Kernel.(rehearsed).Kernel
	}
	return r.Backend.Load(&plain)
}
