package web

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"sync"

	"github.com/mcs-notebook/mcs/repl/notebook"
)

//go:embed assets/page.html assets/page.css assets/page.js assets/shared.js assets/editor.js
//go:embed assets/talk.html assets/talk.css assets/talk.js
var assets embed.FS

// A route is something that a page can ask for.
type route struct {
	pattern string
	answer  http.HandlerFunc
}

// routes are all there are: what is not here is not found.
func (s *server) routes() []route {
	return []route{
		{"GET /{$}", s.page}, {"GET /present", s.page}, {"GET /speaker", s.page},
		{"GET /page.css", asset}, {"GET /page.js", asset}, {"GET /shared.js", asset}, {"GET /editor.js", asset},
		{"GET /talk.css", asset}, {"GET /talk.js", asset},
		{"GET /events", s.stream},
		{"POST /edit", posted(s.edit)},
		{"POST /run", posted(s.run)},
		{"POST /interrupt", posted(s.interrupt)},
		{"POST /reset", posted(s.reset)},
		{"POST /input", posted(s.line)},
		{"POST /complete", posted(s.complete)},
		{"POST /inspect", posted(s.inspect)},
		{"POST /save", posted(s.save)},
		{"POST /show", posted(s.show)},
	}
}

type nonceKey struct{}

var pageTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(assets, "assets/page.html", "assets/talk.html"))
})

// pages are the addresses that a person opens, and what is there.
var pages = map[string]string{"/": "page.html", "/present": "talk.html", "/speaker": "talk.html"}

func isPage(path string) bool { return pages[path] != "" }

// page is a page. The nonce lets the editor add its style.
func (s *server) page(w http.ResponseWriter, r *http.Request) {
	nonce, _ := r.Context().Value(nonceKey{}).(string)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pageTemplates().ExecuteTemplate(w, pages[r.URL.Path], map[string]string{"Nonce": nonce, "Page": path.Base(r.URL.Path)}) // a lost connection fails the write
}

func asset(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, assets, path.Join("assets", path.Base(r.URL.Path)))
}

// maxPosted is how many bytes a page may post: a notebook with much text.
const maxPosted = 16 << 20

// A refusal is an error with the status of HTTP that a page tells it by.
type refusal struct {
	status int
	error
}

// posted answers what a page posts with a function of the request.
func posted[Request any](do func(Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request Request
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPosted)).Decode(&request)
		var reply any
		if err != nil {
			err = refusal{http.StatusBadRequest, fmt.Errorf("%s: %w", path.Base(r.URL.Path), err)}
		} else {
			reply, err = do(request)
		}
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			status := http.StatusInternalServerError
			if refused := (refusal{}); errors.As(err, &refused) {
				status = refused.status
			}
			w.WriteHeader(status)
			reply = map[string]string{"error": err.Error()}
		}
		_ = json.NewEncoder(w).Encode(reply) // a lost connection fails the write
	}
}

type nothing struct{}

// An edited notebook is what a page has made of a revision.
type edited struct {
	Client   string `json:"client"`
	Revision int    `json:"revision"`
	Cells    []edit `json:"cells"`
}

// edit takes the cells of a page. A page that has not seen the changes of another one is refused.
func (s *server) edit(e edited) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Revision != s.book.revision {
		return nil, refusal{http.StatusConflict, errors.New("the notebook was changed in another window")}
	}
	if err := s.book.change(e.Cells); err != nil {
		return nil, refusal{http.StatusBadRequest, err}
	}
	s.changed(e.Client)
	return map[string]int{"revision": s.book.revision}, nil
}

// changed tells all pages of the cells' new texts. The caller holds mu.
func (s *server) changed(client string) {
	s.book.revision++
	s.book.changes++
	s.send(event{Kind: "edited", Client: client, Revision: s.book.revision, Book: &view{Cells: s.book.cells(false)}})
	s.rouse()
}

// save writes the file.
func (s *server) save(request struct {
	Over bool `json:"over"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.talk.replay != "" {
		return nil, refusal{http.StatusConflict, errors.New("a replay changes no file")}
	}
	switch err := s.book.save(request.Over); {
	case errors.Is(err, errOthers):
		return nil, refusal{http.StatusConflict, err}
	case err != nil:
		return nil, err
	}
	s.send(event{Kind: "saved", Revision: s.book.revision})
	return nothing{}, nil
}

// A place is where the cursor is in a cell: between two parts of its text.
type place struct {
	Before string `json:"before"`
	After  string `json:"after"`
	All    bool   `json:"all"`
}

// busy is the answer while a cell runs: it may change what is asked for.
var busy = refusal{http.StatusLocked, errors.New("a cell runs: ask again when it has ended")}

// A choice is one way to go on.
type choice struct {
	Text   string `json:"text"`
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// complete lists ways to go on; each replaces what is typed already.
func (s *server) complete(p place) (any, error) {
	reply := struct {
		Typed string   `json:"typed"`
		List  []choice `json:"list"`
	}{List: []choice{}}
	if !s.work.TryLock() {
		return reply, nil
	}
	defer s.work.Unlock()
	from, list := s.runner.Complete(p.Before+p.After, len(p.Before))
	reply.Typed = p.Before[min(from, len(p.Before)):]
	for _, c := range list {
		reply.List = append(reply.List, choice{c.Text, c.Kind, c.Detail})
	}
	return reply, nil
}

func (s *server) inspect(p place) (any, error) {
	if !s.work.TryLock() {
		return nil, busy
	}
	defer s.work.Unlock()
	b := s.runner.Inspect(p.Before+p.After, len(p.Before), p.All)
	if b == nil {
		return map[string]string{"html": ""}, nil
	}
	return map[string]string{"html": fragment(notebook.Shown(b, 0))}, nil
}
