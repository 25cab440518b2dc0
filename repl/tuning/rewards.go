package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"math"
	"os"
	"strings"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A scored is a model that learns from rewards, and the data for it.
type scored struct {
	*train.GRPO
	wrong error // of the reward that failed first
}

// Batch is that of the model, or the error of a reward.
func (s *scored) Batch(n int) (data.Batch, error) {
	b, err := s.GRPO.Batch(n)
	if s.wrong != nil {
		return b, s.wrong
	}
	return b, err
}

// asked is a model that learns from the rewards for its answers to the records' prompts.
func asked(ctx context.Context, c *Config, m *llm.Model) (train.Model, error) {
	set, err := c.dataset(c.at(c.Data.Train), c.Data.Split)
	if err != nil {
		return nil, err
	}
	g := &scored{GRPO: &train.GRPO{
		Model: m, Chat: c.Data.Chat, Questions: c.Data.Batch, Group: c.GRPO.Group, Tokens: c.GRPO.Tokens, Steps: c.GRPO.Repeat,
		Clip: c.GRPO.Clip, ClipHigh: c.GRPO.ClipHigh, Beta: c.Train.Beta, Kind: c.GRPO.Kind, Seed: c.Seed,
	}}
	completions := map[string]string{} // by their prompts
	if _, err = set.Each(ctx, func(r data.Record) error {
		if r.Prompt.Messages != nil || r.Completion.Messages != nil {
			return fmt.Errorf("%s:%d: got messages, want a prompt that is a text; data.chat writes it as the template does", r.File, r.Line)
		}
		prompt := r.Text + r.Prompt.Text // a record has one of them
		g.Prompts = append(g.Prompts, prompt)
		completions[prompt] = r.Completion.Text
		return nil
	}); err != nil {
		return nil, err
	}
	g.Rewards, err = rewards(c.at(c.GRPO.Rewards), completions, &g.wrong)
	return g, err
}

var (
	// inFile is the clause that a Go file has and a cell has not.
	inFile = lazy.Regexp(`(?m)^package \w+`)
	// ofReward is the type of a function that is a reward.
	ofReward = lazy.Regexp(`^func\((\w+ )?string, (\w+ )?string(, (\w+ )?string)?\) float64$`)
)

// rewards are the exported functions of a Go file that say how good answers are, run as cells are. The first
// that fails says so in wrong.
func rewards(path string, completions map[string]string, wrong *error) ([]func(prompt, answer string) float64, error) {
	text, err := regular.Text(path, regular.MaxSource)
	if err != nil {
		return nil, fmt.Errorf("grpo.rewards: %w", err)
	}
	s, err := session.New(session.Options{Stdout: os.Stderr, Stderr: os.Stderr})
	if err != nil {
		return nil, err
	}
	inThat := func(err error) error { return errors.New(strings.ReplaceAll(err.Error(), "In[1]", path)) }
	if r := s.Run(context.Background(), inFile().ReplaceAllString(text, "// $0")); r.Err != nil {
		return nil, inThat(r.Err)
	}
	var calls []string
	for _, v := range s.Vars() {
		switch m := ofReward().FindStringSubmatch(v.Type); {
		case v.Kind != "func" || !token.IsExported(v.Name):
		case m == nil:
			return nil, fmt.Errorf("%s: %s is a %s, want func(prompt, answer string) float64, or with a third string, the record's completion; what is no reward has a name that begins small", path, v.Name, v.Type)
		case m[3] == "":
			calls = append(calls, "func(prompt, answer, _ string) float64 { return "+v.Name+"(prompt, answer) }")
		default:
			calls = append(calls, v.Name)
		}
	}
	if len(calls) == 0 {
		return nil, fmt.Errorf("%s has no exported function, want func Name(prompt, answer string) float64", path)
	}
	if r := s.Run(context.Background(), "rewardsOfTheFile := []func(prompt, answer, completion string) float64{"+strings.Join(calls, ", ")+"}"); r.Err != nil {
		return nil, inThat(r.Err)
	}
	cell, err := s.Compile("") // within which functions of cells run: they can be stopped, and their panics are errors
	if err != nil {
		return nil, err
	}
	var list []func(prompt, answer string) float64
	for _, v := range s.Vars() {
		of, _ := v.Value.([]func(prompt, answer, completion string) float64)
		for _, f := range of {
			list = append(list, func(prompt, answer string) (x float64) {
				err := cell.Within(tensor.Context(), func() error {
					x = f(prompt, answer, completions[prompt])
					return nil
				})
				if err != nil {
					*wrong, x = cmp.Or(*wrong, inThat(err)), math.NaN()
				}
				return x
			})
		}
	}
	return list, nil
}
