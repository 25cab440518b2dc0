package train

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A GRPO learns from rewards, by group relative policy optimisation (Shao et al. 2024): the model answers a
// prompt several times, and answers with a better reward than others of their group become likelier. It is a
// [Model], and the data for it, which the model writes itself:
//
//	short := func(prompt, answer string) float64 { return -float64(len(answer)) }
//	g := &train.GRPO{Model: m, Prompts: prompts, Rewards: []func(prompt, answer string) float64{short}}
//	train.LoRA(ctx, g, g, train.Options{Steps: 100})
//
// An answer's advantage is its reward less the mean of its group, over the group's standard deviation. A
// token's loss is −min(r·advantage, clip(r)·advantage), where r says how much likelier it is than when it was
// written, and Beta times the divergence from the reference; the loss is the mean over answers of the mean
// over tokens.
type GRPO struct {
	Model   *llm.Model
	Prompts []string // taken in turn
	Chat    bool     // prompts are what a user says, which the model's chat template writes
	// Rewards say how good an answer is. Their sum counts.
	Rewards []func(prompt, answer string) float64

	Questions int // prompts of a step; 0 means 4
	Group     int // answers to each; 0 means 8
	Tokens    int // of an answer, at most; 0 means 64
	Steps     int // that learn from the same answers; 0 means 1

	Clip     float64 // how far r counts, from 1 − Clip on; 0 means 0.2
	ClipHigh float64 // to 1 + ClipHigh; 0 means Clip
	// Beta is how near the model stays to the reference, which is the model without its adapters unless
	// Reference is set; 0: as far as it gets.
	Beta      float64
	Reference Scorer
	// Kind is "grpo" (empty means that) or "dr_grpo" (Liu et al. 2025), whose advantages are not divided and
	// whose loss is the sum over tokens, over the answers times Tokens: long answers are not favoured.
	Kind string
	Seed uint64

	Rewarded []float64 // the mean reward of the answers to each set of questions so far
	Last     []Answer  // the latest answers

	written int // which set of answers batch is, counted from 1
	batch   data.Batch
}

// An Answer is what a model wrote.
type Answer struct {
	Prompt, Text string
	Reward       float64
	ids          []int // of prompt and answer
	from         int   // where the answer begins
}

// String says all three.
func (a Answer) String() string { return fmt.Sprintf("%.3g  %q %q", a.Reward, a.Prompt, a.Text) }

// Members lists those of the model.
func (g *GRPO) Members() []nn.Member { return g.Model.Members() }

// SetTraining tells the model, which is no member.
func (g *GRPO) SetTraining(on bool) { setTraining(g.Model, on) }

// Counted is the number of answers.
func (g *GRPO) Counted(b data.Batch) int { return b.Examples() / 2 }

// Fingerprint names the prompts, and how they are answered.
func (g *GRPO) Fingerprint() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q", g.Prompts)
	how := map[bool]string{true: " in chats"}[g.Chat]
	return fmt.Sprintf("answers to %d prompts %x%s, %d of %d at a time, %d tokens, seed %d", len(g.Prompts), h.Sum64(), how, g.group(), g.questions(), g.tokens(), g.Seed)
}

// String says what is asked.
func (g *GRPO) String() string {
	return fmt.Sprintf("%s, %d a step, %d answers of at most %s to each", units.Plural(int64(len(g.Prompts)), "prompt"), g.questions(), g.group(), units.Plural(int64(g.tokens()), "token"))
}

func (g *GRPO) questions() int { return cmp.Or(g.Questions, 4) }
func (g *GRPO) group() int     { return cmp.Or(g.Group, 8) }
func (g *GRPO) tokens() int    { return cmp.Or(g.Tokens, 64) }

