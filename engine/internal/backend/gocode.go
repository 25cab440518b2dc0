package backend

import (
	"context"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A GoRunner is a Backend that runs kernels of Go code (ir.Kernel.Go), because Go reads and writes its
// memory. For other devices the values are copied to one that does.
type GoRunner interface {
	Backend
	RunsGo()
}

// A Lender is a Backend whose device has a library of linear algebra or Fourier transforms: it runs kernels
// that are routines (ir.Kernel.Routine) of those that it lends.
type Lender interface {
	Backend
	Lends(r ir.Routine) bool
}

// A Piece is the part of a launch's buffer Buf, in bytes, that belongs to a source or a result; Buf is -1 for
// a result that nobody reads.
type Piece struct{ Buf, Offset, Bytes int }

// of is the piece's memory, nil if it has none.
func (p Piece) of(bufs [][]byte) []byte {
	if p.Buf < 0 {
		return nil
	}
	return bufs[p.Buf][p.Offset:][:p.Bytes:p.Bytes]
}

// PiecesOf returns where the sources and the results of a group's kernel of a person lie.
func PiecesOf(g *Group) (sources, results []Piece) {
	in := &g.Insts[0]
	for _, a := range in.Args {
		i, _ := a.Input()
		x := g.Inputs[i]
		size := x.DType.Size()
		sources = append(sources, Piece{x.Buf, x.Layout.Offset * size, ir.Size(x.Layout.Shape) * size})
	}
	for _, t := range in.Attr.Kernel.Outs {
		results = append(results, Piece{Buf: -1, Bytes: t.Bytes()})
	}
	for _, o := range g.Outputs {
		results[o.Value.Result].Buf = o.Buf
	}
	return sources, results
}

// GoCode returns what runs a group whose kernel is Go code. Each of bufs is the memory of the launch's buffer
// of that number, from its place on.
func GoCode(g *Group) func(ctx context.Context, threads int, bufs [][]byte) error {
	run := g.Insts[0].Attr.Kernel.Go
	sources, results := PiecesOf(g)
	return func(ctx context.Context, threads int, bufs [][]byte) error {
		in, out := make([][]byte, len(sources)), make([][]byte, len(results))
		for i, p := range sources {
			in[i] = p.of(bufs)
		}
		for i, p := range results {
			out[i] = p.of(bufs)
		}
		return run(ctx, threads, in, out)
	}
}
