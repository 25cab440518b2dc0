// Package tuning trains a model as a file says, without a notebook: [Read] reads the file, [Open] finds model
// and data and says what would be done, and [Job.Run] does it.
//
// Reading order: config.go (the file), keys.go (what it may say), job.go, build.go, rewards.go.
package tuning

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// A Config is what a file says. Example has each key with what it means. A number that is 0 may be given, or
// left out: see has.
type Config struct {
	Output string `toml:"output"`
	Seed   uint64 `toml:"seed"`

	Model struct {
		Path       string `toml:"path"`
		Checkpoint bool   `toml:"checkpoint"`
		Compute    string `toml:"compute"`
		Bits       int    `toml:"bits"`
		Shard      bool   `toml:"shard"`
	} `toml:"model"`

	Data struct {
		Train      string  `toml:"train"`
		Eval       string  `toml:"eval"`
		Share      float64 `toml:"share"`
		Kind       string  `toml:"kind"`
		Config     string  `toml:"config"`
		Split      string  `toml:"split"`
		EvalSplit  string  `toml:"eval_split"`
		Text       string  `toml:"text"`
		Prompt     string  `toml:"prompt"`
		Completion string  `toml:"completion"`
		Messages   string  `toml:"messages"`
		Chosen     string  `toml:"chosen"`
		Rejected   string  `toml:"rejected"`
		SkipBad    bool    `toml:"skip_bad"`
		Prompts    bool    `toml:"prompts"`
		Chat       bool    `toml:"chat"`
		Length     int     `toml:"length"`
		Wrap       bool    `toml:"wrap"`
		Batch      int     `toml:"batch"`
		Pack       bool    `toml:"pack"`
		Cache      bool    `toml:"cache"`
	} `toml:"data"`

	Train struct {
		Method     string  `toml:"method"`
		Steps      int     `toml:"steps"`
		Epochs     int     `toml:"epochs"`
		Accumulate int     `toml:"accumulate"`
		Clip       float64 `toml:"clip"`
		Compile    bool    `toml:"compile"`
		Spikes     string  `toml:"spikes"`
		Beta       float64 `toml:"beta"`
	} `toml:"train"`

	KTO struct {
		Desirable   float64 `toml:"desirable"`
		Undesirable float64 `toml:"undesirable"`
	} `toml:"kto"`

	GRPO struct {
		Rewards  string  `toml:"rewards"`
		Group    int     `toml:"group"`
		Tokens   int     `toml:"tokens"`
		Repeat   int     `toml:"repeat"`
		Clip     float64 `toml:"clip"`
		ClipHigh float64 `toml:"clip_high"`
		Kind     string  `toml:"kind"`
	} `toml:"grpo"`

	Distill struct {
		Teacher     string  `toml:"teacher"`
		Beta        float64 `toml:"beta"`
		Temperature float64 `toml:"temperature"`
		Hard        float64 `toml:"hard"`
	} `toml:"distill"`

	LoRA struct {
		Rank       int     `toml:"rank"`
		Alpha      float64 `toml:"alpha"`
		Dropout    float64 `toml:"dropout"`
		Targets    string  `toml:"targets"`
		Exclude    string  `toml:"exclude"`
		Blocks     []int   `toml:"blocks"`
		LastBlocks int     `toml:"last_blocks"`
		RSLoRA     bool    `toml:"rslora"`
		DoRA       bool    `toml:"dora"`
		LoRABias   bool    `toml:"lora_bias"`
		Init       string  `toml:"init"`
		Plus       float64 `toml:"plus"`
		Train      string  `toml:"train"`
		Bias       string  `toml:"bias"`
	} `toml:"lora"`

	Optimizer struct {
		Name        string  `toml:"name"`
		Beta1       float64 `toml:"beta1"`
		Beta2       float64 `toml:"beta2"`
		Eps         float64 `toml:"eps"`
		WeightDecay float64 `toml:"weight_decay"`
		Momentum    float64 `toml:"momentum"`
		Bits        int     `toml:"bits"`
		NoMasters   bool    `toml:"no_masters"`
	} `toml:"optimizer"`

	Schedule struct {
		Shape  string  `toml:"shape"`
		Rate   float64 `toml:"rate"`
		Floor  float64 `toml:"floor"`
		Warmup int     `toml:"warmup"`
		Decay  int     `toml:"decay"`
	} `toml:"schedule"`

	Eval struct {
		Every    int     `toml:"every"`
		Batches  int     `toml:"batches"`
		Best     bool    `toml:"best"`
		Patience int     `toml:"patience"`
		MinDelta float64 `toml:"min_delta"`
	} `toml:"eval"`

	Checkpoints struct {
		Every int `toml:"every"`
		Keep  int `toml:"keep"`
	} `toml:"checkpoints"`

	Logs struct {
		JSONL       bool `toml:"jsonl"`
		TensorBoard bool `toml:"tensorboard"`
	} `toml:"logs"`

	dir      string          // of the file, from which paths start
	given    map[string]bool // keys that the file or the command line has
	replaced []string        // what values of the command line stand in place of, a line each
}

