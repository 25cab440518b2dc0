package magics

import (
	"context"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
)

func runKernels(ctx context.Context, c *call) (display.Value, error) {
	if timed, source := c.on("t") || c.on("w"), c.text("source") != ""; c.on("diff") && (timed || source) {
		return nil, c.errorf("-diff counts: it goes with neither -t nor -source")
	} else if source && (timed || c.text("assert") != "") {
		return nil, c.errorf("-source shows a program: it goes with -fuse only")
	}
	w, err := c.prepare()
	if err != nil {
		return nil, err
	}
	if c.on("diff") {
		plain, err := w.count(ctx, false)
		if err != nil {
			return nil, err
		}
		fused, err := w.count(ctx, true)
		if err != nil {
			return nil, err
		}
		return profile.Diff(plain, fused), c.holds(c.text("assert"), fused)
	}
	if choice := c.choice("fuse"); choice != "" {
		ctx = tensor.WithFusion(ctx, choice == "on")
	}
	switch name := c.text("source"); {
	case name != "":
		return c.kernelSource(ctx, w, name)
	case c.on("t") || c.on("w"):
		k, err := c.kernelTimes(ctx, w)
		if err != nil {
			return nil, err
		}
		return k, c.holds(c.text("assert"), k.record)
	}
	r, err := w.record(ctx, profile.Record)
	if err != nil {
		return nil, err
	}
	return r, c.holds(c.text("assert"), r)
}

// kernelSource shows the programs that ran as kernels of a name.
func (c *call) kernelSource(ctx context.Context, w *work, name string) (display.Value, error) {
	r, err := w.record(ctx, profile.RecordTraced)
	if err != nil {
		return nil, err
	}
	var texts, names []string
	for i := range r.Trace.Launches {
		l := &r.Trace.Launches[i]
		if !slices.Contains(names, l.Kernel) {
			names = append(names, l.Kernel)
		}
		if text := l.Source(); l.Kernel == name && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil, c.errorf("no kernel %s was launched, but %s", name, orNone(names))
	}
	return display.Text(strings.Join(texts, "\n\n")), nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// count records the launches of the work with fusion on or off.
func (w *work) count(ctx context.Context, fused bool) (*profile.Recording, error) {
	return w.record(tensor.WithFusion(ctx, fused), profile.Record)
}
