//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// %ranks in a file: what is declared before is there on all ranks, cells run on all of them, and training has
// the bits of one process.
func TestRanksOfSession(t *testing.T) {
	t.Parallel()
	dir := cellsIn(t, map[string]string{
		"alone.mcs": "// %%\nsteps := 4\n" + trainsCells,
		"both.mcs":  "// %%\nsteps := 4\n// %%\n%ranks 2\n" + trainsCells + "// %%\n%ranks 1\n// %%\nranks.Here().Size()\n",
		"later.mcs": strings.Replace("// %%\nsteps := 4\n"+trainsCells, "// %%\ntrain", "// %%\n%ranks 4\n// %%\ntrain", 1),
	})
	alone, stderr, code := mcs(t, dir, "", "-device", "cpu", "run", "alone.mcs")
	if code != 0 || len(ofHash().FindAllString(alone, -1)) != 1 {
		t.Fatalf("exit code %d\n%s\n%s", code, alone, stderr)
	}
	for name, says := range map[string]string{"both.mcs": "2 ranks by TCP; the others have run 1 cell\n", "later.mcs": "4 ranks by TCP; the others have run 2 cells\n"} {
		out, stderr, code := mcs(t, dir, "", "-device", "cpu", "run", name)
		if code != 0 || !strings.Contains(out, ofHash().FindString(alone)) || !strings.Contains(out, says) || strings.Contains(out, "rank 1") {
			t.Errorf("%s: exit code %d\n%s\n%s", name, code, out, stderr)
		}
	}
}

// Each row is cells after %ranks 2, and what a file of them puts out once, and never.
func TestCellsOfSession(t *testing.T) {
	t.Parallel()
	const rank = "rank := ranks.Here().Rank()\n"
	for i, c := range []struct {
		name, before, cells string
		code                int
		once, never         string
	}{
		{"output", "", rank + "fmt.Println(`I am`, rank)", 0, "I am 0\nrank 1: I am 1\n", ""},
		{"one rank", "a := `before`", "%%rank 1\nfmt.Println(a, ranks.Here().Rank())\nranks.Here().Rank() + 7", 0, "rank 1: before 1\nrank 1: 8\n", "before 0"},
		{"what is measured there", "", "%%rank 1\n%mem", 0, "rank 1: Go heap", ""},
		{"rank 0", "", "%%rank 0\nfmt.Println(`zero`)", 0, "zero\n", "rank 1"},
		{"no such rank", "", "%rank 2 1", 1, `%rank: got "2", want all or one of the ranks 0 to 1`, "rank 1:"},
		{"a failure there", "", "%%rank 1\npanic(`the disk is gone`)", 1, "rank 1: In[", "rank 0"},
		{"goes on", "", "if ranks.Here().Rank() == 1 {\n\tpanic(`the disk is gone`)\n}\n// > rank 1: In[3]:2:2: panic: the disk is gone\n// > ...\n// %%\nranks.Here().Numbers([]float64{3})", 0, "[3 3]", ""},
		{"the same numbers of cells", "", "%%rank 1\n1 + 1\n// %%\nvar f func()\nf()", 1, "cell 4", "rank 1: In["},
		{"what failed before", "panic(`first`)\n// > In[2]:1:1: panic: first\n// > ...", "ranks.Here().Size()", 0, "the others have run 1 cell\n2\n", ""},
		{"commands of before", "%device cpu\n!mkdir made\n// %%\nlist := !ls made", "len(list)", 0, "the others have run 2 cells\n0\n", "rank 1"},
		{"not alone", "", "x := 1\n%ranks 3", 1, "%ranks: want a cell of its own", "rank 1"},
		{"a bad number", "", "%ranks many", 1, `%ranks: got "many", want a number from 1 to 256`, "rank 1"},
		{"an exit", "", "os.Exit(3)", 3, "", "rank 1"},
		{"gone", "", "if ranks.Here().Rank() == 1 {\n\tp, _ := os.FindProcess(os.Getpid())\n\tp.Kill()\n}\nfor {\n}", 1, "rank 1: signal: killed; this session goes on alone: %ranks 2 starts the others again", "interrupted"},
		{"goes on alone", "", "if ranks.Here().Rank() == 1 {\n\tp, _ := os.FindProcess(os.Getpid())\n\tp.Kill()\n}\n// > rank 1: signal: killed; this session goes on alone: %ranks 2 starts the others again\n// %%\nranks.Here().Size()\n// %%\n%ranks 2\n// %%\nranks.Here().Size() + 10", 0, "12\n", ""},
		{"gone before", "", "%%rank 1\ngo func() {\n\ttime.Sleep(50 * time.Millisecond)\n\tp, _ := os.FindProcess(os.Getpid())\n\tp.Kill()\n}()\n// %%\n%%rank 0\ntime.Sleep(time.Second)\n// > rank 1: signal: killed; this session goes on alone: %ranks 2 starts the others again\n// %%\nranks.Here().Size() + 20", 0, "21\n", ""},
		{"fails there only", "if ranks.Started() {\n\tpanic(`not here`)\n}\na := 1", "1", 1, "%ranks: rank 1: a cell that has run on rank 0 fails here: In[2]:2:2: panic: not here", ""},
	} {
		if i%3 > 0 && !long.CI() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			dir := cellsIn(t, map[string]string{"cells.mcs": "// %%\nzero := 0\n// %%\n" + c.before + "\n// %%\n%ranks 2\n// %%\n" + c.cells + "\n"})
			s := launcher(t, dir, os.Args[0], "-device", "cpu", "run", "cells.mcs")
			<-s.done
			s.tells(t, c.code)
			if got := s.said.String(); strings.Count(got, c.once) != 1 && c.once != "" || c.never != "" && strings.Contains(got, c.never) {
				t.Errorf("want %q once and no %q\n%s", c.once, c.never, got)
			}
		})
	}
	dir := cellsIn(t, map[string]string{"cells.mcs": "// %%\n%ranks 2\n"})
	s := launcher(t, dir, os.Args[0], "-device", "cpu", "run", "-n", "2", "cells.mcs")
	<-s.done
	s.tells(t, 1, "got 2 ranks to start in a process that mcs has started as one of 2")
}

