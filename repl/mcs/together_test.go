//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/torchrun"
)

// A shared is a job of 24 steps of four batches, and what one process has made of it.
type shared struct{ adapter, params, optimizer string }

// oneProcess trains once for all tests of this file.
var oneProcess = sync.OnceValues(func() (shared, error) {
	dir, err := os.MkdirTemp("", "mcs")
	if err != nil {
		return shared{}, err
	}
	defer os.RemoveAll(dir)
	if err := sharedJob(dir); err != nil {
		return shared{}, err
	}
	c := exec.Command(os.Args[0], "train", "job.toml")
	c.Dir, c.Env = dir, append(os.Environ(), beCommand+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		return shared{}, fmt.Errorf("%w\n%s", err, out)
	}
	return sharedIn(dir)
})

func sharedJob(dir string) error {
	var records strings.Builder
	for i := range 40 {
		fmt.Fprintf(&records, `{"prompt": "what is %d + 1? ", "completion": "%d"}`+"\n", i, i+1)
	}
	job := strings.NewReplacer("steps = 60", "steps = 24\naccumulate = 4", "every = 5", "every = 4").Replace(tuningJob)
	return errors.Join(os.WriteFile(filepath.Join(dir, "train.jsonl"), []byte(records.String()), 0o666),
		os.WriteFile(filepath.Join(dir, "other.jsonl"), []byte(strings.ReplaceAll(records.String(), "+ 1", "+ 2")), 0o666),
		os.WriteFile(filepath.Join(dir, "job.toml"), []byte(job), 0o666))
}

func sharedIn(dir string) (shared, error) {
	var s shared
	var errs []error
	for name, to := range map[string]*string{"adapter/adapter_model.safetensors": &s.adapter, "checkpoints/step-00000024/params.safetensors": &s.params, "checkpoints/step-00000024/optimizer.safetensors": &s.optimizer} {
		text, err := os.ReadFile(filepath.Join(dir, "out", name))
		errs = append(errs, err)
		*to = string(text)
	}
	return s, errors.Join(errs...)
}

// A launched is a launcher with its ranks, in a folder with the job.
type launched struct {
	*exec.Cmd
	dir  string
	said bytes.Buffer
	done chan error
}

// launcher starts a program beside a new job, or in the folder of one.
func launcher(t *testing.T, dir string, name string, args ...string) *launched {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
		if err := sharedJob(dir); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	s := &launched{Cmd: exec.CommandContext(ctx, name, args...), dir: dir, done: make(chan error, 1)}
	s.Dir, s.Env = dir, append(os.Environ(), beCommand+"=1", "MCS="+os.Args[0])
	s.Stdout, s.Stderr = &s.said, &s.said
	s.WaitDelay = 30 * time.Second
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.Wait() }()
	return s
}

// saves waits until the job has saved so many steps.
func (s *launched) saves(t *testing.T, step int) {
	t.Helper()
	for {
		if _, err := os.Stat(filepath.Join(s.dir, "out", "checkpoints", fmt.Sprintf("step-%08d", step))); err == nil {
			return
		}
		select {
		case err := <-s.done:
			t.Fatalf("ended before step %d: %v\n%s", step, err, &s.said)
		case <-time.After(time.Millisecond):
		}
	}
}

// ends waits for the end, for longer than the others may take when one rank has failed, and checks the exit
// code and what was said once.
func (s *launched) ends(t *testing.T, code int, once ...string) {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		t.Fatalf("still there after a minute\n%s", &s.said)
	}
	s.tells(t, code, once...)
}

func (s *launched) tells(t *testing.T, code int, once ...string) {
	t.Helper()
	if got := s.ProcessState.ExitCode(); got != code {
		t.Errorf("got exit code %d, want %d\n%s", got, code, &s.said)
	}
	for _, text := range once {
		if n := strings.Count(s.said.String(), text); n != 1 {
			t.Errorf("got %d times %q, want it once\n%s", n, text, &s.said)
		}
	}
}

// same runs a launcher to its end, and checks that it leaves what one process makes.
func (s *launched) same(t *testing.T, once ...string) {
	t.Helper()
	<-s.done
	s.tells(t, 0, once...)
	want, err := oneProcess()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sharedIn(s.dir); err != nil || got != want {
		t.Errorf("wrote something else than one process: %v\n%s", err, &s.said)
	}
}

