package emulated

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// Multiplication is a product of the library, if there is one. It is computed in this process.
func (d *device) Multiplication(p gpu.Product, alignment, workspace int) (gpu.Multiplication, error) {
	if !d.driver.Library {
		return nil, &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "multiply", Text: "no library", Index: -1}
	}
	if err := fake.CheckProduct(&p); err != nil {
		return nil, misused("multiply", "%v", err)
	}
	return &multiplication{d, p, alignment}, nil
}

type multiplication struct {
	device    *device
	product   gpu.Product
	alignment int
}

func (m *multiplication) Name() string   { return "emulated library" }
func (m *multiplication) Workspace() int { return fake.Workspace }
func (m *multiplication) Launches() int  { return 1 }
func (m *multiplication) Close()         {}

// Encode computes the product when its turn has come. It writes over its workspace.
func (m *multiplication) Encode(to gpu.Stream, o *gpu.Operands) error {
	if err := gpu.CheckOperands(&m.product, o, m.alignment, fake.Workspace); err != nil {
		return misused("multiply", "%v", err)
	}
	from, s := *o, to.(*stream)
	for _, a := range []gpu.Arg{o.A, o.B, o.C, o.D, o.Bias} {
		if a.Buffer == nil {
			continue
		}
		if err := s.device.check(a.Buffer); err != nil {
			return misused("multiply", "%v", err)
		}
	}
	var reads []part
	for _, a := range []gpu.Arg{o.A, o.B, o.C, o.Bias} {
		if a.Buffer != nil {
			reads = append(reads, part{a.Buffer.(*buffer), a.Offset, a.Buffer.Len()})
		}
	}
	s.encode(func() error { return m.run(&from) }, reads...)
	return nil
}

func (m *multiplication) run(o *gpu.Operands) error {
	m.device.driver.products.Add(1)
	var hosts [5][]byte
	for i, a := range []gpu.Arg{o.A, o.B, o.C, o.D, o.Bias} {
		if a.Buffer == nil {
			continue
		}
		b := a.Buffer.(*buffer)
		hosts[i] = make([]byte, b.bytes-a.Offset)
		if err := m.device.get(b, a.Offset, hosts[i]); err != nil {
			return err
		}
	}
	fake.Multiply(&m.product, o.Scale, hosts[0], hosts[1], hosts[2], hosts[3], hosts[4])
	d, w := o.D.Buffer.(*buffer), o.Workspace.Buffer.(*buffer)
	if err := m.device.put(d, o.D.Offset, hosts[3]); err != nil {
		return err
	}
	garbage := make([]byte, fake.Workspace)
	for i := range garbage {
		garbage[i] = 0xA5
	}
	return m.device.put(w, o.Workspace.Offset, garbage)
}
