package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/internal/visible"
)

// quantTypes are what `mcs quantize` makes of matrices.
var quantTypes = []string{"q8_0", "q4_0", "q6_k", "q4_k_m"}

func quantizeCommand() *cobra.Command {
	to, force := "", false
	cmd := &cobra.Command{
		Use:   "quantize MODEL OUT.gguf",
		Short: "Write a model as a GGUF file whose weights are codes of 8 or 4 bits",
		Long: `quantize writes a model as a GGUF file for mcs and llama.cpp, whose matrices are codes in groups that share a scale: 8.5
bits a weight in q8_0, 6.6 in q6_k, 4.5 in q4_0, and about 4.8 in q4_k_m, llama.cpp's mixture, in which some layers have more.
Types of blocks of 256 become those of 32 where rows are no whole blocks, and f16 where that fails, too. mcs eval says what
it costs.

` + aboutModels,
		Example: "  mcs quantize Qwen2.5-0.5B-Instruct small.gguf --to q4_0",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !slices.Contains(quantTypes, to):
				return fmt.Errorf("quantize: got --to %s, want one of %s", to, strings.Join(quantTypes, ", "))
			case !isGGUF(args[1]):
				return fmt.Errorf("quantize: got %s, want a name that ends in .gguf", args[1])
			}
			return rewrite(cmd, args[0], args[1], to, force)
		},
	}
	cmd.Flags().StringVar(&to, "to", quantTypes[0], "make the matrices codes of `TYPE`: "+strings.Join(quantTypes, ", "))
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace a file that exists")
	return cmd
}

// rewrite loads a model and writes it, with matrices of a type, and says how large it was and is.
func rewrite(cmd *cobra.Command, from, to, typ string, force bool) error {
	if err := checkOutput(to, force); err != nil {
		return fmt.Errorf("%s: %w", cmd.Name(), err)
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	m, err := loadModel(ctx, from)
	if err != nil {
		return gaveUp(ctx, err, exitUsage)
	}
	before := weightsOf(m)
	if err := writeModel(to, m, typ); err != nil {
		return gaveUp(ctx, err, exitFailed)
	}
	fmt.Printf("%s: %s, from weights of %s\n", visible.Line(to), sizeOf(to), before)
	return nil
}

// isModel says whether `mcs convert` converts a model: a folder, a GGUF file or a repository of the hub.
func isModel(name string) bool {
	stat, err := os.Stat(name)
	return isGGUF(name) || isRepository(name) || err == nil && stat.IsDir()
}