// rank is the process of a rank that descends from the launcher.
func (s *launched) rank(t *testing.T, variable string, rank int) *os.Process {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc of Linux, where the processes of a launcher are found by their environment")
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(file), "cwd"))
		if err == nil && cwd == s.dir && strings.Contains("\x00"+string(text), fmt.Sprintf("\x00%s=%d\x00", variable, rank)) {
			var pid int
			if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err != nil {
				t.Fatal(err)
			}
			p, err := os.FindProcess(pid)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("no process with %s=%d in %s\n%s", variable, rank, s.dir, &s.said)
	return nil
}

func signalTo(t *testing.T, p *os.Process, s os.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// mcs train -n N leaves the files of one process, whatever happens on the way.
func TestTrainOfRanks(t *testing.T) {
	t.Parallel()
	self := os.Args[0]
	launcher(t, "", self, "train", "-n", "4", "job.toml", "-p", "model.shard=true").same(t, "its blocks in parts", "saved out/adapter")
	t.Run("killed", func(t *testing.T) {
		long.InCI(t, "trains in several processes")
		s := launcher(t, "", self, "train", "-n", "2", "job.toml")
		s.saves(t, 4)
		signalTo(t, s.rank(t, "MCS_RANK", 1), os.Kill)
		s.ends(t, 1, "mcs: rank 1: signal: killed")
		if strings.Contains(s.said.String(), "rank 0") {
			t.Errorf("got more words than those\n%s", &s.said)
		}
		launcher(t, s.dir, self, "train", "-n", "4", "job.toml", "--resume").same(t, "4 batches shared by 4 ranks by TCP")
	})
	t.Run("interrupted", func(t *testing.T) {
		s := launcher(t, "", self, "train", "-n", "2", "job.toml")
		s.saves(t, 4)
		signalTo(t, s.Process, os.Interrupt)
		s.ends(t, 130, "a checkpoint is saved")
		launcher(t, s.dir, self, "train", "job.toml", "--resume").same(t)
	})
	t.Run("stopped for a while", func(t *testing.T) {
		long.InCI(t, "waits for seconds")
		s := launcher(t, "", self, "train", "-n", "2", "job.toml")
		s.saves(t, 4)
		p := s.rank(t, "MCS_RANK", 1)
		signalTo(t, p, syscall.SIGSTOP)
		time.Sleep(2 * time.Second) // some signs of life
		signalTo(t, p, syscall.SIGCONT)
		s.same(t, "4 batches shared by 2 ranks by TCP", "saved out/adapter")
	})
	t.Run("left alone", func(t *testing.T) {
		long.InCI(t, "waits for seconds")
		s := launcher(t, "", self, "train", "-n", "2", "job.toml", "-p", "train.steps=100000")
		s.saves(t, 4)
		p := s.rank(t, "MCS_RANK", 0)
		signalTo(t, s.Process, os.Kill)
		<-s.done
		for began := time.Now(); p.Signal(syscall.Signal(0)) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatal("a rank outlives its launcher")
			}
		}
	})
	for _, c := range []struct{ args, says string }{
		{"train -n 8 job.toml", "train.accumulate: got steps of 4 batches for 8 ranks, want at least a batch for each: write accumulate = 8"},
		{"train -n 2 none.toml", "none.toml: "},
		{"train -n 0 job.toml", "mcs: got -n 0, want 1 to 256 processes"},
	} {
		launcher(t, "", self, strings.Fields(c.args)...).ends(t, 2, c.says)
	}
}

