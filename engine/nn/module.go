// Package nn has the layers that models are built of.
//
// A [Module] is a tree: it lists its members, each of which is a weight, a part, or a slot. A slot is a place
// for a [Layer] that may be exchanged: package lora replaces a Linear there by one with an adapter. The names
// on the way from the root, joined by dots, are a weight's path ("model.layers.0.self_attn.q_proj.weight"),
// which files and errors use.
//
// A linear layer keeps its weight as [in out], so that y = x·W; the files of other libraries have it
// transposed, and [Save] writes it so.
//
// Reading order: module.go, linear.go, sequential.go, activation.go, loss.go, file.go; conv.go, batchnorm.go;
// norm.go, attention.go, latent.go, cache.go, recurrent.go, scan.go, delta.go, mamba.go, mlp.go, mixture.go.
package nn

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Module is a part of a model that has weights.
type Module interface {
	// Members lists what the module is made of, in the order of the forward pass.
	Members() []Member
}

// A Layer is a module that maps a tensor to a tensor.
type Layer interface {
	Module
	Forward(x tensor.Tensor) tensor.Tensor
}

// A module or layer that stores its parameters in another form than weights is also Counted: [Size] asks it.
type Counted interface {
	// Parameters is the number of parameters that are no weights.
	Parameters() int
}

// A module or layer that behaves differently in training is also TrainingAware: [SetTraining] tells it.
type TrainingAware interface {
	SetTraining(on bool)
}

// A module that goroutines may share while one of them changes it is a StepLocker. It holds the lock for
// reading while it builds what one step computes, so that a step sees all of a change or nothing; [Change]
// holds it for writing. What was built before a change is computed as it was built.
type StepLocker interface {
	StepLock() *Steps
}

// Steps are the lock of a [StepLocker]. They count what changed it, for those that keep what a step computes.
type Steps struct {
	sync.RWMutex
	changes int
}

// Lock is that of the sync.RWMutex, for a change.
func (s *Steps) Lock() {
	s.RWMutex.Lock()
	s.changes++
}

// Changes is how many there were. The caller holds the lock for reading.
func (s *Steps) Changes() int { return s.changes }

// Change calls f, which changes m, between two steps of m if it is a [StepLocker]. It must not be called by
// what builds a step.
func Change(m Module, f func()) {
	if l, ok := m.(StepLocker); ok {
		l.StepLock().Lock()
		defer l.StepLock().Unlock()
	}
	f()
}

// A Scorer is a layer that turns tokens into vectors, and can also say how much a vector looks like each
// token.
type Scorer interface {
	Layer
	// Scores returns x·Eᵀ [… V] of x [… D], where E [V D] has the tokens' vectors.
	Scores(x tensor.Tensor) tensor.Tensor
}

// A Replaceable is a layer of a type of its own, such as [Linear], that a model may have in a field of that
// type, where no other layer fits. Another one can compute in its place all the same: one with adapters.
type Replaceable interface {
	Layer
	// Instead is what computes in the layer's place, or nil.
	Instead() Layer
	// SetInstead lets l do so, and with nil the layer itself.
	SetInstead(l Layer)
}

// A standIn is what a Replaceable keeps.
type standIn struct{ layer Layer }

func (s *standIn) Instead() Layer     { return s.layer }
func (s *standIn) SetInstead(l Layer) { s.layer = l }

// A Member is one thing that a module is made of; exactly one of Weight, Slot and Part is set.
type Member struct {
	Name   string
	Weight *tensor.Tensor
	Fixed  bool // of a weight that cannot be trained: codes of a quantised layer
	Turned bool // of a weight [in out] that files have as [out in]
	// Running is set of what a pass in training changes without a gradient: running statistics. They are
	// Fixed.
	Running bool
	Slot    *Layer      // a layer that may be exchanged
	Exact   bool        // of a slot whose numbers choose: they are not to become codes
	Part    Module      // of a Replaceable one what computes in its place
	Field   Replaceable // that one, if Part is Replaceable, or in its place: Walk says it
}

// Module is the part, or the layer in the slot; nil of a weight.
func (m Member) Module() Module {
	if m.Slot != nil {
		return *m.Slot
	}
	return m.Part
}

// Layer is what computes where a layer may be exchanged: in the slot, or in the place of Field.
func (m Member) Layer() Layer {
	if m.Slot != nil {
		return *m.Slot
	}
	if l := m.Field.Instead(); l != nil {
		return l
	}
	return m.Field
}

// Exchange puts a layer there.
func (m Member) Exchange(l Layer) {
	switch {
	case m.Slot != nil:
		*m.Slot = l
	case l == Layer(m.Field):
		m.Field.SetInstead(nil)
	default:
		m.Field.SetInstead(l)
	}
}

