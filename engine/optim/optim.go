// Package optim changes parameters so that a loss becomes smaller.
//
// A [Rule] is the settings of a method ([AdamW], [SGD]); its New gives an [Optimizer] for a list of
// parameters, and Of one for tensors. It trains those that are not frozen, and holds what the method
// remembers of them:
//
//	opt := optim.AdamW{}.New(nn.Params(m))
//	for range steps {
//		opt.Step(nn.CrossEntropyLoss(m.Forward(x), y), 1e-3)
//	}
//
// A step has two halves: Update says, lazily, what the parameters and the memory would be, and
// [Update.Commit] makes it so. Between the two the caller evaluates everything together, and can still refuse
// a step whose loss is not finite. The learning rate comes from a [Schedule]; gradients are scaled by a
// tensor, so that clipping by the global norm ([ClipScale]) waits for no device.
//
// Parameters of f16 and bf16 are stepped by copies in f32, their masters, unless a rule says NoMasters: small
// steps add up, and parameters are the masters, rounded. Masters are part of the state.
//
// Reading order: optim.go, trained.go, adamw.go, adamw8.go, master.go, sgd.go, grouped.go, schedule.go.
package optim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Rule is the settings of a method. Its zero value is usable.
type Rule interface {
	// New returns an optimizer for parameters. It trains those that are not frozen, and makes each of them a
	// tensor.Param. It panics with a *tensor.Error if all are frozen, and for settings that mean nothing:
	// NaN, negative numbers, a momentum of 1.
	New(params []nn.Param) Optimizer
	String() string
}

// An Optimizer applies a rule to a list of parameters.
type Optimizer interface {
	// Step makes one step with the gradients of loss, a tensor of one element, and computes loss with it: in
	// PyTorch's words it is loss.backward(), optimizer.step() and optimizer.zero_grad(). It panics with a
	// *tensor.Error as Grads and Update do.
	Step(loss tensor.Tensor, rate float64)
	// Grads returns the gradients of loss for the parameters that are trained, in their order, lazily. It
	// panics with a *tensor.Error if the loss does not depend on one of them.
	Grads(loss tensor.Tensor) []tensor.Tensor
	method
}

// A method is what tells one optimizer from another.
type method interface {
	// Update says what one step does: the gradients, those of Grads or others in their order, are multiplied
	// by scale (an f32 number, or none for 1) before they are used. It panics with a *tensor.Error if they
	// are not as many or have other shapes than the parameters that are trained, if one of these was frozen
	// or another one unfrozen since New, and for a rate that is negative or not finite.
	Update(grads []tensor.Tensor, rate float64, scale tensor.Tensor) *Update
	// State returns what must be kept to go on later exactly.
	State() State
	// SetState puts that back. A state that does not fit changes nothing.
	SetState(s State) error
}

// A State is an optimizer's memory: the number of steps that were committed, and tensors by name.
type State struct {
	Step    int
	Tensors map[string]tensor.Tensor
}

// An Update is a step that is not made yet. Commit makes it. CommitIf makes it if it is sound. Tensors gives
// a caller the new values before that.
type Update struct {
	old []tensor.Tensor
	new []tensor.Tensor // nil until Tensors or Commit makes them
	// make returns the new values, in the order of old. With inPlace the caller will replace the old values
	// by them, whose memory they may take. If guard, a number, is there and not finite they equal the old
	// ones.
	make    func(inPlace bool, guard tensor.Tensor) []tensor.Tensor
	rate    func(step int) float64
	private int  // the last so many of old are the optimizer's memory, which nothing but one operation of the update reads
	shown   bool // Tensors has given new to somebody
	step    *int
	parts   []*Update // of which the update is made: see Grouped
}

// count adds to the steps that were made, of the update and its parts.
func (u *Update) count(n int) {
	*u.step += n
	for _, part := range u.parts {
		part.count(n)
	}
}

// Tensors lists the new values, which nothing but Commit gives to the parameters.
func (u *Update) Tensors() []tensor.Tensor {
	if u.new == nil {
		u.made(false, tensor.Tensor{})
	}
	u.shown = true
	return u.new
}

