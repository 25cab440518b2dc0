package ref

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.Softmax] = one(func(in *backend.Inst, a []value) value {
		return mapRows(in, a[0], func(x, y []float64) {
			top, sum := logSumExp(x)
			for j := range x {
				y[j] = math.Exp(x[j] - top - sum)
			}
		})
	})
	ops[ir.LogSoftmax] = one(func(in *backend.Inst, a []value) value {
		return mapRows(in, a[0], func(x, y []float64) {
			top, sum := logSumExp(x)
			for j := range x {
				y[j] = x[j] - top - sum
			}
		})
	})
	ops[ir.SoftmaxGrad] = gradByRow(func(y, dy float64) float64 { return y * dy },
		func(y, dy, dot float64) float64 { return y * (dy - dot) })
	ops[ir.LogSoftmaxGrad] = gradByRow(func(_, dy float64) float64 { return dy },
		func(y, dy, sum float64) float64 { return dy - math.Exp(y)*sum })
	ops[ir.LayerNorm] = one(layerNorm)
	ops[ir.LayerNormGrad] = layerNormGrad
	ops[ir.RMSNorm] = one(rmsNorm)
	ops[ir.RMSNormGrad] = rmsNormGrad
	ops[ir.CrossEntropy] = crossEntropy
	ops[ir.CrossEntropyGrad] = one(crossEntropyGrad)
}

// mapRows applies f to each row of x.
func mapRows(in *backend.Inst, x value, f func(x, y []float64)) value {
	r := newValue(in.DType, in.Shape)
	x = expand(x, in.Shape)
	n, w := rows(in.Shape)
	for i := range n {
		f(x.f[i*w:(i+1)*w], r.f[i*w:(i+1)*w])
	}
	return r
}

// logSumExp is log Σ exp(xⱼ), without overflow, as max x and what is to be added: together they would lose
// the digits of the smaller one. It is -Inf where every xⱼ is.
func logSumExp(x []float64) (top, rest float64) {
	top = math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	if math.IsInf(top, 0) || top != top {
		return top, 0
	}
	var sum float64
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top, math.Log(sum)
}

// gradByRow makes an op of y and dy from what is added up over a row, and what is made of the sum.
func gradByRow(term func(y, dy float64) float64, dx func(y, dy, sum float64) float64) func(*backend.Inst, []value) []value {
	return one(func(in *backend.Inst, a []value) value {
		r := newValue(in.DType, in.Shape)
		y, dy := expand(a[0], in.Shape), expand(a[1], in.Shape)
		n, w := rows(in.Shape)
		for i := range n {
			var sum float64
			for j := i * w; j < (i+1)*w; j++ {
				sum += term(y.f[j], dy.f[j])
			}
			for j := i * w; j < (i+1)*w; j++ {
				r.f[j] = dx(y.f[j], dy.f[j], sum)
			}
		}
		return r
	})
}

// moments returns the mean of a row and 1/√(variance + eps); the variance is divided by the number of
// elements.
func moments(x []float64, eps float64) (mean, rstd float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	var variance float64
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, 1 / math.Sqrt(variance/float64(len(x))+eps)
}

// layerNorm is (x − mean)·rstd·weight + bias.
func layerNorm(in *backend.Inst, a []value) value {
	weight, bias := a[1], a[2]
	return mapRows(in, a[0], func(x, y []float64) {
		mean, rstd := moments(x, in.Attr.Float)
		for j := range x {
			y[j] = (x[j]-mean)*rstd*weight.f[j] + bias.f[j]
		}
	})
}

// layerNormGrad gives dx, dweight and dbias. With x̂ the normalised row and g = dy·weight,
// dx = rstd·(g − mean(g) − x̂·mean(g·x̂)), dweight = Σ dy·x̂, dbias = Σ dy.
func layerNormGrad(in *backend.Inst, a []value) []value {
	x, weight, dy := a[0], a[1], a[2]
	out := results(in)
	dx, dw, db := out[0], out[1], out[2]
	n, w := rows(dx.shape)
	x, dy = expand(x, dx.shape), expand(dy, dx.shape)
	for i := range n {
		row := x.f[i*w : (i+1)*w]
		mean, rstd := moments(row, in.Attr.Float)
		var g1, g2 float64
		for j := range row {
			g, hat := dy.f[i*w+j]*weight.f[j], (row[j]-mean)*rstd
			g1 += g / float64(w)
			g2 += g * hat / float64(w)
		}
		for j := range row {
			d, hat := dy.f[i*w+j], (row[j]-mean)*rstd
			dx.f[i*w+j] = rstd * (d*weight.f[j] - g1 - hat*g2)
			dw.f[j] += d * hat
			db.f[j] += d
		}
	}
	return out
}

