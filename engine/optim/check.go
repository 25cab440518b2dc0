package optim

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A setting is a number of a rule or a schedule, by the name of its field.
type setting struct {
	name  string
	value float64
}

// checked returns a *tensor.Error unless every setting is a finite number of at least 0, and below limit.
func checked(op string, limit float64, settings ...setting) error {
	for _, s := range settings {
		if s.value >= 0 && s.value < limit && !math.IsInf(s.value, 0) {
			continue
		}
		want := "a finite number of at least 0"
		if !math.IsInf(limit, 1) {
			want = fmt.Sprintf("at least 0 and less than %g", limit)
		}
		return &tensor.Error{Op: op, Msg: fmt.Sprintf("got %s %v, want %s", s.name, s.value, want)}
	}
	return nil
}

// must panics with an error that is there.
func must(errs ...error) {
	for _, err := range errs {
		if err != nil {
			panic(err)
		}
	}
}

var unlimited = math.Inf(1)

// checkStep panics with a *tensor.Error unless there is a gradient of its shape for each parameter, and a
// learning rate.
func checkStep(op string, params []nn.Param, grads []tensor.Tensor, rate float64) {
	must(checked(op, unlimited, setting{"learning rate", rate}))
	if len(grads) != len(params) {
		panic(&tensor.Error{Op: op, Msg: fmt.Sprintf("got %d gradients for %d parameters", len(grads), len(params))})
	}
	for i, p := range params {
		if got, want := grads[i].Shape(), p.Value().Shape(); !slices.Equal(got, want) {
			panic(&tensor.Error{Op: op, Msg: fmt.Sprintf("got a gradient of shape %v for %s %v", got, p.Name, want)})
		}
	}
}
