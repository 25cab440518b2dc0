package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// maxBehind is how many events a page may be behind. One that is further behind is disconnected; it comes
// back by itself and gets the whole notebook.
const maxBehind = 512

// heartbeat is how often a quiet stream says that it is alive.
const heartbeat = 15 * time.Second

// An event is what happens in a notebook: its kind and what belongs to it.
type event struct {
	Kind     string `json:"kind"`
	Cell     string `json:"cell,omitempty"`
	At       int    `json:"at"` // which of the cell's outputs
	HTML     string `json:"html,omitempty"`
	Text     string `json:"text,omitempty"`
	State    string `json:"state,omitempty"` // of a cell: "", "waiting" or "running"
	Count    int    `json:"count,omitempty"`
	Took     string `json:"took,omitempty"`
	Client   string `json:"client,omitempty"` // the page that has made the change
	Revision int    `json:"revision"`
	Book     *view  `json:"book,omitempty"`
}

// send gives an event to all pages. The caller holds mu.
func (s *server) send(e event) {
	text, err := json.Marshal(e)
	if err != nil {
		return // strings and numbers can be encoded
	}
	select {
	case s.talk.wake <- struct{}{}:
	default:
	}
	for page := range s.pages {
		select {
		case page <- text:
		default:
			delete(s.pages, page)
			close(page)
		}
	}
}

// stream is a page's: first the whole notebook, then what happens.
func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	page := make(chan []byte, maxBehind)
	s.mu.Lock()
	text, err := json.Marshal(event{Kind: "book", Book: s.view(), Revision: s.book.revision})
	s.pages[page] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pages, page)
	}()
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for err == nil {
		if _, err = fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
			return
		}
		err = c.Flush()
		var ok bool
		select {
		case <-r.Context().Done():
			return
		case text, ok = <-page:
			if !ok {
				return
			}
		case <-alive.C:
			text = []byte(`{"kind":"alive"}`)
		}
	}
}
