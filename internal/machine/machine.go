// Package machine says what the machine has on which the process runs, and what it is doing.
package machine

import (
	"sync"
	"time"
)

var once = sync.OnceValue(memory)

// Memory is how many bytes of memory the machine has, or the control groups (containers, services) that the
// process is in leave of them; 0 if that is not known.
func Memory() int64 { return once() }

var model = sync.OnceValue(cpuModel)

// CPU is the name of the processor's model, "" if it is not known.
func CPU() string { return model() }

var caches = sync.OnceValue(cacheSizes)

// Caches are the sizes in bytes of the processor's data caches, the first level's first; empty if they are
// not known.
func Caches() []int64 { return caches() }

// Load is how many threads of all processes could run, the mean of the last minute; below 0 if that is not
// known.
func Load() float64 { return load() }

// MHz is the clock of the fastest processor at the moment; 0 if it is not known.
func MHz() float64 { return megahertz() }

// Power is where the power comes from: "mains", "battery", or "" if that is not known.
func Power() string { return power() }

// Usage is how long the processors worked since the machine started, all together, and how long they did for
// this process.
type Usage struct {
	Known  bool
	Busy   time.Duration // for any process
	Stolen time.Duration // not at all, because a hypervisor gave them to others
	Total  time.Duration // the processors times the time
	Own    time.Duration // for this process
}

// Used is the Usage until now.
func Used() Usage { return used() }
