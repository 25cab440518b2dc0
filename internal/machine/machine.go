// Package machine says what the machine has on which the process runs.
package machine

import "sync"

var once = sync.OnceValue(memory)

// Memory is how many bytes of memory the machine has, or the control groups (containers, services) that the
// process is in leave of them; 0 if that is not known.
func Memory() int64 { return once() }
