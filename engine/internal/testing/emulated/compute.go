package emulated

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// Computation is work of the library, if there is one. It is computed in this process.
func (d *device) Computation(w gpu.Work, alignment, _ int) (gpu.Computation, error) {
	if _, convolves := w.(gpu.Convolution); !d.driver.Library || convolves && d.driver.Columns {
		return nil, &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "compute", Text: "no library", Index: -1}
	}
	c := &computation{device: d, work: w, alignment: alignment}
	switch w := w.(type) {
	case gpu.Product:
		if err := fake.CheckProduct(&w); err != nil {
			return nil, misused("multiply", "%v", err)
		}
		c.results = []int{kernel.ProductD}
		c.compute = func(scale float32, memory [kernel.AttentionOperands][]byte) {
			d.driver.products.Add(1)
			fake.Multiply(&w, scale, memory)
		}
	case gpu.Attention:
		c.results = []int{kernel.AttentionO, kernel.AttentionLSE}
		if w.Gradient {
			c.results = []int{kernel.AttentionDQ, kernel.AttentionDK, kernel.AttentionDV}
		}
		c.compute = func(_ float32, memory [kernel.AttentionOperands][]byte) {
			d.driver.attentions.Add(1)
			fake.Attend(&w, memory)
		}
	case gpu.Convolution:
		c.results = []int{fake.Convolved(&w)}
		c.compute = func(_ float32, memory [kernel.AttentionOperands][]byte) {
			d.driver.convolutions.Add(1)
			fake.Convolve(&w, memory)
		}
	case ir.Routine:
		list, sources := w.Operands()
		c.results = ir.Indices(len(list))[sources:]
		c.alignment = 4
		c.compute = func(_ float32, memory [kernel.AttentionOperands][]byte) { fake.Solve(&w, memory[:]) }
	}
	return c, nil
}

// A computation is work of the library.
type computation struct {
	device    *device
	work      gpu.Work
	alignment int
	results   []int
	compute   func(scale float32, memory [kernel.AttentionOperands][]byte)
}

func (m *computation) Name() string   { return "emulated library" }
func (m *computation) Workspace() int { return fake.Workspace }
func (m *computation) Launches() int  { return 1 }
func (m *computation) Close()         {}

// Encode computes it when its turn has come. It writes over its workspace.
func (m *computation) Encode(to gpu.Stream, o *gpu.Operands) error {
	if err := gpu.CheckOperands(m.work, o, m.alignment, fake.Workspace); err != nil {
		return misused("compute", "%v", err)
	}
	from, s := *o, to.(*stream)
	var reads []part
	for i, a := range o.List {
		if a.Buffer == nil {
			continue
		}
		if err := s.device.check(a.Buffer); err != nil {
			return misused("compute", "%v", err)
		}
		if !slices.Contains(m.results, i) {
			reads = append(reads, part{a.Buffer.(*buffer), a.Offset, a.Buffer.Len()})
		}
	}
	s.encode(func() error { return m.run(&from) }, reads...)
	return nil
}

func (m *computation) run(o *gpu.Operands) error {
	var memory [kernel.AttentionOperands][]byte
	for i, a := range o.List {
		if a.Buffer == nil {
			continue
		}
		memory[i] = make([]byte, m.work.Bytes(i))
		if err := m.device.get(a.Buffer.(*buffer), a.Offset, memory[i]); err != nil {
			return err
		}
	}
	m.compute(o.Scale, memory)
	for _, i := range m.results {
		if a := o.List[i]; a.Buffer != nil {
			if err := m.device.put(a.Buffer.(*buffer), a.Offset, memory[i]); err != nil {
				return err
			}
		}
	}
	return m.device.put(o.Workspace.Buffer.(*buffer), o.Workspace.Offset, slices.Repeat([]byte{0xA5}, fake.Workspace))
}
