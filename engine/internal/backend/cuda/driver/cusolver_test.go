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

	"github.com/mcs-notebook/mcs/engine/dtype"
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
	{Name: ir.CholeskyRoutine, Batches: 1, Rows: 5, Columns: 5},
	{Name: ir.LURoutine, Batches: 1, Rows: 5, Columns: 5},
	{Name: ir.LURoutine, Batches: 2, Rows: 7, Columns: 4},
	{Name: ir.LURoutine, Batches: 1, Rows: 4, Columns: 7},
	{Name: ir.SolveRoutine, Batches: 2, Rows: 5, Columns: 5, Right: 3},
	{Name: ir.SolveRoutine, Batches: 1, Rows: 5, Columns: 5, Right: 1, Upper: true},
	{Name: ir.SolveRoutine, Batches: 1, Rows: 5, Columns: 5, Right: 7, Transposed: true},
	{Name: ir.SolveRoutine, Batches: 2, Rows: 5, Columns: 5, Right: 2, Upper: true, Transposed: true, Unit: true},
	{Name: ir.SolveRoutine, Batches: 2, Rows: 64, Columns: 64, Right: 2},
	{Name: ir.QRRoutine, Batches: 2, Rows: 5, Columns: 5, Right: 5},
	{Name: ir.QRRoutine, Batches: 2, Rows: 7, Columns: 4, Right: 4},
	{Name: ir.QRRoutine, Batches: 1, Rows: 7, Columns: 4, Right: 7},
	{Name: ir.QRRoutine, Batches: 1, Rows: 4, Columns: 7, Right: 4},
	{Name: ir.EighRoutine, Batches: 2, Rows: 5, Columns: 5, Vectors: true},
	{Name: ir.EighRoutine, Batches: 1, Rows: 5, Columns: 5, Vectors: true},
	{Name: ir.EighRoutine, Batches: 1, Rows: 5, Columns: 5},
	{Name: ir.SVDRoutine, Batches: 2, Rows: 5, Columns: 5, Vectors: true},
	{Name: ir.SVDRoutine, Batches: 1, Rows: 5, Columns: 5, Vectors: true},
	{Name: ir.SVDRoutine, Batches: 2, Rows: 7, Columns: 4, Vectors: true},
	{Name: ir.SVDRoutine, Batches: 1, Rows: 7, Columns: 4, Vectors: true, Full: true},
	{Name: ir.SVDRoutine, Batches: 1, Rows: 7, Columns: 4},
	{Name: ir.FFTRoutine, Batches: 3, Rows: 1, Columns: 16},
	{Name: ir.FFTRoutine, Batches: 1, Rows: 6, Columns: 35},
	{Name: ir.IFFTRoutine, Batches: 2, Rows: 1, Columns: 37},
	{Name: ir.IFFTRoutine, Batches: 2, Rows: 5, Columns: 4},
	{Name: ir.RFFTRoutine, Batches: 3, Rows: 1, Columns: 12},
	{Name: ir.RFFTRoutine, Batches: 3, Rows: 1, Columns: 13},
	{Name: ir.RFFTRoutine, Batches: 2, Rows: 6, Columns: 10},
	{Name: ir.RFFTRoutine, Batches: 1, Rows: 5, Columns: 7},
	{Name: ir.IRFFTRoutine, Batches: 2, Rows: 1, Columns: 12},
	{Name: ir.IRFFTRoutine, Batches: 3, Rows: 1, Columns: 13},
	{Name: ir.IRFFTRoutine, Batches: 1, Rows: 1, Columns: 1},
	{Name: ir.FFTRoutine, Batches: 4, Rows: 1, Columns: 1},
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
	for at := 0; r.Name == ir.IRFFTRoutine && at < len(memory[0]); at += 8 * (r.Columns/2 + 1) {
		clear(memory[0][at+4:][:4])
		if r.Columns%2 == 0 {
			clear(memory[0][at+4*r.Columns+4:][:4])
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
	by, err := d.(gpu.Librarian).Computation(r, 16, 0)
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
	list, _ := r.Operands()
	tables := 0
	for i, m := range memory {
		host, err := d.Alloc(len(m), gpu.SharedMemory)
		if err != nil {
			return "", nil, err
		}
		at := 0
		if i == 0 && r.Name == ir.RFFTRoutine { // not where a pair may begin
			at = r.Columns % 2 * 4
		}
		own, err := d.Alloc(len(m)+at, gpu.DeviceMemory)
		if err != nil {
			return "", nil, err
		}
		defer host.Free()
		defer own.Free()
		copy(host.Host(), m)
		if list[i].DType == dtype.I64 {
			of := r.Addressed()[tables]
			tables++
			for b := range r.Batches {
				at := o.List[of].Buffer.Address() + uint64(b*list[of].Bytes())
				binary.LittleEndian.PutUint64(host.Host()[8*b:], at)
			}
		}
		if err := s.Copy(own, at, host, 0, len(m)); err != nil {
			return "", nil, err
		}
		staged, o.List[i] = append(staged, host), gpu.Arg{Buffer: own, Offset: at}
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
		if err := s.Copy(host, 0, o.List[i].Buffer, o.List[i].Offset, host.Len()); err != nil {
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
	for i := range count {
		if !slices.Equal(after[i], memory[i]) {
			t.Errorf("%v: source %d was written over", &r, i)
		}
	}
	fake.Solve(&r, memory)
	m, n := r.Rows, r.Columns
	for i, o := range list[count:] {
		at := count + i
		got, want := numbers32(after[at]), numbers32(memory[at])
		switch {
		case o.DType == dtype.I64:
			continue
		case o.DType == dtype.I32:
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

// TestRoutines: the stand-ins for cuSOLVER, cuBLAS and cuFFT check what they are told, and compute it.
func TestRoutines(t *testing.T) {
	s := newStubWithSolver(t)
	d, err := s.driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Info().Libraries; !slices.Equal(got, []string{"cublas 12.8.4", "cusolver 11.7.5", "cufft 11.4.1"}) {
		t.Errorf("got the libraries %q", got)
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

// TestPlans: plans are kept for the shapes that were used last.
func TestPlans(t *testing.T) {
	s := newStubWithSolver(t)
	d, err := s.driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	made := func(n int) int {
		holdRoutine(t, d, ir.Routine{Name: ir.FFTRoutine, Batches: 1, Rows: 1, Columns: n})
		return int(s.ask("plans"))
	}
	for n := 1; n <= mostPlans+10; n++ {
		if got := made(n); got != n {
			t.Fatalf("got %d plans after %d shapes", got, n)
		}
		if got := s.ask("solver_live"); got > mostPlans {
			t.Fatalf("%d plans are alive, want %d at most", got, mostPlans)
		}
	}
	if got := made(11); got != mostPlans+10 {
		t.Errorf("the plan of a shape that was used among the last %d is made again", mostPlans)
	}
	if got := made(1); got != mostPlans+11 {
		t.Errorf("got %d plans, want that of the first shape made again", got)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if n := s.ask("solver_live"); n != 0 {
		t.Errorf("%d plans are left", n)
	}
}

// TestNoSolver: without the libraries there is no routine, and the error says what was looked for.
func TestNoSolver(t *testing.T) {
	s := newStub(t)
	s.driver.Cusolver, s.driver.Cublas, s.driver.Cufft = []string{"libnosuchcusolver.so"}, []string{"libnosuchcublas.so"}, []string{"libnosuchcufft.so"}
	d, err := s.driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []ir.RoutineName{ir.LURoutine, ir.SolveRoutine, ir.FFTRoutine} {
		if _, err := d.(gpu.Librarian).Computation(ir.Routine{Name: name, Batches: 1, Rows: 3, Columns: 3, Right: 1}, 16, 0); !errors.Is(err, gpu.Unsupported) {
			t.Errorf("got %v, want an error that says it is unsupported", err)
		}
	}
}

// newStubWithSolver is newStub with cuSOLVER, cuBLAS and cuFFT in the same library.
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
	return &stub{library, t, &Driver{Libraries: []string{path}, Cusolver: []string{"libnosuchcusolver.so", path}, Cublas: []string{path}, Cufft: []string{path}}}
}
