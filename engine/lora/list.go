package lora

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Adapters is a list of adapters, which prints as a table.
type Adapters []*Adapter

// Of returns the adapters of a model that Inject, Load and Combine put there, in the order of their first
// layers; those that train weights whole and adapt no layer come where keeper says.
func Of(m nn.Module) Adapters {
	var list Adapters
	for _, s := range linears(m) {
		l := adapted(s.Layer())
		if l == nil {
			continue
		}
		for _, p := range l.Parts {
			if p.adapter != nil && !slices.Contains(list, p.adapter) {
				list = append(list, p.adapter)
			}
		}
		list = append(list, l.wholes...)
	}
	return list
}

// Named returns the adapter of that name. It is an error if there is none.
func (list Adapters) Named(name string) (*Adapter, error) {
	for _, a := range list {
		if a.Name() == name {
			return a, nil
		}
	}
	return nil, unknown(list, name)
}

// String is Text.
func (list Adapters) String() string { return list.Text(0) }

// Text is a table: what each adapter is, how much memory it takes and where, and whether it takes part.
func (list Adapters) Text(width int) string {
	if len(list) == 0 {
		return "no adapters"
	}
	rows := [][]string{{"adapter", "rank", "scale", "layers", "parameters", "memory", "device", "state"}}
	for _, a := range list {
		bytes := 0
		for _, p := range a.Params() {
			bytes += p.Value().Size() * p.Value().DType().Size()
		}
		rank, scale := strconv.Itoa(a.Config.Rank), fmt.Sprintf("%g", a.Config.Scale())
		if len(a.parts) == 0 {
			rank, scale = "–", "–"
		}
		rows = append(rows, []string{a.Name(), rank, scale, strconv.Itoa(len(a.layers)),
			units.Int(int64(a.Trained())), units.Bytes(int64(bytes)), a.Device().String(), a.state()})
	}
	return units.Table(rows, width)
}

// state says in which way an adapter takes part: "on × 0.5, merged".
func (a *Adapter) state() string {
	state := "on"
	if a.off {
		state = "off"
	}
	if a.factor != 1 {
		state += fmt.Sprintf(" × %g", a.factor)
	}
	for i, l := range a.layers {
		if l != nil && slices.ContainsFunc(l.merged, func(s share) bool { return s.Part == a.parts[i] }) {
			return state + ", merged"
		}
	}
	return state
}

// Device is where the adapter's numbers are.
func (a *Adapter) Device() device.Device {
	switch {
	case len(a.parts) > 0:
		return a.parts[0].A.Device()
	case len(a.wholes) > 0:
		return a.trained(a.wholes[0]).Device()
	}
	return device.Default()
}

// To moves the adapter's numbers to a device, where they are evaluated: one that is off need not take the
// memory of the model's device. Before it is enabled it must be back.
func (a *Adapter) To(d device.Device) {
	a.change(func() {
		for i, p := range a.parts {
			if l := a.layers[i]; l != nil {
				l.beside.forget()
			}
			nn.To(p, d)
			if !p.startA.IsNone() {
				p.startA, p.startB = p.startA.To(d).Eval(), p.startB.To(d).Eval()
			}
			if p.tokens != nil {
				p.A, p.rows = p.A.To(d).Eval(), p.rows.To(d).Eval()
			}
		}
		for _, w := range a.wholes {
			if a.off && !w.other.IsNone() { // while it is on, the others are the model's
				w.other = w.other.To(d).Eval()
			}
		}
	})
}

// elsewhere is an error if the adapter is not where the model is.
func (a *Adapter) elsewhere() error {
	for i, l := range a.layers {
		if l == nil {
			continue
		}
		if at, model := a.parts[i].B.Device(), l.bare(dtype.F32).Device(); at != model {
			return fmt.Errorf("adapter %q is on %v, want it where the model is: To moves it to %v", a.Name(), at, model)
		}
		return nil // as one, so all
	}
	for _, w := range a.wholes {
		if at, model := a.trained(w).Device(), w.param.Value().Device(); at != model {
			return fmt.Errorf("adapter %q is on %v, want it where the model is: To moves it to %v", a.Name(), at, model)
		}
	}
	return nil
}

// Members lists the part's numbers.
func (p *Part) Members() []nn.Member { return p.factors() }
