package backend

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The registry gives a device its backend, so that no package above knows a backend by name: each backend's
// package registers itself, and package backend/all imports those that this build has.
var registry struct {
	sync.Mutex
	entries []entry
}

// Host is the name of the backend that every machine has: its processor.
const Host = "cpu"

// MaxThreads is the largest number of threads that a device can be asked for.
const MaxThreads = 1024

type entry struct {
	name  string
	speed int
	open  func(threads int) (Backend, error)
	devs  []*threaded // those that were opened, by threads: all, most, …, one
}

// A threaded is a device with so many threads, 0 for as many as there are.
type threaded struct {
	threads int
	dev     *Device
}

// Register makes a backend known. It is called by the init functions of the backends' packages. The fastest
// backend that opens is the default device: speed 0 is for checking only, 10 for a processor, more for an
// accelerator. open gets the number of threads that the device is to have, or 0 when the name gave no
// number, and refuses what it cannot do.
func Register(name string, speed int, open func(threads int) (Backend, error)) {
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

// List returns a device of each registered backend that opens, fastest first, and after it those with a
// number of threads that were opened by name.
func List() (list []*Device) {
	for _, name := range Names() {
		if _, err := Open(name); err != nil {
			continue
		}
		registry.Lock()
		for _, e := range registry.entries {
			if e.name == name {
				for _, d := range e.devs {
					list = append(list, d.dev)
				}
			}
		}
		registry.Unlock()
	}
	return list
}

// InUse is how many bytes tensors hold on the devices that have been opened. It opens none.
func InUse() (bytes int64) {
	registry.Lock()
	defer registry.Unlock()
	for _, e := range registry.entries {
		for _, d := range e.devs {
			inUse, _, _ := d.dev.MemoryInUse()
			bytes += inUse
		}
	}
	return bytes
}

// Open returns the device with that name: a backend's, as "cpu", or a backend's with a colon and a number of
// threads, as "cpu:1". It is opened once in the life of the process.
func Open(name string) (*Device, error) {
	base, threads, err := parse(name)
	if err != nil {
		return nil, err
	}
	registry.Lock()
	defer registry.Unlock()
	var names []string
	for i := range registry.entries {
		e := &registry.entries[i]
		if e.name == base {
			return e.device(threads)
		}
		names = append(names, e.name)
	}
	return nil, fmt.Errorf("device: got %q, want one of %q", name, names)
}

// parse takes a device's name apart.
func parse(name string) (base string, threads int, err error) {
	base, number, ok := strings.Cut(name, ":")
	if !ok {
		return base, 0, nil
	}
	if threads, err = strconv.Atoi(number); err != nil || threads < 1 || threads > MaxThreads {
		return "", 0, fmt.Errorf("device: got %q, want a number of threads from 1 to %d after the colon", name, MaxThreads)
	}
	return base, threads, nil
}

// device opens a device unless it is open.
func (e *entry) device(threads int) (*Device, error) {
	for _, d := range e.devs {
		if d.threads == threads {
			return d.dev, nil
		}
	}
	name := e.name
	if threads > 0 {
		name = fmt.Sprintf("%s:%d", name, threads)
	}
	b, err := e.open(threads)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", name, err)
	}
	dev := NewDevice(name, b)
	e.devs = append(e.devs, &threaded{threads, dev})
	slices.SortFunc(e.devs, func(a, b *threaded) int { return cmp.Compare(b.order(), a.order()) })
	return dev, nil
}

// order is the number by which devices of a backend are sorted.
func (d *threaded) order() int {
	if d.threads == 0 {
		return MaxThreads + 1
	}
	return d.threads
}
