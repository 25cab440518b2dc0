package driver

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// A cublasLt is NVIDIA's library of matrix products.
//
// The library's matrices lie by columns. A matrix that lies by rows is its own transpose there, so it
// computes Dᵀ = Bᵀ·Aᵀ: what it calls A is our B, and its rows are our columns.
type cublasLt struct {
	*vendor
	create, destroy                        ccall.Func
	descCreate, descDestroy, descSet       ccall.Func
	layoutCreate, layoutDestroy, layoutSet ccall.Func
	preferCreate, preferDestroy, preferSet ccall.Func
	heuristic, matmul, configGet, status   ccall.Func
}

// The numbers of cublasLt.h, library_types.h and cublas_api.h.
const (
	compute32F     = 68 // true f32
	compute32FTF32 = 77

	descTransA      = 3
	descTransB      = 4
	descEpilogue    = 7
	descBiasPointer = 8

	layoutBatches     = 5
	layoutBatchOffset = 6

	preferWorkspace  = 1
	preferReductions = 3
	preferAlignment  = 5 // of A; those of B, C and D follow

	reductionInCompute = 2 // the parts of a split sum are added in F32

	configAlgorithm  = 0
	configTile       = 1
	configSplits     = 2
	configReductions = 3

	epilogueNone = 1
	epilogueBias = 4
	epilogueGelu = 32
)

// dataTypes are the numbers of cudaDataType.
var dataTypes = map[dtype.Type]uintptr{dtype.F32: 0, dtype.F16: 2, dtype.BF16: 14}

// openProducts opens the library.
func (d *device) openProducts() (*cublasLt, error) {
	return d.products.open(d, "cublasLt", d.driver.CublasLt, func(library *ccall.Library, by *vendor, v version) (*cublasLt, error) {
		l := &cublasLt{vendor: by}
		l.codes, l.words = statuses, func(code int) string { return ccall.String(l.status.Call(uintptr(code))) }
		if err := lookUp(library, map[string]*ccall.Func{"cublasLtCreate": &l.create, "cublasLtDestroy": &l.destroy,
			"cublasLtMatmulDescCreate": &l.descCreate, "cublasLtMatmulDescDestroy": &l.descDestroy, "cublasLtMatmulDescSetAttribute": &l.descSet,
			"cublasLtMatrixLayoutCreate": &l.layoutCreate, "cublasLtMatrixLayoutDestroy": &l.layoutDestroy,
			"cublasLtMatrixLayoutSetAttribute": &l.layoutSet, "cublasLtMatmulPreferenceCreate": &l.preferCreate,
			"cublasLtMatmulPreferenceDestroy": &l.preferDestroy, "cublasLtMatmulPreferenceSetAttribute": &l.preferSet,
			"cublasLtMatmulAlgoGetHeuristic": &l.heuristic, "cublasLtMatmul": &l.matmul,
			"cublasLtMatmulAlgoConfigGetAttribute": &l.configGet, "cublasLtGetStatusString": &l.status}); err != nil {
			return nil, err
		}
		l.encodes = map[ccall.Func]encoded{l.matmul: {"cublasLtMatmul", isWork}, l.descSet: {"cublasLtMatmulDescSetAttribute", isSetting}}
		if err := d.fits(library, int(v[0])); err != nil {
			return nil, err
		}
		return l, l.begin("cublasLt", l.create, l.destroy)
	})
}

// statuses are the codes of cublasStatus_t that mean something of their own.
var statuses = map[int]gpu.Code{3: gpu.OutOfMemory, 7: gpu.Misuse, 8: gpu.Unsupported, 15: gpu.Unsupported}

// A multiplication has the library's descriptions of a product, and how it is computed.
type multiplication struct {
	device    *device
	library   *cublasLt
	product   gpu.Product
	alignment int
	algorithm [8]uint64 // cublasLtMatmulAlgo_t
	text      string
	workspace int
	launches  int

	mostWorkspace int
	proposals     []heuristicResult // for Choose; algorithm is that of the first

	desc, a, b, c, d uintptr // as the library calls them
}

// Multiplication asks the library's heuristics, which go by the description alone.
func (d *device) Multiplication(p gpu.Product, alignment, workspace int) (_ gpu.Computation, err error) {
	l, err := d.openProducts()
	if err != nil {
		return nil, err
	}
	m := &multiplication{device: d, library: l, product: p, alignment: alignment, mostWorkspace: workspace}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	if err := m.describe(); err != nil {
		return nil, err
	}
	if err := m.propose(); err != nil {
		if e := (*gpu.Error)(nil); errors.As(err, &e) {
			e.Text = p.String() + ": " + e.Text
		}
		return nil, err
	}
	return m, nil
}

