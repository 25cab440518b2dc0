// Package owned lets packages of the engine give memory back that they alone can know of.
//
// Memory of tensors comes back when they are freed, or when the collector finds that nobody refers to it. An optimizer
// knows more than both: each step leaves moments behind that nobody else has. Given back at once, they are what the next
// step writes to, still in the caches.
package owned

// Move is t.Set(y) for a tensor y that nobody else has: y is freed. If nobody but t had t's former value, and no more
// operations read that than the caller knows of, it is given back, too. Package tensor sets it.
var Move func(t, y any, readers int)
