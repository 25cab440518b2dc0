package emulated

import (
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/engine/internal/testing/gputest"
)

// Register makes the device "emulated" known, for the tests of a package; "emulated-library", which has
// libraries; "emulated-address" and "emulated-undefined", whose kernels run under clang's sanitizers; and
// "rehearsal", which finds out what to compile: what ran there before an emulated device is opened is
// compiled with it. "rehearsal:1" is one of a single processor, which cuts no work into parts: what it
// launches for few tokens is what a large device launches for many. To do so again does nothing.
func Register() {
	if slices.Contains(backend.Names(), "emulated") {
		return
	}
	r := gputest.NewRehearsal((&Driver{}).info())
	single := (&Driver{}).info()
	single.Limits.Processors = 1
	backend.Register(backend.Driver{
		Name: "rehearsal", Number: backend.Index,
		Probe: func() []backend.Found {
			return []backend.Found{
				{Name: "rehearsal", Detail: "the processor, asked as a GPU"},
				{Name: "rehearsal:1", Detail: "the processor, asked as a GPU of a single one"},
			}
		},
		Open: func(index int) (backend.Backend, error) {
			if index == 1 {
				return gputest.NewRehearsal(single), nil
			}
			return r, nil
		},
	})
	tools := sync.OnceValues(check.Find)
	for name, mode := range map[string]check.Mode{"emulated": check.Plain, "emulated-library": check.Plain,
		"emulated-address": check.Address, "emulated-undefined": check.Undefined} {
		backend.Register(backend.Driver{
			Name: name,
			Probe: func() []backend.Found {
				found := backend.Found{Name: name, Detail: "kernels for GPUs, run on the processor"}
				if _, err := tools(); err != nil {
					found.Missing = err.Error()
				}
				return []backend.Found{found}
			},
			Open: func(int) (backend.Backend, error) {
				t, err := tools()
				if err != nil {
					return nil, err
				}
				return gpu.Open(&Driver{Tools: t, Mode: mode, Library: name == "emulated-library", Prepared: r.Texts()}, 0, name)
			},
		})
	}
}
