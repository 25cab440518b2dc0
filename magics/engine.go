package magics

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
)

func runSeed(_ context.Context, c *call) (display.Value, error) {
	text, err := c.need("seed")
	if err != nil {
		return nil, err
	}
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return nil, c.errorf("got %q, want a whole number from 0 to 2^64-1", text)
	}
	tensor.Seed(seed)
	return nil, nil
}

func runDevice(ctx context.Context, c *call) (display.Value, error) {
	if words := c.words(); len(words) > 1 {
		return nil, c.errorf("got %d names, takes one", len(words))
	} else if len(words) == 1 {
		if err := device.Use(words[0]); err != nil {
			return nil, c.errorf("%w", err)
		}
	}
	t := display.NewTable("device", "", ">memory", "")
	now := device.Default().String()
	for _, f := range device.List() {
		row := []any{display.Cell{Text: f.Name, Role: display.Name}, f.Detail, nil, nil}
		if f.Memory > 0 {
			row[2] = display.BytesCell(f.Memory)
		}
		switch {
		case f.Missing != "":
			row[1] = "missing: " + f.Missing
		case f.Name == now:
			row[3] = display.Cell{Text: "default", Role: display.Strong}
		}
		t.Add(row...)
	}
	if c.on("ceilings") || c.on("again") {
		ceilings := bench.MeasureCeilings
		if c.on("again") {
			ceilings = bench.MeasureCeilingsAgain
		}
		best, err := ceilings(ctx)
		if err != nil {
			return nil, c.errorf("%w", err)
		}
		t.Foot = fmt.Sprintf("%s: %s", device.Default(), best)
	}
	return t, nil
}

func runMem(_ context.Context, c *call) (display.Value, error) {
	if err := c.nothing(); err != nil {
		return nil, err
	}
	if c.on("free") {
		giveBack()
		debug.FreeOSMemory()
	} else if c.choice("by") != "" {
		collect()
	}
	if by := c.choice("by"); by != "" {
		return c.memoryBy(by, max(c.number("n"), 1)), nil
	}
	t := display.NewTable("memory", ">in use", ">peak", ">plan", ">kept", ">of")
	for _, d := range device.Opened() {
		m := d.Memory()
		row := []any{display.Cell{Text: d.String(), Role: display.Name}, display.BytesCell(m.InUse), display.BytesCell(m.Peak), display.BytesCell(m.Plan), display.BytesCell(m.Kept), nil}
		if m.Total > 0 {
			row[5] = display.BytesCell(m.Total)
		}
		t.Add(row...)
	}
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	t.Add(display.Cell{Text: "Go heap", Role: display.Name}, display.BytesCell(int64(heap.HeapAlloc)), nil, nil,
		display.BytesCell(int64(heap.HeapIdle-heap.HeapReleased)), display.BytesCell(int64(heap.Sys)))
	return t, nil
}
