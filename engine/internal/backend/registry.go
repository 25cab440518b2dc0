package backend

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// The registry gives a device its backend, so that no package above knows a backend by name: each backend's
// package registers its driver, and package backend/all imports those that this build has.
var registry struct {
	sync.Mutex
	kinds  []*kind
	opened atomic.Pointer[[]*Device] // of all kinds; never changed in place
}

// Host is the name of the backend that every machine has: its processor.
const Host = "cpu"

// MaxThreads is the largest number of threads that a device can be asked for.
const MaxThreads = 1024

// A Driver finds and opens the devices of one kind.
type Driver struct {
	Name   string // "cpu", "cuda"
	Speed  int    // the fastest device is the default: 0 is for checking only, 10 a processor, more an accelerator
	Number Number // what a number in the name of a device means

	// Probe lists the devices of the kind, in the order of their numbers, and those that are missing with the
	// reason. It opens nothing, loads no library and asks no driver: it looks at what the system shows (a
	// file, a folder of /proc), takes microseconds, and may be called at any time, for each press of Tab. A
	// device that it lists may still turn out not to open.
	Probe func() []Found

	// Open opens the device with that number; 0 for a name without one. It refuses what it cannot do.
	Open func(number int) (Backend, error)
}

// A Number says what the number in the name of a device means.
type Number uint8

const (
	Unnumbered Number = iota // there is one device, and it takes no number: "metal"
	Threads                  // with how many threads it computes, from 1; without one, with all: "cpu", "cpu:4"
	Index                    // which of several devices it is, from 0; the first also goes by the bare name: "cuda:0", "cuda"
)

// Found is what a probe says of a device.
type Found struct {
	Name    string // what Open takes, "cuda:0"
	Detail  string // "NVIDIA H200", "2 threads, avx512"; what it is in words
	Memory  int64  // bytes that the device has, 0 if unknown
	Missing string // why it cannot be used, "no driver: libcuda.so.1 is not found"; empty if it is there
	Open    bool   // it has been opened, and was not lost since
}

// A kind is a driver with the devices of its that were opened.
type kind struct {
	Driver
	opening sync.Mutex // held while a device is opened, which may take long; it is locked before the registry
	opened  []numbered // sorted as List shows them; the registry guards it
}

type numbered struct {
	number int
	dev    *Device
}

// Register makes the devices of a driver known. The init functions of the backends' packages call it.
func Register(d Driver) {
	registry.Lock()
	defer registry.Unlock()
	registry.kinds = append(registry.kinds, &kind{Driver: d})
	slices.SortFunc(registry.kinds, func(a, b *kind) int {
		return cmp.Or(-cmp.Compare(a.Speed, b.Speed), cmp.Compare(a.Name, b.Name))
	})
	listOpened()
}

// Names lists the names of the registered drivers, those of the fastest devices first.
func Names() []string {
	registry.Lock()
	defer registry.Unlock()
	var names []string
	for _, k := range registry.kinds {
		names = append(names, k.Name)
	}
	return names
}

// List lists the devices of this machine, the fastest first, with those that were opened with a number of
// threads of their own, and with the reasons of those that are missing. It opens none.
func List() (list []Found) {
	registry.Lock()
	defer registry.Unlock()
	for _, k := range registry.kinds {
		list = append(list, k.list()...)
	}
	return list
}

func (k *kind) list() []Found {
	found := k.Probe()
	for _, o := range k.opened {
		if o.dev.Err() != nil {
			continue
		}
		info := o.dev.backend.Info()
		open := Found{Name: o.dev.name, Detail: info.Detail, Memory: info.Memory, Open: true}
		if i := slices.IndexFunc(found, func(f Found) bool { return f.Name == open.Name }); i >= 0 {
			found[i] = open
		} else {
			found = append(found, open)
		}
	}
	return found
}

// Opened lists the devices that have been opened, fastest first. Clocks ask for it, so it costs nothing; the
// caller must not change it.
func Opened() []*Device {
	if list := registry.opened.Load(); list != nil {
		return *list
	}
	return nil
}

// listOpened makes the list for Opened. The caller holds the registry.
func listOpened() {
	var list []*Device
	for _, k := range registry.kinds {
		for _, o := range k.opened {
			list = append(list, o.dev)
		}
	}
	registry.opened.Store(&list)
}

// InUse is how many bytes tensors hold on the devices that have been opened, and how many of these are the
// machine's. It opens none.
func InUse() (bytes, machine int64) {
	for _, d := range Opened() {
		inUse, _, _ := d.MemoryInUse()
		if bytes += inUse; !d.Hints().Apart {
			machine += inUse
		}
	}
	return bytes, machine
}

