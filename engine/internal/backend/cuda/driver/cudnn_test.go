package driver

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/cctest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// newStubWithDnn is newStub with cuDNN in the same library.
func newStubWithDnn(t testing.TB) *stub {
	t.Helper()
	if err := ccall.Available(); err != nil {
		t.Skip(err)
	}
	path := cctest.Library(t, "testdata/cuda.c", "testdata/cudnn.c")
	library, err := ccall.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return &stub{library, t, &Driver{Libraries: []string{path}, Cudnn: []string{"libnosuchcudnn.so", path}}}
}

// attentionOf is attention of heads that share keys in twos, whose rows lie one after the other.
func attentionOf(heads, queries, keys int, change func(a *gpu.Attention)) gpu.Attention {
	const width, depth = 8, 16
	a := gpu.Attention{DType: dtype.F16, Batches: 2, Heads: heads, KeyHeads: max(1, heads/2), Queries: queries, Keys: keys, Width: width, Depth: depth, Scale: 0.4}
	for i := range a.At {
		heads, rows, width := a.Shape(i)
		a.At[i] = [3]int{heads * rows * width, rows * width, width}
	}
	change(&a)
	return a
}

// sampleAttentions are described as package kernel does it.
func sampleAttentions() map[string]gpu.Attention {
	same := func(*gpu.Attention) {}
	causal := func(a *gpu.Attention) { a.Causal = true }
	biased := func(a *gpu.Attention, heads int) { // one bias for all heads, or one for each
		a.Biased = true
		a.At[kernel.AttentionBias] = [3]int{heads * a.Queries * 16, heads / 2 * a.Queries * 16, 16}
	}
	gradient := func(a *gpu.Attention) { a.Gradient, a.Stats = true, true }
	beside := func(a *gpu.Attention, operands ...int) {
		for _, i := range operands {
			heads, rows, width := a.Shape(i)
			a.At[i] = [3]int{rows * heads * width, width, heads * width}
		}
	}
	return map[string]gpu.Attention{
		"plain":                           attentionOf(2, 5, 7, same),
		"with a logsumexp":                attentionOf(2, 5, 7, func(a *gpu.Attention) { a.Stats = true }),
		"causal":                          attentionOf(4, 6, 6, causal),
		"causal, bf16":                    attentionOf(1, 6, 6, func(a *gpu.Attention) { causal(a); a.DType = dtype.BF16 }),
		"a window":                        attentionOf(2, 7, 7, func(a *gpu.Attention) { causal(a); a.Window = 3; a.Stats = true }),
		"biased":                          attentionOf(2, 5, 7, func(a *gpu.Attention) { biased(a, 1); a.Stats = true }),
		"biases of heads, causal":         attentionOf(2, 6, 6, func(a *gpu.Attention) { biased(a, 2); causal(a) }),
		"a bias of batches, gradient":     attentionOf(4, 5, 5, func(a *gpu.Attention) { biased(a, 0); gradient(a); causal(a) }),
		"capped":                          attentionOf(2, 7, 7, func(a *gpu.Attention) { causal(a); a.Cap = 0.7 }),
		"capped, with a window, gradient": attentionOf(2, 4, 7, func(a *gpu.Attention) { gradient(a); causal(a); a.Window, a.Cap = 2, 0.7 }),
		"a window at the end, gradient":   attentionOf(2, 4, 7, func(a *gpu.Attention) { gradient(a); causal(a); a.Window = 2 }),
		"queries at the end of the keys":  attentionOf(2, 3, 7, causal),
		"heads beside each other": attentionOf(2, 5, 7, func(a *gpu.Attention) {
			beside(a, kernel.AttentionQ, kernel.AttentionO)
		}),
		"gradients of heads beside each other": attentionOf(4, 5, 5, func(a *gpu.Attention) {
			gradient(a)
			beside(a, kernel.AttentionO, kernel.AttentionDQ, kernel.AttentionDK, kernel.AttentionDV)
		}),
		"gradient":                  attentionOf(1, 5, 7, gradient),
		"gradient of grouped heads": attentionOf(4, 5, 5, func(a *gpu.Attention) { gradient(a); causal(a) }),
		"gradient, at the end":      attentionOf(2, 3, 6, func(a *gpu.Attention) { gradient(a); causal(a); a.DType = dtype.BF16 }),
	}
}

// An attendedMemory is a device with operands for an attention.
type attendedMemory struct {
	device    *device
	stream    *stream
	attention gpu.Attention
	operands  gpu.Operands
}

