package driver

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/cctest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// sampleRoutines are each routine, in batches, in each form.
var sampleRoutines = []ir.Routine{
	{Name: ir.CholeskyRoutine, Batches: 2, Rows: 5, Columns: 5},
	{Name: ir.LURoutine, Batches: 2, Rows: 5, Columns: 5},
	{Name: ir.LURoutine, Batches: 1, Rows: 7, Columns: 4},
	{Name: ir.LURoutine, Batches: 1, Rows: 4, Columns: 7},
	{Name: ir.SolveRoutine, Batches: 2, Rows: 5, Columns: 5, Right: 3},
	{Name: ir.SolveRoutine, Batches: 1, Rows: 5, Columns: 5, Right: 1, Upper: true},
	{Name: ir.SolveRoutine, Batches: 1, Rows: 5, Columns: 5, Right: 7, Transposed: true},
	{Name: ir.SolveRoutine, Batches: 2, Rows: 5, Columns: 5, Right: 2, Upper: true, Transposed: true, Unit: true},
	{Name: ir.QRRoutine, Batches: 2, Rows: 5, Columns: 5, Right: 5},
	{Name: ir.QRRoutine, Batches: 2, Rows: 7, Columns: 4, Right: 4},
	{Name: ir.QRRoutine, Batches: 1, Rows: 7, Columns: 4, Right: 7},
	{Name: ir.QRRoutine, Batches: 1, Rows: 4, Columns: 7, Right: 4},
	{Name: ir.EighRoutine, Batches: 2, Rows: 5, Columns: 5, Vectors: true},
	{Name: ir.EighRoutine, Batches: 1, Rows: 5, Columns: 5},
	{Name: ir.SVDRoutine, Batches: 2, Rows: 5, Columns: 5, Vectors: true},
	{Name: ir.SVDRoutine, Batches: 2, Rows: 7, Columns: 4, Vectors: true},
	{Name: ir.SVDRoutine, Batches: 1, Rows: 7, Columns: 4, Vectors: true, Full: true},
	{Name: ir.SVDRoutine, Batches: 1, Rows: 7, Columns: 4},
}

// sources makes the operands of a routine in memory: symmetric positive definite matrices, or any.
func sources(r *ir.Routine) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	list, count := r.Operands()
	memory := make([][]byte, len(list))
	for i := range list {
		memory[i] = make([]byte, r.Bytes(i))
		for at := 0; i < count && at < len(memory[i]); at += 4 {
			binary.LittleEndian.PutUint32(memory[i][at:], math.Float32bits(float32(random.NormFloat64())))
		}
	}
	if n := r.Rows; r.Name == ir.CholeskyRoutine || r.Name == ir.EighRoutine || r.Name == ir.SolveRoutine {
		for b := range r.Batches {
			for i := range n { // one triangle is another, where that is not read
				at := memory[0][4*(b*n*n+i*n+i):]
				binary.LittleEndian.PutUint32(at, math.Float32bits(float32(n)+numbers32(at[:4])[0]))
			}
		}
	}
	return memory
}

func numbers32(b []byte) []float32 {
	list := make([]float32, len(b)/4)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}

// solved computes a routine on a device: its operands afterwards.
func solved(d gpu.Device, r ir.Routine, memory [][]byte) (name string, after [][]byte, err error) {
	by, err := d.(gpu.Solver).Routine(r)
	if err != nil {
		return "", nil, err
	}
	defer by.Close()
	s, err := d.Stream()
	if err != nil {
		return "", nil, err
	}
	defer s.Close()
	o := &gpu.Operands{}
	var staged []gpu.Buffer
	for i, m := range memory {
		host, err := d.Alloc(len(m), gpu.SharedMemory)
		if err != nil {
			return "", nil, err
		}
		own, err := d.Alloc(len(m), gpu.DeviceMemory)
		if err != nil {
			return "", nil, err
		}
		defer host.Free()
		defer own.Free()
		copy(host.Host(), m)
		if err := s.Copy(own, 0, host, 0, len(m)); err != nil {
			return "", nil, err
		}
		staged, o.List[i] = append(staged, host), gpu.Arg{Buffer: own}
	}
	if n := by.Workspace(); n > 0 {
		if o.Workspace.Buffer, err = d.Alloc(n, gpu.DeviceMemory); err != nil {
			return "", nil, err
		}
		defer o.Workspace.Buffer.Free()
	}
	if err := by.Encode(s, o); err != nil {
		return "", nil, err
	}
	for i, host := range staged {
		if err := s.Copy(host, 0, o.List[i].Buffer, 0, host.Len()); err != nil {
			return "", nil, err
		}
	}
	e, err := s.Commit()
	if err != nil {
		return "", nil, err
	}
	defer e.Close()
	err = e.Wait(context.Background(), 30*time.Second)
	for _, host := range staged {
		after = append(after, slices.Clone(host.Host()))
	}
	return by.Name(), after, err
}

