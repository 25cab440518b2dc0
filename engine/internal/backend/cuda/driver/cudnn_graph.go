package driver

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// An operations is a graph of operations while it is written down. Its first error ends it; the methods then
// do nothing. Then it is what plans are made of.
type operations struct {
	library *cudnn
	made    []descriptor // everything, in the order of its making
	list    []descriptor // the operations
	known   int          // tensors
	err     error
}

// A tensor is a value in the graph.
type tensor struct {
	desc descriptor
	id   int
}

// A form is the shape of a tensor of four axes, its strides, and its type.
type form struct {
	dims, strides [4]int
	dtype         int
}

// The kinds of descriptors, attributes, modes and notes of cudnn_graph.h that our graphs need.
const (
	kindPointwise     = 0
	kindConvolution   = 1
	kindEngine        = 2
	kindConfig        = 3
	kindHeuristics    = 4
	kindPlan          = 5
	kindOpConv        = 10
	kindOpConvWeight  = 11
	kindOpConvData    = 12
	kindOpPointwise   = 13
	kindGraph         = 15
	kindPack          = 16
	kindTensor        = 17
	kindMatMul        = 18
	kindOpMatMul      = 19
	kindReduction     = 21
	kindOpReduction   = 22
	kindOpReshape     = 31
	attrPwMode        = 0
	attrPwPrecision   = 1
	attrPwAxis        = 9
	attrConvType      = 100 // then the mode, dilations, strides, zeros after and before, and the number of axes
	attrHeurMode      = 200
	attrHeurGraph     = 201
	attrHeurResults   = 202
	attrConfigEngine  = 300
	attrPlanHandle    = 400
	attrPlanConfig    = 401
	attrPlanWorkspace = 402
	attrOpConv        = 700 // alpha, then beta, the description, the weight, x and y
	attrOpConvData    = 706
	attrOpConvWeight  = 712
	attrOpPw          = 750 // then x, b and y
	attrOpPwDX        = 756 // then dy
	attrOpPwT         = 758
	attrGraphHandle   = 800
	attrGraphOps      = 801
	attrTensorAlign   = 900 // then the type, dimensions and strides
	attrTensorID      = 906 // then whether it is virtual, and whether it is a number
	attrPackIDs       = 1000
	attrPackPointers  = 1001
	attrPackWorkspace = 1003
	attrEngineIndex   = 1301
	attrEngineNotes   = 1303
	attrMatMulType    = 1500
	attrOpMatMulA     = 1520 // then B, C and the description
	attrReduce        = 1600 // then the type
	attrOpReduceX     = 1610 // then y and the description
	attrOpReshapeX    = 2200 // then y

	dataF32, dataF16, dataI32, dataBF16, dataBool = 0, 2, 4, 9, 11

	pwAdd, pwMul, pwDiv, pwSub, pwExp, pwLog     = 0, 1, 6, 9, 13, 15
	pwTanh, pwTanhGradient                       = 101, 201
	pwGreater, pwGreaterEqual, pwIndex, pwSelect = 302, 303, 501, 601

	reduceAdd, reduceMax = 0, 3

	heuristicsFallback, heuristicsA = 2, 3

	noteTensorCore, noteRoundsInputs, noteRoundsSums, noteFFT, noteAnyOrder, noteWinograd, notes = 0, 1, 2, 3, 4, 5, 10
)

func (o *operations) describe(kind uintptr, attributes ...attribute) descriptor {
	if o.err != nil {
		return 0
	}
	d, err := o.library.describe(kind, attributes...)
	if err != nil {
		o.err = err
		return 0
	}
	o.made = append(o.made, d)
	return d
}

func (o *operations) does(kind uintptr, attributes ...attribute) {
	o.list = append(o.list, o.describe(kind, attributes...))
}

// tensor adds one. A virtual one has no memory, and a number is given when the graph runs.
func (o *operations) tensor(f form, virtual, number bool) tensor {
	o.known++
	return tensor{o.describe(kindTensor, numbers(attrTensorAlign, 16), enum(attrTensorAlign+1, typeData, f.dtype),
		numbers(attrTensorAlign+2, f.dims[:]...), numbers(attrTensorAlign+3, f.strides[:]...),
		numbers(attrTensorID, o.known), truth(attrTensorID+1, virtual), truth(attrTensorID+2, number)), o.known}
}

func (o *operations) memory(f form) tensor { return o.tensor(f, false, false) }

