package kernel

import (
	"bytes"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// renderAlike writes down a Single group of several instructions, which do not need one another. What comes
// before the last dispatch of one stays a dispatch; the last ones are one, of which a thread takes its share
// of each instruction in turn: queries and keys of a decoder are turned in one launch, and their keys and
// values stored in another.
func renderAlike(g *backend.Group, limits Limits) (*Kernel, error) {
	k := &Kernel{limits: limits}
	var last []Dispatch
	for i := range g.Insts {
		own, err := renderSingle(g.Alone(i), limits)
		if err != nil {
			return nil, err
		}
		k.take(own)
		if n := len(own.Dispatches); n > 0 && own.Dispatches[n-1].element != nil && own.Dispatches[n-1].Same == nil {
			last, own.Dispatches = append(last, own.Dispatches[n-1]), own.Dispatches[:n-1]
		}
		k.Dispatches = append(k.Dispatches, own.Dispatches...)
	}
	if len(last) > 1 {
		last = []Dispatch{inTurn(g, last)}
	}
	k.Dispatches = append(k.Dispatches, last...)
	return k, nil
}

// take makes the workspace and the table of another kernel a part of k's.
func (k *Kernel) take(own *Kernel) {
	scratch, table := (k.Scratch+63)&^63, bytes.Index(k.Table, own.Table)
	if table < 0 {
		table = len(k.Table)
		k.Table = append(k.Table, own.Table...)
	}
	if own.Scratch > 0 {
		k.Scratch = scratch + own.Scratch
	}
	for i := range own.Dispatches {
		fields := own.Dispatches[i].Args.Fields
		for n := range fields {
			switch f := &fields[n]; f.Kind {
			case Scratch:
				f.At += scratch
			case Table:
				f.At += table
			}
		}
	}
	if own.Fault != nil {
		k.Fault = own.Fault
	}
}

// inTurn makes one dispatch of several, each with a struct of its own within that of the arguments. Its grid
// is the largest one.
func inTurn(g *backend.Group, list []Dispatch) Dispatch {
	t, largest := newText(g, false), list[0]
	for n, d := range list {
		if size(d.Groups)*size(d.Threads) > size(largest.Groups)*size(largest.Threads) {
			largest = d
		}
		e := d.element
		t.line("{")
		t.line("constant NAME_args::part%[1]d& a = args->of%[1]d;", n)
		t.body.WriteString(e.body.String())
		t.line("}")
		fmt.Fprintf(&t.members, "\tstruct part%d {\n%s\t};\n\tpart%d of%d;\n", n, e.members.String(), n, n)
		t.args.nest(&d.Args)
	}
	return t.finish(list[0].element.kind, describe(g), inGrid, largest.Groups, largest.Threads)
}

func size(n [3]int) int { return n[0] * n[1] * n[2] }

// nest appends a struct.
func (a *Args) nest(own *Args) {
	a.Size = (a.Size + 7) / 8 * 8
	for _, f := range own.Fields {
		f.Offset += a.Size
		a.Fields = append(a.Fields, f)
	}
	a.Size += (own.Size + 7) / 8 * 8
}
