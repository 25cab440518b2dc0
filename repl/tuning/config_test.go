package tuning

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
)

// file writes a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.toml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExample: the example can be read, as it is and with all of its lines, and has every key.
func TestExample(t *testing.T) {
	if _, err := Read(file(t, Example), nil); err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`(?m)^(# )?([a-z0-9_]+) = `)
	other := regexp.MustCompile(`(?m)^# (steps|beta) = .*`) // than the method and the epochs of the example
	methods := regexp.MustCompile(`(?s)\[kto\].*\[lora\]`)  // others than that of the example
	all := key.ReplaceAllString(other.ReplaceAllString(methods.ReplaceAllString(Example, "[lora]"), ""), "$2 = ")
	c, err := Read(file(t, all), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Schedule.Rate != 2e-4 || c.Data.Batch != 4 {
		t.Errorf("got %+v", c)
	}
	var found []string
	section := ""
	for line := range strings.Lines(Example) {
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]\n") + "."
		} else if m := key.FindStringSubmatch(line); m != nil {
			found = append(found, section+m[2])
		}
	}
	for _, k := range Keys() {
		if !slices.Contains(found, k) {
			t.Errorf("the example lacks %s", k)
		}
	}
	if len(found) != len(Keys()) {
		t.Errorf("the example has %d keys, want %d", len(found), len(Keys()))
	}
}

