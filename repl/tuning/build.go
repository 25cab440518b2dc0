package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/train"
)

// tiny stands for a 0 that is given, where that of the engine is a default: see optim.AdamW.
const tiny = 1e-30

// Tiny as model.path is a small model with random weights, which reads bytes: to try a file out.
const Tiny = "tiny"

// load loads a model, of which the processes of a group hold parts unless the group is nil.
func (c *Config) load(ctx context.Context, path string, g *ranks.Group) (*llm.Model, error) {
	tiny := llm.Config{Vocab: 256, Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Seed: c.Seed}
	switch {
	case path == Tiny && g != nil:
		return llm.NewSharded(ctx, tiny, g)
	case path == Tiny:
		return llm.New(tiny), nil
	case g != nil:
		return llm.LoadSharded(ctx, c.at(path), g)
	}
	return llm.Load(ctx, c.at(path))
}

// Shard decides whether the processes of a group hold the model together: as the file says or, where it says
// nothing of that, if the files of the model have more bytes than the device.
func (c *Config) Shard(g *ranks.Group) error {
	if g.Size() == 1 || c.full() || c.Model.Bits != 0 || c.given["model.shard"] {
		return nil
	}
	has, err := g.Once(func() ([]byte, error) {
		files, _ := filepath.Glob(filepath.Join(c.at(c.Model.Path), "*.safetensors"))
		bytes := int64(0)
		for _, name := range files {
			if info, err := os.Stat(name); err == nil {
				bytes += info.Size()
			}
		}
		if room := device.Default().Info().Memory; room == 0 || bytes <= room {
			return nil, nil
		}
		return []byte{1}, nil
	})
	c.Model.Shard = len(has) > 0
	return err
}

