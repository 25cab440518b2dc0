package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// mux answers all that can be asked for.
func (s *server) mux() http.Handler {
	m := http.NewServeMux()
	for pattern, answer := range map[string]func(w http.ResponseWriter, r *http.Request) error{
		"GET /v1/models":            s.models,
		"GET /v1/models/{model...}": s.model,
		"POST /v1/chat/completions": s.completions(true),
		"POST /v1/completions":      s.completions(false),
		"POST /v1/embeddings":       s.embeddings,
	} {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := answer(w, r); err != nil {
				refuse(w, err)
			}
		})
	}
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &refusal{status: http.StatusNotFound, Type: invalid, Message: fmt.Sprintf("got %s %s, which is not served", r.Method, r.URL.Path)})
	})
	return m
}

const invalid = "invalid_request_error"

// A refusal is an error in OpenAI's form.
type refusal struct {
	status  int
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"`
	Code    any    `json:"code"`
}

func (r *refusal) Error() string { return r.Message }

// wrong refuses a parameter of a request.
func wrong(param, format string, args ...any) error {
	return &refusal{status: http.StatusBadRequest, Type: invalid, Param: param, Message: param + ": " + fmt.Sprintf(format, args...)}
}

// refused is any error as a refusal.
func refused(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	return &refusal{status: http.StatusInternalServerError, Type: "server_error", Message: err.Error()}
}

func refuse(w http.ResponseWriter, err error) {
	r := refused(err)
	if r.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	send(w, r.status, map[string]any{"error": r})
}

func send(w http.ResponseWriter, status int, reply any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(reply) // a lost connection fails the write
}

// read reads the body of a request.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var large *http.MaxBytesError
	var typed *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return &refusal{status: http.StatusRequestEntityTooLarge, Type: invalid, Message: fmt.Sprintf("got a request of more than %d bytes", large.Limit)}
	case errors.As(err, &typed) && typed.Field != "":
		return wrong(typed.Field, "got a %s, want %v", typed.Value, typed.Type)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if name, ok := strings.CutPrefix(text, "unknown field "); ok {
		return wrong(strings.Trim(name, `"`), "it is not known here")
	}
	return &refusal{status: http.StatusBadRequest, Type: invalid, Message: "got a body that is not the JSON of a request: " + text}
}

// A listed model is one of the list of models.
type listed struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *server) listed(name string) listed { return listed{name, "model", s.started.Unix(), "mcs"} }

func (s *server) models(w http.ResponseWriter, _ *http.Request) error {
	list := []listed{}
	for _, name := range s.names() {
		list = append(list, s.listed(name))
	}
	send(w, http.StatusOK, map[string]any{"object": "list", "data": list})
	return nil
}

func (s *server) model(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("model")
	if !slices.Contains(s.names(), name) {
		return noModel(name, s.names())
	}
	send(w, http.StatusOK, s.listed(name))
	return nil
}

// noModel refuses a model that is not among those that a route has.
func noModel(name string, of []string) error {
	return &refusal{status: http.StatusNotFound, Type: invalid, Param: "model", Code: "model_not_found",
		Message: fmt.Sprintf("model: got %q, want one of: %s", name, strings.Join(of, ", "))}
}
