package ranks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/internal/testing/torchrun"
)

// children are processes of the test that are to do something, and what they say.
func children(size int, what string) ([]*exec.Cmd, *bytes.Buffer) {
	said := &bytes.Buffer{}
	commands := make([]*exec.Cmd, size)
	w := &locked{w: said}
	for i := range commands {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), child+"="+what)
		c.Stdout, c.Stderr = w, w
		commands[i] = c
	}
	return commands, said
}

// locked is a buffer for several.
type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func TestStart(t *testing.T) {
	for _, size := range []int{2, 3} {
		commands, said := children(size, "use")
		if err := ranks.Start(commands, nil); err != nil || !strings.Contains(said.String(), fmt.Sprintf("all is well on %d ranks by TCP", size)) {
			t.Errorf("%d ranks: %v\n%s", size, err, said)
		}
	}
	for _, c := range []struct{ what, err, said string }{
		{"hang", "exit status 1", "child: the disk is gone"},
		{"die", "rank 1: signal: killed", "child: rank 1: its process has ended: EOF"},
		{"stay away", "rank 1: exit status 3", ": rank 1: exit status 3"},
	} {
		commands, said := children(3, c.what)
		began := time.Now()
		err := ranks.Start(commands, nil)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.HasSuffix(err.Error(), c.err) || !strings.Contains(said.String(), c.said) {
			t.Errorf("%s: got %v, want %s\n%s", c.what, err, c.err, said)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: took %v", c.what, took)
		}
	}
	t.Setenv("RANK", "0")
	t.Setenv("WORLD_SIZE", "2")
	t.Setenv("MASTER_ADDR", "localhost")
	t.Setenv("MASTER_PORT", "1")
	if err := ranks.Start(nil, nil); err == nil || !strings.Contains(err.Error(), "in a process that torchrun has started as one of 2, want one way of the two") {
		t.Errorf("got %v", err)
	}
}

// A port that another program has.
func TestTakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for name, value := range map[string]string{"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": port} {
		t.Setenv(name, value)
	}
	_, err = ranks.Join(t.Context())
	if want := "it is where all ranks meet: choose another port"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ":"+port) {
		t.Errorf("got %v, want %s", err, want)
	}
	t.Setenv("RANK", "1") // somebody is there, but not a rank
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("waited for a second"))
	defer cancel()
	go func() {
		for {
			c, err := taken.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, strings.Repeat("HTTP/1.1 400 Bad Request\r\n", 9))
			c.Close()
		}
	}()
	_, err = ranks.Join(ctx)
	if want := "waited for a second"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "no meeting of 2 ranks") {
		t.Errorf("got %v, want %s", err, want)
	}
}

// underTorchrun is a command of the torchrun of the Python that PYTHON names.
func underTorchrun(t *testing.T, args ...string) *exec.Cmd {
	command := append(torchrun.Command(t), args...)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, command[0], command[1:]...)
}

func TestTorchrun(t *testing.T) {
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return port
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	static, c10d := free(), free()
	for _, c := range []struct {
		name   string
		agents [][]string
		env    string
		ranks  int
	}{
		{"standalone", [][]string{{"--standalone", "--nproc-per-node", "4"}}, "", 4},
		{"without its store", [][]string{{"--standalone", "--nproc-per-node", "2"}}, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1", 2},
		{"static, two machines", [][]string{{"--nnodes", "2", "--node-rank", "0", "--master-addr", "localhost", "--master-port", static}, {"--nnodes", "2", "--node-rank", "1", "--master-addr", "localhost", "--master-port", static}}, "", 2},
		{"c10d, two machines", [][]string{{"--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", host + ":" + c10d, "--nproc-per-node", "2", "--rdzv-id", "j1"}, {"--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", host + ":" + c10d, "--nproc-per-node", "2", "--rdzv-id", "j1"}}, "", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := &locked{w: &bytes.Buffer{}}
			var all sync.WaitGroup
			errs := make([]error, len(c.agents))
			for i, args := range c.agents {
				cmd := underTorchrun(t, append(args, os.Args[0])...)
				cmd.Env = append(os.Environ(), child+"=use", c.env)
				cmd.Stdout, cmd.Stderr = out, out
				all.Go(func() { errs[i] = cmd.Run() })
			}
			all.Wait()
			if want := fmt.Sprintf("all is well on %d ranks by TCP", c.ranks); errors.Join(errs...) != nil || !strings.Contains(out.w.String(), want) {
				t.Errorf("got %v, want %s\n%s", errs, want, out.w)
			}
		})
	}
}