// TestFilesThatCannotBe: an error names the line, and the key that was meant.
func TestFilesThatCannotBe(t *testing.T) {
	const good = "output = \"o\"\nmodel.path = \"tiny\"\ndata.train = \"t.jsonl\"\n"
	for _, c := range []struct {
		name, text string
		overrides  []string
		want       string // the file's name stands before a colon
	}{
		{"nothing wrong", good, []string{"train.steps=50", "lora.targets=q_proj, v_proj", "eval.best=true", "data.share=0.1", "lora.alpha = 3"}, ""},
		{"an unknown key", good + "[train]\nstpes = 3\n", nil, ":5:1: unknown key train.stpes; did you mean train.steps?"},
		{"two", good + "[train]\nstpes = 3\n[lora]\nrnak = 2\n", nil, ":5:1: unknown key train.stpes; did you mean train.steps?\nline 7:1: unknown key lora.rnak; did you mean lora.rank?"},
		{"an unknown section", good + "[peft]\nr = 3\n", nil, ":4:2: unknown key peft; mcs train --example shows all"},
		{"a key in another section", good + "[train]\nweight_decay = 0.1\n", nil, ":5:1: unknown key train.weight_decay; did you mean optimizer.weight_decay?"},
		{"a text for a number", good + "[train]\nsteps = \"many\"\n", nil, ":5:9: train.steps: got a TOML string, want a whole number"},
		{"no TOML", good + "[train\n", nil, ":4:"},
		{"a key twice", good + "output = \"p\"\n", nil, ":4:"},
		{"a method", good + "train.method = \"loar\"\n", nil, `: got train.method "loar"`},
		{"no rewards", good + "train.method = \"grpo\"\n", nil, ": grpo.rewards is missing"},
		{"no teacher", good + "train.method = \"distill\"\n", nil, ": distill.teacher is missing"},
		{"evaluations of rewards", good + "train.method = \"grpo\"\ngrpo.rewards = \"r.go\"\ndata.share = 0.1\n", nil, `: got data.share and train.method "grpo": it is for lora, full, dpo, orpo, kto, distill`},
		{"weights without KTO", good + "kto.desirable = 2.0\n", nil, `: got kto.desirable and train.method "lora": it is for kto`},
		{"a kind of GRPO", good + "train.method = \"grpo\"\ngrpo.kind = \"dr-grpo\"\n", nil, `: got grpo.kind "dr-grpo"; did you mean "dr_grpo"?`},
		{"a shape", good + "[schedule]\nshape = \"zigzag\"\n", nil, `: got schedule.shape "zigzag", want one of cosine, linear, constant, stable`},
		{"no model", "output = \"o\"\n", nil, ": model.path is missing"},
		{"no data", "output = \"o\"\nmodel.path = \"tiny\"\n", nil, ": data.train is missing"},
		{"no output", "model.path = \"tiny\"\ndata.train = \"x\"", nil, ": output is missing"},
		{"steps and epochs", good, []string{"train.steps=1", "train.epochs=2"}, ": got train.steps and train.epochs, want one of them"},
		{"a rank of 0", good + "[lora]\nrank = 0\n", nil, ": got lora.rank 0, want more than 0"},
		{"no steps, by hand", good + "[train]\nepochs = 3\n", []string{"train.steps=0"}, ": got train.steps 0, want more than 0"},
		{"an alpha that is no number", good, []string{"lora.alpha=nan"}, ": got lora.alpha NaN, want more than 0"},
		{"momentum of adamw", good, []string{"optimizer.momentum=0.9"}, `: got optimizer.momentum and optimizer.name "adamw": it is for sgd`},
		{"moments of sgd", good + "[optimizer]\nname = \"sgd\"\nbeta1 = 0.5\n", nil, `: got optimizer.beta1 and optimizer.name "sgd": it is for adamw`},
		{"beta of an adapter", good, []string{"train.beta=0.2"}, `: got train.beta and train.method "lora": it is for dpo, orpo`},
		{"an adapter of all weights", good + "[train]\nmethod = \"full\"\n[lora]\nrank = 2\n", nil, `: got lora.rank and train.method "full": it is for lora, dpo, orpo`},
		{"the end of a constant", good, []string{"schedule.shape=constant", "schedule.floor=1e-5"}, `: got schedule.floor and schedule.shape "constant"`},
		{"a fall that is a cosine's", good, []string{"schedule.decay=3"}, `: got schedule.decay and schedule.shape "cosine": it is for stable`},
		{"best without evaluations", good, []string{"eval.best=true"}, ": eval.best and eval.patience want data for evaluations: set data.eval, data.eval_split or data.share"},
		{"patience without evaluations", good, []string{"eval.patience=2"}, ": eval.best and eval.patience want"},
		{"a share and a split", good, []string{"data.share=0.1", "data.eval_split=test"}, ": got data.share and data.eval or data.eval_split, want one of them"},
		{"a share of all", good, []string{"data.share=1.0"}, ": got data.share 1"},
		{"an override of nothing", good, []string{"train.stpes=3"}, "-p train.stpes=3: unknown key train.stpes; did you mean train.steps?"},
		{"an override without a value", good, []string{"train.steps"}, "-p train.steps: want a key and a value"},
		{"an override of another type", good, []string{"train.steps=many"}, "-p train.steps=many: train.steps: got a TOML string, want a whole number"},
		{"a number for a switch", good, []string{"logs.jsonl=3"}, "-p logs.jsonl=3: logs.jsonl: got a TOML integer, want true or false"},
		{"an override of a section", good, []string{"train=3"}, "-p train=3: unknown key train"},
	} {
		path := file(t, c.text)
		got, err := Read(path, c.overrides)
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else if got.Train.Steps != 50 || got.LoRA.Targets != "q_proj, v_proj" || !got.Eval.Best || got.LoRA.Alpha != 3 {
				t.Errorf("%s: got %+v", c.name, got)
			}
		case err == nil:
			t.Errorf("%s: got no error, want %q", c.name, c.want)
		case !strings.HasPrefix(strings.TrimPrefix(err.Error(), path), c.want):
			t.Errorf("%s: got %q, want %q", c.name, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.toml"), nil); err == nil || !strings.Contains(err.Error(), "none.toml") {
		t.Errorf("a file that is not there: got %v", err)
	}
}

// TestGivenByHand: a value of the command line replaces what the file says and what it excludes, and the job
// says so.
func TestGivenByHand(t *testing.T) {
	const good = "output = \"o\"\nmodel.path = \"tiny\"\ndata.train = \"t.jsonl\"\n"
	for _, c := range []struct {
		text      string
		overrides []string
		want      string
		right     func(c *Config) bool
	}{
		{"train.epochs = 3\n", []string{"train.steps=20"}, "train.steps=20, in place of train.epochs = 3", func(c *Config) bool { return c.Train.Steps == 20 && c.Train.Epochs == 0 }},
		{"train.steps = 3\n", []string{"train.epochs=1"}, "train.epochs=1, in place of train.steps = 3", func(c *Config) bool { return c.Train.Steps == 0 && c.Train.Epochs == 1 }},
		{"data.share = 0.1\n", []string{"data.eval=e.jsonl"}, "data.eval=e.jsonl, in place of data.share = 0.1", func(c *Config) bool { return c.Data.Share == 0 }},
		{"lora.rank = 4\nmodel.bits = 4\n", []string{"train.method=full"}, "train.method=full, in place of model.bits = 4, lora.rank = 4", func(c *Config) bool { return c.LoRA.Rank == 0 && c.Model.Bits == 0 }},
		{"[optimizer]\nbeta1 = 0.5\n", []string{"optimizer.name=sgd"}, "optimizer.name=sgd, in place of optimizer.beta1 = 0.5", func(c *Config) bool { return c.Optimizer.Beta1 == 0 }},
		{"train.epochs = 3\n", []string{"train.epochs=1"}, "", func(c *Config) bool { return c.Train.Epochs == 1 }},
	} {
		got, err := Read(file(t, good+c.text), c.overrides)
		if err != nil {
			t.Errorf("%q %q: %v", c.text, c.overrides, err)
			continue
		}
		if said := strings.Join(got.replaced, "\n"); said != c.want || !c.right(got) {
			t.Errorf("%q %q: got %q, want %q; %+v", c.text, c.overrides, said, c.want, got)
		}
	}
}

// made is the options of a job of so many steps, or the error that it cannot be.
func made(t *testing.T, overrides ...string) (string, error) {
	t.Helper()
	c, err := Read(file(t, "output = \"o\"\nmodel.path = \"tiny\"\ndata.train = \"t.txt\"\n"), overrides)
	if err != nil {
		return "", err
	}
	text := data.Windows(strings.Repeat("to and fro. ", 400), 16, 4)
	o, err := c.options(text, text, false)
	o.Eval = nil // which is a pointer
	return fmt.Sprintf("%+v", o), err
}

// TestZeros: a number that is given as 0 is none that is left out, unless the example has a 0 there: it is
// refused by name, or another job.
func TestZeros(t *testing.T) {
	number := regexp.MustCompile(`^(?:# )?([a-z0-9_]+) = ([0-9.e-]+)\b`)
	section, tried := "", 0
	for line := range strings.Lines(Example) {
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]\n") + "."
			continue
		}
		m := number.FindStringSubmatch(line)
		if m == nil || strings.Trim(m[2], "0.") == "" {
			continue
		}
		tried++
		key := section + m[1]
		usual, err := made(t)
		if err != nil {
			t.Fatal(err)
		}
		got, err := made(t, key+"=0")
		switch {
		case err != nil && !strings.Contains(err.Error(), "got "+key+" 0, want "):
			t.Errorf("%s=0: got the error %v", key, err)
		case err == nil && got == usual:
			t.Errorf("%s=0: got the job of a file that leaves it out", key)
		}
	}
	if tried < 15 {
		t.Errorf("%d keys of the example have a number that is not 0, want more", tried)
	}
	for _, c := range []struct{ override, want string }{
		{"train.clip=0", "Clip:+Inf "},
		{"optimizer.beta1=0", "AdamW β 0 0.999, ε 1e-08,"},
		{"optimizer.beta2=0", "AdamW β 0.9 0, ε 1e-08,"},
		{"optimizer.eps=0", "AdamW β 0.9 0.999, ε 0,"},
		{"schedule.rate=0", "LR:cosine 0 to 0 "},
		{"eval.batches=0", "EvalBatches:75 "},
		{"schedule.warmup=3", "LR:cosine 0.0002 after 3 steps of warm-up to 0 at step 225 "},
		{"schedule.warmup=0", "LR:cosine 0.0002 to 0 at step 225 "},
		{"schedule.shape=linear", "LR:linear 0.0002 after 11 steps of warm-up to 0 at step 225 "},
		{"schedule.shape=constant", "LR:constant 0.0002 after 11 steps of warm-up "},
		{"schedule.floor=1e-5", "LR:cosine 0.0002 after 11 steps of warm-up to 1e-05 at step 225 "},
		{"schedule.rate=1e-3", "LR:cosine 0.001 to 0 at step 225 "},
		{"optimizer.name=sgd", "SGD momentum 0,"},
	} {
		if got, err := made(t, c.override); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, %v, want %s", c.override, got, err, c.want)
		}
	}
}

// TestDamagedFiles: whatever byte of a file is changed, or wherever it ends, reading it gives an error that
// names the file, or a configuration.
func TestDamagedFiles(t *testing.T) {
	whole := []byte(regexp.MustCompile(`(?m)^# ([a-z0-9_]+ = )`).ReplaceAllString(Example, "$1"))
	path := file(t, "")
	refused := 0
	for i := range 500 {
		damaged := slices.Clone(whole)
		at := i * len(whole) / 500
		switch i % 4 {
		case 0:
			damaged[at] ^= 1 << (i % 8)
		case 1:
			damaged = damaged[:at]
		case 2:
			damaged[at] = "[]{}\"'=\n\x00\xff9-."[i%13]
		case 3:
			damaged = slices.Concat(damaged[:at], whole[:at], damaged[at:])
		}
		if err := os.WriteFile(path, damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path, nil); err != nil {
			if refused++; !strings.HasPrefix(err.Error(), path+":") {
				t.Errorf("mutant %d: got %q, want it to begin with the file's name", i, err)
			}
		}
	}
	if refused < 100 {
		t.Errorf("%d of 500 damaged files were refused, want more", refused)
	}
}