// Batch lets the model answer, and rewards it. Inputs are i64 [2·answers T], tokens and then those that
// follow them, −100 where they are not of the answer; targets are f32 [2·answers T], the advantage of each
// token's answer, and then the logarithm of the probability that the token had. The steps of one set of
// answers have the same batch.
func (g *GRPO) Batch(n int) (data.Batch, error) {
	if err := g.check(); err != nil {
		return data.Batch{}, fmt.Errorf("train.GRPO: %w", err)
	}
	set := n/max(1, g.Steps) + 1
	if set == g.written {
		return g.batch, nil
	}
	b, err := g.write(set - 1)
	if err != nil {
		return b, fmt.Errorf("train.GRPO: %w", err)
	}
	g.written, g.batch = set, b
	return b, nil
}

func (g *GRPO) check() error {
	switch {
	case g.Model == nil || len(g.Prompts) == 0 || len(g.Rewards) == 0:
		return errors.New("want a Model, Prompts and Rewards")
	case g.Questions < 0 || g.Tokens < 0 || g.Steps < 0 || g.Group < 0 || g.Group == 1:
		return fmt.Errorf("got %d questions, groups of %d, %d tokens, %d steps, want positive numbers, or 0 for the usual, and groups of 2", g.Questions, g.Group, g.Tokens, g.Steps)
	case g.Kind != "" && g.Kind != "grpo" && g.Kind != "dr_grpo":
		return fmt.Errorf("got kind %q, want grpo or dr_grpo", g.Kind)
	}
	for name, x := range map[string]float64{"beta": g.Beta, "clip": g.Clip, "high clip": g.ClipHigh} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("got %s %v, want a number of at least 0", name, x)
		}
	}
	if g.Beta == 0 || g.Reference != nil {
		return nil
	}
	return hasReference(g.Model)
}

// write asks the questions of one set, and makes a batch of the answers.
func (g *GRPO) write(set int) (data.Batch, error) {
	list, err := g.answers(set)
	if err != nil {
		return data.Batch{}, err
	}
	longest, sum := 0, 0.0
	for i := range list {
		a := &list[i]
		for _, reward := range g.Rewards {
			a.Reward += reward(a.Prompt, a.Text)
		}
		if a.Reward-a.Reward != 0 {
			return data.Batch{}, fmt.Errorf("got the reward %v for the answer %q to %q, want a finite number", a.Reward, a.Text, a.Prompt)
		}
		longest, sum = max(longest, len(a.ids)-1), sum+a.Reward
	}
	advantages := g.advantages(list)
	rows := len(list)
	ids, said := make([]int, 2*rows*longest), make([]float32, 2*rows*longest)
	for i, a := range list {
		row, next := ids[i*longest:(i+1)*longest], ids[(rows+i)*longest:(rows+i+1)*longest]
		copy(row, a.ids[:len(a.ids)-1])
		for t := range next {
			if next[t] = data.Ignored; t+1 >= a.from && t+1 < len(a.ids) {
				next[t] = a.ids[t+1]
			}
			said[i*longest+t] = float32(advantages[i])
		}
	}
	b := data.Batch{Inputs: tensor.From(ids, 2*rows, longest).To(nn.Device(g.Model)), Targets: tensor.From(said, 2*rows, longest).To(nn.Device(g.Model))}
	if g.Steps > 1 {
		inputs, next := halves(b.Inputs)
		before := g.Model.Losses(inputs, next).Cast(dtype.F32).Neg().Detach()
		first, _ := halves(b.Targets)
		b.Targets = tensor.Concat([]tensor.Tensor{first, before}, 0).Eval()
	}
	g.Last = list
	g.Rewarded = append(g.Rewarded[:min(set, len(g.Rewarded))], sum/float64(rows))
	return b, nil
}

