// Package owned lets packages of the engine do what only they can know to be right: give memory back, and
// keep something for as long as a tensor lives.
//
// Memory of tensors comes back when they are freed, or when the collector finds that nobody refers to it. An
// optimizer knows more than both: each step leaves moments behind that nobody else has. Given back at once,
// they are what the next step writes to, still in the caches.
package owned

import "sync"

// Move is t.Set(y) for a tensor y that nobody else has: y is freed. If nobody but t had t's former value, and
// no more operations read that than the caller knows of, it is given back, too. Package tensor sets it.
var Move func(t, y any, readers int)

// Notes are what packages of the engine keep with the tensor t, each under a key of its own: they are there
// for all handles on t and are collected with it, also where a note refers to t. Package tensor sets it.
var Notes func(t any) *sync.Map
