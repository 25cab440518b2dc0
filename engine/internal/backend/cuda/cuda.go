// Package cuda makes NVIDIA's GPUs devices: "cuda:0", "cuda:1". It is the backend of package gpu on the
// driver of package cuda/driver, and holds nothing else but what a list of devices shows.
package cuda

import (
	"errors"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cuda/driver"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// machine is the driver of this machine. It opens its library at the first need.
var machine = driver.New()

func init() {
	backend.Register(backend.Driver{
		Name: machine.Name(), Speed: 100, Number: backend.Index,
		Probe: func() []backend.Found { return probe(machine) },
		Open:  func(number int) (backend.Backend, error) { return open(machine, number) },
	})
}

// open returns the backend on a GPU.
func open(d *driver.Driver, number int) (backend.Backend, error) {
	return gpu.Open(d, number, fmt.Sprintf("%s:%d", d.Name(), number))
}

// probe lists the GPUs that the kernel module shows. Where it shows that it is loaded, but no GPU, there may
// be one, and opening it tells.
func probe(d *driver.Driver) []backend.Found {
	if err := d.Present(); err != nil {
		why := err.Error()
		if e := (*gpu.Error)(nil); errors.As(err, &e) {
			why = e.Text
		}
		return []backend.Found{{Name: d.Name(), Missing: why}}
	}
	names := d.Seen()
	if names == nil {
		names = []string{"NVIDIA GPU"}
	}
	var list []backend.Found
	for i, name := range names {
		list = append(list, backend.Found{Name: fmt.Sprintf("%s:%d", d.Name(), i), Detail: name})
	}
	return list
}
