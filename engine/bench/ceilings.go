package bench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Ceilings are the best rates that the engine's own kernels reached on a device: what other figures are a
// share of, and what no figure can be above.
type Ceilings struct {
	Machine    string             // what they hold for: processor, device, instruction sets, version of the engine
	Measured   time.Time          // when
	Arithmetic map[string]float64 // operations a second of a square matrix product, by element type: "f32"
	Memory     []Level            // bytes a second, by how many bytes are worked on; the smallest first
	Doubt      string             // why they may be too low: the machine was busy
	lately     string             // Doubt of the last measurement alone
}

// A Level is memory of a kind: a cache, or that behind all caches.
type Level struct {
	Name  string  // "L1", "L2", "L3", "memory"
	Size  int64   // bytes of the data that was worked on
	Rate  float64 // bytes a second
	Holds int64   // bytes that all memory of the kind holds, that of each processor together; 0: any number
}

// Flops is the ceiling of arithmetic in a type, in operations a second. For a type that was not measured it
// is the highest of all types.
func (c Ceilings) Flops(t dtype.Type) float64 {
	if rate, ok := c.Arithmetic[t.String()]; ok {
		return rate
	}
	highest := 0.0
	for _, rate := range c.Arithmetic {
		highest = max(highest, rate)
	}
	return highest
}

// Read is the ceiling of memory for work on so many bytes, in bytes a second; 0: not known.
func (c Ceilings) Read(bytes int64) float64 {
	if seconds, _ := c.moving(bytes); seconds > 0 {
		return float64(bytes) / seconds
	}
	return c.fastest(c.Memory).Rate
}

// moving is how long it takes at least to work on so many bytes, and the farthest level that some of them
// come from. Nobody knows which data lies where. So it is taken to lie as near as it can: as much as the
// nearest level holds is there, and so on. A near level is not slower than a far one: where it seems so, the
// small work that it was measured with was over too soon.
func (c Ceilings) moving(bytes int64) (seconds float64, from Level) {
	for i, l := range c.Memory {
		there := bytes
		if last := i == len(c.Memory)-1; !last && l.Holds > 0 {
			there = min(bytes, l.Holds)
		}
		if rate := c.fastest(c.Memory[i:]).Rate; rate > 0 {
			seconds += float64(there) / rate
		}
		if bytes -= there; bytes == 0 {
			return seconds, l
		}
	}
	return seconds, from
}

// movingAll is how long it takes at least to move the bytes of a run, launch by launch, and the farthest
// level that the largest launch reaches.
func (c Ceilings) movingAll(t Tally) (seconds float64, from Level) {
	working := t.Working
	if len(working) == 0 {
		working = map[int64]int{t.Bytes: 1}
	}
	largest := int64(-1)
	for bytes, launches := range working {
		least, level := c.moving(bytes)
		if seconds += float64(launches) * least; bytes > largest {
			largest, from = bytes, level
		}
	}
	return seconds, from
}

// Nearest says how near work of one run, in so many seconds, came to the ceiling that it is nearest to: "48.0
// GFLOP/s = 80 % of what f32 reaches", "9.1 GB/s = 91 % of what memory gives". It is empty for work of which
// neither arithmetic nor bytes are known.
func (c Ceilings) Nearest(t Tally, seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	flops, bytes := float64(t.Flops)/seconds, float64(t.Bytes)/seconds
	if t.Uncounted { // a part of the arithmetic is no rate
		flops = 0
	}
	computes, believed := Share(flops, c.Flops(t.DType))
	least, level := c.movingAll(t)
	moves, fits := Share(least, seconds)
	switch {
	case computes == 0 && moves == 0:
		return ""
	case computes >= moves && believed:
		return fmt.Sprintf("%s = %s of what %s reaches", units.Rate(flops, "FLOP/s"), units.Percent(computes), kind(t.DType))
	case computes >= moves && c.Doubt != "":
		return units.Rate(flops, "FLOP/s") + ", a share of an unknown peak: it was " + c.Doubt
	case computes >= moves:
		return units.Rate(flops, "FLOP/s") + ", more than was measured of " + kind(t.DType)
	case fits:
		return fmt.Sprintf("%s = %s of what %s gives", units.Rate(bytes, "B/s"), units.Percent(moves), level.Name)
	}
	return fmt.Sprintf("%s, %s as much as %s was seen to give", units.Rate(bytes, "B/s"), times(moves), level.Name)
}

// Behind is the ceiling of memory behind all caches, in bytes a second.
func (c Ceilings) Behind() float64 {
	if n := len(c.Memory); n > 0 {
		return c.Memory[n-1].Rate
	}
	return 0
}

// fastest is the level with the highest rate.
func (c Ceilings) fastest(of []Level) (best Level) {
	for _, l := range of {
		if l.Rate > best.Rate {
			best = l
		}
	}
	return best
}

// Refuse says why work of one run cannot have been done in so many seconds; "" if it can.
func (c Ceilings) Refuse(t Tally, seconds float64) string {
	_, reason := c.above(t, seconds)
	return reason
}

// doubtful is how much faster than ceilings that are in doubt something must be to be refused: beside others,
// work gets a share of a processor.
const doubtful = 10

