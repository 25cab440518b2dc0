package driver

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A cufft is NVIDIA's library of Fourier transforms, of f32. It makes a plan for each shape, with tables in
// the device's memory.
type cufft struct {
	*vendor
	create, destroy, plan            ccall.Func
	setStream, setAllocates, setWork ccall.Func
	complexes, reals, halves         ccall.Func

	mu    sync.Mutex
	plans []plan // the one that was used last is at the end
}

// A plan is one of the library's: its handle, and bytes of work.
type plan struct {
	routine ir.Routine
	handle  uintptr
	work    int
}

// mostPlans is how many plans are kept when work is encoded.
const mostPlans = 64

// openTransforms opens the library.
func (d *device) openTransforms() (*cufft, error) {
	return d.transforms.open(d, "cufft", d.driver.Cufft, func(library *ccall.Library, by *vendor, v version) (*cufft, error) {
		l := &cufft{vendor: by}
		l.codes = transformStatuses
		if err := lookUp(library, map[string]*ccall.Func{"cufftCreate": &l.create, "cufftDestroy": &l.destroy,
			"cufftMakePlanMany": &l.plan, "cufftSetStream": &l.setStream, "cufftSetAutoAllocation": &l.setAllocates, "cufftSetWorkArea": &l.setWork,
			"cufftExecC2C": &l.complexes, "cufftExecR2C": &l.reals, "cufftExecC2R": &l.halves}); err != nil {
			return nil, err
		}
		l.encodes = map[ccall.Func]encoded{l.setStream: {"cufftSetStream", isSetting}, l.setWork: {"cufftSetWorkArea", isSetting}, l.destroy: {"cufftDestroy", isEnd},
			l.complexes: {"cufftExecC2C", isWork}, l.reals: {"cufftExecR2C", isWork}, l.halves: {"cufftExecC2R", isWork}}
		l.close = func() {
			for _, p := range l.plans {
				l.do("cufftDestroy", l.destroy, p.handle)
			}
		}
		return l, d.fits(library, int(v[0])+1) // 11 is of CUDA 12
	})
}

// transformStatuses are the codes of cufftResult that mean something of their own.
var transformStatuses = map[int]gpu.Code{2: gpu.OutOfMemory, 4: gpu.Misuse, 8: gpu.Unsupported, 14: gpu.Unsupported, 16: gpu.Unsupported}

// The numbers of cufftType, and the directions.
const (
	realToComplex, complexToReal, complexToComplex = 0x2a, 0x2c, 0x29
	forward, backward                              = ^uintptr(0), uintptr(1) // −1 and 1
)

// planOf finds a plan, or makes it.
func (l *cufft) planOf(r ir.Routine) (p plan, err error) {
	i := slices.IndexFunc(l.plans, func(p plan) bool { return p.routine == r })
	if i >= 0 {
		p = l.plans[i]
		l.plans = slices.Delete(l.plans, i, i+1)
	} else if p, err = l.newPlan(r); err != nil {
		return p, err
	}
	l.plans = append(l.plans, p)
	return p, nil
}

func (l *cufft) newPlan(r ir.Routine) (plan, error) {
	handle, lengths, work := new(int32), &[2]int32{int32(r.Rows), int32(r.Columns)}, new(uint64)
	if err := l.do("cufftCreate", l.create, uintptr(unsafe.Pointer(handle))); err != nil {
		return plan{}, err
	}
	p := plan{routine: r, handle: uintptr(*handle)}
	err := l.do("cufftSetAutoAllocation", l.setAllocates, p.handle, 0)
	if err == nil {
		rank, kind := 2, complexToComplex
		if r.Rows == 1 {
			rank = 1
		}
		switch r.Name {
		case ir.RFFTRoutine:
			kind = realToComplex
		case ir.IRFFTRoutine:
			kind = complexToReal
		}
		err = l.do("cufftMakePlanMany", l.plan, p.handle, uintptr(rank), uintptr(unsafe.Pointer(&lengths[2-rank])), 0, 1, 0, 0, 1, 0,
			uintptr(kind), uintptr(r.Batches), uintptr(unsafe.Pointer(work)))
	}
	if err != nil {
		l.do("cufftDestroy", l.destroy, p.handle)
	}
	p.work = int(*work)
	return p, err
}

// A transform is one that is ready to be encoded.
type transform struct {
	library *cufft
	routine ir.Routine
	work    int
}

// transform makes a plan, which says how much work it needs.
func (d *device) transform(r ir.Routine) (gpu.Computation, error) {
	l, err := d.openTransforms()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.planOf(r)
	if err != nil {
		return nil, err
	}
	return &transform{l, r, p.work}, nil
}

// Name says which library it is.
func (t *transform) Name() string { return t.library.name }

// room is for a copy of the source, which is one of real numbers that are not aligned as complex ones are, or
// one that the library may write over.
func (t *transform) room() int {
	if t.routine.Name == ir.RFFTRoutine || t.routine.Name == ir.IRFFTRoutine {
		return (t.routine.Bytes(0) + 255) &^ 255
	}
	return 0
}

// Workspace has the copy, and the work.
func (t *transform) Workspace() int { return t.room() + t.work }

// Launches counts the call: how many launches it makes the library does not say.
func (t *transform) Launches() int { return 1 }

// Close does nothing: other transforms of the shape share the plan.
func (t *transform) Close() {}

// Encode encodes the call. Where there are too many plans it encodes the end of the one that was used least
// recently, behind all work that was encoded with it.
func (t *transform) Encode(to gpu.Stream, o *gpu.Operands) error {
	l, d := t.library, t.library.device
	st, err := d.accept(to, &t.routine, o, 4, t.Workspace())
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.planOf(t.routine)
	if err != nil {
		return err
	}
	if p.work > t.work {
		return d.misused(cuLaunchKernel, "%v: the library wants %d bytes of work, and %d before", &t.routine, p.work, t.work)
	}
	x, y, room := addressOf(o.List[0]), addressOf(o.List[1]), addressOf(o.Workspace)
	call := st.target().call
	const aligned = 8
	if t.room() > 0 && (t.routine.Name == ir.IRFFTRoutine || x%aligned != 0) {
		st.encode(cuMemcpyAsync, room, x, uintptr(t.routine.Bytes(0)), st.handle)
		x, room = room, room+uintptr(t.room())
	}
	if x%aligned != 0 || y%aligned != 0 {
		return d.misused(cuLaunchKernel, "%v: got operands at %#x and %#x, want multiples of %d", &t.routine, x, y, aligned)
	}
	call(l.setStream, p.handle, st.handle)
	if p.work > 0 {
		call(l.setWork, p.handle, room)
	}
	switch t.routine.Name {
	case ir.FFTRoutine:
		call(l.complexes, p.handle, x, y, forward)
	case ir.IFFTRoutine:
		call(l.complexes, p.handle, x, y, backward)
	case ir.RFFTRoutine:
		call(l.reals, p.handle, x, y)
	case ir.IRFFTRoutine:
		call(l.halves, p.handle, x, y)
	}
	for ; len(l.plans) > mostPlans; l.plans = slices.Delete(l.plans, 0, 1) {
		call(l.destroy, l.plans[0].handle)
	}
	return nil
}