// Present lists members without those that are not there: weights that are none, slots without a layer, and
// parts that are nil.
func Present(list ...Member) []Member {
	return slices.DeleteFunc(list, func(m Member) bool {
		if m.Weight != nil {
			return m.Weight.IsNone()
		}
		v := reflect.ValueOf(m.Module())
		return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
	})
}

// A Param is a weight of a model, by its path.
type Param struct {
	Name                   string
	at                     *tensor.Tensor
	fixed, turned, running bool
}

// NewParam names a weight that is in no module.
func NewParam(name string, at *tensor.Tensor) Param { return Param{Name: name, at: at} }

// Value returns the weight.
func (p Param) Value() tensor.Tensor { return *p.at }

// Trainable says whether training changes the weight: one of floats that nobody has frozen.
func (p Param) Trainable() bool { return p.Untrained() == "" }

// Untrained says why training leaves the weight as it is: "frozen", "fixed", "i64, which has no gradient". It
// is empty if the weight is trainable.
func (p Param) Untrained() string {
	switch why := p.at.Frozen(); {
	case p.fixed:
		return "fixed"
	case access.InParts(*p.at):
		return "held by several processes together, which only read it"
	case why != "":
		return why
	case p.at.DType().Complex():
		return fmt.Sprintf("%v, of which only the parts can be trained", p.at.DType())
	case !p.at.DType().Float():
		return fmt.Sprintf("%v, which has no gradient", p.at.DType())
	}
	return ""
}

// Untrained says why the weights are not trained that are not, with one example for each reason: ":
// 0.weight is frozen; 0.codes is fixed". It is empty if all are.
func Untrained(params []Param) string {
	var whys []string
	text := ""
	for _, p := range params {
		if why := p.Untrained(); why != "" && !slices.Contains(whys, why) {
			whys = append(whys, why)
			text += fmt.Sprintf("; %s is %s", p.Name, why)
		}
	}
	if text == "" {
		return ""
	}
	return ":" + text[1:]
}

// Running says whether a pass in training changes it without a gradient, as running statistics.
func (p Param) Running() bool { return p.running }

// Turned says whether files have the weight [in out] as [out in].
func (p Param) Turned() bool { return p.turned }

// Fixed says whether the weight cannot be trained, as the codes of a quantised layer.
func (p Param) Fixed() bool { return p.fixed }

// Freeze takes the weight out of training. Its values stay where they are.
func (p Param) Freeze() {
	if !p.fixed {
		p.at.Freeze()
	}
}

// Unfreeze makes the weight trainable, unless it is one that cannot be: codes, other integers, what package
// lora has merged.
func (p Param) Unfreeze() {
	if why := p.Untrained(); why == "" || why == box.Frozen {
		p.at.Param()
	}
}

// String describes the weight: "lm_head.weight f32[192 256], frozen".
func (p Param) String() string {
	state := "trainable"
	if !p.Trainable() {
		state = "frozen"
	}
	return fmt.Sprintf("%s %v%v, %s", p.Name, p.at.DType(), p.at.Shape(), state)
}

// Walk calls visit for every member of m and of its parts, from the outside in. The path is the member's own.
func Walk(m Module, visit func(path string, member Member)) { walk("", m, visit) }

func walk(prefix string, m Module, visit func(string, Member)) {
	for _, member := range m.Members() {
		path := prefix + member.Name
		if r, ok := member.Part.(Replaceable); ok {
			if member.Field = r; r.Instead() != nil {
				member.Part = r.Instead()
			}
		}
		visit(path, member)
		if inner := member.Module(); inner != nil {
			walk(path+".", inner, visit)
		}
	}
}

// Params lists the weights of m, in the order of the forward pass. A weight that is used twice is listed
// once.
func Params(m Module) []Param {
	var list []Param
	seen := map[*tensor.Tensor]bool{}
	Walk(m, func(path string, member Member) {
		if w := member.Weight; w != nil && !w.IsNone() && !seen[w] {
			seen[w] = true
			list = append(list, Param{path, w, member.Fixed, member.Turned, member.Running})
		}
	})
	return list
}

// Trainable lists the weights of m that training changes.
func Trainable(m Module) []Param {
	var list []Param
	for _, p := range Params(m) {
		if p.Trainable() {
			list = append(list, p)
		}
	}
	return list
}

// Freeze takes all weights of m out of training.
func Freeze(m Module) {
	for _, p := range Params(m) {
		p.Freeze()
	}
}

// Unfreeze makes all weights of m trainable that can be.
func Unfreeze(m Module) {
	for _, p := range Params(m) {
		p.Unfreeze()
	}
}

