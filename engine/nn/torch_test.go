package nn

import (
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// answers are what PyTorch gave, by case and name (tests/peers/nn_modules.py).
func answers(t *testing.T) map[string]tensor.Tensor {
	t.Helper()
	all, _, err := safetensors.Load("testdata/torch.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// asTorchs fails unless got is want within 1e-5 of the largest number of want.
func asTorchs(t *testing.T, what string, got, want tensor.Tensor) {
	t.Helper()
	if !slices.Equal(got.Shape(), want.Shape()) {
		t.Errorf("%s: got shape %v, want PyTorch's %v", what, got.Shape(), want.Shape())
	} else if diff, most := tensor.MaxAbsDiff(got, want), want.Abs().Max().Item(); !(diff <= 1e-5*most) {
		t.Errorf("%s: differs from PyTorch's by %g, the largest is %g", what, diff, most)
	}
}

// weighted is the sum of element k times (k%7 − 3)/2.
func weighted(y tensor.Tensor) tensor.Tensor {
	if y.Rank() == 0 {
		return y
	}
	w := make([]float32, y.Size())
	for k := range w {
		w[k] = float32(k%7-3) / 2
	}
	return y.Mul(tensor.From(w, y.Shape()...)).Sum()
}

// A layer gives PyTorch's outputs and gradients with PyTorch's weights.
func TestLayersAreTorchs(t *testing.T) {
	all := answers(t)
	random := tensor.NewRNG(1)
	for name, m := range map[string]Layer{
		"linear": NewLinear(5, 4), "linear_bias": NewLinearBias(5, 4), "embedding": NewEmbedding(random, 7, 4, 1),
		"layer_norm": NewLayerNorm(6, 1e-5), "rms_norm": NewRMSNorm(6, 1e-6), "mlp": Sequential{NewLinearBias(3, 16), Tanh(), NewLinearBias(16, 2)},
		"relu": ReLU(), "leaky_relu": LeakyReLU(0.1), "elu": ELU(0.7), "gelu": GELU(), "gelu_tanh": GELUTanh(), "silu": SiLU(),
		"sigmoid": Sigmoid(), "tanh": Tanh(), "softplus": Softplus(), "softmax": Softmax(-1), "log_softmax": LogSoftmax(1), "flatten": Flatten(),
	} {
		params := Params(m)
		for _, p := range params {
			p.at.Set(p.fromFile(all[name+"/weight/"+p.Name]))
		}
		x := all[name+"/x"]
		wants := Values(params)
		if x.DType().Float() {
			x = x.Param()
			wants = append(wants, x)
		}
		y := m.Forward(x)
		asTorchs(t, name, y, all[name+"/y"])
		grads := tensor.Grad(weighted(y), wants...)
		for i, p := range params {
			asTorchs(t, name+": gradient of "+p.Name, p.turn(grads[i]), all[name+"/grad/"+p.Name])
		}
		if x.DType().Float() {
			asTorchs(t, name+": gradient of x", grads[len(params)], all[name+"/dx"])
		}
	}
}

func TestLossesAreTorchs(t *testing.T) {
	with := func(o tensor.CrossEntropyOptions) Loss {
		return func(x, y tensor.Tensor) tensor.Tensor { return tensor.CrossEntropy(x, y, o) }
	}
	all := answers(t)
	for name, loss := range map[string]Loss{
		"mse": MSELoss, "l1": L1Loss, "huber": HuberLoss(0.7), "bce_with_logits": BCEWithLogitsLoss,
		"cross_entropy": CrossEntropyLoss, "cross_entropy_ignored": CrossEntropyLoss,
		"cross_entropy_ignore_2": with(tensor.CrossEntropyOptions{Ignore: []int{2}}),
		"cross_entropy_smoothed": with(tensor.CrossEntropyOptions{Smoothing: 0.1}),
		"cross_entropy_rows":     with(tensor.CrossEntropyOptions{PerRow: true}),
	} {
		x := all[name+"/x"].Param()
		y := loss(x, all[name+"/target"])
		asTorchs(t, name, y, all[name+"/y"])
		asTorchs(t, name+": gradient", tensor.Grad(weighted(y), x)[0], all[name+"/dx"])
	}
}

// Every case of the file is one of the tests above.
func TestTorchsCasesAreUsed(t *testing.T) {
	cases := map[string]bool{}
	for name := range answers(t) {
		cases[strings.Split(name, "/")[0]] = true
	}
	if got, want := len(cases), 18+9; got != want {
		t.Errorf("got %d cases in the file, want the %d of the tests", got, want)
	}
}

// Dropout drops the share that it says, another one in each call, and keeps the mean, as PyTorch's does.
func TestDropoutStatistics(t *testing.T) {
	const n = 100_000
	tensor.Seed(5)
	for _, p := range []float64{0.1, 0.5, 0.9} {
		d := NewDropout(p)
		d.SetTraining(true)
		first, second := d.Forward(tensor.Ones(n)), d.Forward(tensor.Ones(n))
		kept := first.Ne(0).Cast(dtype.F32)
		both := kept.Mul(second.Ne(0).Cast(dtype.F32))
		for _, c := range []struct {
			what      string
			got, want float64
		}{
			{"kept", kept.Mean().Item(), 1 - p},
			{"kept in both calls", both.Mean().Item(), (1 - p) * (1 - p)},
			{"kept beside a kept one", kept.Slice(0, 0, n-1).Mul(kept.Slice(0, 1, n)).Mean().Item(), (1 - p) * (1 - p)},
		} {
			if limit := 5 * math.Sqrt(c.want*(1-c.want)/n); math.Abs(c.got-c.want) > limit {
				t.Errorf("p %v, %s: got a share of %v, want %v within %v", p, c.what, c.got, c.want, limit)
			}
		}
		if got, want := first.Max().Item(), 1/(1-p); math.Abs(got-want) > 1e-6*want {
			t.Errorf("p %v: what is kept is %v, want %v", p, got, want)
		}
	}
}

// TestPyTorchReads lets PyTorch, where it is installed, read what Save wrote, by load_state_dict.
func TestPyTorchReads(t *testing.T) {
	const installed = "import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, ['torch', 'safetensors'])))" // imports take seconds
	if err := exec.Command("python3", "-c", installed).Run(); err != nil {
		t.Skip("python3 with the packages torch and safetensors is not installed")
	}
	norm := NewLayerNorm(16, 1e-5)
	norm.Weight.Set(tensor.Rand(16))
	norm.Bias.Set(tensor.Randn(16))
	m := Sequential{NewEmbedding(tensor.NewRNG(1), 7, 3, 1), NewLinearBias(3, 16), norm, Tanh(), NewLinearBias(16, 2)}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := Save(path, m); err != nil {
		t.Fatal(err)
	}
	tensors, metadata, err := safetensors.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.From([]int{0, 3, 6, 2})
	tensors["test.x"], tensors["test.y"] = x, m.Forward(x)
	if err := safetensors.Save(path, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("python3", "../../tests/peers/nn_modules.py", "check", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
