// Package handle leads packages of the engine from a tensor to the node that it holds, and back. Package
// tensor sets the functions.
package handle

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Node returns what the tensor t holds. The error that it panics with names op, the operation that asks.
var Node func(t any, op string) *ir.Node

// Frozen is why a tensor is left out of training that somebody froze.
const Frozen = "frozen"

// Freeze is t.Freeze() of a tensor t that is left out of training for a reason of its own, which completes
// "the weight is …"; an empty one ends that.
var Freeze func(t any, why string)

// Wrap returns a tensor that holds n.
var Wrap func(n *ir.Node) any

// Filled returns a new tensor on the default device whose bytes (C order, little endian) read gives: those
// from a place on. Several goroutines call it. An error of read is the error; a wrong shape panics.
var Filled func(dt dtype.Type, shape []int, read func(at int, to []byte) error) (any, error)
