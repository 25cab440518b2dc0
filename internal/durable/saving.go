package durable

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// saving has the files that the process is writing. It is global because the process as a whole ends: code
// that is about to end it can ask what would be lost.
var saving struct {
	sync.Mutex
	paths map[string]int
	idle  chan struct{} // closed when nothing is being written any more; nil while nothing is
}

// Begin notes that path is being written, until end is called. All writes of this package call it.
func Begin(path string) (end func()) {
	saving.Lock()
	defer saving.Unlock()
	if len(saving.paths) == 0 {
		saving.paths, saving.idle = map[string]int{}, make(chan struct{})
	}
	saving.paths[path]++
	return sync.OnceFunc(func() {
		saving.Lock()
		defer saving.Unlock()
		if saving.paths[path]--; saving.paths[path] == 0 {
			delete(saving.paths, path)
		}
		if len(saving.paths) == 0 {
			close(saving.idle)
			saving.idle = nil
		}
	})
}

// Saving lists the files and folders that this process is writing now, sorted. Ending the process would leave
// each as it was before.
func Saving() []string {
	saving.Lock()
	defer saving.Unlock()
	return slices.Sorted(maps.Keys(saving.paths))
}

// LastSave is how long a process that ends waits for files that it is writing.
const LastSave = 30 * time.Second

// Finish waits until the process, which ends, is writing no file. One that takes longer than LastSave keeps
// its old contents.
func Finish() {
	ctx, cancel := context.WithTimeout(context.Background(), LastSave)
	defer cancel()
	_ = Settle(ctx)
}

// Settle waits until the process is writing no file, or until ctx is done; then it returns the context's
// error.
func Settle(ctx context.Context) error {
	for {
		saving.Lock()
		idle := saving.idle
		saving.Unlock()
		if idle == nil {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