// number adds one that is given when the graph runs.
func (o *operations) number(dtype int) tensor {
	one := [4]int{1, 1, 1, 1}
	return o.tensor(form{one, one, dtype}, false, true)
}

func (o *operations) matMul(a, b tensor, f form) tensor {
	return o.matMulTo(a, b, o.tensor(f, true, false))
}

func (o *operations) matMulTo(a, b, to tensor) tensor {
	desc := o.describe(kindMatMul, enum(attrMatMulType, typeData, dataF32))
	o.does(kindOpMatMul, refers(attrOpMatMulA, a.desc), refers(attrOpMatMulA+1, b.desc), refers(attrOpMatMulA+2, to.desc), refers(attrOpMatMulA+3, desc))
	return to
}

// pointwise computes y of x in a precision, and of b where the mode wants it.
func (o *operations) pointwise(mode, precision int, f form, x tensor, more ...tensor) tensor {
	return o.pointwiseTo(mode, precision, o.tensor(f, true, false), x, more...)
}

func (o *operations) pointwiseTo(mode, precision int, y, x tensor, more ...tensor) tensor {
	how := []attribute{enum(attrPwMode, typePointwise, mode), enum(attrPwPrecision, typeData, precision)}
	what := []attribute{{}, refers(attrOpPw+1, x.desc), refers(attrOpPw+3, y.desc)}
	if len(more) > 0 {
		what = append(what, refers(attrOpPw+2, more[0].desc))
	}
	if len(more) > 1 {
		what = append(what, refers(attrOpPwT, more[1].desc))
	}
	what[0] = refers(attrOpPw, o.describe(kindPointwise, how...))
	o.does(kindOpPointwise, what...)
	return y
}

// gradient computes the gradient of x from that of y, its function.
func (o *operations) gradient(mode int, f form, dy, x tensor) tensor {
	dx := o.tensor(f, true, false)
	desc := o.describe(kindPointwise, enum(attrPwMode, typePointwise, mode), enum(attrPwPrecision, typeData, dataF32))
	o.does(kindOpPointwise, refers(attrOpPw, desc), refers(attrOpPw+1, x.desc), refers(attrOpPwDX, dx.desc), refers(attrOpPwDX+1, dy.desc))
	return dx
}

// index is the place of each element along an axis.
func (o *operations) index(axis int, f form, x tensor) tensor {
	f.dtype = dataI32
	y := o.tensor(f, true, false)
	desc := o.describe(kindPointwise, enum(attrPwMode, typePointwise, pwIndex), enum(attrPwPrecision, typeData, dataF32), numbers(attrPwAxis, axis))
	o.does(kindOpPointwise, refers(attrOpPw, desc), refers(attrOpPw+1, x.desc), refers(attrOpPw+3, y.desc))
	return y
}

func (o *operations) reduce(how int, f form, x tensor) tensor {
	return o.reduceTo(how, o.tensor(f, true, false), x)
}

func (o *operations) reduceTo(how int, y, x tensor) tensor {
	desc := o.describe(kindReduction, enum(attrReduce, typeReduction, how), enum(attrReduce+1, typeData, dataF32))
	o.does(kindOpReduction, refers(attrOpReduceX, x.desc), refers(attrOpReduceX+1, y.desc), refers(attrOpReduceX+2, desc))
	return y
}

// seen is x in another form.
func (o *operations) seen(f form, x tensor) tensor {
	y := o.tensor(f, true, false)
	o.does(kindOpReshape, refers(attrOpReshapeX, x.desc), refers(attrOpReshapeX+1, y.desc))
	return y
}

// A graphPlan is how a graph is computed: by which of the library's engines.
type graphPlan struct {
	desc              descriptor
	workspace, engine int
}

// plan asks the library's heuristics, which go by the graph alone, for so many plans of work that the library
// can run, the best first, with at most so many bytes of workspace, by engines of which it notes nothing that
// is refused. Without one it closes the graph.
func (o *operations) plan(d *device, work gpu.Work, most, workspace int, refused func(note int32) bool) (list []graphPlan, err error) {
	d.driver.uninterrupted(func() { list, err = o.proposed(most, workspace, refused) })
	if len(list) > 0 {
		return list, nil
	}
	o.Close()
	return nil, gpu.Errorf(gpu.Unsupported, d.Name, "cudnn", "%v: %s has no engine: %v", work, o.library.name, err)
}

