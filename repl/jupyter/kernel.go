// Package jupyter is the notebook as a Jupyter kernel: clients type cells, it runs them in a session and
// sends what they show. It speaks the messaging protocol 5.4
// (jupyter-client.readthedocs.io/en/stable/messaging.html) on sockets of package zmtp.
//
// One goroutine answers the shell channel, in order, so that a cell runs while the next ones wait; another
// answers the control channel, which interrupts it. Package runner runs cells and makes messages of what they
// print and show. Reading order: connection.go, message.go, kernel.go, execute.go, ask.go; spec.go installs a
// kernel.
package jupyter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcs-notebook/mcs/repl/jupyter/zmtp"
	"github.com/mcs-notebook/mcs/repl/runner"
)

// Options configure a kernel.
type Options struct {
	runner.Options
	// Version is that of mcs, Banner what a console shows first.
	Version, Banner string
	// Log gets lines about clients that are refused.
	Log io.Writer
	// Ready is called when the sockets are bound, and ports that were 0 are known; nil: nobody asks.
	Ready func()
}

// lastWords is the time for clients to read what the kernel has sent last.
const lastWords = time.Second

// A kernel serves the clients of one connection.
type kernel struct {
	o       Options
	sockets [channelCount]*zmtp.Socket
	signer  *signer
	runner  *runner.Runner
	past    past
	leave   context.CancelFunc
}

// Run serves clients until one shuts the kernel down, its parent goes, or ctx ends. An interrupt (SIGINT)
// stops the cell that runs, as a client's request does.
func Run(ctx context.Context, c *Connection, o Options) error {
	ctx, leave := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer leave()
	k := &kernel{o: o, signer: newSigner(c.Key), leave: leave}
	welcome := func(topic string) [][]byte {
		return withTopic("iopub_welcome", k.signer.write("iopub_welcome", nil, map[string]any{"subscription": topic}))
	}
	var err error
	if k.sockets, err = c.listen(zmtp.Options{Subscribed: welcome, Log: k.log}); err != nil {
		return err
	}
	defer k.close()
	if k.runner, err = runner.New(o.Options); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	go k.watch(ctx, signals)
	go k.serve(ctx, k.sockets[control], controls())
	if o.Ready != nil {
		o.Ready()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.serve(ctx, k.sockets[shell], shells())
	}()
	<-ctx.Done()
	k.runner.End(ended)
	return nil
}

// close ends the sockets.
func (k *kernel) close() {
	var all sync.WaitGroup
	for _, s := range k.sockets {
		all.Go(func() { s.Close(lastWords) })
	}
	all.Wait()
}

func (k *kernel) log(err error) {
	if k.o.Log != nil {
		fmt.Fprintln(k.o.Log, "mcs:", strings.ReplaceAll(err.Error(), "\n", " "))
	}
}

// watch interrupts cells for signals, and ends the kernel when the process that has started it is gone: a
// client says in JPY_PARENT_PID that it wants that.
func (k *kernel) watch(ctx context.Context, signals <-chan os.Signal) {
	parent := os.Getppid()
	if os.Getenv("JPY_PARENT_PID") != fmt.Sprint(parent) || runtime.GOOS == "windows" {
		parent = 0
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			k.runner.Interrupt()
		case <-time.After(time.Second):
			if parent != 0 && os.Getppid() != parent {
				k.leave()
			}
		}
	}
}

// maxWaiting is how many messages of a channel wait; more wait at their clients.
const maxWaiting = 1024

// serve answers the messages of a channel until ctx ends.
func (k *kernel) serve(ctx context.Context, s *zmtp.Socket, answers map[string]answer) {
	waiting := make(chan zmtp.Message, maxWaiting)
	afterFailure := maps.Clone(answers) // no cell runs
	afterFailure["execute_request"] = aborted
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case received := <-s.Messages():
				waiting <- received
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case received := <-waiting:
			for _, behind := range k.answer(ctx, s, waiting, received, answers) {
				k.answer(ctx, s, nil, behind, afterFailure)
			}
		}
	}
}

func (k *kernel) read(received zmtp.Message) *message {
	m, err := k.signer.read(received.From, received.Frames)
	if err != nil {
		k.log(err)
		return nil
	}
	return m
}

// An answer does what a message asks for, and returns the content of the reply; nil: there is none.
type answer func(k *kernel, ctx context.Context, m *message) any

// failed is the content of the reply to a message that cannot be answered.
func failed(name string, err error) map[string]any {
	return map[string]any{"status": "error", "ename": name, "evalue": err.Error(), "traceback": []string{}}
}

// answer answers one message: busy, the work, the reply, idle. It returns messages that were sent before the
// client could know that a cell has failed, whose cells are not to run.
func (k *kernel) answer(ctx context.Context, s *zmtp.Socket, waiting <-chan zmtp.Message, received zmtp.Message, answers map[string]answer) (behind []zmtp.Message) {
	m := k.read(received)
	if m == nil {
		return nil
	}
	if m.header.Type == "shutdown_request" {
		defer k.leave()
	}
	if m.header.Type == "execute_request" {
		within, end := k.runner.Begin(ctx)
		defer end()
		ctx = within
	}
	k.status(m, "busy")
	defer k.status(m, "idle")
	do := answers[m.header.Type]
	if do == nil {
		k.log(fmt.Errorf("message: got type %q, which is none that a kernel answers here", m.header.Type))
		return nil
	}
	reply := do(k, ctx, m)
	if reply == nil {
		return nil
	}
	if e, ok := reply.(*executed); ok && e.Status == "error" && e.aborts {
		behind = sent(waiting)
	}
	if m.header.Type == "shutdown_request" {
		k.publish("shutdown_reply", m, reply)
	}
	s.Send(m.from, k.signer.write(strings.TrimSuffix(m.header.Type, "_request")+"_reply", m, reply))
	return behind
}

// abortWait is the time for messages to arrive that a client has sent before it knows that a cell has failed:
// one that runs all cells sends them at once.
const abortWait = 20 * time.Millisecond

// sent returns the messages that were sent before a reply that is to come.
func sent(waiting <-chan zmtp.Message) (list []zmtp.Message) {
	time.Sleep(abortWait)
	for {
		select {
		case received := <-waiting:
			list = append(list, received)
		default:
			return list
		}
	}
}

// aborted answers a request to run a cell that waited behind one that has failed.
func aborted(k *kernel, _ context.Context, _ *message) any {
	return map[string]any{"status": "aborted", "execution_count": k.runner.Next() - 1}
}

func (k *kernel) status(m *message, state string) {
	k.runner.Flush()
	k.publish("status", m, map[string]any{"execution_state": state})
}

// publish sends a message to all clients.
func (k *kernel) publish(kind string, parent *message, content any) {
	k.sockets[iopub].Publish(withTopic("kernel."+kind, k.signer.write(kind, parent, content)))
}

// withTopic puts a message's topic before it.
func withTopic(topic string, frames [][]byte) [][]byte {
	return append([][]byte{[]byte(topic)}, frames...)
}

// decode reads the content of a message. What is missing keeps its value.
func decode(m *message, content any) error {
	if err := json.Unmarshal(m.content, content); err != nil {
		return fmt.Errorf("%s: content: %w", m.header.Type, err)
	}
	return nil
}
