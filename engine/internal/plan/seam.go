// Package plan turns a graph into groups, an order and memory, and runs it.
package plan

import (
	"context"
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Run evaluates nodes.
func Run(ctx context.Context, outs []*ir.Node) error { return errors.New("no planner yet") }

// Fusion turns the fusion rules on or off.
func Fusion(on bool) (before bool) { return true }
