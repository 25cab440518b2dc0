package emulated

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// Multiplication is a product of the library, if there is one. It is computed in this process.
func (d *device) Multiplication(p gpu.Product, alignment, workspace int) (gpu.Computation, error) {
	if !d.driver.Library {
		return nil, &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "multiply", Text: "no library", Index: -1}
	}
	if err := fake.CheckProduct(&p); err != nil {
		return nil, misused("multiply", "%v", err)
	}
	return &computation{d, &p, alignment, []int{kernel.ProductD}, func(scale float32, memory [kernel.AttentionOperands][]byte) {
		d.driver.products.Add(1)
		fake.Multiply(&p, scale, memory)
	}}, nil
}

// Attention is attention of the library, if there is one. It is computed in this process.
func (d *device) Attention(a gpu.Attention) (gpu.Computation, error) {
	if !d.driver.Library {
		return nil, &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "attention", Text: "no library", Index: -1}
	}
	results := []int{kernel.AttentionO, kernel.AttentionLSE}
	if a.Gradient {
		results = []int{kernel.AttentionDQ, kernel.AttentionDK, kernel.AttentionDV}
	}
	return &computation{d, &a, 16, results, func(_ float32, memory [kernel.AttentionOperands][]byte) {
		d.driver.attentions.Add(1)
		fake.Attend(&a, memory)
	}}, nil
}

// Convolution is a convolution of the library, if there is one. It is computed in this process.
func (d *device) Convolution(c gpu.Convolution, workspace int) (gpu.Computation, error) {
	if !d.driver.Library {
		return nil, &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "convolution", Text: "no library", Index: -1}
	}
	return &computation{d, &c, 16, []int{fake.Convolved(&c)}, func(_ float32, memory [kernel.AttentionOperands][]byte) {
		d.driver.convolutions.Add(1)
		fake.Convolve(&c, memory)
	}}, nil
}

// Routine is a routine of the library, if there is one. It is computed in this process.
func (d *device) Routine(r ir.Routine) (gpu.Computation, error) {
	if !d.driver.Library {
		return nil, &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "routine", Text: "no library", Index: -1}
	}
	list, sources := r.Operands()
	var results []int
	for i := sources; i < len(list); i++ {
		results = append(results, i)
	}
	return &computation{d, &r, 4, results, func(_ float32, memory [kernel.AttentionOperands][]byte) { fake.Solve(&r, memory[:]) }}, nil
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
