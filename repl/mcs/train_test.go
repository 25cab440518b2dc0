package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/script"
)

// A job of 60 steps on records, and the records.
const tuningJob = `output = "out"
seed = 3
[model]
path = "tiny"
[data]
train = "train.jsonl"
share = 0.2
[train]
steps = 60
[lora]
rank = 4
dropout = 0.1
[schedule]
rate = 1e-2
warmup = 3
[eval]
every = 20
best = true
[checkpoints]
every = 5
[logs]
tensorboard = true
`

func tuningFiles(t *testing.T) string {
	t.Helper()
	var records strings.Builder
	for i := range 40 {
		fmt.Fprintf(&records, `{"prompt": "what is %d + 1? ", "completion": "%d"}`+"\n", i, i+1)
	}
	return writeFiles(t, map[string]string{
		"job.toml": tuningJob, "train.jsonl": records.String(),
		"pairs.jsonl":  `{"prompt": "say ", "chosen": "yes", "rejected": "no"}` + "\n" + `{"prompt": "say ", "chosen": "aye", "rejected": "nay"}` + "\n",
		"labels.jsonl": `{"prompt": "say ", "completion": "yes", "label": true}` + "\n" + `{"prompt": "say ", "completion": "no", "label": false}` + "\n",
		"rewards.go": "// Rewards of a job.\npackage rewards\n\nimport \"strings\"\n\n// Vowels counts.\nfunc Vowels(prompt, answer string) float64 { return float64(count(answer)) }\n\n" +
			"func Right(_, answer, completion string) float64 {\n\tif completion == \"\" {\n\t\tpanic(\"no completion\")\n\t}\n\tif strings.Contains(answer, completion) {\n\t\treturn 1\n\t}\n\treturn 0\n}\n\nfunc count(s string) int { return strings.Count(s, \"a\") }\n",
		"typo.go":       "package rewards\n\nfunc Short(prompt, answer string) float64 { return len(answer) }\n",
		"odd.go":        "package rewards\n\nfunc Short(answer string) float64 { return 1 }\n",
		"none.go":       "package rewards\n\nfunc short(prompt, answer string) float64 { return 1 }\n",
		"wild.go":       "package rewards\n\nfunc Far(prompt, answer string) float64 {\n\treturn float64(answer[100])\n}\n",
		"prompts.jsonl": `{"prompt": "one"}` + "\n" + `{"prompt": "two"}` + "\n",
		"bad.jsonl":     `{"text": "a"}` + "\n{\n",
		"plain.txt":     strings.Repeat("func add(a, b int) int { return a + b }\n", 20),
		"wrong.toml":    strings.Replace(tuningJob, "rank", "rnak", 1),
	})
}

