package quant

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A file is safetensors with all weights of a model under their paths. A quantised layer L has
// L.weight_codes, L.weight_scales and, as its scheme needs, L.weight_zeros, L.weight_minimums or
// L.weight_table, which lie as the package's comment says; a plain linear layer has L.weight as [out in], as
// the files of other libraries do. The metadata's entry "quantization" is JSON: for each quantised layer what
// its tensors mean.
const metadataKey = "quantization"

// stored describes a quantised layer in a file.
type stored struct {
	Bits   int    `json:"bits"`
	Group  int    `json:"group"`
	Scheme string `json:"scheme"`
	Table  string `json:"table,omitempty"`
	In     int    `json:"in"`
	Out    int    `json:"out"`
	Stack  int    `json:"matrices,omitempty"` // of experts
}

// Save writes the weights of a model, some of which are quantised, to a safetensors file.
func Save(path string, m nn.Module) error {
	layers := map[string]stored{}
	tensors := map[string]tensor.Tensor{}
	for _, p := range nn.Params(m) {
		tensors[p.Name] = p.Value().Detach()
	}
	for _, s := range slotsOf(m) {
		switch l := s.Layer().(type) {
		case *nn.Linear:
			tensors[s.name+".weight"] = l.Weight.Detach().Transpose()
		case *nn.Embedding, *nn.Grouped:
		case interface{ weight() *Weight }:
			w := l.weight()
			layers[s.name] = stored{w.Bits, w.Group, w.Config.Scheme.String(), w.Config.Table, w.In, w.Out, w.Matrices}
		default:
			return fmt.Errorf("quant: %s is a %T, want no adapters (merge or remove them first)", s.name, l)
		}
	}
	text, err := json.Marshal(layers)
	if err != nil {
		return fmt.Errorf("quant: %w", err)
	}
	return safetensors.Save(path, tensors, map[string]string{"format": "pt", metadataKey: string(text)})
}

// WeightOf is the weight of a layer that is quantised, else nil.
func WeightOf(layer nn.Module) *Weight {
	if l, ok := layer.(interface{ weight() *Weight }); ok {
		return l.weight()
	}
	return nil
}

func (l *Linear) weight() *Weight    { return l.Weight }
func (e *Embedding) weight() *Weight { return e.Weight }
func (g *Grouped) weight() *Weight   { return g.Weight }

// Load reads a file that Save wrote into a model of the same shape: layers that are quantised in the file are
// so in the model afterwards, bit for bit. Every tensor of the file must belong to the model and every weight
// of the model to the file; otherwise the model stays as it was.
func Load(path string, m nn.Module) error {
	tensors, metadata, err := safetensors.Load(path)
	if err != nil {
		return err
	}
	text, ok := metadata[metadataKey]
	if !ok {
		return fmt.Errorf("quant: %s: no %q in its metadata, want a file of Save", path, metadataKey)
	}
	l := &loader{path: path, tensors: tensors, slots: map[string]slot{}, used: map[string]bool{}}
	if err := json.Unmarshal([]byte(text), &l.layers); err != nil {
		return fmt.Errorf("quant: %s: %s: %w", path, metadataKey, err)
	}
	for _, s := range slotsOf(m) {
		l.slots[s.name] = s
	}
	if err := l.prepare(m); err != nil {
		return err
	}
	for _, f := range l.commit {
		f()
	}
	return nil
}

// A loader checks a file against a model before it changes anything.
type loader struct {
	path    string
	layers  map[string]stored
	tensors map[string]tensor.Tensor
	slots   map[string]slot
	used    map[string]bool
	commit  []func()
}

func (l *loader) fail(format string, args ...any) error {
	return fmt.Errorf("quant: %s: %s", l.path, fmt.Sprintf(format, args...))
}

// prepare fills commit with the changes to the model.
func (l *loader) prepare(m nn.Module) error {
	replaced := map[string]bool{} // weights of layers that go
	for _, name := range slices.Sorted(maps.Keys(l.layers)) {
		if err := l.layer(name, l.layers[name]); err != nil {
			return err
		}
		replaced[name+".weight"] = true
		for _, part := range parts {
			replaced[name+"."+part] = true
		}
	}
	for _, p := range nn.Params(m) {
		if replaced[p.Name] {
			continue
		}
		if err := l.plain(p); err != nil {
			return err
		}
	}
	for name := range l.tensors {
		if !l.used[name] {
			return l.fail("tensor %q belongs to no weight of the model", name)
		}
	}
	return nil
}

