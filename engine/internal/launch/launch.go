// Package launch knows what launchers tell the processes that they start, by the environment: which of how
// many a process is, and where the processes meet.
package launch

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// A Launch is what a process was told.
type Launch struct {
	By         string // who started it: "torchrun"
	Rank, Size int
	Meet       string // host and port of the store; "" if MPI is how they meet
	Served     bool   // the launcher serves the store; otherwise rank 0 does
	Run        string // name of the run and of the attempt: other ones may use the same store
	Attempt    int    // how often the launcher has started the processes again
	Here       bool   // all processes are on this machine
}

// Own is who starts processes by ranks.Start.
const Own = "mcs"

// A contract is the names of the variables that a launcher sets.
type contract struct {
	by, rank, size string
	local          string // how many of them are on this machine
	// meet is where the processes meet; nil: MPI knows.
	meet func(env func(string) string) (string, error)
}

// contracts are looked for in this order: a process of torchrun may run within a job of Slurm.
var contracts = []contract{
	{Own, "MCS_RANK", "MCS_WORLD_SIZE", "MCS_WORLD_SIZE", master("MCS_MASTER_ADDR", "MCS_MASTER_PORT")},
	{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", master("MASTER_ADDR", "MASTER_PORT")},
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "", nil},
	{"MPICH", "PMI_RANK", "PMI_SIZE", "", nil},
	// SLURM_NTASKS is there in a script of sbatch, too, which is one process.
	{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", slurm},
	// These are torchrun's options by the environment, for each machine.
	{"Kubeflow", "PET_NODE_RANK", "PET_NNODES", "", master("PET_MASTER_ADDR", "PET_MASTER_PORT")},
}

// Find returns what the environment says; ok is false if no launcher started the process, or one that starts
// no more than it. An environment that says only a part is an error that names what is missing.
func Find(env func(string) string) (l Launch, ok bool, err error) {
	for _, c := range contracts {
		rank, size := env(c.rank), env(c.size)
		if size == "" && (rank == "" || c.by == "Slurm") {
			continue
		}
		wrong := func(format string, args ...any) (Launch, bool, error) {
			return Launch{}, false, fmt.Errorf("launch: %s: %s", c.by, fmt.Sprintf(format, args...))
		}
		for name, value := range map[string]string{c.rank: rank, c.size: size} {
			if value == "" {
				return wrong("%s is missing: a launcher sets %s and %s, a process alone has neither", name, c.rank, c.size)
			}
		}
		l = Launch{By: c.by, Served: c.by == "torchrun" && env("TORCHELASTIC_USE_AGENT_STORE") == "True", Attempt: Attempt(env)}
		if c.by != Own {
			l.Run = fmt.Sprintf("mcs/%s/%d/", env("TORCHELASTIC_RUN_ID"), l.Attempt)
		}
		if l.Size, err = strconv.Atoi(size); err != nil || l.Size < 1 {
			return wrong("got %s=%q, want a number from 1", c.size, size)
		}
		if l.Rank, err = strconv.Atoi(rank); err != nil || l.Rank < 0 || l.Rank >= l.Size {
			return wrong("got %s=%q, want a number below %d, which %s is", c.rank, rank, l.Size, c.size)
		}
		if each := env("PET_NPROC_PER_NODE"); c.by == "Kubeflow" && each != "" && each != "1" {
			return wrong("PET_NPROC_PER_NODE is %s: start mcs with torchrun --no-python, which starts so many", each)
		}
		if l.Size == 1 {
			return Launch{}, false, nil
		}
		if c.meet != nil {
			if l.Meet, err = c.meet(env); err != nil {
				return wrong("%v", err)
			}
			l.here(env(c.local) == size)
		}
		return l, true, nil
	}
	return Launch{}, false, nil
}

// here notes whether all processes are on this machine, and where they then meet.
func (l *Launch) here(all bool) {
	host, port, _ := net.SplitHostPort(l.Meet)
	ip := net.ParseIP(host)
	switch {
	case all || host == "localhost":
		l.Here, l.Meet = true, net.JoinHostPort("127.0.0.1", port)
	case ip != nil:
		l.Here = ip.IsLoopback()
	}
}

// Attempt is how often a launcher has started the processes again, of which this is one.
func Attempt(env func(string) string) int {
	n, _ := strconv.Atoi(env("TORCHELASTIC_RESTART_COUNT"))
	return n
}

// master is where the processes meet by two variables.
func master(host, port string) func(env func(string) string) (string, error) {
	return func(env func(string) string) (string, error) {
		for _, name := range []string{host, port} {
			if env(name) == "" {
				return "", fmt.Errorf("%s is missing", name)
			}
		}
		if n, err := strconv.Atoi(env(port)); err != nil || n < 1 || n > 65535 {
			return "", fmt.Errorf("got %s=%q, want a port", port, env(port))
		}
		return net.JoinHostPort(env(host), env(port)), nil
	}
}

// slurm is the first machine of a step, and a port that the number of the job chooses. MASTER_ADDR and
// MASTER_PORT, which scripts set for PyTorch, go first.
func slurm(env func(string) string) (string, error) {
	host, port := env("MASTER_ADDR"), env("MASTER_PORT")
	if host == "" {
		if host = firstHost(env("SLURM_STEP_NODELIST")); host == "" {
			return "", fmt.Errorf("got SLURM_STEP_NODELIST=%q, want names of machines", env("SLURM_STEP_NODELIST"))
		}
	}
	if port == "" {
		const first, ports = 15000, 15000
		job, err := strconv.Atoi(env("SLURM_JOB_ID"))
		if err != nil {
			return "", fmt.Errorf("got SLURM_JOB_ID=%q, want a number", env("SLURM_JOB_ID"))
		}
		port = strconv.Itoa(first + job%ports)
	}
	return net.JoinHostPort(host, port), nil
}

// firstHost is the first name of a list as Slurm writes it: node7 of "node[7-9,12],gpu3".
func firstHost(list string) string {
	name, rest, ranges := strings.Cut(list, "[")
	if comma := strings.IndexByte(name, ','); comma >= 0 || !ranges {
		return strings.Split(list, ",")[0]
	}
	numbers, after, _ := strings.Cut(rest, "]")
	after, _, _ = strings.Cut(after, ",")
	first, _, _ := strings.Cut(numbers, ",")
	first, _, _ = strings.Cut(first, "-")
	return name + first + after
}
