//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/mpiexec"
	"github.com/mcs-notebook/mcs/internal/testing/torchrun"
)

// trainsCells is a file whose last line is the hash of what two batches a step have trained.
const trainsCells = `// %%
m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Seed: 1})
text := strings.Repeat("the cat sat on the mat. ", 200)
ad := lora.Inject(m, lora.Config{Rank: 4, Dropout: 0.1})
// %%
train.Run(ctx, m, data.Windows(text, 32, 4), train.Options{Steps: steps, LR: optim.Constant(1e-2), Clip: 1, Accumulate: 4, Params: ad.Params(), Ranks: ranks.Here()});
// %%
nn.Hash(ad.Params())
`

var ofHash = lazy.Regexp(`(?m)^"[0-9a-f]{64}"$`)

// cellsIn writes files into a folder with a job.
func cellsIn(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mcs run of several processes shows what one shows, and has trained the same bits.
func TestRunOfRanks(t *testing.T) {
	t.Parallel()
	self := os.Args[0]
	dir := cellsIn(t, map[string]string{"trains.mcs": "// %%\nsteps := 4\n" + trainsCells})
	alone, stderr, code := mcs(t, dir, "", "-device", "cpu", "run", "trains.mcs")
	if code != 0 || len(ofHash().FindAllString(alone, -1)) != 1 {
		t.Fatalf("exit code %d\n%s\n%s", code, alone, stderr)
	}
	same := func(t *testing.T, name string, args ...string) {
		t.Helper()
		s := launcher(t, dir, name, args...)
		<-s.done
		s.tells(t, 0, ofHash().FindString(alone))
		if strings.Contains(s.said.String(), "rank 1") {
			t.Errorf("the ranks differ\n%s", &s.said)
		}
	}
	for _, size := range []string{"2", "4"} {
		if size == "4" && !long.CI() {
			continue
		}
		same(t, self, "-device", "cpu", "run", "-n", size, "trains.mcs")
	}
	t.Run("combinations", func(t *testing.T) {
		long.InCI(t, "trains in several processes")
		s := launcher(t, dir, self, "run", "-n", "2", "trains.mcs", "-p", "steps=4,2")
		<-s.done
		s.tells(t, 0)
		if n := strings.Count(s.said.String(), ofHash().FindString(alone)[:20]); n != 2 { // and in the table
			t.Errorf("got the hash of one process %d times, want it twice\n%s", n, &s.said)
		}
	})
	t.Run("mpiexec", func(t *testing.T) {
		for _, l := range mpiexec.All(t) {
			c, out := started(t, l, dir, "-n", "2", self, "-device", "cpu", "run", "trains.mcs")
			if err := c.Run(); err != nil || strings.Count(out.String(), ofHash().FindString(alone)) != 1 || strings.Contains(out.String(), "rank 1") {
				t.Errorf("%v: %v\n%s", l, err, out)
			}
		}
	})
	t.Run("a failure under mpiexec", func(t *testing.T) {
		dir := cellsIn(t, map[string]string{"cells.mcs": "// %%\nif ranks.Here().Rank() == 1 {\n\tpanic(`the disk is gone`)\n}\nranks.Here().Numbers([]float64{1})\n"})
		for _, l := range mpiexec.All(t) {
			c, out := started(t, l, dir, "-n", "2", self, "-device", "cpu", "run", "cells.mcs")
			if err := c.Run(); err == nil || strings.Count(out.String(), "panic: the disk is gone") != 1 || !strings.Contains(out.String(), "rank 1: cells.mcs:2") {
				t.Errorf("%v: %v\n%s", l, err, out)
			}
		}
	})
	t.Run("torchrun", func(t *testing.T) {
		command := torchrun.Command(t)
		same(t, command[0], append(command[1:], "--standalone", "--nproc-per-node", "2", self, "-device", "cpu", "run", "trains.mcs")...)
	})
}

// What ranks put out that rank 0 does not is told, and a failure of one ends all, with its words.
func TestRunOfDifferentRanks(t *testing.T) {
	t.Parallel()
	const rank = "rank := ranks.Here().Rank()\n"
	for _, c := range []struct {
		name, cells string
		code        int
		once, never string
	}{
		{"output", "fmt.Println(`size`, ranks.Here().Size())\nfmt.Println(`I am`, rank)\nif rank == 0 {\n\tfmt.Println(`first`)\n}", 0, "size 2\nI am 0\nfirst\nrank 1: I am 1\n", ""},
		{"a value", "10 * (rank + 1)", 0, "10\nrank 1: 20\n", ""},
		{"what is measured", "time.Sleep(time.Duration(rank) * 30 * time.Millisecond)\n%time tensor.Ones(3).Sum().Item()\nfmt.Println(time.Duration(rank+1) * time.Millisecond)", 0, "1ms\n", "rank 1"},
		{"another error", "if rank == 1 {\n\tpanic(`the disk is gone`)\n}\nfor {\n}", 1, "rank 1: In[2]:2:2: panic: the disk is gone", "interrupted"},
		{"an error within a sum", "if rank == 1 {\n\tpanic(`the disk is gone`)\n}\nranks.Here().Numbers([]float64{1})", 1, "rank 1: In[2]:2:2: panic: the disk is gone", "goes no further"},
		{"the same error", "panic(`all know`)", 1, "panic: all know", "rank 1"},
		{"none runs", "x := nothing", 1, "undefined: nothing", "rank 1"},
		{"an exit", "os.Exit(3 * rank)", 3, "rank 1: ", ""},
		{"the same exit", "os.Exit(3)", 3, "", "rank"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := cellsIn(t, map[string]string{"cells.mcs": "// %%\n" + rank + "// %%\n" + c.cells + "\n"})
			s := launcher(t, dir, os.Args[0], "-device", "cpu", "run", "-n", "2", "cells.mcs")
			<-s.done
			s.tells(t, c.code)
			if got := s.said.String(); strings.Count(got, c.once) != 1 && c.once != "" || c.never != "" && strings.Contains(got, c.never) {
				t.Errorf("want %q once and no %q\n%s", c.once, c.never, got)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		dir := cellsIn(t, map[string]string{"cells.mcs": "// %%\nos.WriteFile(fmt.Sprint(`rank`, ranks.Here().Rank()), nil, 0o666)\nfor {\n}\n"})
		s := launcher(t, dir, os.Args[0], "-device", "cpu", "run", "-n", "2", "cells.mcs")
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if files, _ := filepath.Glob(filepath.Join(dir, "rank?")); len(files) == 2 {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("the cell does not run\n%s", &s.said)
			}
		}
		signalTo(t, s.Process, os.Interrupt)
		s.ends(t, 130, "interrupted")
	})
	t.Run("killed", func(t *testing.T) {
		dir := cellsIn(t, map[string]string{"cells.mcs": "// %%\np := os.FindProcess(os.Getpid())\nif ranks.Here().Rank() == 1 {\n\tp.Kill()\n}\nfor {\n}\n"})
		launcher(t, dir, os.Args[0], "-device", "cpu", "run", "-n", "2", "cells.mcs").ends(t, 1, "mcs: rank 1: signal: killed")
	})
	for _, c := range []struct{ args, says string }{
		{"run -n 2 -", "mcs: run: got -n 2 and standard input"},
		{"run -n 0 cells.mcs", "mcs: got -n 0, want 1 to 256 processes"},
		{"run -n 2 main.go", "mcs: run: got -n 2 and a Go program"},
		{"run -n 2 none.mcs", "mcs: open none.mcs: no such file or directory"},
	} {
		launcher(t, t.TempDir(), os.Args[0], strings.Fields(c.args)...).ends(t, 2, c.says)
	}
}
