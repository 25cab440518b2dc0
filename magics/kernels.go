package magics

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
)

func kernelMagics() []*Magic {
	return []*Magic{{
		Name: "kernels", Family: "Timing", Varies: true, Args: "STATEMENT", needs: "statement", Takes: TakesGo, Cell: true,
		Flags: []Flag{
			{Name: "fuse", Kind: Choice, Choices: []string{"on", "off"}, Help: "with fusion on or off for this statement"},
			{Name: "diff", Help: "count with fusion off and on, and show what fusion changed"},
			{Name: "t", Help: "time each kernel"},
			{Name: "w", Help: "with -t: one line for each shape, and all columns"},
			{Name: "assert", Kind: Text, Arg: "CONDITION", Help: "fail unless it holds, of launches, kernels, copies, plans, bytes and flops"},
			{Name: "source", Kind: Text, Arg: "KERNEL", Help: "show the program that ran as the kernel of that name"},
		},
		Summary: "count or time the kernels that a statement launches",
		Help: "One launch is one command given to the device. Bytes are the inputs and outputs of the kernel, each once; flops are\n" +
			"what the mathematics needs. Tensors that the statement reads are evaluated before, and are not counted.\n" +
			"What the statement assigns is put back; %time keeps it. What it does in memory that variables share stays: -diff runs a step of\n" +
			"a training with fusion off and on, which are two steps.\n" +
			"With -t the device runs one kernel at a time and is waited for: the times of kernels are right, the whole takes longer. If\n" +
			"plans are made, the statement runs twice, and the second time is shown. bound is what a launch cannot be faster than: its\n" +
			"arithmetic (comp) in its own type, its bytes (mem) from memory of the size that it works on, or that it is a launch at all. roof is\n" +
			"the time that this takes on a device at its measured ceilings, as a share of the time that passed. What would be above 105 % is\n" +
			"refused: it does not measure the device. %device -ceilings measures the ceilings.\n" +
			"-source shows the group of operations, and what the backend runs for it. On the CPU those are the micro-kernels and vector\n" +
			"functions, by the names that their assembly has, with the registers of tiles that they write and read (r0 stands where\n" +
			"a function takes no more), and their assembly.",
		Example: "%kernels layer.Forward(x)\n%kernels -fuse=off layer.Forward(x)\n%kernels -diff layer.Forward(x)\n%kernels -t m.Logits(ids)\n" +
			"%kernels -assert 'launches <= 3' layer.Forward(x)\n%kernels -source matmul_silu x.MatMul(w).Silu()",
		run: runKernels,
	}}
}

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
	if choice := c.text("fuse"); choice != "" {
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
		return nil, c.errorf("no kernel %s was launched, but %s", name, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return display.Text(strings.Join(texts, "\n\n")), nil
}

// count records the launches of the work with fusion on or off.
func (w *work) count(ctx context.Context, fused bool) (*profile.Recording, error) {
	return w.record(tensor.WithFusion(ctx, fused), profile.Record)
}
