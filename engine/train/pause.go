package train

import (
	"reflect"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A run that was interrupted waits beside the first weight that it trains: as long as the model lives, and no
// longer. So each of several interrupted runs goes on when it is called again, whatever ran in between.
type paused struct {
	sync.Mutex
	runs []*trainer
}

// pausedKey is what a weight keeps its paused runs under.
type pausedKey struct{}

// pausedAt returns the interrupted runs that a weight keeps.
func pausedAt(weight tensor.Tensor) *paused {
	list, _ := access.Notes(weight).LoadOrStore(pausedKey{}, new(paused))
	return list.(*paused)
}

// pause keeps a run that was interrupted.
func pause(t *trainer) {
	list := pausedAt(t.params[0].Value())
	list.Lock()
	defer list.Unlock()
	list.runs = append(list.runs, t)
}

// takePaused returns the interrupted run that these arguments mean, the newest if there are several, or nil.
// The weight no longer keeps it then.
func takePaused(m Model, d data.Source, o Options, params []nn.Param) *trainer {
	list := pausedAt(params[0].Value())
	list.Lock()
	defer list.Unlock()
	signature := signatureOf(d, o, params)
	for i, t := range slices.Backward(list.runs) {
		if !sameModel(t.model, m) || t.o.Checkpoint != o.Checkpoint || !sameParams(t.params, params) || t.signature != signature {
			continue
		}
		list.runs = slices.Delete(list.runs, i, i+1)
		t.model, t.data, t.o = m, d, o
		t.stepper = t.newStepper()
		t.history.Total, t.history.Interrupted = o.Steps, false
		if o.Seed == 0 {
			t.random = tensor.DefaultRNG()
		}
		return t
	}
	return nil
}

// overtaken says whether the run's checkpoint folder has come further than the run: another process went on
// with it.
func (t *trainer) overtaken() bool {
	if t.o.Checkpoint == "" {
		return false
	}
	step, ok, err := t.oneOf(func(steps []int) (int, error) { return steps[0], nil })
	return err == nil && ok && step > t.history.Steps()
}

// sameModel says whether a and b are one model: the same value, or, for types that Go does not compare (a
// slice of layers, a function for the loss), one type with the same weights.
func sameModel(a, b Model) bool {
	if reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() {
		return a == b
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && sameParams(nn.Params(a), nn.Params(b))
}

func sameParams(a, b []nn.Param) bool {
	return slices.EqualFunc(a, b, func(p, q nn.Param) bool { return p.Value() == q.Value() })
}

// Forget drops the runs of the model that were interrupted: the next Run begins with step 0, and the memory
// of their optimizers comes back.
func Forget(m Model) {
	for _, p := range nn.Params(m) {
		access.Notes(p.Value()).Delete(pausedKey{})
	}
}
