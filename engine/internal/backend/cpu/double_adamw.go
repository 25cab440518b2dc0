package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileDoubleAdamW steps tensors of float64. Results may lie where what they replace does: an element is
// read before it is written.
func compileDoubleAdamW(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	count := len(in.Outs) / 3
	operands := make([]*operand, 4*count)
	for i := range operands {
		r := in.Args[ir.AdamWSettings+i]
		o, err := newOperand(g, r, in.Outs[i%count].Shape, dtype.F64)
		if err != nil {
			return nil, err
		}
		operands[i] = o.reserve(adamWRun)
	}
	var outs [3][]*backend.Output
	for i := range in.Outs {
		outs[i/count] = append(outs[i/count], outputOf(g, i))
	}
	return func(l *launch) {
		var setting [ir.AdamWSettings]float64
		for i := range setting {
			setting[i] = numberOf(l, inputOf(g, in.Args[i])).F
		}
		spare := elements[float64](l.scratch.bytes(8 * 3 * adamWRun * l.pool.Threads()))
		for _, o := range operands {
			o.bind(l)
			defer o.release()
		}
		for t := range count {
			n := operands[t].n
			l.pool.Range((n+adamWRun-1)/adamWRun, 4, func(worker, lo, hi int) {
				for start := lo * adamWRun; start < min(n, hi*adamWRun); start += adamWRun {
					var x [4][]float64
					m := min(adamWRun, n-start)
					for part := range x {
						x[part] = doubles(operands[part*count+t].fetch(worker, start, m), m)
					}
					var to [3][]float64
					for i := range to {
						to[i] = spare[(3*worker+i)*adamWRun:][:m]
						if o := outs[i][t]; o != nil {
							to[i] = doubles(unsafe.Add(l.pointer(o.Buf), 8*start), m)
						}
					}
					doubleAdamW(setting[:], x, to)
				}
			})
		}
	}, nil
}

// doubleAdamW makes p′, m′ and v′ of p, g, m and v; the op's row says what the settings are.
func doubleAdamW(setting []float64, x [4][]float64, to [3][]float64) {
	lr, beta1, beta2, eps, decay := setting[0], setting[1], setting[2], setting[3], setting[4]
	if guard := setting[8]; math.IsInf(guard, 0) || math.IsNaN(guard) {
		copy(to[0], x[0])
		copy(to[1], x[2])
		copy(to[2], x[3])
		return
	}
	for i, p := range x[0] {
		g := setting[7] * x[1][i]
		m := beta1*x[2][i] + (1-beta1)*g
		v := beta2*x[3][i] + (1-beta2)*g*g
		step := m / setting[5] / (math.Sqrt(v/setting[6]) + eps)
		to[0][i], to[1][i], to[2][i] = p-lr*(step+decay*p), m, v
	}
}
