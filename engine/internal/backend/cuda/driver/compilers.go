package driver

import (
	"context"
	"encoding/gob"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// compilers are processes that compile: this program again, which serves at the variable serving. There are
// three reasons. NVRTC compiles one text at a time in a process. It cannot be stopped. And while it works its
// own handlers of signals are installed, which do not run on the signal stack: a Ctrl-C would end a Go
// program with a fatal error.
//
// The zero value is ready. A process that was idle for a while ends.
type compilers struct {
	mu    sync.Mutex
	idle  []*server
	room  chan struct{} // one element for each process that works
	timer *time.Timer
}

// idle processes end after so long.
const compilersIdle = 5 * time.Second

// A server is a process that compiles one text after the other.
type server struct {
	process *exec.Cmd
	jobs    io.WriteCloser
	to      *gob.Encoder
	from    *gob.Decoder
}

// do gives a job to a process that is idle, or to a new one while there are fewer than processors. Where no
// process can be started, a sandbox may forbid it, it compiles in this one.
func (p *compilers) do(ctx context.Context, j *job) (*compiled, error) {
	p.mu.Lock()
	if p.room == nil {
		p.room = make(chan struct{}, max(2, runtime.NumCPU()))
	}
	p.mu.Unlock()
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-p.room }()
	s, err := p.take()
	if err != nil {
		return here(j), nil
	}
	stop := context.AfterFunc(ctx, func() { s.process.Process.Kill() })
	c := &compiled{}
	if err = s.to.Encode(j); err == nil {
		err = s.from.Decode(c)
	}
	if !stop() {
		s.end()
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, gpu.Errorf(gpu.Failed, "cuda", "compile", "%s: the process that compiles has ended: %v", j.Name, s.end())
	}
	p.keep(s)
	return c, nil
}

// take returns an idle process, or a new one.
func (p *compilers) take() (*server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return s, nil
	}
	return startServer()
}

// keep makes a process idle.
func (p *compilers) keep(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(compilersIdle, p.close)
}

// close ends the processes that are idle.
func (p *compilers) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, s := range idle {
		s.end()
	}
}

// serving is set in the environment of a process that compiles.
const serving = "MCS_COMPILES"

func startServer() (*server, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{process: exec.Command(path)}
	s.process.Env = append(os.Environ(), serving+"=1")
	s.process.SysProcAttr = apart()
	if s.jobs, err = s.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	s.to, s.from = gob.NewEncoder(s.jobs), gob.NewDecoder(out)
	return s, nil
}

// end ends the process, and says how it ended.
func (s *server) end() error {
	s.jobs.Close()
	return s.process.Wait()
}

// A process that is started to compile does so before any main function runs.
func init() {
	if os.Getenv(serving) != "" {
		out := os.Stdout
		os.Stdout = os.Stderr // what other packages print while they are set up
		serve(os.Stdin, out)
		os.Exit(0)
	}
}

// serve compiles until there are no more jobs.
func serve(in io.Reader, out io.Writer) {
	from, to := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		var j job
		if from.Decode(&j) != nil || to.Encode(here(&j)) != nil {
			return
		}
	}
}

// here compiles in this process. The library is open after the first time.
func here(j *job) *compiled {
	c := &compiler{}
	library, err := ccall.Open(j.Library)
	if err == nil {
		err = c.use(library)
	}
	if err != nil {
		return &compiled{Op: "nvrtc", Text: err.Error()}
	}
	return c.run(j)
}
