package main

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEvalTasks: numbers and their standard errors are those of lm-evaluation-harness for the same rows:
// testdata/tasks.json was written by tests/peers/eval_tasks.py. Its error of a perplexity is drawn, and is
// not compared.
func TestEvalTasks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/tasks.json")
	var file struct {
		Files   map[string]string
		Rows    map[string][]map[string]any
		Results map[string]map[string][2]*float64
	}
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copyModel(t, dir, "model", filepath.Join("families", "llama-3"))
	for name, text := range file.Files {
		if err := os.WriteFile(filepath.Join(dir, "model", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var lines strings.Builder
	names := slices.Sorted(maps.Keys(file.Rows))
	for _, name := range names {
		for _, row := range file.Rows[name] {
			row["task"] = name
			line, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(line, '\n'))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "tasks.jsonl"), []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := mcs(t, dir, "", "eval", "model", "--tasks", "tasks.jsonl", "--json")
	if code != 0 {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	compared := 0
	for i, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		var got taskResult
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if got.Task != names[i] || got.Rows != len(file.Rows[names[i]]) || len(got.Metrics) != len(file.Results[got.Task]) {
			t.Errorf("got %s, want %d rows of %s with %v", line, len(file.Rows[names[i]]), names[i], file.Results[names[i]])
		}
		for _, m := range got.Metrics {
			compared++
			want := file.Results[got.Task][m.Name]
			close := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*max(1e-9, math.Abs(b)) }
			if want[0] == nil || !close(m.Value, *want[0]) || (m.StdErr == nil) != (want[1] == nil) || m.Name != "perplexity" && m.StdErr != nil && !close(*m.StdErr, *want[1]) {
				t.Errorf("%s, %s: got %v, want %v", got.Task, m.Name, m, want)
			}
		}
	}
	if compared != 10 {
		t.Errorf("%d numbers were compared, want 10", compared)
	}
}

// TestTasksRefused: an error names the line of the file.
func TestTasksRefused(t *testing.T) {
	t.Parallel()
	const good = `{"task": "a", "prompt": "p", "choices": ["b", "c"], "answer": 1}` + "\n"
	for text, want := range map[string]string{
		"": "a.jsonl has no tasks",
		"\n" + good + `{"task": "a", "text": "b"}`: `a.jsonl:3: got a row with text in task "a", whose first row has choices`,
		good + `{"task": "b"}`:                     "a.jsonl:2: want prompt with choices and the number of the right answer[..]",
		`{"text": "b"}`:                            "a.jsonl:1: want a name in task",
		`{"task": "a", "prompt": "p", "choices": ["b", "c"], "answer": 2}`: `a.jsonl:1: got answer "2" of 2 choices, want the number of one, from 0`,
		`{"task": "a", "prompt": "p", "choices": ["b", ""], "answer": 0}`:  "a.jsonl:1: got an empty choice",
		`{"task": "a", "prompt": "p", "answer": 3}`:                        `a.jsonl:1: got prompt "p", answer "3" and 0 tokens, want two texts[..]`,
		`{"task": "a", "prompt": "p", "completion": "x", "answer": "y"}`:   "a.jsonl:1: got completion and answer, want one of them",
		`{"task": "a", "promt": "p"}`:                                      `a.jsonl:1: json: unknown field "promt"`,
		`{"task": "a", "text": "b"} {"task": "a", "text": "b"}`:            "a.jsonl:1: got more than one object",
	} {
		dir := writeFiles(t, map[string]string{"a.jsonl": text})
		if stdout, stderr, code := mcs(t, dir, "", "eval", "away", "--tasks", "a.jsonl"); code != exitUsage || !matches("mcs: eval: "+want, stderr) {
			t.Errorf("%s: code %d, got %s%s, want %s", text, code, stdout, stderr, want)
		}
	}
}