// Count is the number of elements of the weights.
func Count(params []Param) int {
	n := 0
	for _, p := range params {
		n += p.at.Size()
	}
	return n
}

// Convert stores the matrices of m in another floating-point dtype, BF16 say. Vectors (norms, biases) stay as
// they are, and a layer computes in the dtype of its input, if that is wider: products widen a matrix while
// they read it. Trainable weights stay trainable.
//
// The weight of a Linear that has no more outputs than inputs is stored turned, with the inputs of an output
// side by side: few rows, as in generation, are multiplied at the rate at which the weight can be read, which
// wants long stretches of it.
func Convert(m Module, dt dtype.Type) {
	if !dt.Float() {
		panic(&tensor.Error{Op: "nn.Convert", Msg: fmt.Sprintf("got %v, want a floating-point dtype", dt)})
	}
	for _, p := range Params(m) {
		w := *p.at
		if p.fixed || w.Rank() != 2 && !(p.turned && w.Rank() > 2) || w.DType() == dt {
			continue
		}
		if p.turned && w.Len(-2) >= w.Len(-1) {
			p.become(w.Detach().Transpose().Cast(dt).Eval().Transpose()) // evaluated: Set refuses views
		} else {
			p.become(w.Detach().Cast(dt))
		}
	}
}

// To moves the weights of m to a device, and evaluates them there. Trainable weights stay trainable. What was
// made for the weights before, an optimizer's memory for example, stays where it was: it is made anew, or
// loaded from a checkpoint.
func To(m Module, d device.Device) {
	for _, p := range Params(m) {
		w := *p.at
		if w.Device() == d {
			continue
		}
		p.become(w.To(d).Detach())
	}
}

// become puts t in the place of the weight, a parameter or frozen if that is.
func (p Param) become(t tensor.Tensor) {
	w := *p.at
	*p.at = t.Eval().Named(w.Name())
	if w.IsParam() {
		p.at.Param()
	} else if why := w.Frozen(); why != "" {
		access.Freeze(*p.at, why)
	}
}

// Device is where the first weight of m lives, for a module without weights the default device.
func Device(m Module) device.Device {
	if list := Params(m); len(list) > 0 {
		return list[0].at.Device()
	}
	return device.Default()
}

// Size is the number of parameters of m, those of [Counted] layers included, and how many bytes they take.
func Size(m Module) (parameters, bytes int) {
	for _, p := range Params(m) {
		bytes += p.at.Size() * p.at.DType().Size()
		if !p.fixed {
			parameters += p.at.Size()
		}
	}
	parts(m, func(l Counted) { parameters += l.Parameters() })
	return parameters, bytes
}

// Values lists the weights' tensors.
func Values(params []Param) []tensor.Tensor {
	list := make([]tensor.Tensor, len(params))
	for i, p := range params {
		list[i] = p.Value()
	}
	return list
}

// Hash is a SHA-256 of the weights' names, types, shapes and bits. Equal hashes: not one bit has changed. It
// is made of one for each weight, up to eight at a time, each of which takes twice the memory of its weight.
func Hash(params []Param) string {
	lines, ctx := make([]string, len(params)), scope.Context()
	var next atomic.Int64
	var failed atomic.Pointer[error]
	hash := func() {
		for i := next.Add(1) - 1; i < int64(len(params)); i = next.Add(1) - 1 {
			p := params[i]
			lines[i] = fmt.Sprintf("%s %v%v %x\n", p.Name, p.at.DType(), p.at.Shape(), sha256.Sum256(p.at.Bytes()))
		}
	}
	var wg sync.WaitGroup
	for range min(8, runtime.GOMAXPROCS(0), len(params)) {
		wg.Go(func() {
			if err := tensor.Try(func() { tensor.Within(ctx, hash) }); err != nil {
				failed.Store(&err)
			}
		})
	}
	if wg.Wait(); failed.Load() != nil {
		panic(*failed.Load())
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, ""))))
}

// SetTraining tells the parts of m that are [TrainingAware], such as dropout, whether the model is in
// training.
func SetTraining(m Module, on bool) {
	parts(m, func(t TrainingAware) { t.SetTraining(on) })
}

// parts calls f with m and those of its parts that are T.
func parts[T any](m Module, f func(T)) {
	call := func(x any) {
		if t, ok := x.(T); ok {
			f(t)
		}
	}
	call(m)
	Walk(m, func(_ string, member Member) { call(member.Module()) })
}

// SetNames gives every weight of m its path as its name, which errors then show. Models call it when they are
// built.
func SetNames(m Module) {
	for _, p := range Params(m) {
		p.at.Named(p.Name)
	}
}
