package kernel

import (
	"bytes"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// renderAlike writes down a Single group of several instructions, which do not need one another. What comes
// before the last dispatch of one stays a dispatch; the last ones are one, side by side: queries and keys of a
// decoder are turned in one launch, and their keys and values stored in another.
func renderAlike(g *backend.Group, limits Limits) (*Kernel, error) {
	k := &Kernel{limits: limits}
	var last []*piece
	for i := range g.Insts {
		own, err := renderSingle(g.Alone(i), limits)
		if err != nil {
			return nil, err
		}
		k.take(own)
		if n := len(own.Dispatches) - 1; n >= 0 && own.Dispatches[n].Same == nil {
			if c := own.Dispatches[n].piece; c != nil && c.groups <= most32/c.threads {
				last, own.Dispatches = append(last, c), own.Dispatches[:n]
			}
		}
		k.Dispatches = append(k.Dispatches, own.Dispatches...)
	}
	k.Dispatches = append(k.Dispatches, sideBySide(g, last)...)
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