// Open returns the device with that name: a driver's, as "cpu", or a driver's with a colon and a number, as
// "cpu:1" or "cuda:1"; see [Number]. A device is opened when it is asked for first, and again when it was
// closed or lost: then tensors of the old one stay lost.
func Open(name string) (*Device, error) {
	base, number, numbered := strings.Cut(name, ":")
	k := driver(base)
	if k == nil {
		return nil, fmt.Errorf("device: got %q, want %s", name, present(nil))
	}
	n := 0
	if numbered {
		var err error
		if n, err = k.parse(name, number); err != nil {
			return nil, err
		}
	}
	return k.open(n)
}

// driver returns the kind with that name, or nil.
func driver(name string) *kind {
	registry.Lock()
	defer registry.Unlock()
	for _, k := range registry.kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// parse reads the number in the name of a device.
func (k *kind) parse(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case k.Number == Unnumbered:
		return 0, fmt.Errorf("device: got %q, but %s takes no number", name, k.Name)
	case k.Number == Threads && (err != nil || n < 1 || n > MaxThreads):
		return 0, fmt.Errorf("device: got %q, want a number of threads from 1 to %d after the colon", name, MaxThreads)
	case err != nil || n < 0:
		return 0, fmt.Errorf("device: got %q, want the number of a device from 0 on after the colon", name)
	}
	return n, nil
}

// name is the name of the device with that number.
func (k *kind) name(number int) string {
	if k.Number == Index || number > 0 {
		return fmt.Sprintf("%s:%d", k.Name, number)
	}
	return k.Name
}

// open returns the device with that number, and opens it unless it is open.
func (k *kind) open(number int) (*Device, error) {
	k.opening.Lock()
	defer k.opening.Unlock()
	name, old := k.name(number), k.known(number)
	if old != nil && old.Err() == nil {
		return old, nil
	}
	if old != nil {
		forget(old)
		if err := old.end(); err != nil {
			return nil, fmt.Errorf("device %s: closing what was lost: %w", name, err)
		}
	}
	if why := k.missing(name); why != "" {
		return nil, fmt.Errorf("device %s: %s; there is %s", name, why, present(k))
	}
	b, err := k.Open(number)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", name, err)
	}
	dev := NewDevice(name, b)
	registry.Lock()
	defer registry.Unlock()
	k.opened = append(k.opened, numbered{number, dev})
	slices.SortFunc(k.opened, func(a, b numbered) int { return k.compare(a.number, b.number) })
	listOpened()
	return dev, nil
}

// known returns the device with that number if it was opened, or nil.
func (k *kind) known(number int) *Device {
	registry.Lock()
	defer registry.Unlock()
	for _, o := range k.opened {
		if o.number == number {
			return o.dev
		}
	}
	return nil
}

// compare sorts devices of the kind by their numbers: those with more threads come first.
func (k *kind) compare(a, b int) int {
	if k.Number != Threads || a == 0 || b == 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// missing says why the probe knows that there is no device of that name; empty if it may be there.
func (k *kind) missing(name string) string {
	found := k.Probe()
	for _, f := range found {
		if f.Name == name || f.Name == k.Name { // a reason for the driver's name is one for all of its devices
			return f.Missing
		}
	}
	if k.Number != Index {
		return ""
	}
	return fmt.Sprintf("this machine has %d of them", len(found))
}

// present lists what Open takes, and what it would take if it were not missing: "cpu, cpu:N for N threads,
// ref; no cuda: no driver". A missing device of the kind said is left out: its reason was given.
func present(said *kind) string {
	registry.Lock()
	defer registry.Unlock()
	var have, missing []string
	for _, k := range registry.kinds {
		for _, f := range k.Probe() {
			if f.Missing != "" && k == said {
				continue
			}
			if f.Missing != "" {
				missing = append(missing, fmt.Sprintf("; no %s: %s", f.Name, f.Missing))
			} else {
				have = append(have, f.Name)
			}
		}
		if k.Number == Threads {
			have = append(have, k.Name+":N for N threads")
		}
	}
	return strings.Join(have, ", ") + strings.Join(missing, "")
}

// ErrLost is in each error about a device that was lost or closed. A backend wraps it when the device does
// not answer any more: then nothing that was there can be read again.
var ErrLost = errors.New("the device was lost")

// A Closer is a Backend that can be closed. Close waits until launches that run have ended. Launches that
// come later return an error with [ErrLost]; Free still gives memory back.
type Closer interface {
	Backend
	Close() error
}

// Close closes a device: its memory is gone, and whatever needs a tensor that lived there is told that the
// device was lost. Open opens it again.
func Close(d *Device) error {
	forget(d)
	d.Lose(fmt.Errorf("%w: it was closed", ErrLost))
	return d.end()
}

// forget takes a device off the list of those that are open.
func forget(d *Device) {
	registry.Lock()
	defer registry.Unlock()
	for _, k := range registry.kinds {
		k.opened = slices.DeleteFunc(k.opened, func(o numbered) bool { return o.dev == d })
	}
	listOpened()
}
