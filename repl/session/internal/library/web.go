package library

import (
	"net"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
)

// A web is what package net/http has for the process: the handlers of servers without handlers, and the
// client and the transport of requests that name none.
type web struct {
	// The variables http.DefaultServeMux, http.DefaultClient and http.DefaultTransport; cells may assign to
	// them.
	mux       *http.ServeMux
	client    *http.Client
	transport http.RoundTripper

	mu   sync.Mutex
	list map[route]*atomic.Pointer[http.Handler]
}

type route struct {
	mux     *http.ServeMux
	pattern string
}

func newWeb() *web {
	w := &web{mux: http.NewServeMux(), client: new(http.Client), transport: http.DefaultTransport, list: map[route]*atomic.Pointer[http.Handler]{}}
	if t, ok := w.transport.(*http.Transport); ok {
		w.transport = t.Clone()
	}
	return w
}

// handle registers a handler. A cell that runs again registers the same patterns: the newest wins, where
// package net/http would panic.
func (w *web) handle(pattern string, handler http.Handler) {
	if handler == nil {
		panic("http: nil handler")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := route{w.mux, pattern}
	if now := w.list[key]; now != nil {
		now.Store(&handler)
		return
	}
	current := new(atomic.Pointer[http.Handler])
	current.Store(&handler)
	w.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) })
	w.list[key] = current
}

// handler is h, or the handlers that were registered.
func (w *web) handler(h http.Handler) http.Handler {
	if h != nil {
		return h
	}
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) { w.mux.ServeHTTP(to, r) })
}

// complete is c with a transport.
func (w *web) complete(c *http.Client) *http.Client {
	if c.Transport != nil {
		return c
	}
	with := *c
	with.Transport = w.transport
	return &with
}

// http are the functions of package net/http that use the session's web, or wait.
func (lib *Library) http(symbols map[string]reflect.Value) map[string]any {
	w := lib.web()
	serve := func(srv *http.Server, f func() error) error {
		w.mu.Lock()
		srv.Handler = w.handler(srv.Handler)
		w.mu.Unlock()
		return one(lib, func() { _ = srv.Close() }, f) // so that its address can be used again
	}
	listen := func(srv *http.Server) error { return serve(srv, srv.ListenAndServe) }
	listenTLS := func(srv *http.Server, cert, key string) error {
		return serve(srv, func() error { return srv.ListenAndServeTLS(cert, key) })
	}
	accept := func(srv *http.Server, l net.Listener) error { return serve(srv, func() error { return srv.Serve(l) }) }
	acceptTLS := func(srv *http.Server, l net.Listener, cert, key string) error {
		return serve(srv, func() error { return srv.ServeTLS(l, cert, key) })
	}
	own := map[string]any{
		"DefaultServeMux": variable(&w.mux), "DefaultClient": variable(&w.client), "DefaultTransport": variable(&w.transport),
		"Handle": w.handle,
		"HandleFunc": func(pattern string, f func(http.ResponseWriter, *http.Request)) {
			w.handle(pattern, http.HandlerFunc(f))
		},

		"ListenAndServe": func(address string, h http.Handler) error { return listen(&http.Server{Addr: address, Handler: h}) },
		"ListenAndServeTLS": func(address, cert, key string, h http.Handler) error {
			return listenTLS(&http.Server{Addr: address, Handler: h}, cert, key)
		},
		"Serve": func(l net.Listener, h http.Handler) error { return accept(&http.Server{Handler: h}, l) },
		"ServeTLS": func(l net.Listener, h http.Handler, cert, key string) error {
			return acceptTLS(&http.Server{Handler: h}, l, cert, key)
		},
		"Server_ListenAndServe": listen, "Server_ListenAndServeTLS": listenTLS, "Server_Serve": accept, "Server_ServeTLS": acceptTLS,
	}
	for _, name := range []string{"Do", "Get", "Head", "Post", "PostForm", "CloseIdleConnections"} {
		m, _ := reflect.TypeFor[*http.Client]().MethodByName(name)
		do := func(c *http.Client, args []reflect.Value) []reflect.Value {
			return m.Func.Call(append([]reflect.Value{reflect.ValueOf(w.complete(c))}, args...))
		}
		own["Client_"+name] = lib.calls(reflect.MakeFunc(m.Type, func(args []reflect.Value) []reflect.Value {
			return do(args[0].Interface().(*http.Client), args[1:])
		}).Interface())
		if f, ok := symbols[name]; ok {
			own[name] = lib.calls(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value { return do(w.client, args) }).Interface())
		}
	}
	return own
}
