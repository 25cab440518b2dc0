package nn

import "github.com/mcs-notebook/mcs/engine/tensor"

// An MLP is the gated feed-forward block Down(act(Gate(x))·Up(x)); with SiLU it is SwiGLU (Shazeer 2020).
type MLP struct {
	Gate, Up Layer // width to hidden
	GateUp   Layer // one layer in place of both, whose columns are theirs side by side; nil: none
	Down     Layer // hidden to width
	Act      Func  // the zero Func is SiLU
}

// Forward maps x [… width] to [… width].
func (m *MLP) Forward(x tensor.Tensor) tensor.Tensor {
	var gate, up tensor.Tensor
	if m.GateUp != nil {
		both := m.GateUp.Forward(x)
		half := both.Len(-1) / 2
		gate, up = both.Slice(-1, 0, half), both.Slice(-1, half, 2*half)
	} else {
		gate, up = m.Gate.Forward(x), m.Up.Forward(x) // side by side: the planner makes one matmul of them
	}
	if m.Act.Apply != nil {
		return m.Down.Forward(m.Act.Apply(gate).Mul(up))
	}
	return m.Down.Forward(gate.Silu().Mul(up))
}

// Members lists the projections.
func (m *MLP) Members() []Member {
	list := []Member{{Name: "gate_proj", Slot: &m.Gate}, {Name: "up_proj", Slot: &m.Up}}
	if m.GateUp != nil {
		list = []Member{{Name: "gate_up_proj", Slot: &m.GateUp}}
	}
	return append(list, Member{Name: "down_proj", Slot: &m.Down})
}
