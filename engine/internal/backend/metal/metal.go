// Package metal registers the device "metal": the GPU of a Mac with Apple silicon, as package gpu's backend
// on Metal's driver. On other machines it is listed with the reason why it is missing, and nothing of the
// driver is linked.
//
// No Mac has run it yet: docs/metal.md says what has run where, and the command for the owner of a Mac.
package metal

import "github.com/mcs-notebook/mcs/engine/internal/backend"

// speed is below the processor's, so that nobody computes on a GPU that no test has seen without asking for
// it. A report from a Mac is what it takes to raise it.
const speed = 5

func init() {
	backend.Register(backend.Driver{
		Name: "metal", Speed: speed, Number: backend.Unnumbered, Probe: probe,
		Open: func(int) (backend.Backend, error) { return Open() },
	})
}