// maxFile is more than anybody writes by hand.
const maxFile = 1 << 20 // bytes

// Read reads a file and then the values of a command line, each a key and a value, "train.steps=50". One of
// these also replaces what the file says and what it excludes, as train.epochs. A key that there is not, and
// a value of the wrong type, are errors that name the line and the key that was meant.
func Read(path string, overrides []string) (*Config, error) {
	text, err := regular.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	c := &Config{dir: filepath.Dir(path), given: map[string]bool{}}
	c.Data.Batch, c.Data.Cache, c.Logs.JSONL = 4, true, true
	if err := decode(text, c); err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	given := map[string]string{}
	for _, o := range overrides {
		key, err := c.override(o)
		if err != nil {
			return nil, err
		}
		given[key] = o
	}
	c.replace(given)
	return c, c.check(path)
}

// at is a path of the file, which starts from the folder of the file.
func (c *Config) at(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.dir, path)
}

// check says which keys are missing, or exclude each other.
func (c *Config) check(path string) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...))
	}
	for _, key := range sortedKeys(names) {
		if err := known(key, c.value(key).String(), names[key]); err != nil {
			return fail("%v", err)
		}
	}
	for _, key := range positive {
		if v := c.value(key); c.given[key] && !(number(v) > 0) {
			return fail("got %s %v, want more than 0", key, v)
		}
	}
	switch {
	case c.Model.Path == "":
		return fail("model.path is missing: a folder with a model, or %q", Tiny)
	case c.Data.Train == "":
		return fail("data.train is missing: a file or folder of records, or a text file")
	case c.Output == "":
		return fail("output is missing: the folder for what comes of it")
	case c.Model.Bits != 0 && c.Model.Bits != 4 && c.Model.Bits != 8:
		return fail("got model.bits %d, want 4 or 8", c.Model.Bits)
	case c.Model.Bits != 0 && c.Model.Shard:
		return fail("got model.bits and model.shard, want one of them: a folder of codes can be sharded, codes that are made here cannot")
	case !(c.Data.Share >= 0 && c.Data.Share < 1):
		return fail("got data.share %v, want a share for evaluations from 0 to less than 1", c.Data.Share)
	case c.Data.Share > 0 && c.evalPath() != "":
		return fail("got data.share and data.eval or data.eval_split, want one of them")
	case (c.Eval.Best || c.Eval.Patience != 0) && c.Data.Share == 0 && c.evalPath() == "":
		return fail("eval.best and eval.patience want data for evaluations: set data.eval, data.eval_split or data.share")
	case c.Train.Method == "grpo" && c.GRPO.Rewards == "":
		return fail("grpo.rewards is missing: a Go file with functions that say how good an answer is")
	case c.Train.Method == "distill" && c.Distill.Teacher == "":
		return fail("distill.teacher is missing: a folder with a model")
	case c.Train.Steps != 0 && c.Train.Epochs != 0:
		return fail("got train.steps and train.epochs, want one of them")
	}
	for _, u := range uses {
		if u.with(c) {
			continue
		}
		for _, key := range u.list() {
			if !c.value(key).IsZero() {
				return fail("got %s and %s %q: it is for %s", key, u.of, cmp.Or(c.value(u.of).String(), names[u.of][1]), strings.Join(u.values, ", "))
			}
		}
	}
	return nil
}
