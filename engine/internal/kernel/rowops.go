package kernel

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// The row ops, as passes over a row: softmax and cross entropy find the greatest element first, so that no
// power overflows; norms find the mean before the squares of what is left of it, so that nothing cancels.
// row.go has the tile, and what limits it.

// rowOps write the row ops down, as passes; the formulas are those of the op table.
var rowOps = map[ir.Op]func(r *rowText){
	ir.Softmax: softmax, ir.SoftmaxGrad: softmaxGrad, ir.LogSoftmax: logSoftmax, ir.LogSoftmaxGrad: logSoftmaxGrad,
	ir.RMSNorm: rmsNorm, ir.RMSNormGrad: rmsNormGrad, ir.LayerNorm: layerNorm, ir.LayerNormGrad: layerNormGrad,
	ir.CrossEntropy: crossEntropy, ir.CrossEntropyGrad: crossEntropyGrad,
}

// exponentials finds the row's greatest element, top, and sum, that of exp(x − top). A row whose greatest is
// infinite has no sum: it counts as 1, as in the reference. With keep, a thread that holds its elements has
// their exponentials from then on; function computes them.
func exponentials(r *rowText, keep bool, function string) {
	r.fold("highest", "greatest")
	r.pass(false, func() { r.line("highest.take(e0);") })
	r.folded("top", "highest")
	r.fold("total", "sum")
	r.pass(false, func() {
		r.line("const float power = %s(e0 - top);", function)
		r.line("total.take(power);")
		if keep && r.held > 0 {
			r.line("v0[%s] = power;", r.slot())
		}
	})
	r.folded("all", "total")
	r.line("const float sum = isinf(top) ? 1.0f : all;")
}

func softmax(r *rowText) {
	exponentials(r, true, "op_exp")
	r.line("const float share = 1.0f / sum;")
	r.pass(true, func() {
		if r.held > 0 {
			r.result("e0 * share")
			return
		}
		r.result("op_exp(e0 - top) * share")
	})
}

func logSoftmax(r *rowText) {
	exponentials(r, false, "op_exp")
	r.line("const float rest = op_log(sum);")
	r.pass(true, func() { r.result("e0 - top - rest") })
}

func softmaxGrad(r *rowText) {
	r.fold("total", "sum")
	r.pass(false, func() { r.line("total.take(e0 * e1);") })
	r.folded("dot", "total")
	r.pass(true, func() { r.result("e0 * (e1 - dot)") })
}

func logSoftmaxGrad(r *rowText) {
	r.fold("total", "sum")
	r.pass(false, func() { r.line("total.take(e1);") })
	r.folded("sum", "total")
	r.pass(true, func() { r.result("e1 - op_exp(e0) * sum") })
}

// rootMeanSquare finds scale = 1/√(mean(x²) + eps). On its way, along does what it does for each element.
func rootMeanSquare(r *rowText, along func()) {
	r.fold("squares", "sum")
	r.pass(false, func() {
		r.line("squares.take(e0 * e0);")
		along()
	})
	r.folded("power", "squares")
	r.line("const float scale = op_rsqrt(power / float(a.n0) + a.number);")
}

// moments finds the row's mean, and scale = 1/√(variance + eps), with along as in rootMeanSquare.
func moments(r *rowText, along func()) {
	r.fold("total", "sum")
	r.pass(false, func() {
		r.line("total.take(e0);")
		along()
	})
	r.folded("sum", "total")
	r.line("const float mean = sum / float(a.n0);")
	r.fold("squares", "sum")
	r.pass(false, func() { r.line("squares.take((e0 - mean) * (e0 - mean));") })
	r.folded("power", "squares")
	r.line("const float scale = op_rsqrt(power / float(a.n0) + a.number);")
}

func rmsNorm(r *rowText) {
	rootMeanSquare(r, func() {})
	r.pass(true, func() { r.result("e0 * scale * e1") })
}

func layerNorm(r *rowText) {
	moments(r, func() {})
	r.pass(true, func() { r.result("(e0 - mean) * scale * e1 + e2") })
}

// normalise says how a norm's gradient writes the normalised element from the pass on that found it: a thread
// that holds its elements then holds that instead.
func (r *rowText) normalise(hat string) (after string) {
	r.line("const float hat = %s;", hat)
	if r.held == 0 {
		return "(" + hat + ")"
	}
	r.line("v0[%s] = hat;", r.slot())
	return "e0"
}

