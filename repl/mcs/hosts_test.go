//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/torchrun"
)

// A rank that computes for ever, and whose process lives, ends the job after the limit.
func TestRankStandsStill(t *testing.T) {
	t.Parallel()
	long.InCI(t, "waits for seconds")
	limited := []string{"MCS_RANK_LIMIT=2s", os.Args[0], "-device", "cpu"}
	stand := map[*launched]string{} // all at once: most of the time they wait
	for stands, says := range map[string]string{
		"ranks.Here().Rank() == 1": "rank 1: it has not gone on for 2s",
		"true":                     "rank 0: it has not gone on for 2s, nor have all of [0 1]",
	} {
		dir := cellsIn(t, map[string]string{"cells.mcs": `// %%
type still struct{ *data.Batches }
func (s still) Batch(n int) (data.Batch, error) {
	for n > 8 && ` + stands + ` {
		time.Sleep(time.Millisecond)
	}
	return s.Batches.Batch(n)
}
m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Seed: 1})
// %%
train.Run(ctx, m, still{data.Windows(strings.Repeat("the cat ", 200), 32, 4)}, train.Options{Steps: 100, LR: optim.Constant(1e-2), Accumulate: 2, Ranks: ranks.Here()});
`})
		stand[launcher(t, dir, "env", append(limited, "run", "-n", "2", "cells.mcs")...)] = says
	}

	dir := tuningFiles(t) // of a job, where nothing but the processes' end stops code that computes for ever
	const rewards = "package rewards\n\nimport \"time\"\n\nvar n int\n\nfunc Still(_, _ string) float64 {\n\tfor n++; n > 30; time.Sleep(time.Millisecond) {\n\t}\n\treturn 1\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "still.go"), []byte(rewards), 0o666); err != nil {
		t.Fatal(err)
	}
	args := append(limited, "train", "-n", "2", "job.toml")
	for _, p := range []string{"train.method=grpo", "train.accumulate=2", "grpo.rewards=still.go", "grpo.group=3", "grpo.tokens=5", "data.share=0.0", "eval.best=false", "eval.every=0"} {
		args = append(args, "-p", p)
	}
	stand[launcher(t, dir, "env", args...)] = "mcs: rank 0: it has not gone on for 2s, nor have all of [0 1]"
	for s, says := range stand {
		s.ends(t, 1, says)
	}
}

// Two agents of torchrun are two machines with names of their own, where there may be some.
func TestTwoMachines(t *testing.T) {
	command := torchrun.Command(t)
	addr := "127.0.0.1:" + freePort(t)
	dir, agents := "", []*launched(nil)
	for _, node := range []string{"0", "1"} {
		args := slices.Concat(command, []string{"--nnodes", "2", "--node-rank", node, "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", addr, "--rdzv-id", "two", "--rdzv-conf", "is_host=" + map[string]string{"0": "true", "1": "false"}[node],
			"--local-addr", "127.0.0.1", os.Args[0], "train", "job.toml"})
		if exec.Command("unshare", "--uts", "true").Run() == nil {
			args = append([]string{"unshare", "--uts", "sh", "-c", `hostname "$0" && exec "$@"`, "machine" + node}, args...)
		}
		agents = append(agents, launcher(t, dir, args[0], args[1:]...))
		dir = agents[0].dir
	}
	<-agents[1].done
	agents[0].same(t, "4 batches shared by 4 ranks by TCP")
	agents[1].tells(t, 0)
}

// Two processes with what srun tells its tasks meet at the port of the job's number.
func TestSrun(t *testing.T) {
	t.Parallel()
	long.InCI(t, "trains in several processes")
	job, dir := 0, ""
	for job = os.Getpid() % 15000; ; job = (job + 1) % 15000 {
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 15000+job)); err == nil {
			l.Close()
			break
		}
	}
	var tasks []*launched
	for _, rank := range []string{"1", "0"} {
		tasks = append(tasks, launcher(t, dir, "env", fmt.Sprint("SLURM_JOB_ID=", 30000+job), "SLURM_NTASKS=2", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_TASKS_PER_NODE=2", "SLURM_STEP_NODELIST=node[07-08]",
			"SLURM_JOB_NODELIST=node[07-09]", "SLURM_PROCID="+rank, "SLURM_LOCALID="+rank, os.Args[0], "train", "job.toml"))
		dir = tasks[0].dir
		time.Sleep(300 * time.Millisecond) // the first waits
	}
	<-tasks[0].done
	tasks[0].tells(t, 0)
	tasks[1].same(t, "4 batches shared by 2 ranks by TCP")
}
