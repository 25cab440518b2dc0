package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// near is how far two losses may lie apart, as a part of their size. Rounding differs from device to device,
// and sixty steps of training make more of it.
const near = 0.01

// losses runs the example on the processor and on the device, and compares what both have learned.
func (w *worker) losses(ctx context.Context, device string) error {
	var found [2]map[string]float64
	for i, name := range []string{w.cpu, device} {
		before := w.out.Len()
		if err := w.command(ctx, w.mcs, "run", "-device", name, "-p", "steps=60", "examples/lora.mcs"); err != nil {
			return err
		}
		found[i] = lossesIn(w.out.String()[before:])
	}
	return w.compare(found[0], found[1])
}

var (
	trained = regexp.MustCompile(`(?m)^(\d+ steps) · loss ([\d.]+) → ([\d.]+)`)
	table   = regexp.MustCompile(`(?m)^(code|tests) +([\d.]+) +([\d.]+)$`)
)

// lossesIn finds the losses in what the example prints.
func lossesIn(out string) map[string]float64 {
	found := map[string]float64{}
	for _, form := range []*regexp.Regexp{trained, table} {
		for _, m := range form.FindAllStringSubmatch(out, -1) {
			for i, when := range []string{"before", "after"} {
				found[m[1]+" "+when], _ = strconv.ParseFloat(m[2+i], 64)
			}
		}
	}
	return found
}

// compare says of each loss whether it is near what it should be.
func (w *worker) compare(want, got map[string]float64) error {
	if len(want) < 6 {
		return fmt.Errorf("found %d losses of the processor, want those of two trainings and of two texts", len(want))
	}
	var apart []error
	for name, v := range want {
		difference := math.Abs(got[name]-v) / v
		fmt.Fprintf(&w.out, "%-16s %s %.4g, device %.4g, %.2g %% apart\n", name, w.cpu, v, got[name], 100*difference)
		if !(difference <= near) {
			apart = append(apart, fmt.Errorf("the loss %s is %g, want %g within %g %%", name, got[name], v, 100*near))
		}
	}
	return errors.Join(apart...)
}
