package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
)

func fuseCommand() *cobra.Command {
	var f modelFlags
	force := false
	cmd := &cobra.Command{
		Use:   "fuse MODEL OUT --adapter FOLDER",
		Short: "Merge an adapter into its model, and write that",
		Long: `fuse adds an adapter to the weights of its model, says what rounding takes of it, and writes the model without adapter: as
a folder of Hugging Face, or as a GGUF file where OUT ends in .gguf. Weights keep their type; codes become f16.

` + aboutModels,
		Example: "  mcs fuse Qwen2.5-0.5B-Instruct fused --adapter tuned/adapter",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.adapter == "" {
				return errors.New("fuse: got no --adapter, want the adapter's folder")
			}
			err := f.check()
			if err == nil {
				err = checkOutput(args[1], force)
			}
			if err != nil {
				return fmt.Errorf("fuse: %w", err)
			}
			return fuse(cmd, args[0], args[1], f.adapter)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace a model that exists")
	return cmd
}

func fuse(cmd *cobra.Command, from, to, adapter string) error {
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	m, err := loadModel(ctx, from)
	if err == nil {
		_, err = quant.Expand(m, dtype.F16) // beside codes an adapter might be kept apart
	}
	var a *lora.Adapter
	if err == nil {
		a, err = lora.Load(adapter, m)
	}
	if err != nil {
		return gaveUp(ctx, err, exitUsage)
	}
	report, err := a.Merge()
	if err != nil {
		return gaveUp(ctx, err, exitFailed)
	}
	fmt.Println(visible.Text(report.String()))
	if report.Merged() < len(report.Layers) {
		return gaveUp(ctx, errors.New("fuse: nothing is written, because layers are kept apart"), exitFailed)
	}
	if err = a.Remove(m); err == nil {
		err = writeModel(to, m)
	}
	if err != nil {
		return gaveUp(ctx, err, exitFailed)
	}
	fmt.Printf("%s: %s\n", visible.Line(to), units.Bytes(regular.Size(to)))
	return nil
}
