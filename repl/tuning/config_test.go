package tuning

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
	all := key.ReplaceAllString(Example, "$2 = ")
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
		{"a shape", good + "[schedule]\nshape = \"zigzag\"\n", nil, `: got schedule.shape "zigzag", want one of cosine, linear, constant, stable`},
		{"no model", "output = \"o\"\n", nil, ": model.path is missing"},
		{"no data", "output = \"o\"\nmodel.path = \"tiny\"\n", nil, ": data.train is missing"},
		{"no output", "model.path = \"tiny\"\ndata.train = \"x\"", nil, ": output is missing"},
		{"steps and epochs", good, []string{"train.steps=1", "train.epochs=2"}, ": got train.steps and train.epochs, want one of them"},
		{"a warm-up without a rate", good, []string{"schedule.warmup=10"}, ": schedule.rate is missing"},
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
		{"train.epochs = 3\n", []string{"train.steps=0"}, "", func(c *Config) bool { return c.Train.Epochs == 3 }},
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
