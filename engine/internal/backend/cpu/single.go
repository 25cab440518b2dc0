package cpu

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A compiler makes the function of a group of one instruction.
type compiler func(g *backend.Group, in *backend.Inst) (func(*launch), error)

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
	return compile(g, in)
}
