package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// quantTypes are what `mcs quantize` makes of matrices: types of GGUF files, or the codes of folders.
var quantTypes = []struct {
	name  string
	codes llm.Codes
}{
	{"q8_0", llm.Codes{}}, {"q6_k", llm.Codes{}}, {"q4_k_m", llm.Codes{}}, {"q4_0", llm.Codes{}},
	{"mlx8", llm.Codes{Format: "mlx", Bits: 8}}, {"mlx4", llm.Codes{Format: "mlx"}}, {"awq", llm.Codes{Format: "awq"}},
}

// quantizeOptions are the flags of `mcs quantize`.
type quantizeOptions struct {
	to, text string
	group    int
	force    bool
}

func quantizeCommand() *cobra.Command {
	var o quantizeOptions
	var names []string
	for _, t := range quantTypes {
		names = append(names, t.name)
	}
	list := strings.Join(names, ", ")
	cmd := &cobra.Command{
		Use:   "quantize MODEL OUT",
		Short: "Write a model whose weights are codes of 8, 6 or 4 bits: a GGUF file, or a folder of mlx or AWQ",
		Long: `quantize writes a model whose matrices are codes in groups that share a scale.

A GGUF file, OUT.gguf, for mcs and llama.cpp: 8.5 bits a weight in q8_0, 6.6 in q6_k, about 4.8 in q4_k_m, llama.cpp's mixture,
in which some matrices have more, and 4.5 in q4_0. Where rows are no whole blocks of 256 the K types become those of blocks of
32, and where that fails, too, f16.

A folder: mlx8 and mlx4 for mlx-lm; awq, which is 4 bits, for transformers and vLLM. For awq the inputs of layers are scaled
by what a text makes of them (--text), so that those that matter lose least.

mcs eval says what it costs.

` + aboutModels,
		Example: "  mcs quantize Qwen2.5-0.5B-Instruct small.gguf --to q4_k_m\n  mcs quantize Qwen2.5-0.5B-Instruct small --to awq --text story.txt",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.Index(names, o.to)
			if i < 0 {
				return fmt.Errorf("quantize: got --to %s, want one of %s", o.to, list)
			}
			return o.run(cmd, args[0], args[1], quantTypes[i].codes)
		},
	}
	cmd.Flags().StringVar(&o.to, "to", names[0], "make the matrices codes of `TYPE`: "+list)
	cmd.Flags().IntVar(&o.group, "group", 0, "let `N` inputs share a scale in a folder: 32, 64 or 128; 0: 64 for mlx, 128 for awq")
	cmd.Flags().StringVar(&o.text, "text", "", "for awq: scale by what `FILE`, a text such as the model will get, makes of the layers")
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "replace a file or a model's folder that exists")
	return cmd
}

func (o *quantizeOptions) run(cmd *cobra.Command, from, to string, c llm.Codes) error {
	awq := c.Format == "awq"
	switch {
	case c.Format == "" && !isGGUF(to):
		return fmt.Errorf("quantize: got %s for --to %s, want a name that ends in .gguf", to, o.to)
	case c.Format != "" && isGGUF(to):
		return fmt.Errorf("quantize: got %s for --to %s, which makes a folder", to, o.to)
	case awq != (o.text != ""):
		return fmt.Errorf("quantize: got --to %s and --text %q, want a text for awq, and for nothing else", o.to, o.text)
	}
	text := ""
	if awq {
		var err error
		if text, err = data.ReadText(o.text); err != nil {
			return fmt.Errorf("quantize: %w", err)
		}
	}
	return rewrite(cmd, from, to, o.force, func(ctx context.Context, m *llm.Model) (err error) {
		if c.Format == "" {
			return llm.SaveGGUF(to, m, llm.GGUF{Type: o.to})
		}
		if c.Group = o.group; awq {
			if c.Tokens, err = m.Encode(text); err != nil {
				return err
			}
		}
		if _, err = quant.Expand(m, dtype.F16); err != nil {
			return err
		}
		ctx, bar := progressing(ctx)
		defer bar.Finish()
		return llm.SaveCodes(ctx, to, m, c)
	})
}

// rewrite loads a model and writes it, and says how large it was and is.
func rewrite(cmd *cobra.Command, from, to string, force bool, write func(ctx context.Context, m *llm.Model) error) error {
	if err := checkOutput(to, force); err != nil {
		return fmt.Errorf("%s: %w", cmd.Name(), err)
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	m, err := loadModel(ctx, from)
	if err != nil {
		return gaveUp(ctx, err, exitUsage)
	}
	_, before := nn.Size(m)
	if err := write(ctx, m); err != nil {
		return gaveUp(ctx, err, exitFailed)
	}
	fmt.Printf("%s: %s, from weights of %s\n", visible.Line(to), units.Bytes(regular.Size(to)), units.Bytes(int64(before)))
	return nil
}
