package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/grammar"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/internal/regular"
)

func generateCommand() *cobra.Command {
	var f modelFlags
	var s samplingFlags
	var stop []string
	schema := ""
	cmd := &cobra.Command{
		Use:   "generate MODEL [PROMPT | -]",
		Short: "Go on from a text",
		Long: `generate goes on from PROMPT and prints what follows, as it is made, and nothing else. The prompt - is standard input without
its last line break; so is no prompt where standard input is not a terminal. Ctrl-C ends it.

With --schema what follows is JSON that a JSON schema in a file allows; it is cut off only where --tokens ends it.

` + aboutModels,
		Example: "  mcs generate Qwen2.5-0.5B-Instruct 'Once upon a time' --temperature 0.8 --tokens 100\n" +
			"  echo 'Q: What is 2 + 3? A:' | mcs generate Qwen2.5-0.5B-Instruct --stop Q: --adapter tuned/adapter",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) < 1 || len(args) > 2:
				return fmt.Errorf("generate: got %d arguments, takes a model and a prompt in quotes", len(args))
			case len(args) == 1 && isTerminal(os.Stdin):
				return errors.New("generate: got no prompt, want one in quotes, or - for standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(s.check(), f.check()); err != nil {
				return fmt.Errorf("generate: %w", err)
			}
			if slices.Contains(stop, "") {
				return errors.New(`generate: got --stop "", want a text`)
			}
			prompt, err := promptOf(args[1:])
			if err != nil {
				return fmt.Errorf("generate: %w", err)
			}
			g, err := grammarOf(schema)
			if err != nil {
				return fmt.Errorf("generate: %w", err)
			}
			return generate(cmd, args[0], prompt, llm.Sampling{Stop: stop, Grammar: g}, &f, &s)
		},
	}
	f.add(cmd)
	s.add(cmd)
	cmd.Flags().StringArrayVar(&stop, "stop", nil, "end before `TEXT`; can be repeated")
	cmd.Flags().StringVar(&schema, "schema", "", "make JSON that the JSON schema in `FILE` allows")
	return cmd
}

// grammarOf is the grammar of a schema in a file; nil of none.
func grammarOf(path string) (*grammar.Grammar, error) {
	if path == "" {
		return nil, nil
	}
	b, err := regular.Read(path, regular.MaxSource)
	if err != nil {
		return nil, err
	}
	g, err := grammar.Compile(b)
	if err != nil {
		return nil, fmt.Errorf("--schema %s: %w", path, err)
	}
	return g, nil
}

// promptOf is the prompt of the command line, or standard input.
func promptOf(args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		return args[0], nil
	}
	b, err := regular.ReadFrom(os.Stdin, standardInput, regular.MaxSource)
	if err != nil {
		return "", err
	}
	text, err := regular.CheckText(b, standardInput)
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), err
}

func generate(cmd *cobra.Command, name, prompt string, own llm.Sampling, f *modelFlags, s *samplingFlags) error {
	ctx, end := interruptible(cmd.Context())
	defer end()
	m, err := f.load(ctx, name)
	if err != nil {
		return gaveUp(ctx, err, exitUsage)
	}
	o := s.sampling(m)
	o.Stop, o.Grammar = own.Stop, own.Grammar
	read, bar := progressing(ctx)
	said := ""
	for text, err := range m.Stream(read, prompt, o) {
		bar.Finish()
		printSaid(text)
		said = text
		if err != nil {
			return gaveUp(ctx, err, exitFailed)
		}
	}
	if isTerminal(os.Stdout) && !strings.HasSuffix(said, "\n") {
		fmt.Println()
	}
	return nil
}