// above says by what factor the work beats a ceiling (below 1: it does not), and why that is refused.
func (c Ceilings) above(t Tally, seconds float64) (share float64, reason string) {
	if seconds <= 0 {
		return 0, ""
	}
	trust := 1.0
	if c.Doubt != "" {
		trust = doubtful
	}
	if t.Flops > 0 {
		rate, ceiling := float64(t.Flops)/seconds, c.Flops(t.DType)
		computed, ok := Share(rate, ceiling*trust)
		share = computed * trust
		if ceiling > 0 && !ok {
			return share, fmt.Sprintf("%s would be %s as much as this device can do in %s: not all of it was done, or what was computed once was returned",
				units.Rate(rate, "FLOP/s"), times(share), kind(t.DType))
		}
	}
	least, level := c.movingAll(t)
	moved, ok := Share(least, seconds*trust)
	share = max(share, moved*trust)
	if !ok {
		return share, fmt.Sprintf("%s would be %s as much as %s gives: not all of it was read, or what was computed once was returned",
			units.Rate(float64(t.Bytes)/seconds, "B/s"), times(moved*trust), level.Name)
	}
	return share, ""
}

func kind(t dtype.Type) string {
	if t == dtype.Invalid {
		return "any type"
	}
	return t.String()
}

func times(x float64) string { return units.Digits(x) + " times" }

// raise returns the better of each rate of two measurements of the same device.
func (c Ceilings) raise(by Ceilings) Ceilings {
	c.Arithmetic = maps.Clone(c.Arithmetic)
	if c.Arithmetic == nil {
		c.Arithmetic = map[string]float64{}
	}
	for t, rate := range by.Arithmetic {
		c.Arithmetic[t] = max(c.Arithmetic[t], rate)
	}
	c.Memory = slices.Clone(c.Memory)
	for _, l := range by.Memory {
		if i := slices.IndexFunc(c.Memory, func(mine Level) bool { return mine.Name == l.Name }); i >= 0 {
			l.Rate = max(l.Rate, c.Memory[i].Rate)
			c.Memory[i] = l
		} else {
			c.Memory = append(c.Memory, l)
		}
	}
	if by.Doubt == "" {
		c.Doubt, c.Measured = "", by.Measured
	}
	return c
}

// beside returns what two devices can do at the same time.
func (c Ceilings) beside(other Ceilings) Ceilings {
	both := Ceilings{Machine: c.Machine + " and " + other.Machine, Measured: c.Measured, Arithmetic: maps.Clone(c.Arithmetic), Doubt: cmp.Or(c.Doubt, other.Doubt), lately: cmp.Or(c.lately, other.lately)}
	for t, rate := range other.Arithmetic {
		both.Arithmetic[t] += rate
	}
	// No launch is on both: of each the fastest memory counts.
	both.Memory = []Level{{Name: "the memory of both", Size: math.MaxInt64, Rate: c.fastest(c.Memory).Rate + other.fastest(other.Memory).Rate}}
	return both
}

// String is a line for each kind of rate.
func (c Ceilings) String() string {
	text := ""
	for _, t := range dtype.All() {
		if rate, ok := c.Arithmetic[t.String()]; ok {
			text += fmt.Sprintf("%s %s, ", t, units.Rate(rate, "FLOP/s"))
		}
	}
	for _, l := range c.Memory {
		text += fmt.Sprintf("%s %s, ", l.Name, units.Rate(l.Rate, "B/s"))
	}
	if len(text) > 2 {
		text = text[:len(text)-2]
	}
	if c.Doubt != "" {
		text += " (" + c.Doubt + ")"
	}
	return text
}

// Believe says why a figure is refused: work of one run that would have been done in so many seconds, faster
// than this machine can; "" if it is not. The ceilings are those of [MeasureCeilings]; something that seems
// to beat them has them measured again first, because they may have been measured while the machine was slow.
func Believe(ctx context.Context, t Tally, seconds float64) (refused string, err error) {
	if c, ok := kept.known(t.Devices); ok {
		if share, _ := c.above(t, seconds); share <= 1 {
			return "", nil // whatever the doubt is about those that are known
		}
	}
	return believe(ctx, newDeviceClock(), t, seconds)
}

func believe(ctx context.Context, clock Clock, t Tally, seconds float64) (refused string, err error) {
	if t.Flops == 0 && t.Bytes == 0 || seconds <= 0 {
		return "", nil
	}
	ceilings := clock.Ceilings
	if c, ok := clock.(*deviceClock); ok {
		ceilings = func(ctx context.Context, again bool) (Ceilings, error) { return c.ceilingsOf(ctx, t.Devices, again) }
	}
	c, err := ceilings(ctx, false)
	if err != nil {
		return "", err
	}
	if share, _ := c.above(t, seconds); share <= 1 {
		return "", nil
	}
	if c, err = ceilings(ctx, true); err != nil {
		return "", err
	}
	_, refused = c.above(t, seconds)
	if _, ok := clock.(*deviceClock); ok && refused != "" {
		return kept.insist(ctx, t, seconds, c)
	}
	return refused, nil
}