// proposed are those plans, and why there are no more.
func (o *operations) proposed(most, workspace int, refused func(note int32) bool) (list []graphPlan, reasons error) {
	l := o.library
	graph := o.describe(kindGraph, o.handle(attrGraphHandle), refers(attrGraphOps, o.list...))
	for _, mode := range []int{heuristicsA, heuristicsFallback} {
		if o.err != nil || len(list) > 0 {
			return list, o.err
		}
		heuristics, err := l.describe(kindHeuristics, refers(attrHeurGraph, graph), enum(attrHeurMode, typeMode, mode))
		if err != nil {
			reasons = errors.Join(reasons, err)
			continue
		}
		o.made = append(o.made, heuristics)
		configs, err := o.results(heuristics)
		reasons = errors.Join(reasons, err)
		for _, config := range configs {
			p, err := o.planOf(config, refused)
			if err == nil && p.workspace > workspace {
				err = fmt.Errorf("engine %d wants %d bytes of workspace, may have %d", p.engine, p.workspace, workspace)
			}
			if err != nil {
				reasons = errors.Join(reasons, err)
			} else if list = append(list, p); len(list) == most {
				break
			}
		}
	}
	return list, reasons
}

// planOf makes the plan of a configuration.
func (o *operations) planOf(config descriptor, refused func(note int32) bool) (p graphPlan, err error) {
	l := o.library
	engine, err := l.empty(kindEngine)
	if err != nil {
		return p, err
	}
	defer l.discard(engine)
	count, list := new(int64), new([notes]int32)
	const get = "cudnnBackendGetAttribute"
	err = errors.Join(
		l.do(get, l.get, uintptr(config), attrConfigEngine, typeDescriptor, 1, uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(&engine))),
		l.do(get, l.get, uintptr(engine), attrEngineNotes, typeNote, notes, uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(list))))
	if err != nil {
		return p, err
	}
	if p.engine, err = l.number(engine, attrEngineIndex); err != nil {
		return p, err
	}
	if slices.ContainsFunc(list[:min(*count, notes)], refused) {
		return p, fmt.Errorf("engine %d is refused", p.engine)
	}
	if p.desc, err = l.describe(kindPlan, o.handle(attrPlanHandle), refers(attrPlanConfig, config)); err != nil {
		return p, err
	}
	o.made = append(o.made, p.desc)
	p.workspace, err = l.number(p.desc, attrPlanWorkspace)
	return p, err
}

func (o *operations) handle(name uintptr) attribute {
	return attribute{name, typeHandle, 1, []uint64{uint64(o.library.handle)}}
}

// results are the heuristics' answers, the best first.
func (o *operations) results(heuristics descriptor) ([]descriptor, error) {
	l := o.library
	count := new(int64)
	if err := l.do("cudnnBackendGetAttribute", l.get, uintptr(heuristics), attrHeurResults, typeDescriptor, 0, uintptr(unsafe.Pointer(count)), 0); err != nil {
		return nil, err
	}
	if *count == 0 {
		return nil, nil
	}
	configs := make([]descriptor, *count)
	for i := range configs {
		var err error
		if configs[i], err = l.empty(kindConfig); err != nil {
			return nil, err
		}
		o.made = append(o.made, configs[i])
	}
	err := l.do("cudnnBackendGetAttribute", l.get, uintptr(heuristics), attrHeurResults, typeDescriptor, uintptr(len(configs)),
		uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(&configs[0])))
	return configs[:min(int(*count), len(configs))], err
}

// A pack is what a graph gets in a run: tensors' numbers and addresses.
type pack struct {
	ids       []int
	addresses []uint64
}

func (p *pack) add(which tensor, address uintptr) {
	if which.desc != 0 {
		p.ids = append(p.ids, which.id)
		p.addresses = append(p.addresses, uint64(address))
	}
}

// encode encodes the call of a plan, and the end of what it gets.
func (o *operations) encode(s *stream, by graphPlan, p *pack, workspace uintptr) error {
	l, to := o.library, s.target()
	desc, err := l.describe(kindPack, numbers(attrPackIDs, p.ids...), attribute{attrPackPointers, typePointer, len(p.ids), p.addresses},
		attribute{attrPackWorkspace, typePointer, 1, []uint64{uint64(workspace)}})
	if err != nil {
		return err
	}
	to.call(l.setStream, l.handle, s.handle)
	to.call(l.execute, l.handle, uintptr(by.desc), uintptr(desc))
	to.call(l.drop, uintptr(desc))
	return nil
}

// Close discards everything.
func (o *operations) Close() {
	if o.library.device.Closed() {
		return
	}
	for i := len(o.made) - 1; i >= 0; i-- {
		o.library.discard(o.made[i])
	}
	o.made = nil
}
