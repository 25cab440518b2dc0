package tensor

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// The functions here are for a number on the left of an operation that is not the same both ways: 1/x is
// Div(1, x).

// Sub returns a − b; one of them may be a number, which takes the other's dtype, as in [Tensor.Sub].
func Sub(a, b Operand) Tensor { return left(ir.Sub, a, b).Sub(b) }

// Div returns a/b; one of them may be a number, as in [Tensor.Div].
func Div(a, b Operand) Tensor { return left(ir.Div, a, b).Div(b) }

// Mod returns the remainder of a/b with the sign of b; one of them may be a number, as in [Tensor.Mod].
func Mod(a, b Operand) Tensor { return left(ir.Mod, a, b).Mod(b) }

// Pow returns a to the power of b; one of them may be a number, as in [Tensor.Pow].
func Pow(a, b Operand) Tensor { return left(ir.Pow, a, b).Pow(b) }

// Shl returns a·2ᵇ of integers; one of them may be a number, as in [Tensor.Shl].
func Shl(a, b Operand) Tensor { return left(ir.Mul, a, b).Shl(b) }

// Shr returns a/2ᵇ of integers, rounded down; one of them may be a number, as in [Tensor.Shr].
func Shr(a, b Operand) Tensor { return left(ir.Div, a, b).Shr(b) }

// left makes a tensor of the left operand, with the dtype that a number takes beside the right one.
func left(op ir.Op, a, b Operand) Tensor {
	switch x := a.(type) {
	case Tensor:
		return x
	case *Tensor:
		if x != nil {
			return *x
		}
	}
	switch y := b.(type) {
	case Tensor:
		return wrap(operand(op.String(), y.node(op.String()), a))
	case *Tensor:
		if y != nil {
			return wrap(operand(op.String(), y.node(op.String()), a))
		}
	}
	fail(op.String(), "got operands of types %T and %T, want a Tensor among them", a, b)
	return Tensor{}
}
