package optim

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A person may look at the loss, and at whatever else was computed from the parameters and not read yet,
// after the step that it led to: its value is that of before the step, in each step.
func TestLossAfterTheStep(t *testing.T) {
	x := tensor.From([]float64{1, 2, 3}).Eval()
	for _, rule := range []Rule{AdamW{}, SGD{}, SGD{Momentum: 0.9}} {
		for _, c := range []struct {
			name   string
			commit func(u *Update)
		}{
			{"Commit", (*Update).Commit},
			{"CommitIf", func(u *Update) { u.CommitIf(tensor.Scalar(1)) }},
			{"Tensors and Commit", func(u *Update) { tensor.Eval(u.Tensors()...); u.Commit() }},
		} {
			w := tensor.From([]float64{3, -1, 2}).Param()
			o := rule.New([]nn.Param{nn.NewParam("w", &w)})
			for i := range 8 {
				now := w.Float64s()
				want, sum := 0.0, 0.0
				for k, v := range now {
					want += math.Exp(v * float64(k+1) / 4)
					sum += v
				}
				loss, other := w.Mul(x).Mul(0.25).Exp().Sum(), tensor.Tensor{}
				if i >= 4 {
					other = w.Sum()
				}
				c.commit(o.Update(tensor.Grad(loss, w), 0.1, tensor.Tensor{}))
				var got, of float64
				if err := tensor.Try(func() {
					if got, of = loss.Item(), sum; !other.IsNone() {
						of = other.Item()
					}
				}); err != nil {
					t.Fatalf("%v, %s, step %d: %v", rule, c.name, i+1, err)
				}
				if math.Abs(got-want) > 1e-3 || math.Abs(of-sum) > 1e-3 {
					t.Errorf("%v, %s, step %d: the loss is %v and the sum %v, want %v and %v", rule, c.name, i+1, got, of, want, sum)
				}
				if moved := w.Float64s(); moved[0] == now[0] {
					t.Errorf("%v, %s, step %d: nothing was learnt", rule, c.name, i+1)
				}
			}
		}
	}
}

// A pupil is a small classifier with what a person may hold of one of its steps.
type pupil struct {
	w, v          tensor.Tensor // parameters [4 8], [8 3]
	hidden, score tensor.Tensor
	loss, norm    tensor.Tensor
	grads         []tensor.Tensor
}

var (
	pupilRows    = tensor.Arange(0, 20, 1).Mul(0.1).Sin().Reshape(5, 4).Eval()
	pupilTargets = tensor.From([]int{0, 2, 1, 1, 0})
)

// look goes forward and back.
func (p *pupil) look() {
	p.hidden = pupilRows.MatMul(p.w).Tanh()
	p.score = p.hidden.MatMul(p.v)
	p.loss = tensor.CrossEntropy(p.score, pupilTargets, tensor.CrossEntropyOptions{})
	p.grads = tensor.Grad(p.loss, p.w, p.v)
	_, p.norm = ClipScale(p.grads, 1)
}

// copy is a pupil of equal weights, in memory that no optimizer has.
func (p *pupil) copy() *pupil {
	c := &pupil{w: tensor.From(p.w.Floats()).Reshape(4, 8).Param(), v: tensor.From(p.v.Floats()).Reshape(8, 3).Param()}
	c.look()
	return c
}

