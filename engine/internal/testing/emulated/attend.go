package emulated

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// Attention is attention of the library, if there is one. It is computed in this process.
func (d *device) Attention(a gpu.Attention) (gpu.Attending, error) {
	if !d.driver.Library {
		return nil, &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "attention", Text: "no library", Index: -1}
	}
	return &attending{d, a}, nil
}

type attending struct {
	device    *device
	attention gpu.Attention
}

func (m *attending) Name() string   { return "emulated library" }
func (m *attending) Workspace() int { return fake.Workspace }
func (m *attending) Launches() int  { return 1 }
func (m *attending) Close()         {}

// Encode computes it when its turn has come. It writes over its workspace.
func (m *attending) Encode(to gpu.Stream, o *gpu.AttentionOperands) error {
	if err := gpu.CheckAttention(&m.attention, o, fake.Workspace); err != nil {
		return misused("attention", "%v", err)
	}
	from, s := *o, to.(*stream)
	var reads []part
	for _, a := range o.List {
		if a.Buffer == nil {
			continue
		}
		if err := s.device.check(a.Buffer); err != nil {
			return misused("attention", "%v", err)
		}
		reads = append(reads, part{a.Buffer.(*buffer), a.Offset, a.Buffer.Len()})
	}
	s.encode(func() error { return m.run(&from) }, reads...)
	return nil
}

func (m *attending) run(o *gpu.AttentionOperands) error {
	m.device.driver.attentions.Add(1)
	var hosts [kernel.AttentionOperands][]byte
	for i, a := range o.List {
		if a.Buffer == nil {
			continue
		}
		hosts[i] = make([]byte, m.attention.Bytes(i))
		if err := m.device.get(a.Buffer.(*buffer), a.Offset, hosts[i]); err != nil {
			return err
		}
	}
	fake.Attend(&m.attention, hosts)
	results := []int{kernel.AttentionO, kernel.AttentionLSE}
	if m.attention.Gradient {
		results = []int{kernel.AttentionDQ, kernel.AttentionDK, kernel.AttentionDV}
	}
	for _, i := range results {
		if a := o.List[i]; a.Buffer != nil {
			if err := m.device.put(a.Buffer.(*buffer), a.Offset, hosts[i]); err != nil {
				return err
			}
		}
	}
	return m.device.put(o.Workspace.Buffer.(*buffer), o.Workspace.Offset, slices.Repeat([]byte{0xA5}, fake.Workspace))
}