// rootMeanSquare returns 1/√(mean(x²) + eps).
func rootMeanSquare(x []float64, eps float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	return 1 / math.Sqrt(sum/float64(len(x))+eps)
}

// rmsNorm is x·weight/√(mean(x²) + eps).
func rmsNorm(in *backend.Inst, a []value) value {
	weight := a[1]
	return mapRows(in, a[0], func(x, y []float64) {
		r := rootMeanSquare(x, in.Attr.Float)
		for j := range x {
			y[j] = x[j] * r * weight.f[j]
		}
	})
}

// rmsNormGrad gives dx and dweight. With x̂ = x·r and g = dy·weight, dx = r·(g − x̂·mean(g·x̂)), dweight = Σ
// dy·x̂.
func rmsNormGrad(in *backend.Inst, a []value) []value {
	x, weight, dy := a[0], a[1], a[2]
	out := results(in)
	dx, dw := out[0], out[1]
	n, w := rows(dx.shape)
	x, dy = expand(x, dx.shape), expand(dy, dx.shape)
	for i := range n {
		row := x.f[i*w : (i+1)*w]
		r := rootMeanSquare(row, in.Attr.Float)
		var dot float64
		for j := range row {
			dot += dy.f[i*w+j] * weight.f[j] * row[j] * r / float64(w)
		}
		for j := range row {
			d, hat := dy.f[i*w+j], row[j]*r
			dx.f[i*w+j] = r * (d*weight.f[j] - hat*dot)
			dw.f[j] += d * hat
		}
	}
	return out
}

// target returns the class of row i, or false for a row that is ignored.
func target(in *backend.Inst, targets value, i, classes int) (int, bool) {
	t := targets.i[i]
	if t == int64(in.Attr.Index) {
		return 0, false
	}
	if t < 0 || t >= int64(classes) {
		panic(failure{fmt.Errorf("%v: target %d of row %d is out of range for %d classes", in.Op, t, in.Attr.Axis+i, classes)})
	}
	return int(t), true
}

// crossEntropy gives for each row (1−s)·(lse − x[target]) + s·(lse − mean(x)), where s is the label
// smoothing, and lse itself. An ignored row has loss 0.
func crossEntropy(in *backend.Inst, a []value) []value {
	x, targets, out := a[0], a[1], results(in)
	loss, lse := out[0], out[1]
	n, w := rows(x.shape)
	s := in.Attr.Float
	for i := range n {
		row := x.f[i*w : (i+1)*w]
		top, rest := logSumExp(row)
		lse.f[i] = top + rest
		t, counted := target(in, targets, i, w)
		if !counted {
			continue
		}
		loss.f[i] = (1 - s) * (top - row[t] + rest)
		if s != 0 {
			var sum float64
			for _, v := range row {
				sum += v
			}
			loss.f[i] += s * (top - sum/float64(w) + rest)
		}
	}
	return out
}

// crossEntropyGrad takes logits, targets, logsumexp and the gradient of the losses, and gives that of the
// logits: dloss·(softmax(x) − (1−s)·onehot(target) − s/V); 0 for an ignored row.
func crossEntropyGrad(in *backend.Inst, a []value) value {
	x, targets, lse, dloss := a[0], a[1], a[2], a[3]
	r := newValue(in.DType, in.Shape)
	n, w := rows(in.Shape)
	s := in.Attr.Float
	dloss = expand(dloss, []int{n})
	for i := range n {
		t, counted := target(in, targets, i, w)
		if !counted {
			continue
		}
		for j := range w {
			p := math.Exp(x.f[i*w+j]-lse.f[i]) - s/float64(w)
			if j == t {
				p -= 1 - s
			}
			r.f[i*w+j] = dloss.f[i] * p
		}
	}
	return r
}
