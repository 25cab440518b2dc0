package nn

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A BatchNorm is (x − mean)/√(variance + Eps)·Weight + Bias for each channel of [N C …] (Ioffe and Szegedy
// 2015). In training mean and variance are those of the batch, and each pass moves the running ones by
// Momentum towards them; afterwards the running ones count.
//
// A pass in training evaluates x and the statistics, unless a compiled function is traced: else the running
// statistics would hold on to all batches.
type BatchNorm struct {
	Weight, Bias   tensor.Tensor // [channels]
	Mean, Variance tensor.Tensor // running, [channels], f32; the variance of a batch is divided by its size − 1
	Batches        tensor.Tensor // how many have moved them, i64
	Eps, Momentum  float64
	rank           []int // that x may have
	training       bool
}

// NewBatchNorm1d returns a norm of [N channels] and [N channels L] that is not in training, with Eps 1e-5 and
// Momentum 0.1. Weight and variance are 1, bias and mean 0.
func NewBatchNorm1d(channels int) *BatchNorm {
	return newBatchNorm("nn.NewBatchNorm1d", channels, 2, 3)
}

// NewBatchNorm2d is [NewBatchNorm1d] for images [N channels H W].
func NewBatchNorm2d(channels int) *BatchNorm { return newBatchNorm("nn.NewBatchNorm2d", channels, 4) }

func newBatchNorm(op string, channels int, rank ...int) *BatchNorm {
	positive(op, length{"channels", channels})
	return &BatchNorm{
		Weight: tensor.Ones(channels).Named("weight").Param(), Bias: tensor.Zeros(channels).Named("bias").Param(),
		Mean: tensor.Zeros(channels).Eval().Named("running_mean"), Variance: tensor.Ones(channels).Eval().Named("running_var"),
		Batches: tensor.Zeros().Cast(dtype.I64).Eval().Named("num_batches_tracked"),
		Eps:     1e-5, Momentum: 0.1, rank: rank,
	}
}

// SetTraining says whether the statistics are those of the batch.
func (n *BatchNorm) SetTraining(on bool) { n.training = on }

// Forward normalises the channels of x.
func (n *BatchNorm) Forward(x tensor.Tensor) tensor.Tensor {
	if !slices.Contains(n.rank, x.Rank()) || x.Len(1) != n.Mean.Len(0) {
		panic(&tensor.Error{Op: "nn.BatchNorm", Msg: fmt.Sprintf("got %v%v, want [N %d …] with %d axes", x.DType(), x.Shape(), n.Mean.Len(0), n.rank[len(n.rank)-1])})
	}
	mean, variance := n.Mean, n.Variance
	if n.training {
		mean, variance = n.statistics(x)
	}
	shape := slices.Repeat([]int{1}, x.Rank())
	shape[1] = x.Len(1)
	each := func(t tensor.Tensor) tensor.Tensor { return t.Reshape(shape...) }
	scale := n.Weight.Mul(variance.Add(n.Eps).Rsqrt())
	return x.Sub(each(mean)).Mul(each(scale)).Add(each(n.Bias)).Cast(x.DType())
}

// statistics are those of a batch; the running ones follow them.
func (n *BatchNorm) statistics(x tensor.Tensor) (mean, variance tensor.Tensor) {
	axes := []int{0}
	for a := 2; a < x.Rank(); a++ {
		axes = append(axes, a)
	}
	count := x.Size() / n.Mean.Len(0)
	if count < 2 {
		panic(&tensor.Error{Op: "nn.BatchNorm", Msg: fmt.Sprintf("got %v%v in training, want at least 2 elements of each channel", x.DType(), x.Shape())})
	}
	tensor.Eval(x)
	wide := x
	if x.DType().Size() < 4 { // sums of squares need more than its digits
		wide = x.Cast(dtype.F32)
	}
	mean, variance = wide.Mean(axes...), wide.Var(axes...)
	towards := func(running, batch tensor.Tensor) tensor.Tensor {
		return running.Mul(1 - n.Momentum).Add(batch.Detach().Cast(running.DType()).Mul(n.Momentum))
	}
	to := []tensor.Tensor{towards(n.Mean, mean), towards(n.Variance, variance.Mul(float64(count)/float64(count-1))), n.Batches.Add(1)}
	tensor.Eval(to...)
	for i, t := range []tensor.Tensor{n.Mean, n.Variance, n.Batches} {
		t.Set(to[i])
	}
	return mean, variance
}

// Members lists weight, bias and the running statistics, as PyTorch names them.
func (n *BatchNorm) Members() []Member {
	return []Member{
		{Name: "weight", Weight: &n.Weight}, {Name: "bias", Weight: &n.Bias},
		{Name: "running_mean", Weight: &n.Mean, Fixed: true, Running: true},
		{Name: "running_var", Weight: &n.Variance, Fixed: true, Running: true},
		{Name: "num_batches_tracked", Weight: &n.Batches, Fixed: true, Running: true},
	}
}

// String describes the layer.
func (n *BatchNorm) String() string {
	return fmt.Sprintf("BatchNorm: channels %d, eps %g, momentum %g", n.Mean.Len(0), n.Eps, n.Momentum)
}
