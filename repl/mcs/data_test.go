package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A table of a CSV file is shown as it is, and what it lacks is told with its line.
func TestTableInCells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "houses.csv"), []byte("area,rooms,street\n120,4,Elm\n80,,Oak\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	const session = `// %%
t := data.ReadCSV("houses.csv")
t
// %%
npy.Save("x.npy", t.DropMissing().Tensor("area", "rooms"))
x := npy.Load("x.npy")
fmt.Println(x.Ints())
// %%
t.Tensor("area", "rooms")
`
	stdout, stderr, code := mcs(t, dir, session, "run", "-")
	if want := "2 rows of 3 columns · houses.csv\n   area  rooms  street\n    i64    i64    text\n0   120      4     Elm\n1    80      –     Oak\nrooms: 1 value missing, first in line 3\n[120 4]\n"; code == 0 || !strings.HasPrefix(stdout, want) {
		t.Errorf("code %d, got\n%s\nwant\n%s", code, stdout, want)
	}
	for _, want := range []string{`data.Table: houses.csv:3: column "rooms" has no value, as 1 of 2 rows: t.DropMissing("rooms") leaves them out, t.Fill("rooms", 0) fills them`, `t.Tensor("area", "rooms")`} {
		if !strings.Contains(stderr, want) {
			t.Errorf("got no %s in\n%s", want, stderr)
		}
	}
}

// A function of a cell changes batches in goroutines of a loader. Its panic is that of the cell.
func TestLoaderInCells(t *testing.T) {
	t.Parallel()
	const session = `// %%
pairs := data.Pairs(tensor.Ones(8, 1), tensor.Ones(8, 1), 2)
changed := data.Map(pairs, func(b data.Batch, n int) data.Batch {
	if n == 5 {
		panic("batch five")
	}
	return data.Batch{Inputs: b.Inputs.Add(tensor.Rand(2, 1)), Targets: b.Targets}
})
o := train.Options{Steps: 5, LR: optim.Constant(0.1), Seed: 1}
run := train.Run(ctx, train.WithLoss(nn.NewLinear(1, 1), nn.MSELoss), data.Ahead(changed, 3), o)
fmt.Println(run.Steps())
// %%
o.Steps = 6
train.Run(ctx, train.WithLoss(nn.NewLinear(1, 1), nn.MSELoss), data.Ahead(changed, 3), o)
// %%
fmt.Println("not reached")
`
	stdout, stderr, code := mcs(t, t.TempDir(), session, "run", "-")
	if code == 0 || stdout != "5\n" || !strings.Contains(stderr, "panic: batch five") {
		t.Errorf("code %d, got\n%s\n%s", code, stdout, stderr)
	}
}

// Records are read, shown and learnt from in cells. A bad line stops the cell by its name and number, or is
// left out and counted.
func TestRecordsInCells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := `{"prompt": "2+2=", "completion": "4"}` + "\n" + `{"prompt": "3+3=", completion: "6"}` + "\n" + `{"prompt": "4+4=", "completion": "8"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "train.jsonl"), []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	const session = `// %%
sums := data.Records{SkipBad: true}.Read(".")
sums.Head(1)
// %%
m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, Hidden: 32, Seed: 1})
rows := data.Tokens{Model: m, EOS: "."}.Of(ctx, sums)
rows
// %%
fmt.Println(rows.Show(1), rows.Skipped.First)
run := train.Run(ctx, m, rows.Packed(1, 12), train.Options{Steps: 2, LR: optim.Constant(0.01)})
fmt.Println(run.Steps())
// %%
all := data.ReadRecords("train.jsonl")
data.Tokens{Model: m}.Of(ctx, all)
`
	stdout, stderr, code := mcs(t, dir, session, "run", "-")
	const want = `[train.jsonl:1: prompt "2+2=", completion "4"] []data.Record
2 sequences · 12 tokens, 33 % count, longest 6 · 1 bad record *data.Sequences
4+4=⟦8.⟧ train.jsonl:2:20: invalid character 'c' looking for beginning of object key string
2
`
	if code == 0 || stdout != want {
		t.Errorf("code %d, got\n%s\nwant\n%s", code, stdout, want)
	}
	if want := "data: tokens: train.jsonl:2:20: invalid character 'c'"; !strings.Contains(stderr, want) {
		t.Errorf("got no %s in\n%s", want, stderr)
	}
}