// What a person holds of a step has the value after it, and after later ones, that it would have had before:
// each thing held alone, since one that keeps the old weights would hide another that does not.
func TestWhatIsHeldStays(t *testing.T) {
	held := []struct {
		name string
		of   func(p *pupil) tensor.Tensor // taken before the step
		read func(t tensor.Tensor, p *pupil) tensor.Tensor
	}{
		{"the loss", func(p *pupil) tensor.Tensor { return p.loss }, nil},
		{"logits that only a gradient reads", func(p *pupil) tensor.Tensor { return p.score }, nil},
		{"logits that were evaluated", func(p *pupil) tensor.Tensor { return p.score.Eval() }, nil},
		{"a view of them", func(p *pupil) tensor.Tensor { return p.score.At(2) }, nil},
		{"what the first layer gives", func(p *pupil) tensor.Tensor { return p.hidden }, nil},
		{"the norm of the gradients", func(p *pupil) tensor.Tensor { return p.norm }, nil},
		{"a gradient", func(p *pupil) tensor.Tensor { return p.grads[0] }, nil},
		{"a gradient that is asked for later", func(p *pupil) tensor.Tensor { return p.loss },
			func(loss tensor.Tensor, p *pupil) tensor.Tensor { return tensor.Grad(loss, p.hidden)[0] }},
		{"a weight's snapshot", func(p *pupil) tensor.Tensor { return p.w.Snapshot() }, nil},
		{"a weight's row", func(p *pupil) tensor.Tensor { return p.w.At(1) }, nil},
		{"a weight's row that was evaluated", func(p *pupil) tensor.Tensor { return p.w.At(1).Eval() }, nil},
		{"a weight, detached", func(p *pupil) tensor.Tensor { return p.w.Detach().Eval() }, nil},
		{"what was set to a weight", func(p *pupil) tensor.Tensor { y := tensor.Zeros(4, 8); y.Set(p.w); return y }, nil},
	}
	for _, rule := range []Rule{AdamW{}, SGD{}, SGD{Momentum: 0.9, Nesterov: true}} {
		for _, c := range []struct {
			name   string
			commit func(u *Update, p *pupil)
		}{
			{"Commit", func(u *Update, _ *pupil) { u.Commit() }},
			{"CommitIf of the loss", func(u *Update, p *pupil) { u.CommitIf(p.loss) }},
			{"CommitIf of loss and norm", func(u *Update, p *pupil) { u.CommitIf(p.loss, p.norm) }},
			{"all in one evaluation", func(u *Update, p *pupil) {
				tensor.Eval(append(u.Tensors(), p.loss, p.norm, p.score)...)
				u.Commit()
			}},
		} {
			for _, h := range held {
				what := fmt.Sprintf("%v, %s, %s", rule, c.name, h.name)
				p := &pupil{w: tensor.Arange(0, 32, 1).Cos().Reshape(4, 8).Param(), v: tensor.Arange(0, 24, 1).Sin().Reshape(8, 3).Param()}
				o := rule.New([]nn.Param{nn.NewParam("w", &p.w), nn.NewParam("v", &p.v)})
				type kept struct {
					got  tensor.Tensor
					p    pupil
					want []float32
				}
				var all []kept
				for range 4 {
					before := p.copy()
					p.look()
					k := kept{got: h.of(p), p: *p}
					want := h.of(before)
					if h.read != nil {
						want = h.read(want, before)
					}
					k.want = want.Floats()
					all = append(all, k)
					c.commit(o.Update(p.grads, 0.1, tensor.Tensor{}), p)
					tensor.Full(9, 4, 8).Add(0).Eval() // takes memory that came back
				}
				for i, k := range all {
					var got []float32
					err := tensor.Try(func() {
						if h.read != nil {
							k.got = h.read(k.got, &k.p)
						}
						got = k.got.Floats()
					})
					if err != nil || !slices.Equal(got, k.want) {
						t.Errorf("%s, of step %d: got %v, %v, want %v", what, i+1, got, err, k.want)
						break
					}
				}
			}
		}
	}
}

// What Tensors gave stays as well, whether the step is made or refused.
func TestNewValuesStay(t *testing.T) {
	for _, rule := range []Rule{AdamW{}, SGD{Momentum: 0.9}} {
		for _, guard := range []float64{1, math.NaN()} {
			ps := params([]float64{1, -2, 3})
			o := rule.New(ps)
			var held [][]tensor.Tensor
			var want [][]float32
			for range 3 {
				u := o.Update([]tensor.Tensor{tensor.From([]float64{1, 2, 3})}, 0.1, tensor.Tensor{})
				held = append(held, u.Tensors())
				for _, x := range u.Tensors() {
					want = append(want, x.Floats())
				}
				if made := u.CommitIf(tensor.Scalar(guard)); made == math.IsNaN(guard) {
					t.Errorf("%v: a step with guard %v was made: %v", rule, guard, made)
				}
			}
			for i, x := range slices.Concat(held...) {
				if err := tensor.Try(func() {
					if got := x.Floats(); !slices.Equal(got, want[i]) {
						t.Errorf("%v, guard %v: tensor %d is %v, want %v", rule, guard, i, got, want[i])
					}
				}); err != nil {
					t.Errorf("%v, guard %v: %v", rule, guard, err)
				}
			}
		}
	}
}