// weigh says how a norm's gradient writes that of the normalised element from the next pass on: a thread that
// holds its elements then holds this instead of dy, and needs no weights any more. Sums of all rows want dy.
func (r *rowText) weigh() (after string) {
	if r.held == 0 || r.walkers > 0 {
		return "(e2 * e1)"
	}
	r.line("v2[%s] = e2 * e1;", r.slot())
	r.shared = nil
	return "e2"
}

func rmsNormGrad(r *rowText) {
	var hat, gradient string
	rootMeanSquare(r, func() { gradient = r.weigh() })
	r.keep("0.0f")
	r.fold("products", "sum")
	r.pass(false, func() {
		hat = r.normalise("e0 * scale")
		r.line("products.take(%s * hat);", gradient)
	})
	r.folded("product", "products")
	r.line("const float dot = product / float(a.n0);")
	r.pass(true, func() {
		r.addUp(hat)
		r.result("scale * fma(-%s, dot, %s)", hat, gradient)
	})
}

func layerNormGrad(r *rowText) {
	var hat, gradient string
	moments(r, func() { gradient = r.weigh() })
	r.keep("mean")
	r.fold("gradients", "sum")
	r.fold("products", "sum")
	r.pass(false, func() {
		hat = r.normalise("(e0 - mean) * scale")
		r.line("const float gradient = %s;", gradient)
		r.line("gradients.take(gradient);")
		r.line("products.take(gradient * hat);")
	})
	r.folded("gradient", "gradients")
	r.folded("product", "products")
	r.line("const float g1 = gradient / float(a.n0);")
	r.line("const float g2 = product / float(a.n0);")
	r.pass(true, func() {
		r.addUp(hat)
		r.result("scale * fma(-%s, g2, %s - g1)", hat, gradient)
	})
}

// findPowers finds the greatest element of a cross entropy's row and the sum of exp(x − it), as powers all:
// each thread has the powers of its own elements, own, before all meet once. take is called for each element,
// when the target is known; its power is computed by function. With keep, a thread that holds its elements
// has their powers from then on.
func findPowers(r *rowText, keep bool, function string, take func()) {
	r.line("powers own = powers::start();")
	if r.held > 0 {
		r.pass(false, func() { r.line("own.top = greatest(own.top, e0);") })
		r.line("const float base = own.base();")
	}
	r.checkTarget()
	r.findHit()
	r.passOfVectors(false, func(each func(func())) {
		if r.held == 0 {
			r.line("float high = own.top;")
			each(func() { r.line("high = greatest(high, e0);") })
			r.line("own.raise(high);")
			r.line("const float base = own.base();")
		}
		each(func() {
			take()
			r.line("const float power = %s(e0 - base);", function)
			r.line("own.sum += power;")
			if keep && r.held > 0 {
				r.line("v0[%s] = power;", r.slot())
			}
		})
	})
	if r.threads == simdWidth {
		r.line("const powers all = simd_powers(own);")
		return
	}
	r.line("const powers all = group_powers(own, space + %d, lane, simd, simds);", r.met*r.exchanged())
	r.met++
}

// loadTarget loads a row's target. What is made of it stands behind the loads of the row, checkTarget, and a
// target that is no class is reported at the end: so all loads of a thread are under way at once.
func (r *rowText) loadTarget() {
	i, _ := r.op.Args[1].Input()
	name := r.inputName(i)
	r.line("const long target = loaded(a.%s[%s]);", name, r.at(name, &r.space.places[i]))
}

// checkTarget finds out which class a row has: counts says whether it is to be counted, wrong that there is
// no such class, and hot is the class, or -1 if the row does not count.
func (r *rowText) checkTarget() {
	r.line("const bool wrong = target != a.ignored && (target < 0 || target >= long(a.n0));")
	r.line("const bool counts = target != a.ignored && !wrong;")
	r.line("const %[1]s hot = counts ? %[1]s(target) : -1;", r.index)
}

// findHit declares hit, the target's element: where a thread holds its elements, it will be found among them.
// Only the thread that has it may read it later, as the gradient may lie in the memory of the logits.
func (r *rowText) findHit() {
	r.line("float hit = 0.0f;")
	if r.held > 0 {
		return
	}
	r.line("if (counts) {")
	r.line("const %s i0 = hot;", r.index)
	r.computed = make([]bool, len(r.g.Insts))
	r.loadAll(r.needs(true, false), false)
	r.arguments(true, false)
	r.line("hit = e0;")
	r.line("}")
}

