package kernel

import (
	"bytes"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// renderAlike writes down a Single group of several instructions. The last dispatches of all are one, side by
// side, and those before them, which mark an overwrite's places, are one; what else comes before stays as it
// is: queries and keys of a decoder are turned, and keys and values stored, in one launch. A rope whose
// result an Overwrite of the group stores does that itself: so no part needs another one.
func renderAlike(g *backend.Group, limits Limits) (*Kernel, error) {
	k := &Kernel{limits: limits}
	var marks, last []*piece
	for i, in := range g.Insts {
		if in.Op == ir.Overwrite && madeBy(g, in.Args[2]) >= 0 {
			continue
		}
		own, err := &Kernel{limits: limits}, error(nil)
		if to := slices.IndexFunc(g.Insts, func(o backend.Inst) bool { return o.Op == ir.Overwrite && madeBy(g, o.Args[2]) == i }); to >= 0 {
			turnAndStore(g.Alone(i), own, newScattering(g.Alone(to), own))
		} else if own, err = renderSingle(g.Alone(i), limits); err != nil {
			return nil, err
		}
		k.take(own)
		for _, list := range []*[]*piece{&last, &marks} {
			if n := len(own.Dispatches) - 1; n >= 0 && own.Dispatches[n].Same == nil {
				if c := own.Dispatches[n].piece; c != nil && c.groups <= most32/c.threads {
					*list, own.Dispatches = append(*list, c), own.Dispatches[:n]
				}
			}
		}
		k.Dispatches = append(k.Dispatches, own.Dispatches...)
	}
	k.Dispatches = append(k.Dispatches, append(sideBySide(g, marks), sideBySide(g, last)...)...)
	return k, nil
}

// madeBy is the instruction of the group whose result an operand is, or -1.
func madeBy(g *backend.Group, v backend.Ref) int {
	if i, input := v.Input(); input && !isNumber(g.Inputs[i]) {
		for _, o := range g.Outputs {
			if o.Buf == g.Inputs[i].Buf {
				return o.Value.Index
			}
		}
	}
	return -1
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
