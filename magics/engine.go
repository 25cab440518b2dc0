package magics

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
)

func engineMagics() []*Magic {
	return []*Magic{{
		Name: "guard", Family: "Engine", Args: "[nan [on|off]]",
		Summary: "stop at the first launch whose result has a NaN or an infinity",
		Help: "The error names the operation, its shape, the line that it comes from and the ranges of what it read. The guard holds for all\n" +
			"later evaluations of the session. Each launch is then waited for and looked at, so everything takes longer. A step of an\n" +
			"optimizer that has begun is made whole before the error. Without arguments: whether it is on.",
		Example: "%guard nan on\n%guard nan off",
		run:     runGuard,
	}, {
		Name: "seed", Family: "Engine", Args: "N", needs: "seed",
		Summary: "start the random numbers of tensors over from a seed",
		Help:    "The same seed gives the same values on every device.",
		Example: "%seed 7",
		run:     runSeed,
	}, {
		Name: "device", Family: "Engine", Args: "[NAME]", Takes: TakesDevices,
		Flags:   []Flag{{Name: "ceilings", Help: "show how fast the default device can compute and read"}, {Name: "again", Help: "measure the ceilings again"}},
		Summary: "list the devices, or choose where new tensors live",
		Help: "ref computes in float64, one element at a time: slow, and there to check the others. cpu:2 is the processor with two threads, a\n" +
			"device of its own; the number of threads changes no bit of a result. What is listed need not be open: a device is opened when it is\n" +
			"chosen, and again if it was lost. mcs -device NAME chooses one for a whole command.",
		Example: "%device\n%device ref\n%device cpu:1",
		run:     runDevice,
	}, {
		Name: "mem", Family: "Engine",
		Flags: []Flag{
			{Name: "free", Help: "first collect garbage and give back memory that is kept for reuse"},
			{Name: "by", Kind: Choice, Choices: []string{"tensor", "cell", "variable"}, Help: "what tensors hold, by tensor, by the line that made them, or by variable"},
			{Name: "n", Kind: Integer, Default: "20", Help: "with -by: list so many"},
		},
		Summary: "memory in use on each device and in Go's heap",
		Help: "In use: tensors that something still refers to. Kept: memory of freed tensors, for the next ones. Peak: the most so far. " +
			"Plan: what the largest evaluation so far took for its results and on the way to them.\n" +
			"With -by: the memory that holds values of tensors, from a kilobyte on, with the line that made them and the variables that they can\n" +
			"be reached from. Garbage is collected before; what no variable holds belongs to goroutines, closures, or graphs that wait.",
		Example: "%mem\n%mem -free\n%mem -by cell",
		run:     runMem,
	}}
}

func runGuard(_ context.Context, c *call) (display.Value, error) {
	state := map[bool]string{true: "on", false: "off"}
	switch words := c.words(); {
	case len(words) == 0:
		return display.Text("nan " + state[c.s.Guard().On()]), nil
	case slices.Equal(words, []string{"nan"}), slices.Equal(words, []string{"nan", "on"}), slices.Equal(words, []string{"nan", "off"}):
		c.s.Guard().Set(words[len(words)-1] != "off")
		return nil, nil
	default:
		return nil, c.errorf("got %q, want nan on or nan off", strings.Join(words, " "))
	}
}

func runSeed(_ context.Context, c *call) (display.Value, error) {
	seed, err := strconv.ParseUint(c.rest, 0, 64)
	if err != nil {
		return nil, c.errorf("got %q, want a whole number from 0 to 2^64-1", c.rest)
	}
	tensor.Seed(seed)
	return nil, nil
}

// sizeCell is a size in bytes; an empty cell where it is 0.
func sizeCell(size int64) (c display.Cell) {
	if size > 0 {
		c = display.BytesCell(size)
	}
	return c
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
		row := []any{display.Cell{Text: f.Name, Role: display.Name}, f.Detail, sizeCell(f.Memory), nil}
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
	if c.on("free") {
		giveBack()
		debug.FreeOSMemory()
	} else if c.text("by") != "" {
		collect()
	}
	if by := c.text("by"); by != "" {
		return c.memoryBy(by, max(c.number("n"), 1)), nil
	}
	t := display.NewTable("memory", ">in use", ">peak", ">plan", ">kept", ">of")
	for _, d := range device.Opened() {
		m := d.Memory()
		t.Add(display.Cell{Text: d.String(), Role: display.Name}, display.BytesCell(m.InUse), display.BytesCell(m.Peak), display.BytesCell(m.Plan), display.BytesCell(m.Kept), sizeCell(m.Total))
	}
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	t.Add(display.Cell{Text: "Go heap", Role: display.Name}, display.BytesCell(int64(heap.HeapAlloc)), nil, nil,
		display.BytesCell(int64(heap.HeapIdle-heap.HeapReleased)), display.BytesCell(int64(heap.Sys)))
	return t, nil
}
