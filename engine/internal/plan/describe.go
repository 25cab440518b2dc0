package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Describe writes the plan of nodes of one device: a paragraph for each launch, with the inputs that its
// kernel reads, the instructions that it runs for each element, row or tile, what it writes, and where it
// comes from if that is known. What other devices compute for it, and the copies, come first. Nothing is
// computed. It is empty if all nodes have their values.
func Describe(ctx context.Context, outs []*ir.Node) (text string, err error) {
	defer caught(&err)
	todo := waiting(outs)
	if len(todo) == 0 {
		return "", nil
	}
	dev, w, err := walk(ctx, todo)
	if err != nil {
		return "", err
	}
	defer w.Release()
	before, err := describeMoves(ctx, w)
	if err != nil {
		return "", err
	}
	d := draftOf(ctx, dev, w)
	var b strings.Builder
	var bytes, flops int64
	for i, e := range d.launches {
		g := e.group
		bytes, flops = bytes+g.Bytes, flops+max(0, g.Flops)
		fmt.Fprintf(&b, "\n%d. %s (%v) %s", i+1, g.Name, g.Kind, units.Bytes(g.Bytes))
		if g.Flops > 0 {
			fmt.Fprintf(&b, ", %s flops", units.Count(float64(g.Flops)))
		}
		for _, from := range ir.Origins(originsOf(w, e.sources())) {
			fmt.Fprintf(&b, "\n   from %s", from)
		}
		describeGroup(&b, g)
	}
	return before + fmt.Sprintf("%s on %v, %s, %s flops%s", units.Plural(int64(len(d.launches)), "launch"), dev, units.Bytes(bytes), units.Count(float64(flops)), b.String()), nil
}

// describeMoves writes what other devices compute for a walk, and what is copied from there, a line each.
func describeMoves(ctx context.Context, w *ir.Graph) (string, error) {
	var b strings.Builder
	for _, sources := range byDevice(w.From) {
		text, err := Describe(ctx, sources)
		if err != nil {
			return "", err
		}
		if text != "" {
			b.WriteString(text + "\n")
		}
	}
	for i, n := range w.Moves {
		fmt.Fprintf(&b, "copy %v%v from %v to %v, %s\n", n.DType, n.Shape, w.From[i].Dev, n.Dev, units.Bytes(int64(n.Type().Bytes())))
	}
	return b.String(), nil
}

// describeGroup writes a group's inputs a0, a1 …, instructions v0, v1 … and outputs, a line each.
func describeGroup(b *strings.Builder, g *backend.Group) {
	for i, in := range g.Inputs {
		switch {
		case in.Buf < 0:
			fmt.Fprintf(b, "\n   a%d = number %v", i, in.DType)
		default:
			fmt.Fprintf(b, "\n   a%d = buffer %d %v%v", i, in.Buf, in.DType, in.Layout.Shape)
			if !in.Layout.IsContiguous() {
				fmt.Fprintf(b, " strides %v%s", in.Layout.Stride, fromOffset(in.Layout.Offset))
			}
		}
	}
	for i, in := range g.Insts {
		args := make([]string, len(in.Args))
		for k, r := range in.Args {
			args[k] = refName(r)
		}
		fmt.Fprintf(b, "\n   v%d = %v(%s) %v%v", i, in.Op, strings.Join(args, ", "), in.DType, in.Shape)
	}
	for _, o := range g.Outputs {
		fmt.Fprintf(b, "\n   buffer %d = %s %v%v", o.Buf, refName(o.Value), o.DType, o.Shape)
		if o.Stride != nil {
			fmt.Fprintf(b, " strides %v%s", o.Stride, fromOffset(o.Offset))
		}
	}
}

func fromOffset(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" from %d", n)
}

func refName(r backend.Ref) string {
	name := fmt.Sprintf("v%d", r.Index)
	if i, ok := r.Input(); ok {
		name = fmt.Sprintf("a%d", i)
	}
	if r.Result > 0 {
		name += fmt.Sprintf(".%d", r.Result)
	}
	return name
}
