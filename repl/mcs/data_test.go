package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A table of a CSV file is shown as it is, and what it lacks is told with its line.
func TestTableInCells(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "houses.csv"), []byte("area,rooms,street\n120,4,Elm\n80,,Oak\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	const session = `// %%
t := data.ReadCSV("houses.csv")
t
// %%
npy.Save("x.npy", t.Drop().Tensor("area", "rooms"))
x := npy.Load("x.npy")
fmt.Println(x.Ints())
// %%
t.Tensor("area", "rooms")
`
	stdout, stderr, code := mcs(t, dir, session, "run", "-")
	if want := "2 rows of 3 columns · houses.csv\n   area  rooms  street\n    i64    i64    text\n0   120      4     Elm\n1    80      –     Oak\nrooms: 1 value missing, first in line 3\n[120 4]\n"; code == 0 || !strings.HasPrefix(stdout, want) {
		t.Errorf("code %d, got\n%s\nwant\n%s", code, stdout, want)
	}
	for _, want := range []string{`data.Table: houses.csv:3: column "rooms" has no value, as 1 of 2 rows: t.Drop("rooms") leaves them out, t.Fill("rooms", 0) fills them`, `t.Tensor("area", "rooms")`} {
		if !strings.Contains(stderr, want) {
			t.Errorf("got no %s in\n%s", want, stderr)
		}
	}
}

// A function of a cell changes batches in goroutines of a loader. Its panic is that of the cell.
func TestLoaderInCells(t *testing.T) {
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
