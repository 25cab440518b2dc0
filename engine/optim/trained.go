package optim

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// trained is an optimizer for those of its parameters that are not frozen. The method knows no others, so
// nothing can change a frozen one.
type trained struct {
	op     string // for errors
	given  []nn.Param
	params []nn.Param // of given
	held   []bool     // of each of given, whether it is trained
	method
}

// training returns an optimizer for the parameters that are not frozen, by a method for these.
func training(op string, given []nn.Param, by func(trained []nn.Param) method) Optimizer {
	o := &trained{op: op, given: given}
	for _, p := range given {
		o.held = append(o.held, p.Trainable())
		if p.Trainable() {
			p.Unfreeze()
			o.params = append(o.params, p)
		}
	}
	if len(o.params) == 0 && len(given) > 0 {
		panic(&tensor.Error{Op: op, Msg: fmt.Sprintf("got %d parameters, none of which is trained%s", len(given), nn.Untrained(given))})
	}
	o.method = by(o.params)
	return o
}

// named gives tensors the names that they have, or else their places.
func named(weights []tensor.Tensor) []nn.Param {
	var list []nn.Param
	for i := range weights {
		name := weights[i].Name()
		if name == "" || slices.ContainsFunc(list, func(p nn.Param) bool { return p.Name == name }) {
			name = strconv.Itoa(i)
		}
		list = append(list, nn.NewParam(name, &weights[i]))
	}
	return list
}

func (o *trained) Step(loss tensor.Tensor, rate float64) {
	o.Update(o.Grads(loss), rate, tensor.Tensor{}).commit(loss)
}

func (o *trained) Grads(loss tensor.Tensor) []tensor.Tensor {
	o.check()
	return tensor.Grad(loss, nn.Values(o.params)...)
}

func (o *trained) Update(grads []tensor.Tensor, rate float64, scale tensor.Tensor) *Update {
	o.check()
	if n := len(o.params); len(grads) != n && n < len(o.given) {
		panic(&tensor.Error{Op: o.op, Msg: fmt.Sprintf("got %d gradients for %d parameters that are trained, %d are frozen: Grads returns those", len(grads), n, len(o.given)-n)})
	}
	return o.method.Update(grads, rate, scale)
}

// check panics with a *tensor.Error if not what was frozen when the optimizer was made is frozen now.
func (o *trained) check() {
	for i, p := range o.given {
		switch {
		case p.Trainable() == o.held[i]:
		case o.held[i]:
			panic(&tensor.Error{Op: o.op, Msg: fmt.Sprintf("%s was trained when the optimizer was made, and now is %s", p.Name, p.Untrained())})
		default:
			panic(&tensor.Error{Op: o.op, Msg: fmt.Sprintf("%s was frozen when the optimizer was made, and now is not: make an optimizer for it, too", p.Name)})
		}
	}
}