// made makes the new values. Plans and profiles show that their launches belong to the optimizer.
func (u *Update) made(inPlace bool, guard tensor.Tensor) {
	ir.InPass(ir.Optimizer, func() { u.new = u.make(inPlace, guard) })
}

// At makes rate, such as a schedule's At, the learning rate of the step in place of the number that Update
// was given. A compiled function (tensor.Compile) asks rate in each call, with the number of steps that were
// made by then.
func (u *Update) At(rate func(step int) float64) *Update {
	u.rate = rate
	return u
}

// Commit gives parameters and memory their new values. What could still be read keeps the old ones: a
// Snapshot, a loss and whatever else was computed from the parameters, evaluated or not, and its gradients.
// If nothing could, and nobody called Tensors, parameters and memory change where they lie.
func (u *Update) Commit() { u.commit() }

// commit is Commit that computes others, too.
func (u *Update) commit(others ...tensor.Tensor) {
	if u.new == nil {
		u.made(true, tensor.Tensor{})
	}
	tensor.Eval(slices.Concat(others, u.new)...)
	u.await()
	u.store()
	tensor.Callback(func([]tensor.Tensor) { u.count(1) })
}

// CommitIf computes the step together with guard, a number, and others. It commits the step if guard is
// finite, and says whether it did; otherwise nothing changes. A loss and the norm of the gradients, added up,
// make a guard that is finite if the step is sound. In a function that is being compiled CommitIf returns
// true, since no value is known there; in each call of the compiled function the step is made only if guard
// is finite.
func (u *Update) CommitIf(guard tensor.Tensor, others ...tensor.Tensor) bool {
	if u.new == nil {
		u.made(true, guard)
	}
	tensor.Eval(slices.Concat(others, []tensor.Tensor{guard}, u.new)...)
	made := true
	tensor.Callback(func(values []tensor.Tensor) {
		g := values[0].Item()
		if made = !math.IsNaN(g) && !math.IsInf(g, 0); made {
			u.count(1)
		}
	}, guard)
	switch {
	case made:
		u.await() // if the step failed, all stays as it was
		u.store()
	case !u.shown:
		tensor.Free(u.new...)
	}
	return made
}

// CommitLater is CommitIf that does not wait for the device to know guard. The step counts as made until the
// caller says what became of it: see Pending. It waits all the same if old values of more than a quarter of a
// GiB would have to be kept meanwhile.
func (u *Update) CommitLater(guard tensor.Tensor, others ...tensor.Tensor) *Pending {
	if u.new == nil {
		u.made(true, guard)
	}
	tensor.Eval(slices.Concat(others, []tensor.Tensor{guard}, u.new)...)
	p := &Pending{count: u.count}
	var moved []int
	bytes := 0
	for i, t := range u.new {
		if !access.CanTake(u.old[i], t) { // else it is as it was if the step fails
			moved, bytes = append(moved, i), bytes+t.Size()*t.DType().Size()
		}
	}
	const most = 256 << 20
	if bytes > most || access.Tracing() {
		u.await()
	} else {
		for _, i := range moved {
			p.at, p.old = append(p.at, u.old[i]), append(p.old, u.old[i].Snapshot())
		}
	}
	u.store()
	tensor.Callback(func([]tensor.Tensor) { u.count(1) })
	return p
}

// Cost says what CommitLater would take, and computes nothing.
func (u *Update) Cost(guard tensor.Tensor, others ...tensor.Tensor) tensor.Cost {
	if u.new == nil {
		u.made(true, guard)
	}
	return tensor.CostOf(slices.Concat(others, []tensor.Tensor{guard}, u.new)...)
}

// A Pending is a step that CommitLater asked the device for. If its guard turns out not to be finite, or the
// device fails, Undo makes parameters, memory and count those before the step. Otherwise Done lets go of what
// was kept for that, which graphs that were built on it still can read. The guard of a step that is asked for
// meanwhile has to be made of this one's; such steps are undone first, the last one before the others.
type Pending struct {
	count func(n int) // of steps
	at    []tensor.Tensor
	old   []tensor.Tensor // values of at before the step
}

// Undo takes the step back.
func (p *Pending) Undo() {
	p.count(-1)
	for i, t := range p.at {
		t.Set(p.old[i])
	}
	p.Done()
}

