package driver

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// convolutionOf is a convolution of images of 7×6, whose operands lie in C order.
func convolutionOf(op ir.Op, dt dtype.Type, groups int, window ir.Window) gpu.Convolution {
	const images, channels, results = 2, 4, 6
	c := gpu.Convolution{Op: op, DType: dt, Groups: groups, Windows: [2]ir.Window{window, window}}
	c.Shape = [kernel.ConvolutionOperands][4]int{{images, channels, 7, 6}, {results, channels / groups, window.Kernel, window.Kernel}, {images, results, window.Count(7), window.Count(6)}}
	for i := range c.At {
		copy(c.At[i][:], ir.Contiguous(c.Shape[i][:]).Stride)
	}
	return c
}

// sampleConvolutions are described as package kernel does it.
func sampleConvolutions() map[string]gpu.Convolution {
	plain := ir.Window{Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}
	last := convolutionOf(ir.Conv, dtype.BF16, 1, plain)
	for i := range last.At { // channels last
		s := last.Shape[i]
		last.At[i] = [4]int{s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]}
	}
	list := map[string]gpu.Convolution{"channels last": last}
	for _, op := range []ir.Op{ir.Conv, ir.ConvTranspose, ir.ConvWeight} {
		list[op.String()] = convolutionOf(op, dtype.F32, 1, plain)
		list[op.String()+" of f16"] = convolutionOf(op, dtype.F16, 1, plain)
		list[op.String()+", stride, groups"] = convolutionOf(op, dtype.F32, 2, ir.Window{Kernel: 3, Stride: 2, Before: 1, After: 1, Dilation: 1})
		list[op.String()+", dilation, uneven zeros"] = convolutionOf(op, dtype.F32, 1, ir.Window{Kernel: 2, Stride: 1, Before: 1, After: 2, Dilation: 3})
	}
	return list
}

// A convolved is a device with operands for a convolution, and what the result must be.
type convolved struct {
	device   *device
	stream   *stream
	operands gpu.Operands
	result   []byte
	want     []byte
}

func newConvolved(t *testing.T, s *stub, c gpu.Convolution) *convolved {
	t.Helper()
	m := &convolved{}
	m.device, m.stream = s.open()
	r := rand.New(rand.NewPCG(1, 2))
	var memory [kernel.AttentionOperands][]byte
	for i := range kernel.ConvolutionOperands {
		buffer, err := m.device.Alloc(c.Bytes(i)+16, gpu.SharedMemory)
		if err != nil {
			t.Fatal(err)
		}
		m.operands.List[i] = gpu.Arg{Buffer: buffer, Offset: 16}
		memory[i] = buffer.Host()[:0]
		for range buffer.Len() / c.DType.Size() {
			memory[i] = ir.Append(c.DType, memory[i], ir.Scalar{F: r.NormFloat64()})
		}
		memory[i] = memory[i][16:]
	}
	m.result = memory[fake.Convolved(&c)][:c.Bytes(fake.Convolved(&c))]
	m.want = slices.Clone(m.result)
	memory[fake.Convolved(&c)] = m.want
	fake.Convolve(&c, memory)
	space, err := m.device.Alloc(4096, gpu.DeviceMemory)
	if err != nil {
		t.Fatal(err)
	}
	m.operands.Workspace = gpu.Arg{Buffer: space}
	return m
}