// An interrupt of a session stops the cell on all ranks, and its end ends them, whatever ends it.
func TestEndOfRanks(t *testing.T) {
	t.Parallel()
	const begins = "// %%\n%ranks 2\n// %%\nos.WriteFile(fmt.Sprint(`rank`, ranks.Here().Rank()), []byte(fmt.Sprint(os.Getpid())), 0o666)\n"
	for _, c := range []struct {
		name, cell string
		signal     os.Signal
		code       int
	}{
		{"interrupted", "for {\n}", os.Interrupt, 130},
		{"interrupted, one runs", "if ranks.Here().Rank() == 1 {\n\tfor {\n\t}\n}", os.Interrupt, 130},
		{"interrupted, one waits for numbers", "if ranks.Here().Rank() == 1 {\n\tfor {\n\t}\n}\nranks.Here().Numbers([]float64{1})", os.Interrupt, 130},
		{"killed", "for {\n}", os.Kill, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "interrupted" {
				long.InCI(t, "waits for seconds")
			}
			dir := cellsIn(t, map[string]string{"cells.mcs": begins + c.cell + "\n"})
			s := launcher(t, dir, os.Args[0], "-device", "cpu", "run", "cells.mcs")
			pid := helperOf(t, s)
			signalTo(t, s.Process, c.signal)
			s.ends(t, c.code)
			gone(t, pid)
		})
	}
}

// helperOf waits until a cell runs on both ranks, and returns the process of rank 1.
func helperOf(t *testing.T, s *launched) int {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var pids [2]int
		for rank := range pids {
			text, _ := os.ReadFile(filepath.Join(s.dir, fmt.Sprint("rank", rank)))
			_, _ = fmt.Sscan(string(text), &pids[rank])
		}
		if pids[0] > 0 && pids[1] > 0 {
			return pids[1]
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("the cell does not run\n%s", &s.said)
		}
	}
}

func gone(t *testing.T, pid int) {
	t.Helper()
	for began := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("a helper outlives its session")
		}
	}
}
