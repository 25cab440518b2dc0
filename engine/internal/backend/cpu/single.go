package cpu

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A compiler makes the function of a group of one instruction.
type compiler func(c *standalone) func(*launch)

// A standalone is an instruction that stands alone while it is compiled. What it binds, a launch finds bound
// to its memory. Its first error ends it; what a compiler returns does not matter then.
type standalone struct {
	g     *backend.Group
	in    *backend.Inst
	bound []binder
	err   error
}

// A binder refers to a launch's memory between bind and release.
type binder interface {
	bind(l *launch)
	release()
}

// shape and dtype are those of operand i, input and output its input and where result i is stored, or nil.
func (c *standalone) shape(i int) []int            { return c.g.Type(c.in.Args[i]).Shape }
func (c *standalone) dtype(i int) dtype.Type       { return c.g.Type(c.in.Args[i]).DType }
func (c *standalone) input(i int) *backend.Input   { return inputOf(c.g, c.in.Args[i]) }
func (c *standalone) output(i int) *backend.Output { return outputOf(c.g, i) }

func (c *standalone) failed(err error) {
	if c.err == nil {
		c.err = err
	}
}

// operand is operand i, broadcast to a shape and converted to t: see newOperand.
func (c *standalone) operand(i int, shape []int, t dtype.Type) *operand {
	o, err := newOperand(c.g, c.in.Args[i], shape, t)
	if err != nil {
		c.failed(err)
		return new(operand)
	}
	c.bound = append(c.bound, o)
	return o
}

// index is operand i as indices.
func (c *standalone) index(i int) *operand { return c.operand(i, c.shape(i), dtype.I64) }

// program compiles elementwise work, of which workers fetch up to reserve elements at a time.
func (c *standalone) program(spec tile.Spec, reserve int) *perWorker {
	p, err := tile.Compile(spec)
	w := &perWorker{prog: p, reserve: reserve}
	if err != nil {
		c.failed(err)
		return w
	}
	c.bound = append(c.bound, w)
	return w
}

// singles are the ops that stand alone in a group.
var singles = map[ir.Op]compiler{
	ir.Iota:         compileIota,
	ir.Rand:         compileRandom,
	ir.RandNormal:   compileRandom,
	ir.Pad:          compilePad,
	ir.Concat:       compileConcat,
	ir.Again:        compileAgain,
	ir.Rope:         compileRope,
	ir.Gather:       compileGather,
	ir.GatherAlong:  compileGatherAlong,
	ir.ScatterAdd:   compileScatter,
	ir.ScatterAlong: compileScatter,
	ir.Overwrite:    compileOverwrite,
	ir.ScatterWith:  compileScatter,
	ir.TopK:         compileTopK,
	ir.ArgMax:       compileArgBest,
	ir.ArgMin:       compileArgBest,
	ir.CumSum:       compileCumSum,
	ir.SumSquares:   compileSumSquares,
	ir.MaxPool:      compileMaxPool,

	ir.Conv:          compileConv,
	ir.ConvTranspose: compileConv,
	ir.ConvWeight:    compileConv,

	ir.GroupedMatMul: compileGrouped,
	ir.GroupedWeight: compileGrouped,

	ir.AdamW:  compileAdamW,
	ir.AdamW8: compileAdamW8,

	ir.Dequantize:     compileDequantize,
	ir.DequantizeTake: compileDequantizeTake,

	ir.Attention:      compileAttention,
	ir.AttentionGrad:  compileAttention,
	ir.PagedAttention: compilePaged,
}

// compileSingle compiles a group whose one instruction stands alone, or several one after the other.
func compileSingle(g *backend.Group, ls *listing) (func(*launch), error) {
	if len(g.Insts) > 1 {
		var all []func(*launch)
		for i := range g.Insts {
			run, err := compileSingle(g.Alone(i), ls)
			if err != nil {
				return nil, err
			}
			all = append(all, run)
		}
		return func(l *launch) {
			for _, run := range all {
				run(l)
			}
		}, nil
	}
	in := &g.Insts[0]
	compile, ok := singles[in.Op]
	if !ok {
		return nil, fmt.Errorf("%v: no kernel", in.Op)
	}
	ls.loops(compile)
	c := &standalone{g: g, in: in}
	run := compile(c)
	if c.err != nil || len(c.bound) == 0 {
		return run, c.err
	}
	return func(l *launch) {
		for _, b := range c.bound {
			b.bind(l)
		}
		defer func() {
			for _, b := range c.bound {
				b.release()
			}
		}()
		run(l)
	}, nil
}
