// Package serve answers OpenAI's requests with a model of this machine: chat, completions, embeddings and
// models, as platform.openai.com/docs/api-reference describes them. One goroutine owns the model and lets the
// texts of all requests grow in one llm.Batch.
//
// Reading order: serve.go (who may ask), routes.go (what can be asked, and errors), question.go (what a
// request means), loop.go (texts grow), answer.go (what goes back), embeddings.go.
package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/embed"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/internal/local"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// Options configure a server.
type Options struct {
	Name     string     // that requests call the model by
	Model    *llm.Model // nil: none
	Adapters []Adapter  // of the model, each a model of its own to those who ask

	EmbedName string
	Embedder  *embed.Model // nil: none
	// Task gives the model for a task that a request names, to one request at a time; nil: there are no
	// tasks.
	Task func(task string) (*embed.Model, error)

	Host  string // the address to listen on
	Port  int    // 0: a free one
	Token string // that who asks has to know; "": none on the loopback address, a random one elsewhere

	Rows     int           // texts that grow at once; 0: 16
	Requests int           // texts that grow or wait, at most
	Tokens   int           // of an answer, at most
	Timeout  time.Duration // of a request; 0: none

	Log io.Writer // gets the address
}

// An Adapter is one of the model, under the name that requests call it by.
type Adapter struct {
	Name string
	*lora.Adapter
}

const (
	slowBody   = time.Minute
	lastMoment = 800 * time.Millisecond // for answers to say that they end
	maxBody    = 8 << 20
)

// A server serves a model.
type server struct {
	o        Options
	open     bool // no token is asked for
	started  time.Time
	waiting  chan *job
	taken    atomic.Int64    // texts that grow or wait
	inUse    chan struct{}   // held by who computes embeddings
	ended    <-chan struct{} // the server ends
	compiled compiled
	rows     []*lora.Adapter // that a row of a batch can have; nil for the model as it is
}

// Run serves until ctx ends. Answers in progress then end with an error that says so.
func Run(ctx context.Context, o Options) error {
	l, err := local.Listen(o.Host, o.Port)
	if err != nil {
		return err
	}
	s := newServer(ctx, o)
	fmt.Fprintf(o.Log, "%s: http://%s/v1\n", visible.Line(strings.Join(s.names(), ", ")), l.Addr())
	switch {
	case s.open:
		fmt.Fprintln(o.Log, "Programs of this machine can use it without a token. Ctrl-C ends it.")
	case o.Token == "":
		fmt.Fprintf(o.Log, "The token (API key) is %s. Ctrl-C ends it.\n", s.o.Token)
	default:
		fmt.Fprintln(o.Log, "Who asks needs the token (API key). Ctrl-C ends it.")
	}
	return s.serve(ctx, l)
}

func newServer(ctx context.Context, o Options) *server {
	s := &server{o: o, started: time.Now(), waiting: make(chan *job, o.Requests), inUse: make(chan struct{}, 1), ended: ctx.Done()}
	s.open = o.Token == "" && local.IsLoopback(o.Host)
	if o.Token == "" && !s.open {
		s.o.Token = rand.Text()
	}
	s.rows = []*lora.Adapter{nil}
	for _, a := range o.Adapters {
		s.rows = append(s.rows, a.Adapter)
	}
	return s
}

func (s *server) serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: s.guarded(s.mux()), ReadTimeout: slowBody}
	grown, err := local.Serve(ctx, l, h, s.grow)
	last, stop := context.WithTimeout(context.Background(), lastMoment)
	defer stop()
	if h.Shutdown(last) != nil {
		h.Close()
	}
	select {
	case <-grown: // a step may still use the model
	case <-last.Done():
	}
	return err
}

// names are those of all models.
func (s *server) names() []string {
	list := s.talkers()
	if s.o.Embedder != nil {
		list = append(list, s.o.EmbedName)
	}
	return list
}

// talkers are the names of the models that generate text.
func (s *server) talkers() (list []string) {
	if s.o.Model != nil {
		list = append(list, s.o.Name)
	}
	for _, a := range s.o.Adapters {
		list = append(list, a.Name)
	}
	return list
}

// guarded lets in who knows the token. Where none is asked for, the name of the host has to be this
// machine's, against pages whose name leads here (DNS rebinding), and no page of another server may ask: it
// would use the model for its own ends.
func (s *server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		origin := r.Header.Get("Origin")
		switch {
		case !s.open && !local.Same(key, s.o.Token):
			refuse(w, &refusal{status: http.StatusUnauthorized, Type: "authentication_error", Code: "invalid_api_key", Message: "got no token or a wrong one, want that of mcs serve as the API key"})
		case s.open && !local.IsLoopback(host):
			refuse(w, &refusal{status: http.StatusMisdirectedRequest, Type: invalid, Message: fmt.Sprintf("got host %q, want 127.0.0.1 or localhost; mcs serve --token lets others in", r.Host)})
		case s.open && origin != "" && origin != "http://"+r.Host:
			refuse(w, &refusal{status: http.StatusForbidden, Type: invalid, Message: "the request comes from a page of another server; mcs serve --token lets it in"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// whyEnded says why the context of a request is done.
func (s *server) whyEnded(ctx context.Context) error {
	select {
	case <-s.ended:
		return &refusal{status: http.StatusServiceUnavailable, Type: "server_error", Code: "stopped", Message: "the server was stopped"}
	default:
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &refusal{status: http.StatusGatewayTimeout, Type: "server_error", Code: "timeout", Message: "the answer took longer than mcs serve --timeout allows"}
	}
	return ctx.Err() // the client has left, and reads no answer
}
