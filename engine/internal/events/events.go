// Package events tells listeners what the engine does: launches with the plans that they belong to, and
// copies between host and device. Package profile listens for people.
//
// Without a listener an event costs an atomic operation.
package events

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Launch is one command that the engine gave to a device.
type Launch struct {
	Kernel string
	Bytes  int64 // inputs and outputs, each once: what the work needs, not what caches moved
	Flops  int64 // what the mathematics needs
}

// A Listener is told of what the whole process does. Its methods are called one at a time.
type Listener interface {
	// WantsTimes says whether it wants the time of each launch. The answer is always the same.
	WantsTimes() bool
	// Launched is told of the launches of one run of a plan. Times has one for each launch, or is nil. Reused
	// says that the plan was built earlier.
	Launched(launches []Launch, times []time.Duration, reused bool)
	// Copied is told of a copy between host and device.
	Copied(bytes int64)
}

var (
	total  atomic.Int64 // launches since the process began
	open   atomic.Int32 // listeners
	timed  atomic.Int32 // listeners that want times
	mu     sync.Mutex
	active []Listener
)

// Listen lets l be told of events until Ignore.
func Listen(l Listener) {
	mu.Lock()
	defer mu.Unlock()
	active = append(active, l)
	open.Add(1)
	if l.WantsTimes() {
		timed.Add(1)
	}
}

// Ignore ends Listen, and returns whether l was listening. Afterwards l is not called any more.
func Ignore(l Listener) bool {
	mu.Lock()
	defer mu.Unlock()
	i := slices.Index(active, l)
	if i < 0 {
		return false
	}
	active = slices.Delete(active, i, i+1)
	open.Add(-1)
	if l.WantsTimes() {
		timed.Add(-1)
	}
	return true
}

// Total returns the number of launches since the process began.
func Total() int64 { return total.Load() }

// Launching counts n launches and says what to report about them: whether there are listeners, and whether
// they want the time of each. It is called before the commands are submitted.
func Launching(n int) (listened, wantTimes bool) {
	total.Add(int64(n))
	return open.Load() > 0, timed.Load() > 0
}

// Launched tells the listeners of the launches of one run of a plan: see [Listener].
func Launched(launches []Launch, times []time.Duration, reused bool) {
	mu.Lock()
	defer mu.Unlock()
	for _, l := range active {
		l.Launched(launches, times, reused)
	}
}

// Copied tells the listeners of a copy between host and device.
func Copied(bytes int64) {
	if open.Load() == 0 {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	for _, l := range active {
		l.Copied(bytes)
	}
}
