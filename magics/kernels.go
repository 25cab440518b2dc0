package magics

import (
	"context"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
)

func kernelMagics() []*Magic {
	return []*Magic{{
		Name: "kernels", Family: "Timing", Args: "STATEMENT", Takes: TakesGo, Cell: true,
		Flags: []Flag{
			{Name: "fuse", Kind: Choice, Choices: []string{"on", "off"}, Help: "with fusion on or off for this statement"},
			{Name: "diff", Help: "count with fusion off and on, and show what fusion changed"},
		},
		Summary: "count the kernels that a statement launches",
		Help: "One launch is one command given to the device. Bytes are the inputs and outputs of the kernel, each once; flops are\n" +
			"what the mathematics needs. Tensors that the statement reads are evaluated before, and are not counted.",
		Example: "%kernels layer.Forward(x)\n%kernels -fuse=off layer.Forward(x)\n%kernels -diff layer.Forward(x)",
		run:     runKernels,
	}, {
		Name: "profile", Family: "Timing", Args: "STATEMENT", Takes: TakesGo, Cell: true,
		Summary: "the time that each kernel of a statement takes, and its share",
		Help: "Kernels run one at a time, each until the device has finished: their times are right, the whole takes longer than\n" +
			"usual. The statement has run once before, so that building plans is not measured.",
		Example: "%profile m.Logits(ids)",
		run:     runProfile,
	}}
}

func runKernels(ctx context.Context, c *call) (display.Value, error) {
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
		return profile.Diff(plain, fused), nil
	}
	if choice := c.choice("fuse"); choice != "" {
		return valueOr(w.count(ctx, choice == "on"))
	}
	return valueOr(w.record(ctx, profile.Record))
}

// count records the launches of the work with fusion on or off.
func (w *work) count(ctx context.Context, fused bool) (*profile.Recording, error) {
	return w.record(tensor.WithFusion(ctx, fused), profile.Record)
}

func valueOr(r *profile.Recording, err error) (display.Value, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

func runProfile(ctx context.Context, c *call) (display.Value, error) {
	w, err := c.prepare()
	if err != nil {
		return nil, err
	}
	if _, err := w.record(ctx, profile.Record); err != nil {
		return nil, err
	}
	return valueOr(w.record(ctx, profile.RecordTimed))
}