// reportTarget reports a target that is no class.
func (r *rowText) reportTarget() { r.line("if (wrong) report(a.fault, a.stop, uint(row), target);") }

// crossEntropy stores the loss and the logsumexp of each row, and their gradient, if the launch has that,
// too. The thread that has the target's element stores the loss: the gradient may lie in the memory of the
// logits, so no thread reads elements of another one later.
func crossEntropy(r *rowText) {
	r.loadTarget()
	smooth, joined := r.op.Attr.Float != 0, r.gradient != nil
	function := "quick_exp"
	if joined {
		function = exponential(r.gradient)
		r.perRowValue("dloss", r.gradient.Args[3])
	}
	if smooth {
		r.fold("logits", "sum")
	}
	findPowers(r, joined, function, func() {
		if r.held > 0 {
			r.line("hit = i0 + %s == hot ? e0 : hit;", r.beside())
		}
		if smooth {
			r.line("logits.take(e0);")
		}
	})
	r.line("const float top = all.top, rest = op_log(all.total());")
	if smooth {
		r.folded("every", "logits")
	}
	r.storeLoss(smooth)
	if joined {
		r.line("const float lse = top + rest;")
		if r.held > 0 {
			r.line("const float share = base == lse ? 1.0f : op_exp(base - lse);")
			r.storeGradient("e0 * share")
		} else {
			r.storeGradient(exponential(r.gradient) + "(e0 - lse)")
		}
	}
}

// exponential is the function that computes a gradient's powers. Exact ones take longer than the memory does,
// and neither a sum nor a number of 16 bits shows them.
func exponential(gradient *backend.Inst) string {
	if gradient.DType == dtype.F32 {
		return "op_exp"
	}
	return "quick_exp"
}

// storeLoss stores a row's loss and logsumexp.
func (r *rowText) storeLoss(smooth bool) {
	r.line("const uint keeper = counts ? uint(hot / %d %% %d) : 0;", r.width(), r.threads)
	r.line("if (inside && at.x == keeper) {")
	r.reportTarget()
	r.line("float loss = wrong ? NAN : 0.0f;")
	r.line("if (counts) {")
	r.line("loss = (1.0f - a.number) * (top - hit + rest);")
	if smooth {
		r.line("loss += a.number * (top - every / float(a.n0) + rest);")
	}
	r.line("}")
	for i, o := range r.g.Outputs {
		if r.inRow(i) {
			continue
		}
		value := "loss"
		if o.Value.Result == 1 {
			value = "top + rest"
		}
		r.line("a.%s[%s] = %s;", outputName(i), r.at(outputName(i), r.output(i)), value)
	}
	r.line("}")
}

// crossEntropyGrad needs no more of a row than its logsumexp.
func crossEntropyGrad(r *rowText) {
	r.loadTarget()
	r.perRowValue("lse", r.op.Args[2])
	r.perRowValue("dloss", r.op.Args[3])
	r.checkTarget()
	r.storeGradient(exponential(r.op) + "(e0 - lse)")
	r.line("if (inside && at.x == 0) {")
	r.reportTarget()
	r.line("}")
}

// storeGradient is the last pass of a cross entropy's gradient; probability is that of the element.
func (r *rowText) storeGradient(probability string) {
	width := r.width()
	r.passOfVectors(true, func(each func(func())) {
		r.line("float p[%d];", width)
		each(func() {
			r.line("p[%s] = %s;", r.beside(), probability)
			if r.op.Attr.Float != 0 {
				r.line("p[%s] -= a.number / float(a.n0);", r.beside())
			}
		})
		r.line("if (hot >= i0 && hot < i0 + %d) {", width)
		r.line("UNROLL for (int k = 0; k < %d; k++) p[k] -= i0 + k == hot ? 1.0f - a.number : 0.0f;", width)
		r.line("}")
		each(func() { r.result("counts ? dloss * p[%s] : wrong ? NAN : 0.0f", r.beside()) })
	})
}

// beside is the place of an element in its vector.
func (r *rowText) beside() string {
	if r.vectors {
		return "k"
	}
	return "0"
}

// perRowValue loads an argument that has one number for each row.
func (r *rowText) perRowValue(name string, v backend.Ref) {
	i, _ := v.Input()
	r.load(i, false)
	r.line("const float %s = %s;", name, r.names[i])
}