// model loads the model that is trained.
func (c *Config) model(ctx context.Context, g *ranks.Group) (*llm.Model, error) {
	switch {
	case !c.Model.Shard:
		g = nil
	case g.Size() == 1:
		return nil, errors.New("model.shard: got one process, want one for each GPU that holds a part: mcs train -n 2, say")
	}
	m, err := c.load(ctx, c.Model.Path, g)
	if err != nil {
		return nil, err
	}
	m.Config.Checkpoint = c.Model.Checkpoint
	if c.Model.Compute != "" {
		if m.Config.Compute, err = dtype.Parse(c.Model.Compute); err != nil {
			return nil, err
		}
	}
	if c.Model.Bits != 0 {
		if _, err := quant.Module(m, quant.Config{Bits: c.Model.Bits}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// sources reads the data for training and, if there is such, for evaluations.
func (c *Config) sources(ctx context.Context, m *llm.Model) (fit, eval data.Source, err error) {
	read := c.records
	if path := c.at(c.Data.Train); !data.HasRecords(path) && filepath.Ext(path) != "" {
		read = c.windows
	}
	if fit, eval, err = read(ctx, m, c.at(c.Data.Train), c.Data.Split, c.Data.Share); err != nil || c.evalPath() == "" {
		return fit, eval, err
	}
	split, err := c.evalSplit()
	if err == nil {
		eval, _, err = read(ctx, m, c.evalPath(), split, 0)
	}
	if err != nil {
		err = fmt.Errorf("data.eval: %w", err)
	}
	return fit, eval, err
}

// evalPath is the path of the data for evaluations, "" if there is none of its own.
func (c *Config) evalPath() string {
	if c.Data.Eval == "" && c.Data.EvalSplit != "" {
		return c.at(c.Data.Train)
	}
	return c.at(c.Data.Eval)
}

// evalSplit is the split for evaluations: the one that is named, or else one that is meant for them.
func (c *Config) evalSplit() (string, error) {
	if c.Data.EvalSplit != "" {
		return c.Data.EvalSplit, nil
	}
	path := c.evalPath()
	names, err := data.Records{Config: c.Data.Config}.Splits(path)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"validation", "valid", "val", "dev", "test", "eval"} {
		if name != c.Data.Split && slices.Contains(names, name) {
			return name, nil
		}
	}
	if path == c.at(c.Data.Train) {
		return "", fmt.Errorf("%s is the data that is trained on, and has no split for evaluations: set data.eval_split or data.share", path)
	}
	return "", nil
}

// ofText are the keys of section data that a text has.
var ofText = []string{"train", "eval", "share", "length", "batch", "cache"}

// windows cuts a text; share of it is for evaluations.
func (c *Config) windows(_ context.Context, m *llm.Model, path, _ string, share float64) (fit, rest data.Source, err error) {
	text, err := data.ReadText(path)
	if err != nil {
		return nil, nil, err
	}
	if m.Tokenizer != nil {
		return nil, nil, fmt.Errorf("%s: got a text for a model with a tokenizer, want records: lines of JSON as {\"text\": \"…\"}, in a file that ends in .jsonl", path)
	}
	for _, key := range Keys() {
		if section, name, _ := strings.Cut(key, "."); section == "data" && !slices.Contains(ofText, name) && !c.value(key).IsZero() {
			return nil, nil, fmt.Errorf("%s: got a text and %s, which is for records", path, key)
		}
	}
	length := cmp.Or(c.Data.Length, 128)
	cut := func(text string) data.Source {
		w := data.Windows(text, length, c.Data.Batch)
		w.Seed = c.Seed
		return w
	}
	if share == 0 {
		return cut(text), nil, nil
	}
	first, second := data.Split(text, 1-share)
	return cut(first), cut(second), nil
}

// records reads a dataset; share of it is for evaluations.
func (c *Config) records(ctx context.Context, m *llm.Model, path, split string, share float64) (fit, rest data.Source, err error) {
	d := c.Data
	set, err := c.dataset(path, split)
	if err != nil {
		return nil, nil, err
	}
	tokens := data.Tokens{Model: m, Length: d.Length, Prompts: d.Prompts, Wrap: d.Wrap, Chat: d.Chat}
	if d.Cache {
		tokens.Cache = filepath.Join(c.at(c.Output), "tokens")
	}
	all, err := tokens.Of(ctx, set)
	if err != nil {
		return nil, nil, err
	}
	rows := func(s *data.Sequences) data.Source {
		r := s.Padded(d.Batch)
		if d.Pack {
			r = s.Packed(d.Batch, d.Length)
		}
		r.Seed = c.Seed
		return r
	}
	if all.Len() == 0 {
		return nil, nil, fmt.Errorf("%s: no record has a token that counts", path)
	}
	if share == 0 {
		return rows(all), nil, nil
	}
	if all.Len() < 2 {
		return nil, nil, fmt.Errorf("%s: got 1 example (%s), want at least 2, as a share of them is for evaluations", path, all)
	}
	first, second := all.Split(1-share, c.Seed)
	return rows(first), rows(second), nil
}

// dataset opens records of a kind from which the method learns.
func (c *Config) dataset(path, split string) (*data.Dataset, error) {
	d := c.Data
	set, err := data.Records{
		Config: d.Config, Split: split, Kind: data.Kind(d.Kind), SkipBad: d.SkipBad,
		Text: d.Text, Prompt: d.Prompt, Completion: d.Completion, Messages: d.Messages, Chosen: d.Chosen, Rejected: d.Rejected,
	}.Read(path)
	if err != nil {
		return nil, err
	}
	if m := c.method(); !slices.Contains(m.kinds, set.Kind) {
		return nil, fmt.Errorf("%s: got records of kind %s for train.method %q, want one of %v", path, set.Kind, cmp.Or(c.Train.Method, "lora"), m.kinds)
	}
	return set, nil
}

// A method is a way of training.
type method struct {
	does  string      // what it trains, in words
	kinds []data.Kind // of records from which it learns
	// model is what the run trains: a loss of the model, which may be the data as well; nil: the model.
	model func(ctx context.Context, c *Config, m *llm.Model) (train.Model, error)
}

// method is the way that the file names.
func (c *Config) method() method {
	texts, pairs := []data.Kind{data.TextKind, data.CompletionKind, data.ChatKind}, []data.Kind{data.PreferenceKind}
	loss := func(of func(m *llm.Model) train.Model) func(context.Context, *Config, *llm.Model) (train.Model, error) {
		return func(_ context.Context, _ *Config, m *llm.Model) (train.Model, error) { return of(m), nil }
	}
	return map[string]method{
		"full": {"all weights", texts, nil},
		"lora": {"an adapter", texts, nil},
		"dpo":  {"an adapter by DPO", pairs, loss(func(m *llm.Model) train.Model { return train.DPO{Model: m, Beta: c.Train.Beta} })},
		"orpo": {"an adapter by ORPO", pairs, loss(func(m *llm.Model) train.Model { return train.ORPO{Model: m, Beta: c.Train.Beta} })},
		"kto": {"an adapter by KTO", []data.Kind{data.UnpairedKind}, loss(func(m *llm.Model) train.Model {
			return train.KTO{Model: m, Beta: c.Train.Beta, Desirable: c.KTO.Desirable, Undesirable: c.KTO.Undesirable}
		})},
		"grpo":    {"an adapter by GRPO", texts[:2], asked},
		"distill": {"an adapter by distillation", texts, taught},
	}[cmp.Or(c.Train.Method, "lora")]
}

// taught is a model that learns from a teacher.
func taught(ctx context.Context, c *Config, m *llm.Model) (train.Model, error) {
	teacher, err := c.load(ctx, c.Distill.Teacher, nil)
	if err != nil {
		return nil, fmt.Errorf("distill.teacher: %w", err)
	}
	if a, b := m.Config.Vocab, teacher.Config.Vocab; a != b {
		return nil, fmt.Errorf("distill.teacher: %s has %d tokens and %s has %d, want one vocabulary", c.Distill.Teacher, b, c.Model.Path, a)
	}
	return train.Distill{Model: m, Teacher: teacher, Beta: c.Distill.Beta, Temperature: c.Distill.Temperature, Hard: c.Distill.Hard}, nil
}

// options are those of the run.
func (c *Config) options(fit, eval data.Source, resume bool) (train.Options, error) {
	output := c.at(c.Output)
	o := train.Options{
		Steps: c.Train.Steps, Epochs: c.Train.Epochs, Accumulate: c.Train.Accumulate, Clip: c.or("train.clip", math.Inf(1)), Compile: c.Train.Compile,
		Seed: c.Seed + 1, Optimizer: c.rule(), Spikes: map[string]train.Spikes{"skip": train.SkipSpikes, "back": train.GoBack}[c.Train.Spikes],
		Eval: eval, EvalEvery: c.Eval.Every, EvalBatches: c.Eval.Batches, Best: c.Eval.Best, Patience: c.Eval.Patience, MinDelta: c.Eval.MinDelta,
		Checkpoint: filepath.Join(output, "checkpoints"), CheckpointEvery: c.Checkpoints.Every, Keep: c.Checkpoints.Keep, Resume: resume,
	}
	if !c.full() {
		l := c.LoRA
		o.LoRA = lora.Config{
			Rank: l.Rank, Alpha: l.Alpha, Dropout: l.Dropout, Targets: l.Targets, Exclude: l.Exclude, Blocks: l.Blocks, LastBlocks: l.LastBlocks,
			RankStabilized: l.RSLoRA, DoRA: l.DoRA, LoRABias: l.LoRABias, Init: l.Init, Train: l.Train, Bias: l.Bias, Seed: c.Seed,
		}
	}
	o.LoRAPlus = c.LoRA.Plus
	if c.Logs.JSONL {
		o.Log = filepath.Join(output, "log.jsonl")
	}
	if c.Logs.TensorBoard {
		o.TensorBoard = filepath.Join(output, "tensorboard")
	}
	if eval != nil && o.EvalBatches == 0 {
		o.EvalBatches = max(1, data.Epoch(eval))
		if !c.given["eval.batches"] {
			o.EvalBatches = min(8, o.EvalBatches)
		}
	}
	o = o.Tuning(fit, !c.full())
	o.LR = c.schedule(o.LR, o.Steps)
	return o, o.LR.Check()
}

func (c *Config) full() bool { return c.Train.Method == "full" }

func (c *Config) rule() optim.Rule {
	if c.Optimizer.Name == "sgd" {
		return optim.SGD{Momentum: c.Optimizer.Momentum, WeightDecay: c.Optimizer.WeightDecay, NoMasters: c.Optimizer.NoMasters}
	}
	return optim.AdamW{
		Beta1: c.or("optimizer.beta1", tiny), Beta2: c.or("optimizer.beta2", tiny), Eps: c.or("optimizer.eps", tiny), WeightDecay: c.Optimizer.WeightDecay,
		Bits: c.Optimizer.Bits, NoMasters: c.Optimizer.NoMasters,
	}
}

// schedule is the learning rate of a run of so many steps: usual, but for what is given.
func (c *Config) schedule(usual optim.Schedule, steps int) optim.Schedule {
	s := usual
	s.Floor = c.Schedule.Floor
	if c.given["schedule.rate"] {
		s = optim.Schedule{Shape: optim.CosineDecay, Peak: c.Schedule.Rate, Floor: s.Floor, Total: steps}
	}
	if c.given["schedule.warmup"] {
		s.Warmup = c.Schedule.Warmup
	}
	switch c.Schedule.Shape {
	case "constant":
		warmup := s.Warmup
		s = optim.Constant(s.Peak)
		s.Warmup = warmup
	case "linear":
		s.Shape = optim.LinearDecay
	case "stable":
		s.Shape = optim.LinearDecay
		s.Hold = max(0, steps-s.Warmup-cmp.Or(c.Schedule.Decay, steps/5))
	}
	return s
}