// plain takes a weight that is stored as numbers.
func (l *loader) plain(p nn.Param) error {
	t, ok := l.tensors[p.Name]
	if !ok {
		return l.fail("no tensor %q", p.Name)
	}
	l.used[p.Name] = true
	want := p.Value()
	name, weight := strings.CutSuffix(p.Name, ".weight")
	if slot, ok := l.slots[name]; ok && weight {
		if _, linear := slot.Layer().(*nn.Linear); linear {
			t = t.Transpose()
		}
	}
	if t.DType() != want.DType() || !slices.Equal(t.Shape(), want.Shape()) {
		return l.fail("tensor %q is %v%v, want %v%v", p.Name, t.DType(), t.Shape(), want.DType(), want.Shape())
	}
	l.commit = append(l.commit, func() { want.Set(tensor.FromBytes(t.DType(), t.Bytes(), t.Shape()...).To(want.Device())) })
	return nil
}

// layer takes a quantised layer.
func (l *loader) layer(name string, s stored) error {
	slot, ok := l.slots[name]
	if !ok {
		return l.fail("quantised layer %q is not in the model", name)
	}
	scheme := slices.Index(schemes[:], s.Scheme)
	if scheme < 0 {
		return l.fail("layer %q: got scheme %q, want one of %v", name, s.Scheme, schemes)
	}
	want, bias, err := sizes(slot.Layer())
	if err != nil {
		return l.fail("layer %q: %v", name, err)
	}
	if got := shape(s.Stack, s.In, s.Out); !slices.Equal(got, want) {
		return l.fail("layer %q is %v, want %v", name, got, want)
	}
	// A file has no defaults: bits or groups that are missing are 0, which check refuses.
	c := Config{Bits: s.Bits, Group: s.Group, Scheme: Scheme(scheme), Scale: dtype.F32, Table: s.Table}
	if err := c.check(); err != nil {
		return l.fail("layer %q: %v", name, err)
	}
	w := newWeight(c, s.In, s.Out)
	w.Matrices = s.Stack
	if err := l.parts(name, w); err != nil {
		return err
	}
	on := nn.Device(slot.Layer())
	l.commit = append(l.commit, func() {
		for _, m := range w.members() {
			*m.Weight = m.Weight.To(on).Eval()
		}
		switch _, table := slot.Layer().(nn.Scorer); {
		case slot.Field != nil:
			slot.set(&Grouped{Weight: w})
		case table:
			slot.set(&Embedding{Weight: w})
		default:
			slot.set(&Linear{Weight: w, Bias: bias})
		}
	})
	return nil
}

// parts reads codes, scales and what the scheme needs.
func (l *loader) parts(name string, w *Weight) error {
	codes, scales := w.Shapes()
	take := func(part string, shape []int, dtypes ...dtype.Type) (tensor.Tensor, error) {
		part = name + "." + part
		t, ok := l.tensors[part]
		if !ok {
			return t, l.fail("no tensor %q", part)
		}
		l.used[part] = true
		if !slices.Contains(dtypes, t.DType()) || !slices.Equal(t.Shape(), shape) {
			return t, l.fail("tensor %q is %v%v, want %v%v", part, t.DType(), t.Shape(), dtypes[0], shape)
		}
		return t, nil
	}
	var err error
	if w.Codes, err = take(parts[0], codes, dtype.U8); err != nil {
		return err
	}
	if w.Scales, err = take(parts[1], scales, dtype.F32, dtype.BF16); err != nil {
		return err
	}
	w.Config.Scale = w.Scales.DType()
	switch w.Config.Scheme {
	case Affine:
		w.Extra, err = take(parts[2], scales, dtype.U8)
	case Minimum:
		w.Extra, err = take(parts[3], scales, w.Config.Scale)
	case Table:
		w.Extra, err = take(parts[4], []int{1 << w.Bits}, dtype.F32)
	}
	return err
}

// shape is that of a matrix, or of a stack.
func shape(matrices, in, out int) []int {
	if matrices == 0 {
		return []int{in, out}
	}
	return []int{matrices, in, out}
}

// sizes returns the shape of the matrix of a layer that may be replaced, and its bias.
func sizes(layer nn.Layer) (want []int, bias tensor.Tensor, err error) {
	switch l := layer.(type) {
	case *nn.Linear:
		return l.Weight.Shape(), l.Bias, nil
	case *nn.Embedding:
		return shape(0, l.Weight.Len(1), l.Weight.Len(0)), bias, nil
	case *nn.Grouped:
		return l.Weight.Shape(), bias, nil
	case interface{ weight() *Weight }:
		w := l.weight()
		if linear, ok := layer.(*Linear); ok {
			bias = linear.Bias
		}
		return shape(w.Matrices, w.In, w.Out), bias, nil
	}
	return nil, bias, fmt.Errorf("got a %T, want a linear layer or an embedding without an adapter", layer)
}
