package tensor

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Long launches stop soon after their context is done, leave what they read as it was, and what they were to
// compute can be computed afterwards. The limit is generous, for machines that are busy; each case would run
// for much longer.
func TestInterruptInsideOfALaunch(t *testing.T) {
	use(t, "cpu")
	const limit = 2 * time.Second
	long := func(x Tensor) Tensor {
		for range 300 {
			x = x.Sin().Exp().Tanh().Add(0.5)
		}
		return x
	}
	for _, c := range []struct {
		name  string
		shape []int
		f     func(x Tensor) Tensor
	}{
		{"matmul", []int{4096, 4096}, func(x Tensor) Tensor {
			for range 8 { // the second and further ones: a list of launches
				x = x.MatMul(x).Mul(1e-3)
			}
			return x
		}},
		{"elementwise chain", []int{8 << 20}, long},
		{"reduced chain", []int{8, 1 << 20}, func(x Tensor) Tensor { return long(x).Sum(-1) }},
		{"rows of a chain", []int{1 << 13, 1 << 10}, func(x Tensor) Tensor { return long(x).Softmax(-1) }},
		{"one long row of a chain", []int{1, 8 << 20}, func(x Tensor) Tensor { return long(x).LogSoftmax(-1) }},
		{"attention", []int{1, 32, 8192, 64}, func(x Tensor) Tensor { return Attention(x, x, x, AttentionOptions{}) }},
		{"sorting", []int{64, 1 << 17}, func(x Tensor) Tensor {
			for range 40 {
				x, _ = x.TopK(1 << 17)
				x = x.Neg()
			}
			return x
		}},
	} {
		x := Full(0.5, c.shape...).Eval()
		y := c.f(x)
		ctx, cancel := context.WithCancel(context.Background())
		var stopped time.Time
		time.AfterFunc(60*time.Millisecond, func() { stopped = time.Now(); cancel() })
		err := EvalContext(ctx, y)
		switch {
		case err == nil:
			t.Logf("%s: done before it was stopped", c.name)
		case !errors.Is(err, context.Canceled) && err.Error() != "eval: interrupted":
			t.Errorf("%s: got %v", c.name, err)
		case time.Since(stopped) > limit:
			t.Errorf("%s: went on for %v", c.name, time.Since(stopped))
		}
		if err != nil && y.Evaluated() {
			t.Errorf("%s: the result was kept though it was not finished", c.name)
		}
		if got := x.Sub(0.5).Abs().Max().Item(); got != 0 {
			t.Errorf("%s: what it read is off by %v", c.name, got)
		}
	}
}