// Done says that the step was made.
func (p *Pending) Done() { p.at, p.old = nil, nil }

// await waits until it is sure that the device has made the step.
func (u *Update) await() {
	access.Await(u.new)
}

// store gives the parameters and the optimizer's memory what new holds.
func (u *Update) store() {
	for i := range u.old {
		if u.shown {
			u.old[i].Set(u.new[i])
			continue
		}
		readers := 0
		if i >= len(u.old)-u.private {
			readers = 1
		}
		access.Move(u.old[i], u.new[i], readers)
	}
}

// constant is a learning rate that is the same in each step.
func constant(rate float64) func(int) float64 { return func(int) float64 { return rate } }

// ClipScale returns the global norm of the gradients, √Σg² over all of them, and the factor min(1,
// limit/norm) that brings it down to limit (Pascanu et al. 2013). Both are f32 numbers that are not yet
// evaluated. A limit that is negative or NaN panics with a *tensor.Error.
func ClipScale(grads []tensor.Tensor, limit float64) (scale, norm tensor.Tensor) {
	if !(limit >= 0) {
		panic(&tensor.Error{Op: "optim.ClipScale", Msg: fmt.Sprintf("got limit %v, want at least 0", limit)})
	}
	ir.InPass(ir.Optimizer, func() {
		norm = tensor.SumSquares(grads).Sqrt()
		scale = tensor.FullLike(norm, limit).Div(norm.Add(1e-6)).Minimum(1)
	})
	return scale, norm
}

// computed is the dtype in which a parameter is stepped and its state kept: f32, or f64 for one of f64.
func computed(p tensor.Tensor) dtype.Type { return dtype.Promote(p.DType(), dtype.F32) }

// zeros returns the first state of each parameter, 0.
func zeros(params []nn.Param) []tensor.Tensor {
	list := make([]tensor.Tensor, len(params))
	for i, p := range params {
		list[i] = tensor.ZerosLike(p.Value())
		if dt := computed(p.Value()); dt != list[i].DType() { // a handle more would keep the first step from replacing it
			list[i] = list[i].Cast(dt)
		}
	}
	tensor.Eval(list...)
	return list
}

// memory is what an optimizer remembers under a name: a tensor for each parameter.
type memory struct {
	name    string          // "m": the tensor of parameter p is called "m.p"
	tensors []tensor.Tensor // none for a parameter that has no such memory
}

// kept is what an optimizer for parameters keeps from step to step.
type kept struct {
	params   []nn.Param
	memories []memory
	step     int
}

// each calls f with each tensor that is remembered, and its name in a state.
func (k *kept) each(f func(name string, t tensor.Tensor)) {
	for _, m := range k.memories {
		for i, p := range k.params {
			if !m.tensors[i].IsNone() {
				f(m.name+"."+p.Name, m.tensors[i])
			}
		}
	}
}

func (k *kept) State() State {
	s := State{Step: k.step, Tensors: map[string]tensor.Tensor{}}
	k.each(func(name string, t tensor.Tensor) { s.Tensors[name] = t.Snapshot() })
	return s
}

// SetState checks the whole state before it changes anything.
func (k *kept) SetState(s State) (err error) {
	want := 0
	k.each(func(string, tensor.Tensor) { want++ })
	if got := len(s.Tensors); got != want {
		return fmt.Errorf("optim: the state has %d tensors, want %d", got, want)
	}
	k.each(func(name string, t tensor.Tensor) { err = cmp.Or(err, s.fits(name, t)) })
	if err != nil {
		return err
	}
	k.each(func(name string, t tensor.Tensor) { t.Set(s.Tensors[name].To(t.Device())) })
	k.step = s.Step
	return nil
}

// fits says what is wrong with a tensor of a state that is to be like another one.
func (s State) fits(name string, want tensor.Tensor) error {
	t, ok := s.Tensors[name]
	if !ok {
		return fmt.Errorf("optim: the state has no tensor %q", name)
	}
	if t.DType() != want.DType() || !slices.Equal(t.Shape(), want.Shape()) {
		return fmt.Errorf("optim: tensor %q of the state is %v%v, want %v%v", name, t.DType(), t.Shape(), want.DType(), want.Shape())
	}
	return nil
}
