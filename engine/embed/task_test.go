package embed

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Vectors of each task are those of the weights with its adapter and of texts that begin with its
// instruction, and a folder that Save writes has that task alone.
func TestTasks(t *testing.T) {
	dir := filepath.Join(fixtures, "jina3-tasks")
	_, expected := load(t, dir)
	list := texts(t, filepath.Join(fixtures, "texts.json"))
	for _, task := range []string{"where.query", "other"} {
		m, err := LoadTask(ctx, dir, task)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Encode(ctx, list...)
		if err != nil {
			t.Fatal(err)
		}
		if d := tensor.MaxAbsDiff(got, expected["task."+task]); !(d <= 1e-5) {
			t.Errorf("%s: vectors differ by %g", task, d)
		}
		if d := tensor.MaxAbsDiff(got, expected["vectors"]); d < 1e-2 {
			t.Errorf("%s: vectors are those without an adapter", task)
		}
		to := filepath.Join(t.TempDir(), "one")
		if err := Save(to, m); err != nil {
			t.Fatal(err)
		}
		again, err := Load(ctx, to)
		if err != nil {
			t.Fatal(err)
		}
		same, err := again.Encode(ctx, list...)
		if err != nil {
			t.Fatal(err)
		}
		if d := tensor.MaxAbsDiff(same, got); d != 0 {
			t.Errorf("%s: vectors of the saved folder differ by %g", task, d)
		}
	}
	for name, want := range map[string]string{"jina3-tasks": `got the task "none", want one of ["where.query" "other"]`, "bert": "want none", "qwen3": "want none", "static": "want none"} {
		if _, err := LoadTask(ctx, filepath.Join(fixtures, name), "none"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