// Beside a compiled step things stay as well: what the step returns, what was computed from its weights
// between two calls, and what shares their memory.
func TestWhatIsHeldBesideACompiledStep(t *testing.T) {
	for name, of := range map[string]func(w tensor.Tensor, results []tensor.Tensor) tensor.Tensor{
		"nothing":                      nil,
		"the loss that it returns":     func(_ tensor.Tensor, r []tensor.Tensor) tensor.Tensor { return r[0] },
		"the new weight, as a result":  func(_ tensor.Tensor, r []tensor.Tensor) tensor.Tensor { return r[1] },
		"the weight itself, likewise":  func(_ tensor.Tensor, r []tensor.Tensor) tensor.Tensor { return r[2] },
		"a row that waits":             func(w tensor.Tensor, _ []tensor.Tensor) tensor.Tensor { return w.At(1) },
		"a row that was evaluated":     func(w tensor.Tensor, _ []tensor.Tensor) tensor.Tensor { return w.At(1).Eval() },
		"a sum that waits":             func(w tensor.Tensor, _ []tensor.Tensor) tensor.Tensor { return w.Sum() },
		"a snapshot":                   func(w tensor.Tensor, _ []tensor.Tensor) tensor.Tensor { return w.Snapshot() },
		"what was set to the weight":   func(w tensor.Tensor, _ []tensor.Tensor) tensor.Tensor { y := tensor.Zeros(5, 4); y.Set(w); return y },
		"a gradient of before, lazily": func(w tensor.Tensor, _ []tensor.Tensor) tensor.Tensor { return tensor.Grad(w.Mul(w).Sum(), w)[0] },
	} {
		w := tensor.Arange(0, 20, 1).Cos().Reshape(5, 4).Param()
		o := AdamW{}.New([]nn.Param{nn.NewParam("w", &w)})
		step := tensor.Compile(func(args ...tensor.Tensor) []tensor.Tensor {
			loss := w.Mul(args[0]).Tanh().Sum()
			o.Update(tensor.Grad(loss, w), 0.1, tensor.Tensor{}).CommitIf(loss)
			return []tensor.Tensor{loss, w.Mul(1), w}
		})
		var held []tensor.Tensor
		var want [][]float32
		for range 8 {
			results := step(pupilRows)
			if of == nil {
				continue
			}
			x := of(w, results)
			held = append(held, x)
			// The same of a weight that nothing else has.
			alone := tensor.From(w.Floats()).Reshape(5, 4).Param()
			want = append(want, of(alone, []tensor.Tensor{tensor.From(results[0].Item()), alone, alone.Snapshot()}).Floats())
		}
		for i, x := range held {
			if err := tensor.Try(func() {
				if got := x.Floats(); !slices.Equal(got, want[i]) {
					t.Errorf("%s, of call %d: got %v, want %v", name, i+1, got, want[i])
				}
			}); err != nil {
				t.Errorf("%s, of call %d: %v", name, i+1, err)
			}
		}
	}
}

// A goroutine that builds on a weight while steps change it where it lies gets the weight of before or after
// a step: all of its elements are of the same step, and it is never freed.
func TestBuildingBesideSteps(t *testing.T) {
	const n = 1 << 14
	for name, of := range map[string]func(w tensor.Tensor) tensor.Tensor{
		"the weight":            func(w tensor.Tensor) tensor.Tensor { return w },
		"an operation":          func(w tensor.Tensor) tensor.Tensor { return w.Add(1).Sub(1) },
		"a view":                func(w tensor.Tensor) tensor.Tensor { return w.Reshape(2, n/2) },
		"a snapshot":            func(w tensor.Tensor) tensor.Tensor { return w.Snapshot() },
		"a tensor that was set": func(w tensor.Tensor) tensor.Tensor { y := tensor.Zeros(n); y.Set(w); return y },
		"a gradient": func(w tensor.Tensor) tensor.Tensor {
			w = w.Snapshot()
			return tensor.Grad(w.Mul(w).Mul(0.5).Sum(), w)[0]
		},
	} {
		for _, compiled := range []bool{false, true} {
			w := tensor.Full(1, n).Param()
			o := AdamW{}.New([]nn.Param{nn.NewParam("w", &w)})
			step := func(grads ...tensor.Tensor) []tensor.Tensor {
				o.Update(grads, 1e-3, tensor.Tensor{}).Commit()
				return nil
			}
			if compiled {
				step = tensor.Compile(step)
			}
			grad := tensor.Full(1, n).Eval()
			ctx, end := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- tensor.Try(func() {
					for ctx.Err() == nil {
						x := of(w)
						runtime.Gosched()
						list := x.Floats()
						for i, v := range list {
							if math.Abs(float64(v-list[0])) > 1e-6 {
								t.Errorf("%s, compiled %v: element %d is %v, and the first %v", name, compiled, i, v, list[0])
								return
							}
						}
					}
				})
			}()
			for range 200 {
				step(grad)
				if len(ended) > 0 {
					break
				}
			}
			end()
			if err := <-ended; err != nil {
				t.Errorf("%s, compiled %v: %v", name, compiled, err)
			}
		}
	}
}
