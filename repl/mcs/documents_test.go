package main

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// A documented example is a block of a document: what has to be there before, and what makes it short.
type documented struct {
	setup string            // Go that runs before
	quick map[string]string // texts that are replaced
	exact bool              // what is shown is what it prints
	not   string            // why it is not run
}

// examples are the blocks of README.md, docs/*.md and docs/guide/*.md, by a text that they have.
func examples() map[string]documented {
	return map[string]documented{
		"text := data.ReadText(data.GoSource":                              {quick: map[string]string{"Steps: 200": "Steps: 2", "Layers: 4, Width: 192": "Layers: 1, Width: 48"}},
		"git clone https://github.com":                                     {not: "is what checks do on a fresh clone"},
		"x := tensor.Randn(4, 3)\nw :=":                                    {},
		"linalg.Solve(h, tensor.Ones(8))":                                  {},
		"straight := tensor.Custom(":                                       {},
		"a := lora.Inject(m, lora.Config{Rank: 8})":                        {},
		"func area(r float64)":                                             {exact: true},
		"type Run struct":                                                  {exact: true},
		`t := data.ReadCSV("houses.csv")`:                                  {},
		`x := data.Images{Channels: 1`:                                     {},
		`pets := data.Images{`:                                             {setup: "m := nn.Sequential{nn.Flatten(), nn.NewLinear(3*64*64, 2)}", quick: map[string]string{"Steps: 500": "Steps: 2", "(1e-3, 20, 500)": "(1e-3, 1, 2)", ", 32)": ", 2)"}},
		"chats := data.ReadRecords(\"tune\")":                              {setup: tinyModel, quick: map[string]string{"Steps: 300": "Steps: 2", "2048": "256", "(1e-4, 20, 300)": "(1e-4, 1, 2)"}},
		"square := kernel.New":                                             {not: "needs clang on a processor: package kernel's tests run it"},
		"// # Softmax of a row":                                            {},
		"// %% an index out of range":                                      {setup: "xs := []int{1, 2, 3}"},
		"%timeit x.MatMul(w)":                                              {setup: "x, w := tensor.Randn(64, 64), tensor.Randn(64, 64)"},
		"%bench a := x.Add(1)":                                             {setup: "x := tensor.Randn(4)"},
		`m := llm.Load(ctx, "Qwen2.5-0.5B-Instruct")    //`:                {quick: map[string]string{"Tokens: 20": "Tokens: 2"}},
		"plot.Line(loss)":                                                  {setup: "loss, eval, steps := []float64{3, 2, 1}, []float64{3, 2, 2}, []float64{1, 2, 3}"},
		`chats := data.ReadRecords("chats.jsonl")`:                         {},
		"opt := optim.AdamW{}.New":                                         {setup: "m := nn.NewMLP(2, 3, 2); x, y := tensor.Randn(4, 2), tensor.From([]int{0, 1, 0, 1})"},
		`{"run":{"steps":300`:                                              {not: "is a file that mcs writes"},
		"train.PredictLoRA(ctx":                                            {setup: tinyModel + "\nchats := data.ReadRecords(\"chats.jsonl\")\nlist := data.Tokens{Model: m}.Of(ctx, chats)\nrows := list.Padded(4); options := train.Options{Steps: 2, LR: optim.Constant(1e-3)}"},
		"mcs train --example > job.toml":                                   {not: "TestTrain runs jobs of all these forms"},
		"mpiexec -n 4 mcs":                                                 {not: "TestTrainUnderMpiexec runs it"},
		"mcs run -n 2 lora.mcs":                                            {not: "TestRunOfRanks runs such files"},
		"%ranks 2\nranks.Here()":                                           {not: "are four cells: TestCellsOfSession runs such ones"},
		"train.LoRA(ctx, m, rows, train.Options{Steps: 300, Accumulate: 4": {not: "TestRunOfRanks runs such a file"},
		"mcs train -n 2 job.toml":                                          {not: "TestTrainOfRanks, TestTorchrun and TestTrainUnderMpiexec run them"},
		"// %% exercise dot":                                               {not: "is in the course that package lesson tests"},
		"// %% check dot":                                                  {not: "is in the course that package lesson tests"},
		"$ mcs grade handed-in":                                            {not: "TestHelpExamples and package grade grade such files"},
		"%get gonum.org/v1/gonum":                                          {not: "needs the network: TestModules runs programs that import it"},
		"mcs build --with gonum":                                           {not: "needs the network: TestBuild compiles a package of one's own in"},
		"lm_eval --model local-completions":                                {not: "needs a package of PyPI and a data set: the log-probabilities are those that package llm tests"},
		"client = openai.OpenAI(":                                          {not: "is Python: TestServeClient runs such a client"},
		"mcs chat Qwen2.5-0.5B-Instruct --adapter":                         {not: "TestHelpExamples and TestServeStarts run all of these commands"},
		"output = \"tuned\"":                                               {not: "TestTrain runs such a job"},
		"output = \"counted\"":                                             {not: "TestTrain runs such a job"},
		`{"task": "facts"`:                                                 {not: "TestEvalTasks and TestHelpExamples run such a file"},
		"import json, mlflow":                                              {not: "is Python, for a package of PyPI"},
		"package rewards":                                                  {not: "TestTrain runs such a file"},
	}
}