// describe makes the library's descriptions.
func (m *multiplication) describe() error {
	l := m.library
	p := &m.product
	compute := uintptr(compute32F)
	if p.TF32 {
		compute = compute32FTF32
	}
	epilogue := int32(epilogueNone)
	if p.Bias || p.Gelu {
		epilogue = 0
	}
	if p.Bias {
		epilogue |= epilogueBias
	}
	if p.Gelu {
		epilogue |= epilogueGelu
	}
	desc := new(uintptr)
	if err := l.do("cublasLtMatmulDescCreate", l.descCreate, uintptr(unsafe.Pointer(desc)), compute, dataTypes[dtype.F32]); err != nil {
		return err
	}
	m.desc = *desc
	errs := []error{
		setDesc(m, descTransA, transposed(p.B)), setDesc(m, descTransB, transposed(p.A)), setDesc(m, descEpilogue, epilogue),
		m.layout(&m.a, p.B, p.Columns, p.Inner), m.layout(&m.b, p.A, p.Inner, p.Rows), m.layout(&m.d, p.D, p.Columns, p.Rows),
	}
	c := p.C
	if !p.Added() {
		c = p.D
	}
	errs = append(errs, m.layout(&m.c, c, p.Columns, p.Rows))
	if p.Bias { // the heuristics see from an address how the bias is aligned
		errs = append(errs, setDesc(m, descBiasPointer, uint64(max(m.alignment, p.D.DType.Size()))))
	}
	return errors.Join(errs...)
}

// transposed is the operation on a matrix of ours, as cublasOperation_t: that by rows is as the library has
// it.
func transposed(m gpu.Matrix) int32 {
	if m.Transposed {
		return 1
	}
	return 0
}

// setDesc sets an attribute of the product, and give one of any description.
func setDesc[T any](m *multiplication, attribute uintptr, value T) error {
	return give(m.library, "cublasLtMatmulDescSetAttribute", m.library.descSet, m.desc, attribute, value)
}

func give[T any](l *cublasLt, name string, set ccall.Func, to, attribute uintptr, value T) error {
	return l.do(name, set, to, attribute, uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value))
}

// layout describes one of our matrices, whose columns are the library's rows, unless it is transposed.
func (m *multiplication) layout(to *uintptr, matrix gpu.Matrix, rows, columns int) error {
	l := m.library
	if matrix.Transposed {
		rows, columns = columns, rows
	}
	made := new(uintptr)
	if err := l.do("cublasLtMatrixLayoutCreate", l.layoutCreate, uintptr(unsafe.Pointer(made)), dataTypes[matrix.DType],
		uintptr(rows), uintptr(columns), uintptr(matrix.Stride)); err != nil {
		return err
	}
	*to = *made
	if m.product.Batches == 1 {
		return nil
	}
	const set = "cublasLtMatrixLayoutSetAttribute"
	return errors.Join(give(l, set, l.layoutSet, *to, layoutBatches, int32(m.product.Batches)), give(l, set, l.layoutSet, *to, layoutBatchOffset, int64(matrix.Batch)))
}

// A heuristicResult is cublasLtMatmulHeuristicResult_t.
type heuristicResult struct {
	algorithm [8]uint64
	workspace uint64
	state     int32
	_         float32 // waves
	_         [4]int32
}

// propose asks for the heuristics' proposals, and takes the first.
func (m *multiplication) propose() error {
	l := m.library
	made := new(uintptr)
	if err := l.do("cublasLtMatmulPreferenceCreate", l.preferCreate, uintptr(unsafe.Pointer(made))); err != nil {
		return err
	}
	defer l.do("cublasLtMatmulPreferenceDestroy", l.preferDestroy, *made)
	const set = "cublasLtMatmulPreferenceSetAttribute"
	errs := []error{give(l, set, l.preferSet, *made, preferWorkspace, uint64(m.mostWorkspace)), give(l, set, l.preferSet, *made, preferReductions, uint32(reductionInCompute))}
	for i, matrix := range []gpu.Matrix{m.product.B, m.product.A, m.product.D, m.product.D} {
		errs = append(errs, give(l, set, l.preferSet, *made, preferAlignment+uintptr(i), uint32(max(m.alignment, matrix.DType.Size()))))
	}
	results, found := new([mostProposals]heuristicResult), new(int32)
	errs = append(errs, l.do("cublasLtMatmulAlgoGetHeuristic", l.heuristic, l.handle, m.desc, m.a, m.b, m.c, m.d, *made, mostProposals,
		uintptr(unsafe.Pointer(results)), uintptr(unsafe.Pointer(found))))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	state := int32(success)
	for _, r := range results[:*found] {
		if state = r.state; state == success {
			m.proposals = append(m.proposals, r)
		}
	}
	if len(m.proposals) == 0 {
		return &gpu.Error{Code: gpu.Unsupported, Device: m.device.Name, Op: "cublasLtMatmulAlgoGetHeuristic", Native: int(state), Text: "no algorithm", Index: -1}
	}
	m.take(&m.proposals[0])
	return nil
}

