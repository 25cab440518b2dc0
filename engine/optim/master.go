package optim

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A parameter of f16 or bf16 has a master, a copy in f32 that is stepped in its place, and is that master
// rounded: bf16 has 8 bits, so that a step of less than a 500th of a number would be lost in each step. Where
// a master does not round to its parameter, somebody has set the parameter since, and it counts.

// mastered says whether a parameter has a master.
func mastered(p nn.Param) bool { return computed(p.Value()) != p.Value().DType() }

// masters returns the first masters of parameters; none of those that have no master.
func masters(params []nn.Param) []tensor.Tensor {
	list := make([]tensor.Tensor, len(params))
	for i, p := range params {
		if mastered(p) {
			list[i] = p.Value().Detach().Cast(computed(p.Value()))
		}
	}
	tensor.Eval(slices.DeleteFunc(slices.Clone(list), tensor.Tensor.IsNone)...)
	return list
}

// A kind is how an optimizer keeps what belongs to a parameter. Parameters of one kind are stepped together.
type kind struct {
	eight  bool // moments in 8 bits
	master bool
}

// byKind returns an optimizer that steps parameters of each kind by what of makes for them.
func byKind(op string, params []nn.Param, kindOf func(p nn.Param) kind, of func(k kind, params []nn.Param) method) method {
	var kinds []kind
	o := &grouped{op: op, params: params}
	for _, p := range params {
		k := kindOf(p)
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
		o.of = append(o.of, slices.Index(kinds, k))
	}
	if len(kinds) == 0 {
		return of(kind{}, nil)
	}
	if len(kinds) == 1 {
		return of(kinds[0], params)
	}
	for i, k := range kinds {
		var members []nn.Param
		for j, p := range params {
			if o.of[j] == i {
				members = append(members, p)
			}
		}
		o.rates, o.groups = append(o.rates, 1), append(o.groups, of(k, members))
	}
	return o
}

// withMasters adds masters to what an optimizer remembers.
func withMasters(list []memory, w []tensor.Tensor) []memory {
	if w == nil {
		return list
	}
	return append(list, memory{"master", w})
}

// masterless is what the text of a rule says of NoMasters.
func masterless(is bool) string {
	if is {
		return ", no masters"
	}
	return ""
}
