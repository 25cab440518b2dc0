package launch

import (
	"strings"
	"testing"
)

func env(text string) func(string) string {
	values := map[string]string{}
	for _, v := range strings.Fields(text) {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

func TestFind(t *testing.T) {
	const torchrun = "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=host0 MASTER_PORT=29400 "
	for _, c := range []struct {
		env  string
		want Launch
	}{
		{torchrun, Launch{By: "torchrun", Rank: 3, Size: 4, Meet: "host0:29400", Run: "mcs//0/"}},
		{torchrun + "TORCHELASTIC_USE_AGENT_STORE=True TORCHELASTIC_RESTART_COUNT=2 TORCHELASTIC_RUN_ID=j1 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2",
			Launch{By: "torchrun", Rank: 3, Size: 4, Meet: "host0:29400", Served: true, Run: "mcs/j1/2/", Attempt: 2}},
		{"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1", Launch{By: "Open MPI", Rank: 1, Size: 2, Run: "mcs//0/"}},
		{"PMI_RANK=0 PMI_SIZE=4 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=4", Launch{By: "MPICH", Size: 4, Run: "mcs//0/"}},
		{"SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_STEP_NODELIST=node[07-08] SLURM_JOB_ID=40123", Launch{By: "Slurm", Rank: 5, Size: 8, Meet: "node07:25123", Run: "mcs//0/"}},
		// mpiexec in a job of Slurm, whose own step has a process for each machine; and srun --mpi=pmi2.
		{"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=1", Launch{By: "Open MPI", Rank: 3, Size: 4, Run: "mcs//0/"}},
		{"PMI_RANK=1 PMI_SIZE=2 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=1", Launch{By: "MPICH", Rank: 1, Size: 2, Run: "mcs//0/"}},
		{"PET_NODE_RANK=1 PET_NNODES=2 PET_NPROC_PER_NODE=1 PET_MASTER_ADDR=job-0 PET_MASTER_PORT=29500", Launch{By: "Kubeflow", Rank: 1, Size: 2, Meet: "job-0:29500", Run: "mcs//0/"}},
		// All on one machine, whatever else may have started what started them.
		{torchrun + "MCS_RANK=1 MCS_WORLD_SIZE=2 MCS_MASTER_ADDR=127.0.0.1 MCS_MASTER_PORT=4000 TORCHELASTIC_USE_AGENT_STORE=True",
			Launch{By: "mcs", Rank: 1, Size: 2, Meet: "127.0.0.1:4000", Here: true}},
		{"RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=host0 MASTER_PORT=29400", Launch{By: "torchrun", Rank: 1, Size: 2, Meet: "127.0.0.1:29400", Here: true, Run: "mcs//0/"}},
		{"RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=29400", Launch{By: "torchrun", Rank: 1, Size: 2, Meet: "127.0.0.1:29400", Here: true, Run: "mcs//0/"}},
		{"RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 MASTER_ADDR=::1 MASTER_PORT=29400", Launch{By: "torchrun", Rank: 1, Size: 2, Meet: "[::1]:29400", Here: true, Run: "mcs//0/"}},
		{"SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_TASKS_PER_NODE=2 SLURM_STEP_NODELIST=node7 SLURM_JOB_ID=1", Launch{By: "Slurm", Rank: 1, Size: 2, Meet: "127.0.0.1:15001", Here: true, Run: "mcs//0/"}},
		// Nobody, a script of sbatch, and one process.
		{"", Launch{}},
		{"SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_JOB_ID=1", Launch{}},
		{"RANK=0 WORLD_SIZE=1 MASTER_ADDR=a MASTER_PORT=1", Launch{}},
	} {
		got, ok, err := Find(env(c.env))
		if err != nil || got != c.want || ok != (c.want.Size > 1) {
			t.Errorf("%s: got %+v, %v, %v, want %+v", c.env, got, ok, err, c.want)
		}
	}
}

func TestHalfAnEnvironment(t *testing.T) {
	for _, c := range [][2]string{
		{"RANK=0", "launch: torchrun: WORLD_SIZE is missing"},
		{"WORLD_SIZE=2", "launch: torchrun: RANK is missing"},
		{"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a", "launch: torchrun: MASTER_PORT is missing"},
		{"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=70000", `launch: torchrun: got MASTER_PORT="70000", want a port`},
		{"RANK=2 WORLD_SIZE=2", `launch: torchrun: got RANK="2", want a number below 2, which WORLD_SIZE is`},
		{"RANK=x WORLD_SIZE=2", `launch: torchrun: got RANK="x"`},
		{"RANK=0 WORLD_SIZE=0", `launch: torchrun: got WORLD_SIZE="0", want a number from 1`},
		{"PMI_SIZE=2", "launch: MPICH: PMI_RANK is missing"},
		{"SLURM_STEP_NUM_TASKS=2", "launch: Slurm: SLURM_PROCID is missing"},
		{"SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1", `launch: Slurm: got SLURM_STEP_NODELIST=""`},
		{"SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_STEP_NODELIST=a", `launch: Slurm: got SLURM_JOB_ID=""`},
		{"PET_NNODES=2 PET_NODE_RANK=0 PET_NPROC_PER_NODE=8", "launch: Kubeflow: PET_NPROC_PER_NODE is 8: start mcs with torchrun --no-python"},
	} {
		if _, ok, err := Find(env(c[0])); ok || err == nil || !strings.HasPrefix(err.Error(), c[1]) {
			t.Errorf("%s: got %v, %v, want %s", c[0], ok, err, c[1])
		}
	}
}

func TestFirstHost(t *testing.T) {
	for list, want := range map[string]string{
		"node7": "node7", "a,b": "a", "node[7-9,12],gpu3": "node7", "node[007,9]": "node007", "x,node[1-2]": "x",
		"rack[1-2]n-ib": "rack1n-ib", "": "", "node[": "node", "[]": "",
	} {
		if got := firstHost(list); got != want {
			t.Errorf("%s: got %q, want %q", list, got, want)
		}
	}
}