// answers are those of the model to the questions of a set, group by group.
func (g *GRPO) answers(set int) ([]Answer, error) {
	nn.SetTraining(g.Model, false) // dropout is for learning
	defer nn.SetTraining(g.Model, true)
	var list []Answer
	var prompts [][]int
	for i := range g.questions() {
		prompt := g.Prompts[(set*g.questions()+i)%len(g.Prompts)]
		ids, err := g.encode(prompt)
		if err != nil {
			return nil, err
		}
		for range g.group() {
			list, prompts = append(list, Answer{Prompt: prompt, from: len(ids)}), append(prompts, ids)
		}
	}
	seed := 1 + (g.Seed<<32+uint64(set))*uint64(len(list))
	all, err := g.Model.GenerateBatchTokens(scope.Context(), prompts, llm.Sampling{Tokens: g.tokens(), Temperature: 1, Seed: seed})
	if err != nil {
		return nil, err
	}
	for i, ids := range all {
		answer := ids[list[i].from:]
		list[i].Text = g.decode(answer)
		if len(answer) < g.tokens() && len(g.Model.Stop) > 0 {
			ids = append(ids, g.Model.Stop[0]) // to end there is a choice, too
		}
		list[i].ids = ids
	}
	return list, nil
}

func (g *GRPO) encode(prompt string) ([]int, error) {
	if g.Chat {
		return g.Model.ChatTokens([]chat.Message{{Role: "user", Content: prompt}}, chat.Options{})
	}
	return g.Model.Encode(prompt)
}

func (g *GRPO) decode(ids []int) string {
	if t := g.Model.Tokenizer; t != nil {
		return t.Decode(ids, false)
	}
	text := make([]byte, len(ids))
	for i, id := range ids {
		text[i] = byte(id)
	}
	return string(text)
}

// advantages say how much better each answer is than its group.
func (g *GRPO) advantages(list []Answer) []float64 {
	all := make([]float64, len(list))
	for from := 0; from < len(list); from += g.group() {
		group := list[from : from+g.group()]
		mean, squares := 0.0, 0.0
		for _, a := range group {
			mean += a.Reward / float64(len(group))
		}
		for i, a := range group {
			all[from+i] = a.Reward - mean
			squares += all[from+i] * all[from+i]
		}
		if g.Kind == "dr_grpo" {
			continue
		}
		deviation := math.Sqrt(squares / float64(len(group)-1))
		for i := range group {
			all[from+i] /= deviation + 1e-4 // as in TRL
		}
	}
	return all
}

// Loss is that of a batch.
func (g *GRPO) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	if err := g.check(); err != nil {
		panic(&tensor.Error{Op: "train.GRPO", Msg: err.Error()})
	}
	ids, next := halves(inputs)
	said := func(m Scorer) tensor.Tensor { return m.Losses(ids, next).Cast(dtype.F32).Neg() }
	var was tensor.Tensor
	if g.Beta != 0 {
		was = ofReference(Scorer(g.Model), g.Reference, said)
	}
	return g.loss(said(g.Model), was, next, targets)
}

// loss is that of tokens with these logarithms of probabilities, now and of the reference, f32 [answers T].
func (g *GRPO) loss(now, before, next, targets tensor.Tensor) tensor.Tensor {
	advantage, then := halves(targets)
	if g.Steps <= 1 {
		then = now.Detach() // the answers are the model's own
	}
	low := cmp.Or(g.Clip, 0.2)
	ratio := now.Sub(then).Exp()
	each := ratio.Mul(advantage).Minimum(ratio.Clip(1-low, 1+cmp.Or(g.ClipHigh, low)).Mul(advantage)).Neg()
	if g.Beta != 0 {
		apart := before.Sub(now)
		each = each.Add(apart.Exp().Sub(apart).Sub(1).Mul(g.Beta))
	}
	counts := next.Ne(data.Ignored)
	sum := tensor.Where(counts, each, 0).Sum(1)
	if g.Kind == "dr_grpo" {
		return sum.Mean().Div(g.tokens())
	}
	return sum.Div(counts.Cast(dtype.F32).Sum(1).Maximum(1)).Mean()
}
