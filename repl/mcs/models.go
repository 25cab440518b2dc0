package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
)

// aboutModels says in helps what MODEL may be.
const aboutModels = `MODEL is a folder of Hugging Face or a GGUF file, or, where there is no such file, the name of a repository on Hugging
Face's hub, ORG/NAME, which is fetched once.`

// modelFlags are the flags with which a command loads a model.
type modelFlags struct{ adapter string }

func (f *modelFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.adapter, "adapter", "", "put the adapter in `FOLDER` into the model: one of mcs train, PEFT or mlx-lm")
}

// check refuses an adapter that is not there, before anything is loaded.
func (f *modelFlags) check() error {
	if f.adapter == "" {
		return nil
	}
	_, err := os.Stat(f.adapter)
	return err
}

// load reads a model, and puts the adapter into it.
func (f *modelFlags) load(ctx context.Context, name string) (*llm.Model, error) {
	m, err := loadModel(ctx, name)
	if err == nil && f.adapter != "" {
		_, err = lora.Load(f.adapter, m)
	}
	return m, err
}

// loadModel reads a model by its path, or by its name on the hub.
func loadModel(ctx context.Context, name string) (_ *llm.Model, err error) {
	ctx, bar := progressing(ctx)
	defer bar.Finish()
	if isRepository(name) {
		if name, err = llm.Download(ctx, name, llm.Hub{}); err != nil {
			return nil, err
		}
	}
	return llm.Load(ctx, name)
}

// isRepository says whether a name can be that of a repository only: nothing here begins as it does.
func isRepository(name string) bool {
	org, rest, ok := strings.Cut(name, "/")
	if !ok || org == "" || rest == "" || strings.Contains(rest, "/") || isGGUF(name) {
		return false
	}
	_, err := os.Stat(org)
	return errors.Is(err, fs.ErrNotExist)
}

func isGGUF(name string) bool { return strings.HasSuffix(name, ".gguf") }

// progressing returns a context whose long work is shown on standard error.
func progressing(ctx context.Context) (context.Context, *display.Progress) {
	bar := display.NewProgress(os.Stderr, isTerminal(os.Stderr) && os.Getenv("TERM") != "dumb", func() int { return columns(os.Stderr) }, nil)
	return progress.With(ctx, func(e progress.Event) { bar.Update(e.Task, e.Done, e.Total, e.Note, e.Elapsed) }), bar
}

// gaveUp says what went wrong, unless a signal has stopped the command, and returns its exit code.
func gaveUp(ctx context.Context, err error, code exitCode) error {
	if code, ok := stoppedBy(ctx); ok {
		return code
	}
	fmt.Fprintln(os.Stderr, "mcs:", visible.Text(err.Error()))
	return code
}

// samplingFlags are the flags that say how tokens are chosen.
type samplingFlags struct {
	tokens            int
	temperature, topP float64
	seed              uint64
	given             func(flag string) bool
}

func (s *samplingFlags) add(cmd *cobra.Command) {
	s.given = cmd.Flags().Changed
	cmd.Flags().IntVar(&s.tokens, "tokens", 512, "make `N` tokens at most")
	cmd.Flags().Float64Var(&s.temperature, "temperature", 0, "divide the scores by `T` before a token is drawn; 0 takes the best each time; else as the model's folder says")
	cmd.Flags().Float64Var(&s.topP, "top-p", 0, "draw of the best tokens that together have the probability `P`; else as the model's folder says")
	cmd.Flags().Uint64Var(&s.seed, "seed", 0, "draw the same tokens each time for the same `N`; 0 draws others each time")
}

func (s *samplingFlags) check() error {
	switch {
	case s.tokens < 1:
		return fmt.Errorf("got --tokens %d, want at least 1", s.tokens)
	case !(s.temperature >= 0):
		return fmt.Errorf("got --temperature %v, want 0 or more", s.temperature)
	case s.given("top-p") && !(s.topP > 0 && s.topP <= 1):
		return fmt.Errorf("got --top-p %v, want a probability above 0", s.topP)
	}
	return nil
}

// sampling is as the model's folder says where no flag is given.
func (s *samplingFlags) sampling(m *llm.Model) llm.Sampling {
	o := m.Defaults
	if o.Tokens == 0 || s.given("tokens") {
		o.Tokens = s.tokens
	}
	if s.given("top-p") {
		o.TopP, o.Temperature = s.topP, cmp.Or(o.Temperature, 1)
	}
	if s.given("temperature") {
		o.Temperature = s.temperature
	}
	o.Seed = cmp.Or(s.seed, rand.Uint64())
	return o
}

// printSaid prints what a model says. A terminal gets no characters that would control it.
func printSaid(text string) {
	if isTerminal(os.Stdout) {
		text = visible.Text(text)
	}
	fmt.Print(text)
}

// checkOutput refuses a name for a model that cannot be written, before long work.
func checkOutput(path string, force bool) error {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err
	}
	stat, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !force:
		return fmt.Errorf("%s exists; -f replaces it", path)
	case stat.IsDir() && isGGUF(path):
		return fmt.Errorf("%s is a folder, want a file", path)
	case !stat.IsDir() && !isGGUF(path):
		return fmt.Errorf("%s is a file, want a folder, or a name that ends in .gguf", path)
	}
	if _, err := os.Stat(filepath.Join(path, "config.json")); stat.IsDir() && err != nil {
		return fmt.Errorf("%s is a folder without a model, which is not replaced", path)
	}
	return nil
}

// writeModel writes a model as a GGUF file, or as a folder, in which codes are numbers of f16.
func writeModel(path string, m *llm.Model) error {
	if isGGUF(path) {
		return llm.SaveGGUF(path, m, llm.GGUF{})
	}
	if _, err := quant.Expand(m, dtype.F16); err != nil {
		return err
	}
	return llm.Save(path, m)
}
