// Package owned lets packages of the engine do what only they can know to be right: give memory back, and
// keep something for as long as a tensor lives.
//
// Memory of tensors comes back when they are freed, or when the collector finds that nothing refers to it. An
// optimizer knows more than both: each step leaves old moments behind, to which only the optimizer refers.
// Their memory, given back at once, is what the next step writes to while the caches still hold it.
package owned

import (
	"sync"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Move is t.Set(y) for a tensor y to which only the caller refers: y is freed. If only t held its former
// value, and readers operations at most read that, its memory is given back, too. Package tensor sets it.
var Move func(t, y any, readers int)

// Overwrite is t.Overwrite(axis, index, updates) for a tensor t whose value only the caller's data structure
// wants, and that after this: the result may lie in t's memory, unless another handle on the value, a view of
// it or an evaluation under way could see that. If it does, reading t or what was made from it is an error
// from then on. Package tensor sets it.
var Overwrite func(t any, axis int, index, updates any) any

// Unwritten returns a tensor on the default device whose elements mean nothing until they are written. On a
// device that is sparse (backend.Reserver) they take no room until then. Package tensor sets it.
var Unwritten func(dt dtype.Type, shape ...int) any

// Prepare builds the plan with which an Eval of such tensors will run: these themselves are not computed, and
// are not to be. Built is how many plans were built so far. Package tensor sets them.
var (
	Prepare func(ts []any)
	Built   func() int
)

// Spare says that nobody will ask for t, nor for what it is made of beyond what is evaluated later: a
// measurement that computes what code has left does not compute it. Package tensor sets it.
var Spare func(t any)

// Notes are what packages of the engine keep with the tensor t, each under a key of its own: they are there
// for all handles on t and are collected with it, also where a note refers to t. Package tensor sets it.
var Notes func(t any) *sync.Map

// Settle waits until the evaluations that compute the tensors ts have ended. If one of them failed, it fails
// as reading a tensor does. Package tensor sets it.
var Settle func(ts []any)

// Sure says whether t can take the value of y although the run that computes y is under way: no data can make
// the run fail, or y lies where the value of t lies, which it replaces as a whole or, if its run fails, not
// at all. Package tensor sets it.
var Sure func(t, y any) bool

// Tracing says whether this goroutine is in a function that is being compiled. Package tensor sets it.
var Tracing func() bool

// Value is what tells the value that the tensor t has now from any other one: it is another, by ==, after
// each Set. It keeps nothing alive. Package tensor sets it.
var Value func(t any) any
