package nn

import "github.com/mcs-notebook/mcs/engine/tensor"

// An MLP is the gated feed-forward block Down(silu(Gate(x))·Up(x)), SwiGLU (Shazeer 2020).
type MLP struct {
	Gate, Up Layer // width to hidden
	Down     Layer // hidden to width
}

// Forward maps x [… width] to [… width].
func (m *MLP) Forward(x tensor.Tensor) tensor.Tensor {
	gate, up := m.Gate.Forward(x), m.Up.Forward(x) // side by side: the planner makes one matmul of them
	return m.Down.Forward(gate.Silu().Mul(up))
}

// Members lists the three projections.
func (m *MLP) Members() []Member {
	return []Member{{Name: "gate_proj", Slot: &m.Gate}, {Name: "up_proj", Slot: &m.Up}, {Name: "down_proj", Slot: &m.Down}}
}