func newAttended(t *testing.T, s *stub, a gpu.Attention, workspace int) *attendedMemory {
	t.Helper()
	d, st := s.open()
	m := &attendedMemory{device: d, stream: st, attention: a}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.operands.List {
		if !a.Has(i) {
			continue
		}
		buffer, err := d.Alloc(a.Bytes(i)+16, gpu.SharedMemory)
		if err != nil {
			t.Fatal(err)
		}
		m.operands.List[i] = gpu.Arg{Buffer: buffer, Offset: 16}
		memory := buffer.Host()[:0]
		for range buffer.Len() / 2 {
			memory = ir.Append(a.DType, memory, ir.Scalar{F: r.NormFloat64()})
		}
	}
	space, err := d.Alloc(workspace, gpu.DeviceMemory)
	if err != nil {
		t.Fatal(err)
	}
	m.operands.Workspace = gpu.Arg{Buffer: space}
	return m
}

// results are the operands that are written.
func (m *attendedMemory) results() []int {
	switch {
	case m.attention.Gradient:
		return []int{kernel.AttentionDQ, kernel.AttentionDK, kernel.AttentionDV}
	case m.attention.Stats:
		return []int{kernel.AttentionO, kernel.AttentionLSE}
	}
	return []int{kernel.AttentionO}
}

// want computes the memory of all operands. A gradient gets the o and the logsumexp of its q, k and v.
func (m *attendedMemory) want() (memory [kernel.AttentionOperands][]byte) {
	for i, a := range m.operands.List {
		if a.Buffer != nil {
			memory[i] = a.Buffer.Host()[a.Offset:]
		}
	}
	if m.attention.Gradient {
		forward := m.attention
		forward.Gradient = false
		fake.Attend(&forward, memory)
	}
	for i := range memory {
		memory[i] = slices.Clone(memory[i])
	}
	fake.Attend(&m.attention, memory)
	return memory
}

// right compares the results, but for some roundings.
func (m *attendedMemory) right(t *testing.T, want [kernel.AttentionOperands][]byte) {
	t.Helper()
	for _, i := range m.results() {
		dt := m.attention.DType
		tolerance := map[dtype.Type]float64{dtype.F16: 2e-3, dtype.BF16: 2e-2}[dt]
		if i == kernel.AttentionLSE {
			dt, tolerance = dtype.F32, 1e-5
		}
		a := m.operands.List[i]
		got := a.Buffer.Host()[a.Offset:]
		for at := 0; at < m.attention.Bytes(i); at += dt.Size() {
			g, w := ir.Load(dt, got[at:]).F, ir.Load(dt, want[i][at:]).F
			if !(math.Abs(g-w) <= tolerance*max(1, math.Abs(w))) {
				t.Fatalf("operand %d: got %g at byte %d, want %g", i, g, at, w)
			}
		}
	}
}

func (m *attendedMemory) free() {
	for _, a := range append(m.operands.List[:], m.operands.Workspace) {
		if a.Buffer != nil {
			a.Buffer.Free()
		}
	}
}

