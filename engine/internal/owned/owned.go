// Package owned lets packages of the engine do what only they can know to be right: give memory back, and
// keep something for as long as a tensor lives.
//
// Memory of tensors comes back when they are freed, or when the collector finds that nothing refers to it. An
// optimizer knows more than both: each step leaves old moments behind, to which only the optimizer refers.
// Their memory, given back at once, is what the next step writes to while the caches still hold it.
package owned

import "sync"

// Move is t.Set(y) for a tensor y to which only the caller refers: y is freed. If only t held its former
// value, and readers operations at most read that, its memory is given back, too. Package tensor sets it.
var Move func(t, y any, readers int)

// Notes are what packages of the engine keep with the tensor t, each under a key of its own: they are there
// for all handles on t and are collected with it, also where a note refers to t. Package tensor sets it.
var Notes func(t any) *sync.Map
