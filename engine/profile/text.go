package profile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Text is a table of the kernels and a line with the counts. A timed recording lists the slowest first, with
// the share of the device's time that each took and how fast it moved and computed.
func (r *Recording) Text(width int) string {
	if r.Timed {
		return r.timedText(width)
	}
	if len(r.Kernels) == 0 {
		return r.with(width, r.Summary())
	}
	rows := [][]string{{"kernel", "calls", "bytes", "flops"}}
	for _, k := range r.Kernels {
		flops := units.Count(float64(k.Flops))
		if k.Uncounted {
			flops = "–"
		}
		rows = append(rows, []string{r.name(k), units.Int(int64(k.Launches)), units.Bytes(k.Bytes), flops})
	}
	return r.with(width, units.Table(rows, width), r.Summary())
}

// name is that of a kernel, with its device where there are several.
func (r *Recording) name(k Kernel) string {
	if len(r.Devices) > 1 {
		return k.Name + " on " + k.Device
	}
	return k.Name
}

// Notes are lines on what a reader could take for granted: that all that was asked for was computed, that
// nobody else was at work, and that the clock was right.
func (r *Recording) Notes() (list []string) {
	const most = 3
	for _, m := range r.Merged[:min(most, len(r.Merged))] {
		list = append(list, fmt.Sprintf("%s was asked for %s more, and computed once", m.Op, units.Plural(int64(m.Times), "time")))
	}
	if n := len(r.Merged) - most; n > 0 {
		list = append(list, fmt.Sprintf("so were %s of other kinds or shapes", units.Plural(int64(n), "result")))
	}
	list = append(list, r.Remarks...)
	if r.Others > 0 {
		list = append(list, fmt.Sprintf("%s meanwhile by others, not counted above", units.Plural(int64(r.Others), "launch")))
	}
	if r.Unsound {
		list = append(list, "the machine's clocks have disagreed meanwhile, as after a sleep: single times can be wrong")
	}
	return list
}

// with appends the notes to a text.
func (r *Recording) with(width int, text ...string) string {
	return lines.Fit(strings.Join(append(text, r.Notes()...), "\n"), width)
}

func (r *Recording) timedText(width int) string {
	if len(r.Kernels) == 0 {
		return r.with(width, r.Summary())
	}
	kernels := slices.Clone(r.Kernels)
	slices.SortStableFunc(kernels, func(a, b Kernel) int { return int(b.Time - a.Time) })
	all := r.DeviceTime().Seconds()
	rows := [][]string{{"kernel", "calls", "time", "share", "each", "GB/s", "GFLOP/s"}}
	for _, k := range kernels {
		s := k.Time.Seconds()
		row := []string{r.name(k), units.Int(int64(k.Launches)), units.Seconds(s), "–", units.Seconds(s / float64(k.Launches)), "–", "–"}
		if all > 0 {
			row[3] = fmt.Sprintf("%.1f %%", 100*s/all)
		}
		if s > 0 && k.Bytes > 0 {
			row[5] = units.Digits(float64(k.Bytes) / s / 1e9)
		}
		if s > 0 && k.Flops > 0 {
			row[6] = units.Digits(float64(k.Flops) / s / 1e9)
		}
		rows = append(rows, row)
	}
	line := fmt.Sprintf("%s of %s on the device, one kernel at a time", units.Seconds(all), units.Seconds(r.Wall.Seconds()))
	return r.with(width, units.Table(rows, width), r.Summary(), line)
}

// Summary is the line "1 launch · 0 copies · plan cached".
func (r *Recording) Summary() string {
	parts := []string{units.Plural(int64(r.Launches), "launch"), units.Plural(int64(r.Copies), "copy")}
	if r.CopiedBytes > 0 {
		parts[1] += " of " + units.Bytes(r.CopiedBytes)
	}
	switch built, reused := r.PlansBuilt, r.PlansReused; {
	case built+reused == 0:
	case built == 0 && reused == 1:
		parts = append(parts, "plan cached")
	case built == 1 && reused == 0:
		parts = append(parts, "plan built")
	default:
		parts = append(parts, fmt.Sprintf("%s built, %d cached", units.Plural(int64(built), "plan"), reused))
	}
	return strings.Join(parts, " · ")
}

// String is Text.
func (r *Recording) String() string { return r.Text(0) }

// JSON is the recording with all its fields; times are in nanoseconds.
func (r *Recording) JSON() ([]byte, error) { return json.Marshal(r) }

// A Difference is what changed from one recording to another, by kernel.
type Difference struct {
	Before, After *Recording
}

// Diff compares two recordings of what should be the same work.
func Diff(before, after *Recording) *Difference { return &Difference{before, after} }

// Text is a table of the kernels' calls before and after, and a last line with the launches in all.
func (d *Difference) Text(width int) string {
	rows := [][]string{{"kernel", "calls", "→", "calls", "bytes", "→", "bytes"}}
	after := map[string]Kernel{}
	for _, k := range d.After.Kernels {
		after[d.After.name(k)] = k
	}
	for _, b := range d.Before.Kernels {
		name := d.Before.name(b)
		rows = append(rows, diffRow(name, b, after[name]))
		delete(after, name)
	}
	for _, a := range d.After.Kernels {
		if _, ok := after[d.After.name(a)]; ok {
			rows = append(rows, diffRow(d.After.name(a), Kernel{}, a))
		}
	}
	total := fmt.Sprintf("%s → %s · %s → %s", units.Plural(int64(d.Before.Launches), "launch"), units.Int(int64(d.After.Launches)),
		units.Bytes(d.Before.Bytes()), units.Bytes(d.After.Bytes()))
	return lines.Fit(units.Table(rows, width)+"\n"+total, width)
}

func diffRow(name string, before, after Kernel) []string {
	row := []string{name, "–", "→", "–", "–", "→", "–"}
	if before.Launches > 0 {
		row[1], row[4] = units.Int(int64(before.Launches)), units.Bytes(before.Bytes)
	}
	if after.Launches > 0 {
		row[3], row[6] = units.Int(int64(after.Launches)), units.Bytes(after.Bytes)
	}
	return row
}

// String is Text.
func (d *Difference) String() string { return d.Text(0) }

// JSON is both recordings.
func (d *Difference) JSON() ([]byte, error) { return json.Marshal(d) }