// commit hands the work over and waits for it.
func (m *attendedMemory) commit(t *testing.T) {
	t.Helper()
	e, err := m.stream.Commit()
	if err == nil {
		err = e.Wait(t.Context(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAttending: the graph that cuDNN is told is attention, and its gradient; called at once, and from a
// graph of CUDA's.
func TestAttending(t *testing.T) {
	for name, a := range sampleAttentions() {
		t.Run(name, func(t *testing.T) {
			s := newStubWithDnn(t)
			m := newAttended(t, s, a, 1<<14)
			want := m.want()
			by, err := m.device.Attention(a)
			if err != nil {
				t.Fatal(err)
			}
			if by.Name() != "cudnn 9.19.0" || by.Workspace() < 4096 {
				t.Errorf("got %q, %d bytes", by.Name(), by.Workspace())
			}
			if err := by.Encode(m.stream, &m.operands); err != nil {
				t.Fatal(err)
			}
			m.commit(t)
			m.right(t, want)
			m.stream.Record()
			if err := by.Encode(m.stream, &m.operands); err != nil {
				t.Fatal(err)
			}
			g, err := m.stream.Finish()
			if err != nil || g.Launches() != 1 {
				t.Fatalf("got %v, %v, want a graph of one launch", g, err)
			}
			for _, i := range m.results() {
				clear(m.operands.List[i].Buffer.Host())
			}
			if err := g.Replay(m.stream); err != nil {
				t.Fatal(err)
			}
			m.commit(t)
			m.right(t, want)
			g.Close()
			m.free()
			by.Close()
			if err := m.stream.Close(); err != nil {
				t.Error(err)
			}
			if err := m.device.Close(); err != nil {
				t.Error(err)
			}
			s.clean(name)
			if live := s.ask("dnn_live"); live != 0 {
				t.Errorf("%d of cuDNN's objects are left", live)
			}
		})
	}
}

// TestAttendingFails: attention that no engine has, operands that do not fit, a call that fails, and a
// library that is not there, too old or too new.
func TestAttendingFails(t *testing.T) {
	s := newStubWithDnn(t)
	a := sampleAttentions()["causal"]
	m := newAttended(t, s, a, 4096)
	s.ask("dnn_refuse", ^uintptr(0))
	if _, err := m.device.Attention(a); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "causal attention, 2×4 heads on 2, 6 by 6 of f16, width 8 and 16: cudnn 9.19.0 has no engine") {
		t.Errorf("got %v, want the attention that is not supported", err)
	}
	s.ask("dnn_refuse", 4) // both answers of both modes
	if _, err := m.device.Attention(a); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "this engine lacks it") {
		t.Errorf("got %v, want what the engines say", err)
	}
	s.ask("dnn_refuse", 1)
	by, err := m.device.Attention(a)
	if err != nil {
		t.Fatalf("got %v, want the second engine", err)
	}
	for name, change := range map[string]func(o *gpu.Operands){
		"q is cut off":     func(o *gpu.Operands) { o.List[kernel.AttentionQ].Offset += 16 },
		"no v":             func(o *gpu.Operands) { o.List[kernel.AttentionV] = gpu.Arg{} },
		"not aligned":      func(o *gpu.Operands) { o.List[kernel.AttentionO].Offset -= 8 },
		"little workspace": func(o *gpu.Operands) { o.Workspace.Offset = 256 },
	} {
		o := m.operands
		change(&o)
		if err := by.Encode(m.stream, &o); !errors.Is(err, gpu.Misuse) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	m.stream.Fill(m.operands.List[kernel.AttentionO].Buffer, 0, 16, 0)
	by.Encode(m.stream, &m.operands)
	by.Encode(m.stream, &m.operands)
	by.Encode(m.stream, &m.operands)
	call := ccall.CString("stub_enqueue")
	s.ask("fail", uintptr(unsafe.Pointer(call)), 1, 1)
	runtime.KeepAlive(call)
	_, err = m.stream.Commit()
	var e *gpu.Error
	if !errors.As(err, &e) || e.Op != "cudnnBackendExecute" || e.Index != 2 {
		t.Errorf("got %v, want cudnnBackendExecute, the work with index 2", err)
	}
	m.free()
	by.Close()
	m.device.Close()
	s.clean("failures")
	if live := s.ask("dnn_live"); live != 0 {
		t.Errorf("%d of cuDNN's objects are left, want the packs of all calls discarded", live)
	}

	without := newStub(t)
	d, _ := without.open()
	if _, err := d.Attention(a); !errors.Is(err, gpu.Unsupported) {
		t.Errorf("got %v without a library", err)
	}
	d.Close()
	old := newStubWithDnn(t)
	old.ask("version", 11080)
	d, _ = old.open()
	if _, err := d.Attention(a); err == nil || !strings.Contains(err.Error(), "is of CUDA 12, want at most that of the driver, 11.8") {
		t.Errorf("got %v, want the versions", err)
	}
	d.Close()
	early := newStubWithDnn(t)
	early.ask("dnn_version", 90501)
	d, _ = early.open()
	if _, err := d.Attention(a); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "is cudnn 9.5.1, want 9.10 or later") {
		t.Errorf("got %v, want the version", err)
	}
	d.Close()
}

// TestPackages: a library is found in the folders of Python's packages, after those that the system finds.
func TestPackages(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "lib/python3.12/site-packages/nvidia/cudnn/lib")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s := newStubWithDnn(t)
	if err := os.Symlink(s.driver.Cudnn[1], filepath.Join(folder, "libnosuchcudnn.so")); err != nil {
		t.Fatal(err)
	}
	s.driver.Cudnn = s.driver.Cudnn[:1]
	s.driver.Packages = pythons("", filepath.Join(root, "none"), root)
	d, _ := s.open()
	if got := d.Info().Libraries; !slices.Equal(got, []string{"cudnn 9.19.0"}) {
		t.Errorf("got %q", got)
	}
	if _, err := d.Attention(sampleAttentions()["plain"]); err != nil {
		t.Error(err)
	}
	d.Close()
}

// TestInterruptedPlan: a Ctrl-C while the library compiles does not reach the handlers that it installs; the
// next one reaches ours.
func TestInterruptedPlan(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no cuDNN on " + runtime.GOOS)
	}
	s := newStubWithDnn(t)
	pressed := make(chan os.Signal, 8)
	signal.Notify(pressed, os.Interrupt)
	defer signal.Stop(pressed)
	d, _ := s.open()
	defer d.Close()
	s.ask("dnn_interrupt", 1)
	for range 3 {
		by, err := d.Attention(sampleAttentions()["plain"])
		if err != nil {
			t.Fatal(err)
		}
		by.Close()
	}
	select {
	case <-pressed:
		t.Error("it came while a plan was made")
	case <-time.After(100 * time.Millisecond):
	}
	process, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = process.Signal(os.Interrupt)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-pressed:
	case <-time.After(10 * time.Second):
		t.Fatal("a Ctrl-C after that is lost")
	}
}
