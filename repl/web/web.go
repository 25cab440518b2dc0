// Package web is the notebook as a page: a server on the loopback address that a browser shows. It runs cells
// with package runner, as the kernel of Jupyter does, and keeps the notebook itself, so a page that is
// closed, or loses its connection in the middle of a training, shows all of it when it comes back.
//
// The browser posts what a person does, and reads one stream of server-sent events
// (html.spec.whatwg.org/multipage/server-sent-events.html). A WebSocket would carry both in one connection,
// and need a library, a protocol for lost messages and checks of its own; a stream is answered by the same
// router, under the same guard, and browsers connect it again by themselves.
//
// Reading order: web.go, guard.go (who may ask), routes.go (what can be asked), book.go (the notebook and its
// file), running.go (cells and what they put out), events.go, talk.go (the notebook presented). The page is
// written by hand in assets; its editor is bundled by assets/build.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/mcs-notebook/mcs/internal/local"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/runner"
	"github.com/mcs-notebook/mcs/repl/term"
)

// Options configure the server of a notebook.
type Options struct {
	runner.Options
	// Path is the notebook's file, .mcs or .ipynb; it is made by the first save if it does not exist.
	Path string
	// Dir is the folder of locks and of changes that were not saved.
	Dir string
	// Port is the server's; 0 is a free one.
	Port int
	// Variables lists those of the session. It is called while no cell runs.
	Variables func() (display.Value, error)
	// Follow names the notebook to which the session has led since it was asked last, if it has, and how many
	// of its cells run at once, as they were run before. It is asked at the start, in place of Path, and
	// after each cell; the notebook is saved then, too. nil: the person saves.
	Follow func() (path string, ran int, ok bool)
	// Notice is shown above the notebook at first, or empty.
	Notice string
	// Log gets what a person should know: the page's address, and what was kept.
	Log io.Writer
	// Present has the notebook presented, and Replay its recorded outputs shown in the place of running it.
	Present, Replay bool
	// Screen shows the talk beside the pages until the person leaves, which ends the server; nil: pages only.
	Screen func(ctx context.Context, address string, d term.Deck) error
}

// A server serves one notebook.
type server struct {
	o      Options
	guard  *guard
	runner *runner.Runner
	book   *book
	talk   talk
	wake   chan struct{} // there is work, for the goroutine that runs cells

	work sync.Mutex // held while the session is used

	mu      sync.Mutex           // guards what follows, the book and the order of events
	pages   map[chan []byte]bool // which get all events
	waiting []job
	running string      // the cell that runs, or ""
	names   string      // the table of variables
	asks    chan string // takes the line that the cell waits for; nil: it waits for none
}

// Run serves a notebook until ctx ends. Changes that were not saved are then kept beside the locks.
func Run(ctx context.Context, o Options) error {
	ran := 0
	if o.Follow != nil {
		o.Path, ran, _ = o.Follow()
	}
	b, err := open(o.Path, o.Dir)
	if err != nil {
		return err
	}
	b.notice = cmp.Or(b.notice, o.Notice)
	l, err := local.Listen(local.Loopback, o.Port)
	if err != nil {
		b.close()
		return err
	}
	s := newServer(o, b, l.Addr().(*net.TCPAddr).Port)
	defer func() { s.book.close() }()
	if o.Present {
		if err := s.present(o.Replay); err != nil {
			l.Close()
			return err
		}
	}
	s.queue(ran)
	if s.runner, err = runner.New(o.Options); err != nil {
		l.Close()
		return err
	}
	if b.notice != "" {
		fmt.Fprintln(o.Log, visible.Line(b.notice))
	}
	switch {
	case o.Screen != nil:
		return s.beside(ctx, l)
	case o.Present:
		fmt.Fprintf(o.Log, "%s is presented at %s\nThe speaker's page is %s\n", visible.Line(b.path), s.guard.address("present"), s.guard.address("speaker"))
	default:
		fmt.Fprintf(o.Log, "%s is at %s\n", visible.Line(b.path), s.guard.address(""))
	}
	fmt.Fprintln(o.Log, "Ctrl-C ends it. Who has this address can run programs as you: it is for this machine only.")
	return s.serve(ctx, l)
}

// beside serves the pages while the terminal shows the talk.
func (s *server) beside(ctx context.Context, l net.Listener) error {
	s.talk.wake = make(chan struct{}, 1)
	ctx, leave := context.WithCancel(ctx)
	shown := make(chan error, 1)
	go func() {
		defer leave()
		shown <- s.o.Screen(ctx, s.guard.address("speaker"), deck{s})
	}()
	err := s.serve(ctx, l)
	leave()
	return errors.Join(<-shown, err)
}

func newServer(o Options, b *book, port int) *server {
	return &server{o: o, guard: newGuard(port), book: b, wake: make(chan struct{}, 1), pages: map[chan []byte]bool{}}
}

func (s *server) serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.HandleFunc(r.pattern, r.answer)
	}
	h := &http.Server{Handler: s.guard.protect(mux)}
	ended, err := local.Serve(ctx, l, h, s.runCells)
	s.mu.Lock()
	_, _ = s.book.keep() // again below, with the outputs; a signal may leave no time for them
	s.mu.Unlock()
	s.runner.End(ended)
	h.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if where, kept := s.book.keep(); kept != nil {
		return kept
	} else if where != "" {
		fmt.Fprintf(s.o.Log, "not saved: changes of %s. The next mcs web of it shows them; they are in %s\n", visible.Line(s.book.path), visible.Line(where))
	}
	return err
}