// TestTrain: a job from a file, and what is said about files that cannot be.
func TestTrain(t *testing.T) {
	t.Parallel()
	const grpo = " -p train.method=grpo -p train.steps=2 -p grpo.group=3 -p grpo.tokens=5 -p data.share=0.0 -p eval.best=false -p eval.every=0 -p grpo.rewards="
	other, err := filepath.Abs("../../engine/llm/testdata/chat")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, args     string
		stdout, stderr string // as a .mcs file would expect it
		code           int
		made           string // in the output folder
	}{
		{"an adapter", "job.toml",
			"model  tiny · decoder: 2 layers × 64[..]\ndata   train.jsonl · 32 sequences [..]\neval   0.2 of the data · 8 sequences [..]\n" +
				"train  an adapter · 60 steps of 1 batch · rate cosine 0.01 after 3 steps of warm-up to 0 at step 60 · AdamW [..]\noutput out\n" +
				"LoRA rank 4, scale 2, dropout 0.1, 14 layers · 8,192 of [..]\n60 steps · loss [..]\nsaved out/adapter", "...", 0,
			"adapter checkpoints log.jsonl tensorboard"},
		{"a dry run", "job.toml -dry-run", "model  tiny [..]\n...\noutput out\nmemory  [..] at most of [..]\n        weights [..] · optimizer [..]\n" +
			"time    [..] for 60 steps, [..] each (3 measured steps)\nstep    [..] flops, [..] launches, [..] tokens with prompts and padding", "...", 0, "none"},
		{"values of the command line", "job.toml -p train.steps=2 -p train.method=full -p output=other -p logs.tensorboard=false",
			"...\ntrain  all weights · 2 steps of 1 batch · [..]\noutput other\nall weights · [..]\n2 steps · [..]\nsaved other/model", "...", 0, ""},
		{"a value that replaces another", "job.toml -p train.epochs=1 -p output=short", "param  train.epochs=1, in place of train.steps = 60\nmodel [..]\n...\nsaved short/adapter", "...", 0, ""},
		{"a model in codes, bf16, LoRA+, moments in 8 bits", "job.toml -p model.bits=4 -p model.compute=bf16 -p lora.plus=16 -p optimizer.bits=8 -p lora.blocks=[1] -p train.steps=2",
			"...\nLoRA rank 4, scale 2, dropout 0.1, 7 layers [..]\n...\nsaved out/adapter", "...", 0, "adapter checkpoints log.jsonl tensorboard"},
		{"all weights of a model in codes", "job.toml -p model.bits=4 -p train.method=full", "", "mcs: job.toml: got model.bits and train.method \"full\"[..]", 2, ""},
		{"a text too short for an evaluation", "job.toml -p data.train=plain.txt", "", "mcs: data: windows: the text has 120 tokens, want more than the window's 128", 2, ""},
		{"a text", "job.toml -p data.train=plain.txt -p data.length=16 -p train.steps=2", "...\ndata   plain.txt · 680 tokens, [..]\n...\nsaved out/adapter", "...", 0, "adapter checkpoints log.jsonl tensorboard"},
		{"preferences", "job.toml -p data.train=pairs.jsonl -p data.share=0.0 -p eval.best=false -p train.method=dpo -p train.steps=2",
			"...\ntrain  an adapter by DPO · 2 steps [..]\n...\nsaved out/adapter", "...", 0, "adapter checkpoints log.jsonl tensorboard"},
		{"no answers to prefer", "job.toml -p train.method=orpo", "", "...\nmcs: train.jsonl: got records of kind completion for train.method \"orpo\", want one of [preference]", 2, ""},
		{"answers that are wanted or not", "job.toml -p data.train=labels.jsonl -p data.share=0.0 -p eval.best=false -p train.method=kto -p train.steps=2 -p kto.undesirable=1.5",
			"...\ndata   labels.jsonl · 2 sequences[..]\ntrain  an adapter by KTO · 2 steps [..]\n...\nsaved out/adapter", "...", 0, "adapter checkpoints log.jsonl tensorboard"},
		{"learning labels by LoRA", "job.toml -p data.train=labels.jsonl", "", "...\nmcs: labels.jsonl: got records of kind unpaired for train.method \"lora\", want one of [text completion chat]", 2, ""},
		{"rewards", "job.toml" + grpo + "rewards.go", "...\ndata   train.jsonl · 40 prompts, 4 a step, 3 answers of at most 5 tokens to each\ntrain  an adapter by GRPO · 2 steps [..]\n...\nreward [..] at first, [..] at the end\nsaved out/adapter", "...", 0, "adapter checkpoints log.jsonl tensorboard"},
		{"rewards, dry", "job.toml" + grpo + "rewards.go --dry-run", "...\nmemory  [..]\n...\ntime    [..] for 2 steps[..]\n...", "...", 0, "none"},
		{"rewards of prompts alone", "job.toml" + grpo + "rewards.go -p data.train=prompts.jsonl -p data.text=prompt", "", "...\nmcs: rewards.go:11:3: panic: no completion\n...", 2, ""},
		{"a reward with a mistake", "job.toml" + grpo + "typo.go", "", "mcs: typo.go:3:52: cannot use len(answer) [..]\n...", 2, ""},
		{"a function that is no reward", "job.toml" + grpo + "odd.go", "", "mcs: odd.go: Short is a func(answer string) float64, want func(prompt, answer string) float64[..]", 2, ""},
		{"no reward", "job.toml" + grpo + "none.go", "", "mcs: none.go has no exported function, want func Name(prompt, answer string) float64", 2, ""},
		{"a reward that panics", "job.toml" + grpo + "wild.go", "", "...\nmcs: wild.go:4:2: panic: runtime error: index out of range [100] with length [..]\n...", 2, ""},
		{"no file of rewards", "job.toml" + grpo + "away.go", "", "mcs: grpo.rewards: [..]away.go[..]", 2, ""},
		{"a teacher", "job.toml -p train.method=distill -p distill.teacher=tiny -p distill.hard=0.5 -p train.steps=2", "...\ntrain  an adapter by distillation · 2 steps [..]\n...\nsaved out/adapter", "...", 0, "adapter checkpoints log.jsonl tensorboard"},
		{"a teacher, dry", "job.toml -p train.method=distill -p distill.teacher=tiny --dry-run", "...\nmemory  [..]\n...", "...", 0, "none"},
		{"a teacher of another vocabulary", "job.toml -p train.method=distill -p distill.teacher=" + other, "", "mcs: distill.teacher: [..]chat has [..] tokens and tiny has 256, want one vocabulary", 2, ""},
		{"no such teacher", "job.toml -p train.method=distill -p distill.teacher=away", "", "mcs: distill.teacher: [..]away[..]", 2, ""},
		{"the example", "--example", "...\n[train]\n# method = \"lora\" [..]\n...", "", 0, ""},
		{"a wrong key", "wrong.toml", "", "mcs: wrong.toml:11:1: unknown key lora.rnak; did you mean lora.rank?", 2, ""},
		{"a wrong key of the command line", "job.toml -p lora.rnak=3", "", "mcs: -p lora.rnak=3: unknown key lora.rnak; did you mean lora.rank?", 2, ""},
		{"no file", "none.toml", "", "mcs: [..]none.toml[..]", 2, ""},
		{"no file at all", "", "", "mcs: train: got 0 files, takes one; mcs train --example prints one", 2, ""},
		{"no model", "job.toml -p model.path=none", "", "mcs: [..]none[..]", 2, ""},
		{"a damaged record", "job.toml -p data.train=bad.jsonl", "", "...\nmcs: [..]bad.jsonl:2[..]", 2, ""},
		{"no such layer", "job.toml -p lora.targets=q_porj", "...", "...\nmcs: [..]q_porj[..]", 1, "log.jsonl"},
		{"a rate that is too large", "job.toml -p schedule.rate=1e30 -p train.clip=inf", "...", "...\nmcs: train: step [..] the first tensor that went bad is [..]", 1, ""},
	} {
		dir := tuningFiles(t)
		stdout, stderr, code := mcs(t, dir, "", append([]string{"train"}, strings.Fields(c.args)...)...)
		if code != c.code || !matches(c.stdout, stdout) || !matches(c.stderr, stderr) {
			t.Errorf("%s: code %d, want %d\n%s\nwant\n%s\nerrors\n%s\nwant\n%s", c.name, code, c.code, stdout, c.stdout, stderr, c.stderr)
		}
		if c.made == "" || c.code != 0 {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(dir, "out"))
		if os.IsNotExist(err) && c.made == "none" {
			continue
		}
		var made []string
		for _, e := range entries {
			made = append(made, e.Name())
		}
		if got := strings.Join(made, " "); got != c.made {
			t.Errorf("%s: made %s, want %s", c.name, got, c.made)
		}
	}
}

