package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
)

type server struct {
	hits int
	mux  *http.ServeMux
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.hits++
	s.mux.ServeHTTP(w, r)
}

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Path", r.URL.Path)
		next.ServeHTTP(w, r)
	})
}

func main() {
	s := &server{mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.PathValue("name"))
	})
	s.mux.HandleFunc("POST /sum", func(w http.ResponseWriter, r *http.Request) {
		var xs []float64
		if err := json.NewDecoder(r.Body).Decode(&xs); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		t := 0.0
		for _, x := range xs {
			t += x
		}
		json.NewEncoder(w).Encode(map[string]float64{"sum": t})
	})
	ts := httptest.NewServer(logged(s))
	defer ts.Close()
	get := func(path string) {
		resp, err := http.Get(ts.URL + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		fmt.Println(resp.StatusCode, strings.TrimSpace(string(b)), resp.Header.Get("X-Path"))
	}
	get("/hello/bob")
	get("/nowhere")
	resp, _ := http.Post(ts.URL+"/sum", "application/json", strings.NewReader("[1,2,3.5]"))
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Print(string(b), s.hits, "\n")
	u, err := url.Parse("https://u:p@h.example:8080/a/b?q=1&q=2#frag")
	fmt.Println(u.Host, u.Port(), u.Query()["q"], u.Fragment, u.User.Username(), err)
	fmt.Println(url.Values{"a": {"x y"}, "b": {"&"}}.Encode())
}
