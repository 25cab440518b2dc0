package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/notebook"
)

func convertCommand() *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "convert FROM TO",
		Short: "Turn a .mcs file into a notebook of Jupyter, a page, Markdown or Go, or a notebook into a .mcs file; or a model into another format",
		Long: `convert writes the cells of FROM, a .mcs file or a notebook (.ipynb), to TO: .mcs, .ipynb, .md, .html or .go. Nothing
runs; mcs run FROM -o TO runs the cells and writes what they show. A file that becomes a notebook and comes back is the
same, and a notebook that becomes a file and comes back keeps its names of cells, metadata, attachments and outputs.

A model, which may be a folder, a GGUF file or a repository of the hub, is written as a GGUF file where TO ends in .gguf, else as a
folder of Hugging Face, whose weights are numbers: codes become f16.`,
		Example: "  mcs convert lora.mcs lora.ipynb\n  mcs convert -f lora.ipynb lora.mcs\n  mcs convert lora.mcs lora.html\n" +
			"  mcs convert Qwen2.5-0.5B-Instruct model.gguf",
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if stat, err := os.Stat(args[0]); isGGUF(args[0]) || isRepository(args[0]) || err == nil && stat.IsDir() {
				return rewrite(cmd, args[0], args[1], force, func(_ context.Context, m *llm.Model) error { return writeModel(args[1], m) })
			}
			f, err := readFile(args[0])
			if err != nil {
				return fmt.Errorf("convert: %w", err)
			}
			text, err := notebook.Text(f, args[1])
			if err != nil {
				return fmt.Errorf("convert: %w", err)
			}
			if _, err := os.Lstat(args[1]); err == nil && !force {
				return fmt.Errorf("convert: %s exists; -f replaces it", args[1])
			}
			if err := durable.WriteFile(args[1], durable.Text(text)); err != nil {
				return fmt.Errorf("convert: %w", err)
			}
			fmt.Printf("%s: %s\n", visible.Line(args[1]), units.Plural(int64(len(f.Cells)), "cell"))
			return nil
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace what exists")
	return cmd
}

// isCells says whether a file with this name has cells.
func isCells(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".mcs" || ext == notebook.Extension
}
