package optim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Group is parameters that are changed otherwise than the others.
type Group struct {
	Params string  // which, by their names, as nn.Targets reads them: "lora_B", "bias *norm.weight"
	Rate   float64 // factor of the learning rate; 0 means 1
	Rule   Rule    // nil: that of the Grouped
}

// Grouped changes groups of parameters by rules or rates of their own. A parameter belongs to the first group
// that chooses it, and else to none: Rule changes it. A group costs a launch more in each step.
type Grouped struct {
	Rule   Rule // nil: AdamW{}
	Groups []Group
}

// New returns an optimizer for parameters. It panics with a *tensor.Error for a group that chooses none of
// them, and for a rate that means nothing.
func (g Grouped) New(params []nn.Param) Optimizer { return training("optim.Grouped", params, g.of) }

// Of returns an optimizer for tensors, which groups choose by their names.
func (g Grouped) Of(weights ...tensor.Tensor) Optimizer { return g.New(named(weights)) }

// of returns an optimizer for parameters that are trained.
func (g Grouped) of(params []nn.Param) method {
	groups := append(slices.Clone(g.Groups), Group{Params: "*"}) // the last one is the rest
	members := make([][]nn.Param, len(groups))
	o := &grouped{op: "optim.Grouped", params: params}
	for _, p := range params {
		i := slices.IndexFunc(groups, func(group Group) bool {
			ok, err := nn.Targeted(group.Params, p.Name)
			if err != nil {
				panic(&tensor.Error{Op: "optim.Grouped", Msg: err.Error()})
			}
			return ok
		})
		o.of = append(o.of, i)
		members[i] = append(members[i], p)
	}
	for i, group := range groups {
		if len(members[i]) == 0 && i < len(g.Groups) {
			panic(&tensor.Error{Op: "optim.Grouped", Msg: fmt.Sprintf("group %q chooses none of %d parameters", group.Params, len(params))})
		}
		if !(group.Rate >= 0) || math.IsInf(group.Rate, 0) {
			panic(&tensor.Error{Op: "optim.Grouped", Msg: fmt.Sprintf("group %q: got rate %v, want a factor", group.Params, group.Rate)})
		}
		rule := group.Rule
		if rule == nil {
			rule = g.rule()
		}
		if len(members[i]) == 0 {
			rule = SGD{} // there is no rest
		}
		o.rates, o.groups = append(o.rates, cmp.Or(group.Rate, 1)), append(o.groups, rule.New(members[i]))
	}
	return o
}

func (g Grouped) rule() Rule {
	if g.Rule == nil {
		return AdamW{}
	}
	return g.Rule
}

// String says the settings.
func (g Grouped) String() string {
	text := g.rule().String()
	for _, group := range g.Groups {
		text += fmt.Sprintf("; %s:", group.Params)
		if group.Rule != nil {
			text += " " + group.Rule.String()
		}
		if group.Rate != 0 {
			text += fmt.Sprintf(" rate × %g", group.Rate)
		}
	}
	return text
}

type grouped struct {
	op     string // for errors
	params []nn.Param
	of     []int // the group of each parameter
	rates  []float64
	groups []method
	step   int
}

func (g *grouped) Update(grads []tensor.Tensor, rate float64, scale tensor.Tensor) *Update {
	checkStep(g.op, g.params, grads, rate)
	u := &Update{step: &g.step, rate: constant(rate)}
	for i, o := range g.groups {
		var own []tensor.Tensor
		for j, grad := range grads {
			if g.of[j] == i {
				own = append(own, grad)
			}
		}
		if len(own) == 0 {
			continue
		}
		part := o.Update(own, rate*g.rates[i], scale)
		part.rate = func(step int) float64 { return g.rates[i] * u.rate(step) }
		u.parts = append(u.parts, part)
	}
	u.old = sorted(u.parts, func(p *Update) []tensor.Tensor { return p.old })
	for _, part := range u.parts {
		u.private += part.private
	}
	u.make = func(inPlace bool, guard tensor.Tensor) []tensor.Tensor {
		return sorted(u.parts, func(p *Update) []tensor.Tensor { return p.make(inPlace, guard) })
	}
	return u
}

// sorted lists what the parts have, their memory last.
func sorted(parts []*Update, of func(*Update) []tensor.Tensor) []tensor.Tensor {
	var values, memory []tensor.Tensor
	for _, p := range parts {
		list := of(p)
		at := len(p.old) - p.private
		values, memory = append(values, list[:at]...), append(memory, list[at:]...)
	}
	return append(values, memory...)
}

func (g *grouped) State() State {
	s := State{Step: g.step, Tensors: map[string]tensor.Tensor{}}
	for _, o := range g.groups {
		maps.Copy(s.Tensors, o.State().Tensors)
	}
	return s
}

func (g *grouped) SetState(s State) error {
	rest := maps.Clone(s.Tensors)
	states := make([]State, len(g.groups))
	for i, o := range g.groups { // all are checked before one is set
		states[i] = State{Step: s.Step, Tensors: map[string]tensor.Tensor{}}
		for name, want := range o.State().Tensors {
			if err := s.fits(name, want); err != nil {
				return err
			}
			states[i].Tensors[name] = s.Tensors[name]
			delete(rest, name)
		}
	}
	for name := range rest {
		return fmt.Errorf("optim: the state has tensor %q, which no parameter of the groups wants", name)
	}
	for i, o := range g.groups {
		if err := o.SetState(states[i]); err != nil {
			return err
		}
	}
	g.step = s.Step
	return nil
}