// tinyModel loads a small model.
const tinyModel = `m := llm.Load(ctx, "Qwen2.5-0.5B-Instruct")`

// generated are documents whose examples are tested where they are made.
var generated = []string{"architecture.md", "go-in-cells.md", "magics.md"}

var (
	prompt = lazy.Regexp(`(?m)^In \[\d+\]: `)
	result = lazy.Regexp(`(?m)^Out\[\d+\]: `)
	failed = lazy.Regexp(`(?m)^In\[\d+\](:.*\n)`)
)

// Each example of the documents runs, and those that show an error have it.
func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	docs, err := filepath.Glob("../../docs/*.md")
	guide, _ := filepath.Glob("../../docs/guide/*.md")
	if err != nil || len(docs) == 0 || len(guide) == 0 {
		t.Fatal(docs, guide, err)
	}
	docs = append(docs, guide...)
	examples, seen := examples(), map[string]bool{}
	for _, doc := range append(docs, "../../README.md") {
		if slices.Contains(generated, filepath.Base(doc)) {
			continue
		}
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "\n```") {
			if i%2 == 0 {
				continue
			}
			_, block, _ = strings.Cut(block, "\n") // the language
			name := fmt.Sprintf("%s, %.40q", filepath.Base(doc), block)
			e, found := documented{}, false
			for has, of := range examples {
				if strings.Contains(block, has) {
					e, found, seen[has] = of, true, true
				}
			}
			if !found {
				t.Errorf("%s: no row says how it runs", name)
				continue
			}
			if e.not == "" {
				t.Run(name, func(t *testing.T) { e.run(t, block) })
			}
		}
	}
	for has := range examples {
		if !seen[has] {
			t.Errorf("no document has %q", has)
		}
	}
}

// run runs the example in a folder with the files that the documents name.
func (e documented) run(t *testing.T, block string) {
	dir := documentFiles(t)
	for from, to := range e.quick {
		block = strings.ReplaceAll(block, from, to)
	}
	cells, shown := e.cells(block)
	text := ""
	if e.setup != "" {
		text = e.setup + "\n// %%\n"
	}
	if strings.HasPrefix(block, "// %%") {
		if err := os.WriteFile(filepath.Join(dir, "a.mcs"), []byte(text+block), 0o644); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := mcs(t, dir, "", "test", "a.mcs"); code != 0 {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		return
	}
	stdout, stderr, code := mcs(t, dir, text+strings.Join(cells, "\n// %%\n"), "run", "-")
	if wrong := failed().FindStringSubmatch(block); wrong != nil {
		if !strings.Contains(stderr, wrong[1]) {
			t.Errorf("got the error\n%s\nwant %s", stderr, wrong[1])
		}
	} else if code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if e.exact && strings.Join(strings.Fields(stdout), " ") != strings.Join(strings.Fields(shown), " ") {
		t.Errorf("got\n%s\nwant\n%s", stdout, shown)
	}
}

// cells takes the cells out of a session as the terminal shows it, and what they show. A command alone stands
// above its output. Other examples are one cell.
func (e documented) cells(block string) (cells []string, shown string) {
	if strings.HasPrefix(block, "%") {
		line, _, _ := strings.Cut(block, "\n")
		return []string{line}, ""
	}
	parts := prompt().Split(block, -1)
	if len(parts) == 1 {
		return parts, ""
	}
	const indent = "        "
	for _, part := range parts[1:] {
		lines := strings.Split(part, "\n")
		cell := []string{lines[0]}
		n := 1
		for ; n < len(lines) && strings.HasPrefix(lines[n], indent); n++ {
			cell = append(cell, strings.TrimPrefix(lines[n], indent))
		}
		cells = append(cells, strings.Join(cell, "\n"))
		shown += strings.Join(lines[n:], "\n")
	}
	return cells, result().ReplaceAllString(shown, "")
}

// documentFiles makes a folder with small files of the names that the documents use.
func documentFiles(t *testing.T) (dir string) {
	t.Helper()
	chats := strings.Repeat(`{"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]}`+"\n", 40)
	dir = writeFiles(t, map[string]string{
		"houses.csv":  "area,rooms,price,street\n50,2,100,Hill\n70,,150,Lake\n90,4,,Hill\n",
		"chats.jsonl": chats,
	})
	if err := os.CopyFS(filepath.Join(dir, "Qwen2.5-0.5B-Instruct"), os.DirFS("../../engine/llm/testdata/chat")); err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("tune/train.jsonl", []byte(chats))
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 64, 64)), nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cat.jpg", "pets/cat/1.jpg", "pets/cat/2.jpg", "pets/cat/3.jpg", "pets/cat/4.jpg", "pets/cat/5.jpg", "pets/dog/1.jpg", "pets/dog/2.jpg", "pets/dog/3.jpg", "pets/dog/4.jpg", "pets/dog/5.jpg"} {
		write(name, picture.Bytes())
	}
	return dir
}
