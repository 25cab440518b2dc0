package tensor_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

type tensors = []tensor.Tensor

func single(f func(x tensor.Tensor) tensor.Tensor) func(x ...tensor.Tensor) tensors {
	return func(x ...tensor.Tensor) tensors { return tensors{f(x[0])} }
}

// customSin is Sin with a gradient of its own, made of operations or of Go code.
var customs = map[string]func(x ...tensor.Tensor) tensors{
	"operations": tensor.Custom(single(tensor.Tensor.Sin), cosine),
	"Go": tensor.Custom(single(func(x tensor.Tensor) tensor.Tensor {
		v := x.Float64s()
		for i := range v {
			v[i] = math.Sin(v[i])
		}
		return tensor.FromAs(x.DType(), v, x.Shape()...).To(x.Device())
	}), cosine),
	"a result twice": tensor.Custom(func(x ...tensor.Tensor) tensors {
		y := x[0].Sin()
		return tensors{y, y, x[0]}
	}, cosine),
}

func cosine(in, _, dout tensors) tensors { return tensors{in[0].Cos().Mul(dout[0])} }

// TestCustom: values, gradients, second and third ones, with what an evaluation kept and let go of.
func TestCustom(t *testing.T) {
	x := tensor.FromAs(dtype.F64, []float64{-1, 0.3, 2}).Param()
	for name, f := range customs {
		y := f(x)[0]
		if !tensor.AllClose(y, x.Sin(), 0, 1e-15) {
			t.Errorf("%s: got %v, want %v", name, y, x.Sin())
		}
		for i, want := range (tensors{x.Cos(), x.Sin().Neg(), x.Cos().Neg()}) {
			y = tensor.Grad(y.Sum(), x)[0]
			if !tensor.AllClose(y, want, 0, 1e-15) {
				t.Errorf("%s: derivative %d is %v, want %v", name, i+1, y, want)
			}
		}
		again := tensor.Checkpoint(func(x tensor.Tensor) tensor.Tensor { return f(x.Mul(2))[0] }, x)
		if name != "Go" { // which a checkpoint computes once
			if got, want := tensor.Grad(again.Sum(), x)[0], x.Mul(2).Cos().Mul(2); !tensor.AllClose(got, want, 0, 1e-15) {
				t.Errorf("%s: the gradient through a checkpoint is %v, want %v", name, got, want)
			}
		}
	}
}

// TestCustomOwnGradient: the gradient is what backward says, not what forward computes, and flows to
// arguments only; two functions share their first result, and each has its own second one.
func TestCustomOwnGradient(t *testing.T) {
	x, w := tensor.From([]float32{1, -2, 3}).Param(), tensor.From([]float32{2}).Param()
	straight := tensor.Custom(single(tensor.Tensor.Round), func(_, _, dout tensors) tensors { return tensors{dout[0].Mul(7)} })
	if got := tensor.Grad(straight(x.Mul(w))[0].Sum(), x)[0]; !tensor.AllClose(got, tensor.Full(14, 3), 0, 0) {
		t.Errorf("a straight-through estimator: got %v, want 14", got)
	}
	pair := func(second float64) func(x ...tensor.Tensor) tensors {
		return tensor.Custom(func(x ...tensor.Tensor) tensors { return tensors{x[0].Exp(), x[0].Mul(second)} },
			func(in, out, dout tensors) tensors { return tensors{out[0].Mul(dout[0]).Add(dout[1].Mul(second))} })
	}
	a, b := pair(2)(x), pair(3)(x)
	got := tensor.Grad(a[1].Mul(100).Add(b[1]).Add(a[0].Mul(0)).Sum(), x)[0]
	if tensor.Eval(a[0], b[0]); !tensor.AllClose(a[1].Add(b[1]), x.Mul(5), 0, 0) || !tensor.AllClose(got, tensor.Full(203, 3), 0, 0) {
		t.Errorf("two functions with one first result: got %v, %v and the gradient %v", a[1], b[1], got)
	}
	reads := tensor.Custom(single(func(x tensor.Tensor) tensor.Tensor { return x.Mul(w) }), func(in, _, dout tensors) tensors { return tensors{dout[0]} })
	if err := tensor.Try(func() { tensor.Grad(reads(x)[0].Sum(), w) }); err == nil || !strings.Contains(err.Error(), "does not depend on") {
		t.Errorf("a gradient of what forward reads by a handle: got %v, want a refusal", err)
	}
}

