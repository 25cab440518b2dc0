package driver

import (
	"math"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A cusolver is NVIDIA's library of linear algebra, by its functions for f32 with lengths of 32 bits: those
// with lengths of 64 bits want more arguments than a call has. Triangular equations are cuBLAS's, which comes
// with it.
//
// The libraries' matrices lie by columns. A matrix of ours is there its transposed one: a lower triangle is
// an upper one, and a·x = b is xᵀ·aᵀ = bᵀ.
type cusolver struct {
	*vendor           // its handle is for questions alone, which other goroutines may ask while work is encoded
	asking            sync.Mutex
	works             uintptr // the handle that work is encoded with
	jacobi, cyclic    uintptr // how singular values are iterated, and eigenvalues of many matrices
	create            ccall.Func
	destroy           ccall.Func
	setStream         ccall.Func
	createJacobi      ccall.Func
	destroyJacobi     ccall.Func
	createCyclic      ccall.Func
	destroyCyclic     ccall.Func
	potrfs            ccall.Func // of many matrices, as are those below
	syevjs, syevjsN   ccall.Func
	gesvdjs, gesvdjsN ccall.Func
	potrf, getrf      ccall.Func
	geqrf, orgqr      ccall.Func
	syevd, gesvdj     ccall.Func
	potrfN, getrfN    ccall.Func // how many elements of work they need
	geqrfN, orgqrN    ccall.Func
	syevdN            ccall.Func
	gesvdjN           ccall.Func
}

// A cublas is NVIDIA's library of products and triangular equations.
type cublas struct {
	*vendor
	create, destroy, setStream, trsm ccall.Func
	trsms, getrfs                    ccall.Func // of many matrices
}

// openSolvers opens the library.
func (d *device) openSolvers() (*cusolver, error) {
	return d.solvers.open(d, "cusolver", d.driver.Cusolver, func(library *ccall.Library, by *vendor, v version) (*cusolver, error) {
		l := &cusolver{vendor: by}
		l.codes = solverStatuses
		if err := lookUp(library, map[string]*ccall.Func{"cusolverDnCreate": &l.create, "cusolverDnDestroy": &l.destroy, "cusolverDnSetStream": &l.setStream,
			"cusolverDnCreateGesvdjInfo": &l.createJacobi, "cusolverDnDestroyGesvdjInfo": &l.destroyJacobi,
			"cusolverDnSpotrf": &l.potrf, "cusolverDnSpotrf_bufferSize": &l.potrfN, "cusolverDnSgetrf": &l.getrf, "cusolverDnSgetrf_bufferSize": &l.getrfN,
			"cusolverDnSgeqrf": &l.geqrf, "cusolverDnSgeqrf_bufferSize": &l.geqrfN, "cusolverDnSorgqr": &l.orgqr, "cusolverDnSorgqr_bufferSize": &l.orgqrN,
			"cusolverDnSsyevd": &l.syevd, "cusolverDnSsyevd_bufferSize": &l.syevdN, "cusolverDnSgesvdj": &l.gesvdj, "cusolverDnSgesvdj_bufferSize": &l.gesvdjN,
			"cusolverDnCreateSyevjInfo": &l.createCyclic, "cusolverDnDestroySyevjInfo": &l.destroyCyclic, "cusolverDnSpotrfBatched": &l.potrfs,
			"cusolverDnSsyevjBatched": &l.syevjs, "cusolverDnSsyevjBatched_bufferSize": &l.syevjsN,
			"cusolverDnSgesvdjBatched": &l.gesvdjs, "cusolverDnSgesvdjBatched_bufferSize": &l.gesvdjsN}); err != nil {
			return nil, err
		}
		l.encodes = map[ccall.Func]encoded{l.setStream: {"cusolverDnSetStream", isSetting}, l.potrf: {"cusolverDnSpotrf", isWork}, l.getrf: {"cusolverDnSgetrf", isWork},
			l.geqrf: {"cusolverDnSgeqrf", isWork}, l.orgqr: {"cusolverDnSorgqr", isWork}, l.syevd: {"cusolverDnSsyevd", isWork}, l.gesvdj: {"cusolverDnSgesvdj", isWork},
			l.potrfs: {"cusolverDnSpotrfBatched", isWork}, l.syevjs: {"cusolverDnSsyevjBatched", isWork}, l.gesvdjs: {"cusolverDnSgesvdjBatched", isWork}}
		cuda := 11 // of 11 and 12
		if v[0] >= 12 {
			cuda = int(v[0]) + 1
		}
		if err := d.fits(library, cuda); err != nil {
			return nil, err
		}
		if err := l.begin("cusolverDn", l.create, l.destroy); err != nil {
			return nil, err
		}
		made := new([3]uintptr)
		if err := l.do("cusolverDnCreate", l.create, uintptr(unsafe.Pointer(&made[0]))); err != nil {
			return nil, err
		}
		if err := l.do("cusolverDnCreateGesvdjInfo", l.createJacobi, uintptr(unsafe.Pointer(&made[1]))); err != nil {
			return nil, err
		}
		if err := l.do("cusolverDnCreateSyevjInfo", l.createCyclic, uintptr(unsafe.Pointer(&made[2]))); err != nil {
			return nil, err
		}
		l.works, l.jacobi, l.cyclic = made[0], made[1], made[2]
		l.close = func() {
			l.do("cusolverDnDestroyGesvdjInfo", l.destroyJacobi, l.jacobi)
			l.do("cusolverDnDestroySyevjInfo", l.destroyCyclic, l.cyclic)
			l.do("cusolverDnDestroy", l.destroy, l.works)
			l.do("cusolverDnDestroy", l.destroy, l.handle)
		}
		return l, nil
	})
}

// openTriangles opens cuBLAS.
func (d *device) openTriangles() (*cublas, error) {
	return d.triangles.open(d, "cublas", d.driver.Cublas, func(library *ccall.Library, by *vendor, v version) (*cublas, error) {
		l := &cublas{vendor: by}
		l.codes = statuses
		if err := lookUp(library, map[string]*ccall.Func{"cublasCreate_v2": &l.create, "cublasDestroy_v2": &l.destroy, "cublasSetStream_v2": &l.setStream,
			"cublasStrsm_v2": &l.trsm, "cublasStrsmBatched": &l.trsms, "cublasSgetrfBatched": &l.getrfs}); err != nil {
			return nil, err
		}
		l.encodes = map[ccall.Func]encoded{l.setStream: {"cublasSetStream", isSetting}, l.trsm: {"cublasStrsm", isWork},
			l.trsms: {"cublasStrsmBatched", isWork}, l.getrfs: {"cublasSgetrfBatched", isWork}}
		return l, l.begin("cublas", l.create, l.destroy)
	})
}

// solverStatuses are the codes of cusolverStatus_t that mean something of their own.
var solverStatuses = map[int]gpu.Code{2: gpu.OutOfMemory, 3: gpu.Misuse, 4: gpu.Unsupported, 9: gpu.Unsupported}

// A solution is a routine that is ready to be encoded.
type solution struct {
	device    *device
	routine   ir.Routine
	name      string
	solver    *cusolver // nil of triangular equations
	triangles *cublas   // nil of others
	lwork     int       // elements of work of one matrix
	second    int       // of the second function, if there is one
	before    int       // elements of the workspace before the work: a copy of the matrix, or factors of QR
}

// mostElements are those of a matrix, whose lengths the libraries have as 32 bits.
const mostElements = math.MaxInt32

// The numbers of cublas_api.h and cusolver_common.h.
const (
	fillLower, fillUpper = 0, 1
	sideRight            = 1
	noVectors, vectors   = 0, 1
)

// Routine asks the library how much work it needs.
func (d *device) Routine(r ir.Routine) (gpu.Computation, error) {
	if r.Transforms() {
		return d.transform(r)
	}
	s := &solution{device: d, routine: r}
	refused := gpu.Errorf(gpu.Unsupported, d.Name, "routine", "%v", &r)
	m, n := r.Rows, r.Columns
	if longest := max(m, n, r.Right); longest >= mostElements/max(longest, 1) {
		return nil, refused
	}
	together := r.Together()
	if r.Name == ir.SolveRoutine || r.Name == ir.LURoutine && together {
		l, err := d.openTriangles()
		if err != nil {
			return nil, err
		}
		s.triangles, s.name = l, l.name
		return s, nil
	}
	l, err := d.openSolvers()
	if err != nil {
		return nil, err
	}
	s.solver, s.name = l, l.name
	l.asking.Lock()
	defer l.asking.Unlock()
	var memory ccall.Arena
	length := memory.Take(1)
	ask := func(name string, f ccall.Func, args ...uintptr) int {
		if err == nil {
			err = l.do(name+"_bufferSize", f, append([]uintptr{l.handle}, args...)...)
		}
		return int(int32(length[0]))
	}
	at := ccall.Address(length)
	M, N, count := uintptr(m), uintptr(n), uintptr(r.Batches)
	switch {
	case together && r.Name == ir.EighRoutine:
		s.lwork = ask("cusolverDnSsyevjBatched", l.syevjsN, mode(&r), fillUpper, N, 0, N, 0, at, l.cyclic, count)
	case together && r.Name == ir.SVDRoutine:
		s.before = r.Bytes(0) / 4
		s.lwork = ask("cusolverDnSgesvdjBatched", l.gesvdjsN, mode(&r), M, N, 0, M, 0, 0, M, 0, N, at, l.jacobi, count)
	case together: // no work
	case r.Name == ir.CholeskyRoutine:
		s.lwork = ask("cusolverDnSpotrf", l.potrfN, fillLower, N, 0, N, at)
	case r.Name == ir.LURoutine:
		s.lwork = ask("cusolverDnSgetrf", l.getrfN, M, N, 0, M, at)
	case r.Name == ir.QRRoutine:
		s.before = min(m, n)
		s.lwork = ask("cusolverDnSgeqrf", l.geqrfN, M, N, 0, M, at)
		s.second = ask("cusolverDnSorgqr", l.orgqrN, M, uintptr(r.Right), uintptr(min(m, n)), 0, M, 0, at)
	case r.Name == ir.EighRoutine:
		s.lwork = ask("cusolverDnSsyevd", l.syevdN, mode(&r), fillUpper, N, 0, N, 0, at)
	case r.Name == ir.SVDRoutine:
		s.before = m * n
		s.lwork = ask("cusolverDnSgesvdj", l.gesvdjN, mode(&r), economy(&r), M, N, 0, M, 0, 0, M, 0, N, at, l.jacobi)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Name says which library it is.
func (s *solution) Name() string { return s.name }

// work is where the work begins in the workspace, in elements.
func (s *solution) work() int { return (s.before + 63) &^ 63 }

// Workspace has what stands before the work, and the work.
func (s *solution) Workspace() int { return 4 * (s.work() + max(s.lwork, s.second)) }

// Launches counts the calls: how many launches each makes the libraries do not say.
func (s *solution) Launches() int {
	if s.routine.Together() {
		return 1
	}
	if s.routine.Name == ir.QRRoutine {
		return 2 * s.routine.Batches
	}
	return s.routine.Batches
}

// Close does nothing: there is no description.
func (s *solution) Close() {}

// Encode encodes a call for each matrix, or one for all.
func (s *solution) Encode(to gpu.Stream, o *gpu.Operands) error {
	st, err := s.device.accept(to, &s.routine, o, 4, s.Workspace())
	if err != nil {
		return err
	}
	e := &encoding{solution: s, list: st.target(), stream: st, operands: o}
	e.types, e.sources = s.routine.Operands()
	if l := s.triangles; l != nil {
		e.call(l.setStream, l.handle, st.handle)
	} else {
		e.call(s.solver.setStream, s.solver.works, st.handle)
	}
	if s.routine.Together() {
		e.together()
		return nil
	}
	for i := range s.routine.Batches {
		e.matrix(i)
	}
	return nil
}

// An encoding encodes the calls of a solution.
type encoding struct {
	*solution
	*list
	stream   *stream
	operands *gpu.Operands
	types    []ir.Type
	sources  int
}

// at is where operand k of matrix i begins.
func (e *encoding) at(k, i int) uintptr {
	return addressOf(e.operands.List[k]) + uintptr(i*e.types[k].Bytes())
}

// copy copies so many elements of f32.
func (e *encoding) copy(to, from uintptr, elements int) {
	e.stream.encode(cuMemcpyAsync, to, from, uintptr(4*elements), e.stream.handle)
}

// matrix encodes the calls for matrix i. Functions work in place, so the source is copied first.
func (e *encoding) matrix(i int) {
	r := &e.routine
	m, n := uintptr(r.Rows), uintptr(r.Columns)
	a, y := e.at(0, i), e.at(e.sources, i)
	info := e.at(len(e.types)-1, i)
	before := addressOf(e.operands.Workspace)
	work, lwork := before+uintptr(4*e.work()), uintptr(e.lwork)
	l := e.solver
	switch r.Name {
	case ir.SolveRoutine:
		e.copy(y, e.at(1, i), r.Rows*r.Right)
		e.call(e.triangles.trsm, e.equations(a, y)...)
	case ir.CholeskyRoutine: // of the upper triangle it takes twice as long
		e.copy(y, a, r.Rows*r.Rows)
		e.call(l.potrf, l.works, fillLower, n, y, n, work, lwork, info)
	case ir.LURoutine:
		e.copy(y, a, r.Rows*r.Columns)
		e.call(l.getrf, l.works, m, n, y, m, work, e.at(2, i), info)
	case ir.QRRoutine:
		k, q := min(r.Rows, r.Columns), e.at(2, i)
		e.copy(y, a, r.Rows*r.Columns)
		e.call(l.geqrf, l.works, m, n, y, m, before, work, lwork, info)
		e.copy(q, y, r.Rows*k) // the columns of the reflections
		e.call(l.orgqr, l.works, m, uintptr(r.Right), uintptr(k), q, m, before, work, uintptr(e.second), info)
	case ir.EighRoutine:
		v := e.at(2, i)
		e.copy(v, a, r.Rows*r.Rows)
		e.call(l.syevd, l.works, mode(r), fillUpper, n, v, n, y, work, lwork, info)
	case ir.SVDRoutine:
		e.copy(before, a, r.Rows*r.Columns)
		e.call(l.gesvdj, l.works, mode(r), economy(r), m, n, before, m, y, e.at(2, i), m, e.at(3, i), n, work, lwork, info, l.jacobi)
	}
}

// equations are the arguments for triangular equations of a and y, or of the tables of their addresses.
func (e *encoding) equations(a, y uintptr) []uintptr {
	r := &e.routine
	upper, transposed, unit := uintptr(fillUpper), uintptr(0), uintptr(0)
	if r.Upper {
		upper = fillLower
	}
	if r.Transposed {
		transposed = 1
	}
	if r.Unit {
		unit = 1
	}
	n, k := uintptr(r.Columns), uintptr(r.Right)
	one := e.list.args.Words(uint64(math.Float32bits(1)))
	return []uintptr{e.triangles.handle, sideRight, upper, transposed, unit, k, n, one, a, n, y, k}
}

// together encodes the call for all matrices.
func (e *encoding) together() {
	r := &e.routine
	n, count := uintptr(r.Columns), uintptr(r.Batches)
	a, y := e.at(0, 0), e.at(e.sources, 0)
	info := e.at(len(e.types)-1, 0)
	before := addressOf(e.operands.Workspace)
	work, lwork := before+uintptr(4*e.work()), uintptr(e.lwork)
	l, elements := e.solver, r.Bytes(0)/4
	switch r.Name {
	case ir.SolveRoutine:
		e.copy(y, e.at(1, 0), r.Bytes(1)/4)
		e.call(e.triangles.trsms, append(e.equations(e.at(3, 0), e.at(4, 0)), count)...)
	case ir.CholeskyRoutine:
		e.copy(y, a, elements)
		e.call(l.potrfs, l.works, fillLower, n, e.at(2, 0), n, info, count)
	case ir.LURoutine:
		e.copy(y, a, elements)
		e.call(e.triangles.getrfs, e.triangles.handle, n, e.at(3, 0), n, e.at(2, 0), info, count)
	case ir.EighRoutine:
		v := e.at(2, 0)
		e.copy(v, a, elements)
		e.call(l.syevjs, l.works, mode(r), fillUpper, n, v, n, y, work, lwork, info, l.cyclic, count)
	case ir.SVDRoutine:
		e.copy(before, a, elements)
		e.call(l.gesvdjs, l.works, mode(r), n, n, before, n, y, e.at(2, 0), n, e.at(3, 0), n, work, lwork, info, l.jacobi, count)
	}
}

// mode is whether vectors are wanted, as cusolverEigMode_t.
func mode(r *ir.Routine) uintptr {
	if r.Vectors {
		return vectors
	}
	return noVectors
}

// economy is whether there are only the vectors of singular values.
func economy(r *ir.Routine) uintptr {
	if r.Full {
		return 0
	}
	return 1
}