func matches(want, got string) bool {
	return script.Match(wantLines(want), got)
}

// trained returns the adapter's bytes and the log's losses.
func trained(t *testing.T, dir string) (adapter []byte, losses string) {
	t.Helper()
	adapter, err := os.ReadFile(filepath.Join(dir, "out", "adapter", "adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "out", "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		var l struct {
			Step int
			Loss float64
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Loss != 0 {
			losses += fmt.Sprintln(l.Step, l.Loss)
		}
	}
	return adapter, losses
}

// TestTrainGoesOn: a job that was killed, or stopped by Ctrl-C, goes on to the same adapter and the same log.
func TestTrainGoesOn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such signals")
	}
	whole := tuningFiles(t)
	if _, errs, code := mcs(t, whole, "", "train", "job.toml"); code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	want, wantLosses := trained(t, whole)
	if n := strings.Count(wantLosses, "\n"); n != 60 {
		t.Fatalf("the log has %d losses, want 60", n)
	}
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		dir := tuningFiles(t)
		cmd, out, begun := start(t, dir, "train", "job.toml")
		for range 2000 { // until there is a checkpoint
			if found, _ := filepath.Glob(filepath.Join(dir, "out", "checkpoints", "step-????????")); len(found) > 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		cmd.Process.Signal(s)
		code := finish(cmd, begun)
		if code == 0 {
			t.Logf("%v came too late", s)
			continue
		}
		if s == syscall.SIGINT && (code != exitInterrupted || !strings.Contains(out.String(), "the same command with --resume goes on") ||
			strings.Contains(out.String(), "run it again to go on")) {
			t.Errorf("%v: code %d, want %d\n%s", s, code, exitInterrupted, out)
		}
		if _, errs, code := mcs(t, dir, "", "train", "job.toml"); code != exitUsage || !strings.Contains(errs, "--resume goes on from the newest one") {
			t.Errorf("%v: without --resume: code %d, %s", s, code, errs)
		}
		text, errs, code := mcs(t, dir, "", "train", "job.toml", "-resume")
		if code != 0 {
			t.Fatalf("%v: code %d: %s%s", s, code, text, errs)
		}
		if got, losses := trained(t, dir); !bytes.Equal(got, want) || losses != wantLosses {
			t.Errorf("%v: the adapter or the log differ from those of a job that nobody stopped:\n%s", s, losses)
		}
	}
}