// torchrun starts mcs; its port is not ours to take.
func TestTorchrun(t *testing.T) {
	command := torchrun.Command(t)
	torchrun := func(t *testing.T, dir string, args ...string) *launched {
		return launcher(t, dir, command[0], slices.Concat(command[1:], args)...)
	}
	train := []string{os.Args[0], "train", "job.toml"}
	t.Run("killed and started again", func(t *testing.T) {
		s := torchrun(t, "", append([]string{"--standalone", "--nproc-per-node", "2", "--max-restarts", "1"}, train...)...)
		s.saves(t, 4)
		signalTo(t, s.rank(t, "RANK", 1), os.Kill)
		s.same(t, "rank 1: its process has ended: ")
	})
	t.Run("a second machine comes later", func(t *testing.T) {
		t.Setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1") // torchrun 2.15 itself hangs otherwise
		args := append([]string{"--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:" + freePort(t), "--rdzv-id", "j1", "--rdzv-conf", "last_call_timeout=1"}, append(train, "--resume")...)
		s := torchrun(t, "", args...)
		s.saves(t, 4)
		p := s.rank(t, "RANK", 0)
		signalTo(t, p, syscall.SIGSTOP) // until it is asked to end
		other := torchrun(t, s.dir, args...)
		for {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
			if err != nil {
				t.Fatal(err)
			}
			var pending uint64
			_, text, _ := strings.Cut(string(status), "ShdPnd:")
			if _, err := fmt.Sscanf(text, "%x", &pending); err != nil {
				t.Fatal(err)
			}
			if pending&(1<<(syscall.SIGTERM-1)) != 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		signalTo(t, p, syscall.SIGCONT)
		if err := <-other.done; err != nil {
			t.Errorf("the second: %v\n%s", err, &other.said)
		}
		<-s.done
		s.done <- nil
		if all := s.said.String() + other.said.String(); strings.Count(all, "4 batches shared by 2 ranks by TCP") != 1 {
			t.Errorf("want two ranks at the end\n%s", all)
		}
		s.same(t)
	})
	for _, c := range []struct{ name, env string }{
		{"trainjob.yaml", "PET_NNODES=1 PET_NPROC_PER_NODE=2 PET_NODE_RANK=0 PET_MASTER_ADDR=localhost PET_MASTER_PORT=PORT"},
		{"skypilot.yaml", "SKYPILOT_NUM_NODES=1 SKYPILOT_NUM_GPUS_PER_NODE=2 SKYPILOT_NODE_RANK=0 SKYPILOT_NODE_IPS=127.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) { // the commands of examples, as their launchers run them
			text, err := os.ReadFile(filepath.Join("..", "..", "examples", "cluster", c.name))
			if err != nil {
				t.Fatal(err)
			}
			port := freePort(t)
			for _, v := range strings.Fields(strings.ReplaceAll(c.env, "PORT", port)) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			dir := t.TempDir()
			t.Setenv("PATH", strings.Join([]string{dir, filepath.Dir(command[0]), os.Getenv("PATH")}, string(filepath.ListSeparator)))
			if err := errors.Join(sharedJob(dir), os.Symlink(os.Args[0], filepath.Join(dir, "mcs"))); err != nil {
				t.Fatal(err)
			}
			var file struct {
				Run  string
				Spec struct{ Trainer struct{ Command []string } }
			}
			if err := yaml.Unmarshal(text, &file); err != nil {
				t.Fatal(err)
			}
			script := strings.NewReplacer("8008", port, "/job/", "").Replace(file.Run + strings.Join(file.Spec.Trainer.Command, " "))
			launcher(t, dir, "sh", "-c", script).same(t, "4 batches shared by 2 ranks by TCP")
		})
	}
}

// freePort is a port of this machine that nobody has just now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// Two processes that are told by the environment who they are and where they meet, as torchrun's are.
func TestRanksByHand(t *testing.T) {
	t.Parallel()
	byHand := func(t *testing.T, args string) *launched {
		return launcher(t, "", "sh", "-c", `export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=`+freePort(t)+`
rank() { export RANK=$1; exec "$MCS" train job.toml `+args+`; }
(rank 1) & (rank 0); code=$?; wait; exit $code`)
	}
	t.Run("killed", func(t *testing.T) {
		s := byHand(t, "")
		s.saves(t, 4)
		signalTo(t, s.rank(t, "RANK", 0), os.Kill)
		s.ends(t, 128+int(syscall.SIGKILL), "rank 0: its process has ended: ")
	})
	for _, c := range []struct {
		name, args, says string
		code             int
	}{
		{"another setting", "-p train.clip=0.$RANK", `the clip: got 0.1 on rank 1, want "+Inf" as on rank 0`, 1},
		{"other data", "$([ $RANK = 0 ] || echo -p data.train=other.jsonl)", "the data: got ", 1},
		{"a file that only one has not", "$([ $RANK = 0 ] || echo -p data.train=none.jsonl)", "mcs: rank 1: ", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := byHand(t, c.args)
			s.ends(t, c.code, c.says)
			if _, err := os.Stat(filepath.Join(s.dir, "out", "adapter")); err == nil {
				t.Error("an adapter is there")
			}
		})
	}
}