// holdRoutine compares what a device computes with what gonum does. The signs of vectors are free.
func holdRoutine(t *testing.T, d gpu.Device, r ir.Routine) {
	t.Helper()
	memory := sources(&r)
	list, count := r.Operands()
	name, after, err := solved(d, r, memory)
	if err != nil {
		t.Errorf("%v: %v", &r, err)
		return
	}
	t.Log(name, &r)
	fake.Solve(&r, memory)
	m, n := r.Rows, r.Columns
	for i, o := range list[count:] {
		at := count + i
		got, want := numbers32(after[at]), numbers32(memory[at])
		switch {
		case o.DType.Size() == 4 && !o.DType.Float():
			if !slices.Equal(after[at], memory[at]) {
				t.Errorf("%v, operand %d: got the integers %v, want %v", &r, at, after[at], memory[at])
			}
			continue
		case r.Name == ir.CholeskyRoutine:
			keep(got, want, n, func(i, j int) bool { return j >= i })
		case r.Name == ir.QRRoutine && i == 0: // Rᵀ
			keep(got, want, m, func(i, j int) bool { return j <= i })
		case (r.Name == ir.EighRoutine || r.Name == ir.SVDRoutine) && i > 0:
			if !r.Vectors {
				continue
			}
			width := o.Shape[1]
			free := r.Full && i == 1 // the vectors beyond those of singular values
			keep(got, want, width, func(i, _ int) bool { return !free || i%o.Shape[0] < n })
			for row := range len(got) / width {
				g, w := got[row*width:][:width], want[row*width:][:width]
				dot := float32(0)
				for k := range g {
					dot += g[k] * w[k]
				}
				for k := range g {
					g[k] = float32(math.Copysign(1, float64(dot))) * g[k]
				}
			}
		}
		for k := range got {
			if diff := math.Abs(float64(got[k] - want[k])); !(diff <= 1e-3*(1+math.Abs(float64(want[k])))) {
				t.Errorf("%v, operand %d %v, element %d:\ngot  %v\nwant %v", &r, at, o, k, got, want)
				break
			}
		}
	}
}

// keep clears what does not count, of matrices whose rows are so wide.
func keep(got, want []float32, width int, counts func(i, j int) bool) {
	for k := range got {
		if !counts(k/width, k%width) {
			got[k], want[k] = 0, 0
		}
	}
}

func TestRoutinesOnGPU(t *testing.T) {
	driver, _ := onGPU(t)
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, r := range sampleRoutines {
		holdRoutine(t, d, r)
	}
}

// TestRoutines: the stand-ins for cuSOLVER and cuBLAS check what they are told, and compute it by columns.
func TestRoutines(t *testing.T) {
	s := newStubWithSolver(t)
	d, err := s.driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range sampleRoutines {
		holdRoutine(t, d, r)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if n := s.ask("solver_live"); n != 0 {
		t.Errorf("%d handles are left", n)
	}
}

// TestNoSolver: without the libraries there is no routine, and the error says what was looked for.
func TestNoSolver(t *testing.T) {
	s := newStub(t)
	s.driver.Cusolver, s.driver.Cublas = []string{"libnosuchcusolver.so"}, []string{"libnosuchcublas.so"}
	d, err := s.driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []ir.RoutineName{ir.LURoutine, ir.SolveRoutine} {
		if _, err := d.(gpu.Solver).Routine(ir.Routine{Name: name, Batches: 1, Rows: 3, Columns: 3, Right: 1}); !errors.Is(err, gpu.Unsupported) {
			t.Errorf("got %v, want an error that says it is unsupported", err)
		}
	}
}

// newStubWithSolver is newStub with cuSOLVER and cuBLAS in the same library.
func newStubWithSolver(t testing.TB) *stub {
	t.Helper()
	if err := ccall.Available(); err != nil {
		t.Skip(err)
	}
	path := cctest.Library(t, "testdata/cuda.c", "testdata/cusolver.c")
	library, err := ccall.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return &stub{library, t, &Driver{Libraries: []string{path}, Cusolver: []string{"libnosuchcusolver.so", path}, Cublas: []string{path}}}
}
