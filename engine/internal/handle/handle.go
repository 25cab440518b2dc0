// Package handle leads packages of the engine from a tensor to the node that it holds, and back. Package
// tensor sets both functions.
package handle

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// Node returns what the tensor t holds. The error that it panics with names op, the operation that asks.
var Node func(t any, op string) *ir.Node

// Wrap returns a tensor that holds n.
var Wrap func(n *ir.Node) any
