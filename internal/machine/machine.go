// Package machine describes the machine on which the process runs, and its load.
package machine

import (
	"sync"
	"time"
)

var once = sync.OnceValue(memory)

// Memory returns the machine's memory in bytes, or the smaller limit of the process's control groups
// (containers, services). It is 0 if that is not known.
func Memory() int64 { return once() }

var model = sync.OnceValue(cpuModel)

// CPU returns the name of the processor's model, "" if it is not known.
func CPU() string { return model() }

var caches = sync.OnceValue(cachesHere)

// A Cache is a processor's data cache of some level.
type Cache struct {
	Size    int64 // bytes
	Sharing int   // processors that share it, 1 if that is not known
}

// Caches returns a processor's data caches, from the first level on. It is empty if they are not known.
func Caches() []Cache { return caches() }

// Load returns the number of threads of all processes that were ready to run, averaged over the last
// minute. It is negative if that is not known.
func Load() float64 { return load() }

// MHz returns the present clock rate of the fastest processor, 0 if it is not known.
func MHz() float64 { return megahertz() }

// Power returns the source of power: "mains", "battery", or "" if it is not known.
func Power() string { return power() }

// Usage is the working time of all processors together since the machine started, and the part of it for
// this process.
type Usage struct {
	Known  bool
	Busy   time.Duration // for any process
	Stolen time.Duration // not at all, because a hypervisor gave them to others
	Total  time.Duration // the processors times the time
	Own    time.Duration // for this process
}

// Spent returns the time that processors have worked for this process, and reports false if that is not
// known.
func Spent() (time.Duration, bool) { return spent() }

// Used returns the Usage until now.
func Used() Usage { return used() }