// take lets the product be computed as was proposed.
func (m *multiplication) take(r *heuristicResult) {
	m.algorithm, m.workspace, m.launches = r.algorithm, int(r.workspace), 1
	splits := m.config(configSplits)
	if splits > 1 && m.config(configReductions) != 0 {
		m.launches = 2 // the parts of the sum are added by another one
	}
	m.text = fmt.Sprintf("%s, algorithm %d, tile %d", m.library.name, m.config(configAlgorithm), m.config(configTile))
	if splits > 1 {
		m.text += fmt.Sprintf(", the sum in %d parts", splits)
	}
}

// Choose times the algorithms that the heuristics proposed, or takes the one that was noted in the folder.
func (m *multiplication) Choose(folder string) {
	list := m.proposals
	m.proposals = nil
	m.contest(list).choose(folder)
}

func (m *multiplication) contest(list []heuristicResult) *contest {
	p := &m.product
	return &contest{m.device, m, p, p.Flops(), p.A.DType.Size(), len(list), func(n int) { m.take(&list[n]) },
		[]string{m.library.name, fmt.Sprint(m.alignment, m.mostWorkspace), fmt.Sprintf("%#v", m.product)}}
}

// config asks for a number of the algorithm, which is 0 where it has none.
func (m *multiplication) config(attribute uintptr) int {
	value, written := new(uint32), new(uint64)
	algorithm := m.algorithm
	l := m.library
	if err := l.do("cublasLtMatmulAlgoConfigGetAttribute", l.configGet, uintptr(unsafe.Pointer(&algorithm)), attribute,
		uintptr(unsafe.Pointer(value)), 4, uintptr(unsafe.Pointer(written))); err != nil {
		return 0
	}
	return int(*value)
}

func (m *multiplication) Name() string   { return m.text }
func (m *multiplication) Workspace() int { return m.workspace }
func (m *multiplication) Launches() int  { return m.launches }

// Encode encodes the call and, before it, where the bias is: that is part of the description.
func (m *multiplication) Encode(to gpu.Stream, o *gpu.Operands) error {
	s, err := m.device.accept(to, &m.product, o, m.alignment, m.workspace)
	if err != nil {
		return err
	}
	l, list := m.library, s.target()
	address := func(operand int) uintptr { return addressOf(o.List[operand]) }
	if m.product.Bias {
		list.call(l.descSet, m.desc, descBiasPointer, list.args.Words(uint64(address(kernel.ProductBias))), 8)
	}
	one, zero := uint64(math.Float32bits(1)), uint64(0)
	alpha, c, beta := one, address(kernel.ProductD), zero
	if m.product.Scaled {
		alpha = uint64(math.Float32bits(o.Scale))
	}
	if m.product.Added() {
		c, beta = address(kernel.ProductC), one
	}
	list.call(l.matmul, l.handle, m.desc, list.args.Words(alpha), address(kernel.ProductB), m.a, address(kernel.ProductA), m.b, list.args.Words(beta), c, m.c, address(kernel.ProductD), m.d,
		list.args.Words(m.algorithm[:]...), addressOf(o.Workspace), uintptr(m.workspace), s.handle)
	return nil
}

// addressOf is where an operand begins, 0 if there is none.
func addressOf(a gpu.Arg) uintptr {
	if a.Buffer == nil {
		return 0
	}
	return uintptr(a.Buffer.Address()) + uintptr(a.Offset)
}

// Close destroys the descriptions.
func (m *multiplication) Close() {
	l := m.library
	if m.device.Closed() {
		return
	}
	if m.desc != 0 {
		l.do("cublasLtMatmulDescDestroy", l.descDestroy, m.desc)
	}
	for _, layout := range []uintptr{m.a, m.b, m.c, m.d} {
		if layout != 0 {
			l.do("cublasLtMatrixLayoutDestroy", l.layoutDestroy, layout)
		}
	}
	m.desc, m.a, m.b, m.c, m.d = 0, 0, 0, 0, 0
}
