package nn

import "github.com/mcs-notebook/mcs/engine/tensor"

// An MLP is the gated feed-forward block Down(act(Gate(x))·Up(x)); with SiLU it is SwiGLU (Shazeer 2020).
// Without a gate it is Down(act(Up(x))).
type MLP struct {
	Gate, Up Layer // width to hidden; Gate may be nil
	GateUp   Layer // one layer in place of both, whose columns are theirs side by side; nil: none
	UpFirst  bool  // those of Up come first there
	Down     Layer // hidden to width
	Act      Layer // nil: SiLU
}

// Forward maps x [… width] to [… width].
func (m *MLP) Forward(x tensor.Tensor) tensor.Tensor {
	act := tensor.Tensor.Silu
	if m.Act != nil {
		act = m.Act.Forward
	}
	switch {
	case m.GateUp != nil:
		both := m.GateUp.Forward(x)
		half := both.Len(-1) / 2
		gate, up := both.Slice(-1, 0, half), both.Slice(-1, half, 2*half)
		if m.UpFirst {
			gate, up = up, gate
		}
		return m.Down.Forward(act(gate).Mul(up))
	case m.Gate == nil:
		return m.Down.Forward(act(m.Up.Forward(x)))
	}
	gate, up := m.Gate.Forward(x), m.Up.Forward(x) // side by side: the planner makes one matmul of them
	return m.Down.Forward(act(gate).Mul(up))
}

// Members lists the projections.
func (m *MLP) Members() []Member {
	list := []Member{{Name: "gate_up_proj", Slot: &m.GateUp}, {Name: "gate_proj", Slot: &m.Gate}, {Name: "up_proj", Slot: &m.Up}}
	if m.Act != nil && m.Act.Members() != nil {
		list = append(list, Member{Name: "act_fn", Part: m.Act})
	}
	return Present(append(list, Member{Name: "down_proj", Slot: &m.Down})...)
}
