package ir

import "errors"

// Grad differentiates.
func Grad(loss *Node, params []*Node) ([]*Node, error) { return nil, errors.New("no gradients yet") }