// TestCustomCompiled: operations are replayed; Go code that reads is refused.
func TestCustomCompiled(t *testing.T) {
	step := func(f func(x ...tensor.Tensor) tensors) func(x ...tensor.Tensor) tensors {
		return tensor.Compile(func(x ...tensor.Tensor) tensors { return tensor.Grad(f(x[0])[0].Sum(), x[0]) })
	}
	replayed := step(customs["operations"])
	for i := range 6 {
		x := tensor.Full(float64(i), 4)
		if got := replayed(x)[0]; !tensor.AllClose(got, x.Cos(), 1e-6, 1e-6) {
			t.Errorf("call %d: got %v, want %v", i, got, x.Cos())
		}
	}
	if err := tensor.Try(func() { step(customs["Go"])(tensor.Ones(4)) }); err == nil {
		t.Error("Go code that reads a tensor of a compiled function: want a refusal")
	}
}

func TestCustomRefuses(t *testing.T) {
	x := tensor.Ones(3).Param()
	back := func(grads ...tensor.Tensor) func() {
		f := tensor.Custom(single(tensor.Tensor.Exp), func(_, _, _ tensors) tensors { return grads })
		return func() { tensor.Grad(f(x)[0].Sum(), x) }
	}
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { tensor.Custom(single(tensor.Tensor.Exp), cosine)() }, "custom: got no arguments"},
		{func() { tensor.Custom(func(...tensor.Tensor) tensors { return nil }, cosine)(x) }, "custom: got a forward that returns nothing"},
		{back(), "custom: backward returned 0 tensors, want one for each of argument 1"},
		{back(tensor.Ones(2)), "custom: backward returned f32[2] for argument 1, want f32[3]"},
		{back(tensor.Tensor{}), "no gradient for operand 1"},
		{func() { tensor.JVP(tensor.Tensor.Exp, x, tensor.Ones(2)) }, "jvp: got the direction f32[2]"},
		{func() { tensor.Hessian(tensor.Tensor.Exp)(x) }, "hessian: got f32[3], want one element"},
		{func() { tensor.Jacobian(tensor.Tensor.Exp)(tensor.Range(3)) }, "want floats"},
		{func() { tensor.Vmap(func(x ...tensor.Tensor) tensor.Tensor { return x[0] })() }, "vmap: got nothing"},
		{func() { tensor.Vmap(func(x ...tensor.Tensor) tensor.Tensor { return x[0] })(x, tensor.Ones(2)) }, "vmap: got f32[2], want a first axis as long"},
	} {
		if err := tensor.Try(c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestFunctional holds functions of functions against torch.func (tests/peers/functional.py).
func TestFunctional(t *testing.T) {
	file, err := os.ReadFile("testdata/functional.json")
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]struct {
		Shape []int
		Data  []float64
	}
	if err := json.Unmarshal(file, &answers); err != nil {
		t.Fatal(err)
	}
	answer := func(name string) tensor.Tensor {
		a := answers[name]
		return tensor.FromAs(dtype.F64, a.Data, a.Shape...)
	}
	w, x, v, d, batch := answer("w"), answer("x"), answer("v"), answer("d"), answer("batch")
	layer := func(x tensor.Tensor) tensor.Tensor { return w.MatMul(x.Unsqueeze(1)).Squeeze(1).Tanh().Mul(x.Sum()) }
	energy := func(x tensor.Tensor) tensor.Tensor {
		return layer(x).Square().Sum().Add(x.LogSumExp(0).Mul(x.Prod()))
	}
	y, back := tensor.VJP(layer, x)
	_, along := tensor.JVP(layer, x, v)
	got := map[string]tensor.Tensor{
		"y": y, "vjp": back(d), "jvp": along, "jacobian": tensor.Jacobian(layer)(x), "twice": tensor.Jacobian(tensor.Jacobian(layer))(x),
		"hessian": tensor.Hessian(energy)(x), "third": tensor.Jacobian(tensor.Hessian(energy))(x),
		"vmap": tensor.Vmap(func(x ...tensor.Tensor) tensor.Tensor { return layer(x[0]) })(batch),
		"grads": tensor.Vmap(func(x ...tensor.Tensor) tensor.Tensor {
			y, back := tensor.VJP(energy, x[0])
			return back(tensor.OnesLike(y))
		})(batch),
	}
	for name, y := range got {
		if want := answer(name); !tensor.AllClose(y, want, 1e-12, 1e-12) {
			t.Errorf("%s: got %v, torch %v", name, y, want)
		}
	}
	linear := tensor.Hessian(func(x tensor.Tensor) tensor.Tensor { return x.Mul(v).Sum() })(x)
	if !tensor.AllClose(linear, tensor.Zeros(3, 3).Cast(dtype.F64), 0, 0) {
		t.Errorf("the Hessian of a linear function: got %v, want zeros", linear)
	}
}

// TestEvaluatedOnTheWay: whether values are read on the way changes no gradient. Where what they were
// computed from is forgotten, the gradient is refused.
func TestEvaluatedOnTheWay(t *testing.T) {
	x := tensor.From([]float32{1, 2, 3})
	f := func(x tensor.Tensor) tensor.Tensor {
		y := x.Mul(x)
		y.Eval()
		return y.Add(x).Sum()
	}
	_, back := tensor.VJP(f, x)
	_, along := tensor.JVP(f, x, tensor.Ones(3))
	for _, c := range []struct {
		name      string
		got, want tensor.Tensor
	}{
		{"vjp", back(tensor.Scalar(1)), tensor.From([]float32{3, 5, 7})},
		{"jvp", along, tensor.Scalar(15)},
		{"jacobian", tensor.Jacobian(f)(x), tensor.From([]float32{3, 5, 7})},
		{"hessian", tensor.Hessian(f)(x), tensor.Eye(3).Mul(2)},
		{"a piecewise linear function's hessian", tensor.Hessian(func(x tensor.Tensor) tensor.Tensor { return x.Relu().Add(x.Abs()).Sum().Add(x.Max()) })(x), tensor.Zeros(3, 3)},
		{"a product's hessian with a zero", tensor.Hessian(func(x tensor.Tensor) tensor.Tensor { return x.Prod() })(tensor.From([]float32{0, 2, 3})),
			tensor.From([]float32{0, 3, 2, 3, 0, 0, 2, 0, 0}, 3, 3)},
		{"a product's hessian with two", tensor.Hessian(func(x tensor.Tensor) tensor.Tensor { return x.Prod() })(tensor.From([]float32{0, 0, 3})),
			tensor.From([]float32{0, 3, 0, 3, 0, 0, 0, 0, 0}, 3, 3)},
		{"of what was computed before", tensor.Grad(tensor.Jacobian(f)(x).Sum(), x)[0], tensor.Full(2, 3)},
	} {
		if !tensor.AllClose(c.got, c.want, 1e-6, 0) {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}

	read := func(t tensor.Tensor) tensor.Tensor { return t.Eval() }
	w := tensor.From([]float32{1, 2, 3}).Param()
	for _, c := range []struct {
		name string
		x    tensor.Tensor
		loss func(x tensor.Tensor) tensor.Tensor
		want string // in the error, if there is one
	}{
		{"a term of the loss", x, func(x tensor.Tensor) tensor.Tensor { return read(x.Mul(x).Sum()).Add(x.Sum()) }, "through f32[], which was evaluated"},
		{"a layer", x, func(x tensor.Tensor) tensor.Tensor { return read(x.Exp()).Mul(x).Sum() }, "through f32[3], which was evaluated"},
		{"what an evaluated value was computed from", x, func(x tensor.Tensor) tensor.Tensor { return read(read(x.Exp()).Add(1)).Mul(x).Sum() },
			"through f32[3], which was evaluated"},
		{"a gradient", x, func(x tensor.Tensor) tensor.Tensor { return read(tensor.Grad(x.Mul(x).Sum(), x)[0]).Mul(x).Sum() }, "through f32[3], which was evaluated"},
		{"a parameter", w, func(x tensor.Tensor) tensor.Tensor { return read(x.Exp()).Mul(x).Sum() }, ""},
		{"what is detached", x, func(x tensor.Tensor) tensor.Tensor { return read(x.Detach().Exp()).Mul(x).Sum() }, ""},
		{"data", x, func(x tensor.Tensor) tensor.Tensor { return read(tensor.Ones(3).Mul(2)).Mul(x).Sum() }, ""},
		{"the last step of a loop", x, func(x tensor.Tensor) tensor.Tensor { return x.Mul(x).Sum() }, ""},
	} {
		at := c.x
		if c.name == "the last step of a loop" {
			at = read(read(x.Mul(2)).Sub(1))
		}
		var got tensor.Tensor
		err := tensor.Try(func() { got = tensor.Grad(c.loss(at), at)[0] })
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v and error %v, want %q", c.name, got, err, c.want)
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