// compute runs the work and compares the result.
func (m *convolved) compute(t *testing.T, by gpu.Computation, dt dtype.Type) {
	t.Helper()
	clear(m.result)
	if err := by.Encode(m.stream, &m.operands); err != nil {
		t.Fatal(err)
	}
	e, err := m.stream.Commit()
	if err == nil {
		err = e.Wait(t.Context(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(m.want); at += dt.Size() {
		if g, w := ir.Load(dt, m.result[at:]).F, ir.Load(dt, m.want[at:]).F; !(math.Abs(g-w) <= 1e-2*max(1, math.Abs(w))) {
			t.Fatalf("got %g at byte %d, want %g", g, at, w)
		}
	}
}

// close checks that nothing is left.
func (m *convolved) close(t *testing.T, s *stub, by gpu.Computation) {
	t.Helper()
	for _, a := range append(m.operands.List[:kernel.ConvolutionOperands], m.operands.Workspace) {
		a.Buffer.Free()
	}
	if by != nil {
		by.Close()
	}
	if err := errors.Join(m.stream.Close(), m.device.Close()); err != nil {
		t.Error(err)
	}
	s.clean(t.Name())
	if live := s.ask("dnn_live"); live != 0 {
		t.Errorf("%d of cuDNN's objects are left", live)
	}
}

// TestConvolving: the graph that cuDNN is told is the convolution.
func TestConvolving(t *testing.T) {
	for name, c := range sampleConvolutions() {
		t.Run(name, func(t *testing.T) {
			s := newStubWithDnn(t)
			m := newConvolved(t, s, c)
			by, err := m.device.Convolution(c, 4096)
			if err != nil {
				t.Fatal(err)
			}
			if by.Name() != "cudnn 9.19.0, engine 7" || by.Workspace() != 4096 {
				t.Errorf("got %q, %d bytes", by.Name(), by.Workspace())
			}
			m.compute(t, by, c.DType)
			m.close(t, s, by)
		})
	}
}

// TestEngines: which of the engines computes a convolution, by what the library notes about them and by the
// time that they take.
func TestEngines(t *testing.T) {
	const tensorCores, rounds, fft, anyOrder, winograd = 0, 2, 3, 4, 5
	tf32 := sampleConvolutions()["conv"]
	tf32.TF32 = true
	f32, f16 := sampleConvolutions()["conv"], sampleConvolutions()["conv of f16"]
	for _, c := range []struct {
		name  string
		of    gpu.Convolution
		notes []int
		times []int // nil: they are not timed
		want  string
	}{
		{"f32", f32, []int{tensorCores, rounds, anyOrder, winograd}, nil, "10"},
		{"tf32", tf32, []int{anyOrder, tensorCores}, nil, "8"},
		{"f16", f16, []int{winograd, fft, rounds, tensorCores}, nil, "10"},
		{"none", f16, []int{anyOrder, winograd}, nil, ""},
		{"the fastest", f32, []int{9, fft, tensorCores, winograd}, []int{40, 30, 10, 20}, "10"},
		{"the first does not run", f32, []int{9, 9, 9}, []int{-1, 30, 20}, "9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStubWithDnn(t)
			s.ask("dnn_engines", uintptr(len(c.notes)))
			for i, note := range c.notes {
				s.ask("dnn_notes", uintptr(i), uintptr(note))
			}
			for i, us := range c.times {
				s.ask("dnn_takes", uintptr(i), uintptr(us))
			}
			m := newConvolved(t, s, c.of)
			folder := t.TempDir()
			for range 2 { // the second time as it was noted
				by, err := m.device.Convolution(c.of, 4096)
				if c.want == "" {
					if !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "engine 8 is refused") {
						t.Errorf("got %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if c.times != nil {
					by.(gpu.Chooser).Choose(folder)
				}
				if want := "cudnn 9.19.0, engine " + c.want; by.Name() != want {
					t.Errorf("got %s, want %s", by.Name(), want)
				}
				m.compute(t, by, c.of.DType)
				by.Close()
				for i := range c.times {
					s.ask("dnn_takes", uintptr(i), uintptr(10*(8-i)))
				}
			}
			m.close(t, s, nil)
		})
	}
}

// TestConvolvingFails: a workspace that is too large, operands that do not fit, and no library.
func TestConvolvingFails(t *testing.T) {
	s := newStubWithDnn(t)
	c := sampleConvolutions()["conv"]
	m := newConvolved(t, s, c)
	if _, err := m.device.Convolution(c, 4095); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "engine 7 wants 4096 bytes of workspace, may have 4095") {
		t.Errorf("got %v", err)
	}
	by, err := m.device.Convolution(c, 4096)
	if err != nil {
		t.Fatal(err)
	}
	o := m.operands
	o.List[kernel.ConvolutionX].Offset -= 8
	if err := by.Encode(m.stream, &o); !errors.Is(err, gpu.Misuse) {
		t.Errorf("got %v, want the alignment", err)
	}
	m.close(t, s, by)
	d, _ := newStub(t).open()
	if _, err := d.Convolution(c, 4096); !errors.Is(err, gpu.Unsupported) {
		t.Errorf("got %v without a library", err)
	}
	d.Close()
}
