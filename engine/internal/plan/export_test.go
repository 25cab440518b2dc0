package plan

import "github.com/mcs-notebook/mcs/engine/internal/backend"

// Needs are the bytes that a plan's values take between launches, and the least that any arena could have in
// its order; and the steps that it took to make the plan.
type Needs struct{ Arena, Least, Outputs, Launches, Steps int }

// NeedsOf lists the needs of the plans that are kept for a device.
func NeedsOf(d *backend.Device) (list []Needs) {
	cache.Lock()
	defer cache.Unlock()
	if all := cache.devices[d]; all != nil {
		for _, p := range all.byKey {
			n := Needs{Arena: p.arena, Least: p.least, Launches: len(p.groups), Steps: p.steps}
			for _, b := range p.blocks {
				n.Outputs += b
			}
			list = append(list, n)
		}
	}
	return list
}

// Forget drops all plans.
func Forget() {
	cache.Lock()
	defer cache.Unlock()
	cache.devices = nil
	cache.last.Store(nil)
}