// TestTrainKeepsTokens: of large data the second start of a job reads the tokens that the first one made; a
// dry run writes none.
func TestTrainKeepsTokens(t *testing.T) {
	t.Parallel()
	record := `{"prompt": "what is ` + strings.Repeat("one and ", 40) + `one? ", "completion": "41"}` + "\n"
	dir := writeFiles(t, map[string]string{
		"large.jsonl": strings.Repeat(record, 1<<20/len(record)+1),
		"large.toml":  "output = \"out\"\nmodel.path = \"tiny\"\ndata.train = \"large.jsonl\"\ndata.length = 32\ndata.prompts = true\ntrain.steps = 1\n",
	})
	for _, c := range []struct {
		args string
		made bool // before
		kept int  // files
	}{
		{"large.toml --dry-run", false, 0},
		{"large.toml -p data.cache=false -p output=other", false, 0},
		{"large.toml", false, 1},
		{"large.toml --resume", true, 1},
		{"large.toml --resume -p data.length=40", false, 2},
	} {
		stdout, stderr, _ := mcs(t, dir, "", append([]string{"train"}, strings.Fields(c.args)...)...)
		if !strings.Contains(stdout, "data   large.jsonl") || strings.Contains(stdout, "tokens made before") != c.made {
			t.Errorf("%s: got %s%s, want tokens made before: %v", c.args, stdout, stderr, c.made)
		}
		if files, err := filepath.Glob(filepath.Join(dir, "*", "tokens", "*")); err != nil || len(files) != c.kept {
			t.Errorf("%s: got the files %q, want %d", c.args, files, c.kept)
		}
	}
}

// TestTrainOnSavedDataset: a job on what save_to_disk wrote trains on one split and evaluates on another, and
// an error says what the folder has in its place.
func TestTrainOnSavedDataset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "saved"), os.DirFS("../../engine/data/testdata/saved")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "model"), os.DirFS("../../engine/llm/testdata/chat")); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"job.toml":         "output = \"out\"\nmodel.path = \"model\"\ndata.train = \"saved\"\ntrain.steps = 2\n",
		"empty/state.json": `{"_data_files": []}`,
		"other.jsonl":      `{"question": "a", "answer": "b"}` + "\n",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args, stdout, stderr string
		code                 int
	}{
		{"", "model [..]\ndata   saved · 5 sequences · [..]\ntrain [..]\n...\nsaved out/adapter", "...", 0},
		{"-p data.eval=saved -p output=b", "model [..]\ndata   saved · 5 sequences · [..]\neval   saved, test · 1 sequence · [..]\n...\nsaved b/adapter", "...", 0},
		{"-p data.eval_split=train -p data.split=test -p output=c", "model [..]\ndata   saved · 1 sequence · [..]\neval   saved, train · 5 sequences · [..]\n...\nsaved c/adapter", "...", 0},
		{"-p data.eval=saved/train -p data.split=calls -p output=d --dry-run", "model [..]\ndata   saved · 4 sequences · [..]\neval   saved/train · 5 sequences [..]\n...", "...", 0},
		{"-p data.train=saved/train -p data.eval=saved/train --dry-run", "", "...\nmcs: data.eval: saved/train is the data that is trained on, and has no split for evaluations: set data.eval_split or data.share", 2},
		{"-p data.split=dev --dry-run", "", "...\nmcs: data: read records: saved has no files of the split \"dev\", but of train, calls, test", 2},
		{"-p data.config=x --dry-run", "", "...\nmcs: data: read records: saved was written by save_to_disk and has no configs, got \"x\"", 2},
		{"-p data.train=empty --dry-run", "", "...\nmcs: data: read records: empty has no records", 2},
		{"-p data.messages=turns --dry-run", "", "...\nmcs: data: read records: data-00000-of-00002.arrow: got the fields \"messages\", \"id\", want \"turns\", [..]; fields of other names have to be named", 2},
		{"-p data.train=other.jsonl --dry-run", "", "...\nmcs: data: read records: other.jsonl:1: got the fields \"question\", \"answer\", want \"messages\", [..]", 2},
	} {
		stdout, stderr, code := mcs(t, dir, "", append([]string{"train", "job.toml"}, strings.Fields(c.args)...)...)
		if code != c.code || !matches(c.stdout, stdout) || !matches(c.stderr, stderr) {
			t.Errorf("%s: code %d, want %d\n%s\nwant\n%s\nerrors\n%s\nwant\n%s", c.args, code, c.code, stdout, c.stdout, stderr, c.stderr)
		}
	}
}
