package library

import (
	"net/http"
	"sync"
	"sync/atomic"
)

// handlers are the handlers that cells have registered with http.Handle and http.HandleFunc. A cell that
// runs again registers the same patterns: the newest wins, where http.DefaultServeMux would panic.
type handlers struct {
	mu   sync.Mutex
	mux  *http.ServeMux
	list map[string]*atomic.Pointer[http.Handler]
}

func newHandlers() *handlers {
	return &handlers{mux: http.NewServeMux(), list: map[string]*atomic.Pointer[http.Handler]{}}
}

func (h *handlers) handle(pattern string, handler http.Handler) {
	if handler == nil {
		panic("http: nil handler")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.list[pattern]; now != nil {
		now.Store(&handler)
		return
	}
	current := new(atomic.Pointer[http.Handler])
	current.Store(&handler)
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) })
	h.list[pattern] = current
}

// registering returns the functions of package net/http that register handlers. A server without handlers
// of its own uses those of the session.
func (h *handlers) registering() map[string]any {
	http.DefaultServeMux = h.mux
	return map[string]any{
		"Handle": h.handle,
		"HandleFunc": func(pattern string, f func(http.ResponseWriter, *http.Request)) {
			h.handle(pattern, http.HandlerFunc(f))
		},
	}
}
