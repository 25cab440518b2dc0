package backend

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// The registry is how a device gets its backend without anybody above knowing a backend by name: each backend's package
// registers itself, and package backend/all imports those that this build has.
var registry struct {
	sync.Mutex
	entries []entry
}

// Host is the name of the backend that every machine has: its processor.
const Host = "cpu"

type entry struct {
	name  string
	speed int
	open  func() (Backend, error)
	dev   *Device // once it was opened
}

// Register makes a backend known. It is called by the init functions of the backends' packages. The fastest backend
// that opens is the default device: speed 0 is for checking only, 10 for a processor, more for an accelerator.
func Register(name string, speed int, open func() (Backend, error)) {
	registry.Lock()
	defer registry.Unlock()
	registry.entries = append(registry.entries, entry{name: name, speed: speed, open: open})
	slices.SortFunc(registry.entries, func(a, b entry) int {
		return cmp.Or(-cmp.Compare(a.speed, b.speed), cmp.Compare(a.name, b.name))
	})
}

// Names lists the registered backends, fastest first.
func Names() []string {
	registry.Lock()
	defer registry.Unlock()
	var names []string
	for _, e := range registry.entries {
		names = append(names, e.name)
	}
	return names
}

// Open returns the device with that name. It is opened once in the life of the process.
func Open(name string) (*Device, error) {
	registry.Lock()
	defer registry.Unlock()
	for i := range registry.entries {
		e := &registry.entries[i]
		if e.name != name {
			continue
		}
		if e.dev == nil {
			b, err := e.open()
			if err != nil {
				return nil, fmt.Errorf("device %s: %w", name, err)
			}
			e.dev = NewDevice(name, b)
		}
		return e.dev, nil
	}
	var names []string
	for _, e := range registry.entries {
		names = append(names, e.name)
	}
	return nil, fmt.Errorf("device: got %q, want one of %q", name, names)
}
