package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/local"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/runner"
	"github.com/mcs-notebook/mcs/repl/session"
)

// patience is how long a test waits for an event.
const patience = 30 * time.Second

// A browser is a page's side of a server.
type browser struct {
	t        *testing.T
	s        *server
	client   *http.Client
	base     string
	revision int
	end      func()
}

// serve serves a file, and returns a browser that has opened its address. What is done with the server before
// may fail.
func serve(t *testing.T, path, dir string, before ...func(*server) error) *browser {
	t.Helper()
	b, err := open(path, dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := local.Listen(local.Loopback, 0)
	if err != nil {
		t.Fatal(err)
	}
	var held *session.Session
	o := Options{Path: path, Dir: dir, Log: io.Discard, Options: runner.Options{
		Open: func(o session.Options) (_ runner.Session, err error) {
			o.Commands = magics.Table{}
			held, err = session.New(o)
			return held, err
		},
		Complete: func(cell string, pos int) (int, []session.Completion) {
			return magics.Table{}.Complete(held, cell, pos)
		},
		Inspect: func(name string, all bool) (display.Value, error) { return (magics.Table{}).Inspect(held, name, all) }}}
	o.Variables = func() (display.Value, error) { return magics.Table{}.Run(t.Context(), held, "%whos") }
	s := newServer(o, b, l.Addr().(*net.TCPAddr).Port)
	if s.runner, err = runner.New(o.Options); err != nil {
		t.Fatal(err)
	}
	for _, do := range before {
		if err := do(s); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_ = s.serve(ctx, l)
		b.close()
	}()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	page := &browser{t: t, s: s, client: &http.Client{Jar: jar}, base: "http://" + l.Addr().String(), end: func() { cancel(); <-ended }}
	t.Cleanup(page.end)
	if code, text := page.get(s.guard.address("")); code != http.StatusOK || !strings.Contains(text, "page.js") {
		t.Fatalf("the page: got %d %s", code, text)
	}
	return page
}

func (b *browser) get(url string) (code int, text string) {
	b.t.Helper()
	r, err := b.client.Get(url)
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return r.StatusCode, string(all)
}

type fields = map[string]any

// post posts what the page would.
func (b *browser) post(path string, body any) (code int, reply fields) {
	b.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	request, err := http.NewRequest("POST", b.base+path, bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Origin", b.base)
	r, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&reply); err != nil {
		b.t.Fatal(err)
	}
	return r.StatusCode, reply
}

// done posts what has to succeed.
func (b *browser) done(path string, body any) fields {
	b.t.Helper()
	code, reply := b.post(path, body)
	if code != http.StatusOK {
		b.t.Fatalf("%s: got %d %v", path, code, reply)
	}
	return reply
}

// edit makes the notebook consist of cells of Go, with the names a, b, ….
func (b *browser) edit(sources ...string) {
	b.t.Helper()
	list := make([]edit, len(sources))
	for i, text := range sources {
		list[i] = edit{string(rune('a' + i)), "code", text}
	}
	b.revision = int(b.done("/edit", edited{"test", b.revision, list})["revision"].(float64))
}

// A stream is a page's events.
type stream struct {
	*browser
	lines *bufio.Scanner
	stop  func()
}

func (b *browser) connect() *stream {
	b.t.Helper()
	r, err := b.client.Get(b.base + "/events")
	if err != nil {
		b.t.Fatal(err)
	}
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 64<<20)
	return &stream{b, lines, func() { r.Body.Close() }}
}

// until returns the first event that is wanted.
func (s *stream) until(wanted func(e event) bool) event {
	s.t.Helper()
	late := time.AfterFunc(patience, s.stop)
	defer late.Stop()
	for s.lines.Scan() {
		text, ok := strings.CutPrefix(s.lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			s.t.Fatal(err)
		}
		if wanted(e) {
			return e
		}
	}
	s.t.Fatal("the event has not come")
	return event{}
}

func kind(name string) func(event) bool { return func(e event) bool { return e.Kind == name } }

// book is the whole notebook as a new page gets it.
func (b *browser) book() *view {
	b.t.Helper()
	s := b.connect()
	defer s.stop()
	return s.until(kind("book")).Book
}

// TestGuard walks all routes: none of them answers who has no cookie, who comes from another page or by
// another name of the host, and no other page may show or read one.
func TestGuard(t *testing.T) {
	b := serve(t, filepath.Join(t.TempDir(), "a.mcs"), t.TempDir())
	jar := b.client.Jar
	routes := append(b.s.routes(), route{pattern: "GET /nothing"}, route{pattern: "POST /token"}, route{pattern: "GET /assets/editor/package.json"})
	if len(routes) < 12 {
		t.Fatalf("got %d routes", len(routes))
	}
	own := fields{"Origin": b.base}
	tests := []struct {
		name     string
		head     fields
		cookie   bool
		get, put int // the status of GET and of POST; 0 is anything
	}{
		{"without a cookie", own, false, 401, 401},
		{"with another cookie", fields{"Origin": b.base, "Cookie": b.s.guard.cookieName() + "=guess"}, false, 401, 401},
		{"with an empty cookie", fields{"Origin": b.base, "Cookie": b.s.guard.cookieName() + "="}, false, 401, 401},
		{"the token as a cookie", fields{"Origin": b.base, "Cookie": b.s.guard.cookieName() + "=" + b.s.guard.token}, false, 401, 401},
		{"by another name", fields{"Host": "evil.example", "Origin": "http://evil.example"}, true, 421, 421},
		{"by another port", fields{"Host": "127.0.0.1:1", "Origin": "http://127.0.0.1:1"}, true, 421, 421},
		{"from another page", fields{"Origin": "http://evil.example"}, true, 403, 403},
		{"from another server of this machine", fields{"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}, true, 403, 403},
		{"from a page without a name", fields{"Origin": "null"}, true, 403, 403},
		{"without an origin", fields{}, true, 0, 403},
	}
	for _, test := range tests {
		for _, r := range routes {
			method, path, _ := strings.Cut(r.pattern, " ")
			path = strings.TrimSuffix(path, "{$}")
			want := test.get
			if method == "POST" {
				want = test.put
			}
			if want == 0 {
				continue
			}
			if b.client.Jar = nil; test.cookie {
				b.client.Jar = jar
			}
			code, head := b.ask(method, path, test.head)
			if code != want {
				t.Errorf("%s: %s: got %d, want %d", test.name, r.pattern, code, want)
			}
			if head.Get("X-Frame-Options") != "DENY" || !strings.HasPrefix(head.Get("Content-Security-Policy"), "default-src 'none';") || head.Get("X-Content-Type-Options") != "nosniff" || head.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: %s: got the head %v", test.name, r.pattern, head)
			}
		}
	}
	b.client.Jar = jar
	for path, want := range map[string]int{"/": 200, "/present": 200, "/speaker": 200, "/talk.js": 200, "/talk.html": 404, "/page.js": 200, "/editor.js": 200, "/page.css": 200, "/nothing": 404, "/assets/page.js": 404, "/edit": 405, "/?token=guess": 200} {
		if code, _ := b.ask("GET", path, own); code != want {
			t.Errorf("GET %s: got %d, want %d", path, code, want)
		}
	}
	b.client.Jar = nil
	if code, _ := b.ask("GET", "/?token=guess", fields{}); code != 401 {
		t.Errorf("a guess of the token: got %d", code)
	}
	for path, want := range map[string]int{"/present": 303, "/speaker": 303, "/events": 401} {
		if code, head := b.ask("GET", path+"?token="+b.s.guard.token, fields{}); code != want || code == 303 && head.Get("Location") != path {
			t.Errorf("%s with the token: got %d %v", path, code, head)
		}
	}
	if code, _ := b.ask("GET", "/events", fields{"Sec-Fetch-Site": "cross-site"}); code != 403 {
		t.Errorf("the stream from another site: got %d", code)
	}
}

// ask sends a request with a head, and returns the status and head of the reply.
func (b *browser) ask(method, path string, head fields) (int, http.Header) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel() // the stream has no end
	request, err := http.NewRequestWithContext(ctx, method, b.base+path, strings.NewReader("{}"))
	if err != nil {
		b.t.Fatal(err)
	}
	for name, value := range head {
		if name == "Host" {
			request.Host = fmt.Sprint(value)
			continue
		}
		request.Header.Set(name, fmt.Sprint(value))
	}
	c := *b.client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := c.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Body.Close()
	return r.StatusCode, r.Header
}

// TestCells: what cells print, show and fail with, in order; those behind one that fails do not run.
func TestCells(t *testing.T) {
	b := serve(t, filepath.Join(t.TempDir(), "a.mcs"), t.TempDir())
	b.edit("fmt.Println(1)\nx := tensor.Ones(2, 2)\nx", "fmt.Println(\"<b>\\x1b[1m\")\npanic(\"no\")", "3")
	s := b.connect()
	defer s.stop()
	b.done("/run", fields{"cells": []string{"a", "b", "c"}})
	s.until(kind("variables"))
	e := s.until(kind("variables"))
	if !strings.Contains(e.HTML, ">x<") {
		t.Errorf("variables: got %s", e.HTML)
	}
	v := b.book()
	for i, want := range [][]string{{"<pre>1\n</pre>", "<table"}, {"&lt;b&gt;", `class="bad"`}, {}} {
		got := v.Cells[i]
		if len(got.Outputs) != len(want) || got.State != "" {
			t.Errorf("cell %d: got %+v", i, got)
			continue
		}
		for j, part := range want {
			if !strings.Contains(got.Outputs[j], part) || strings.Contains(got.Outputs[j], "style=") || strings.Contains(got.Outputs[j], "\x1b") {
				t.Errorf("cell %d: got %q, want %q", i, got.Outputs[j], part)
			}
		}
	}
	if got := b.done("/complete", fields{"before": "y := x.Resh", "after": ""}); got["typed"] != "Resh" || len(got["list"].([]any)) == 0 {
		t.Errorf("completion: got %v", got)
	}
	if got := b.done("/inspect", fields{"before": "x", "after": ".Sum()"}); !strings.Contains(got["html"].(string), "2 2") {
		t.Errorf("inspection: got %v", got)
	}
}

// A cell that shows without end has as many outputs as a page can show, and its error.
func TestManyOutputs(t *testing.T) {
	b := serve(t, filepath.Join(t.TempDir(), "a.mcs"), t.TempDir())
	b.edit("")
	for i := range 2 * maxOutputs {
		b.s.message("a", "display_data", fields{"data": display.Bundle{display.PlainText: fmt.Sprint(i)}})
	}
	b.s.message("a", "error", &runner.Failure{Name: "error", Value: "no", Traceback: []string{"no"}})
	got := b.book().Cells[0].Outputs
	if len(got) != maxOutputs+2 || !strings.Contains(got[maxOutputs], "left out") || !strings.Contains(got[maxOutputs+1], "no") {
		t.Errorf("got %d outputs, the last %q", len(got), got[len(got)-2:])
	}
}

// TestLostConnection: a cell runs on while no page is there, and the one that comes back has all of it.
func TestLostConnection(t *testing.T) {
	b := serve(t, filepath.Join(t.TempDir(), "a.mcs"), t.TempDir())
	b.edit("for i := range 20 { fmt.Println(\"line\", i); progress.Report(ctx, progress.Event{Task: \"work\", Done: int64(i + 1), Total: 20}); time.Sleep(20*time.Millisecond) }")
	s := b.connect()
	b.done("/run", fields{"cells": []string{"a"}})
	s.until(kind("append"))
	s.stop()
	s = b.connect()
	defer s.stop()
	if v := s.until(kind("book")).Book; v.Cells[0].State != "running" || len(v.Cells[0].Outputs) == 0 {
		t.Errorf("in the middle: got %+v", v.Cells[0])
	}
	s.until(kind("variables"))
	all := strings.Join(b.book().Cells[0].Outputs, "")
	if !strings.Contains(all, "line 0") || !strings.Contains(all, "line 19") || !strings.Contains(all, "work 20/20") {
		t.Errorf("at the end: got %s", all)
	}
}

// TestInterrupt: a cell that waits for input gets it, and one that would run for ever is stopped; others do
// not run.
func TestInterrupt(t *testing.T) {
	b := serve(t, filepath.Join(t.TempDir(), "a.mcs"), t.TempDir())
	b.edit("var name string\nfmt.Scanln(&name)\nname", "for {}", "2")
	s := b.connect()
	defer s.stop()
	b.done("/run", fields{"cells": []string{"a", "b", "c"}})
	s.until(func(e event) bool { return e.Kind == "asks" && e.Cell == "a" })
	b.done("/input", fields{"line": "Ada"})
	s.until(func(e event) bool { return e.Kind == "state" && e.Cell == "b" && e.State == "running" })
	if code, _ := b.post("/inspect", fields{"before": "name"}); code != http.StatusLocked {
		t.Errorf("inspection while a cell runs: got %d", code)
	}
	b.done("/interrupt", fields{})
	s.until(func(e event) bool { return e.Kind == "state" && e.Cell == "b" && e.State == "" && e.Took != "" })
	v := b.book()
	if !strings.Contains(strings.Join(v.Cells[0].Outputs, ""), "Ada") || !strings.Contains(strings.Join(v.Cells[1].Outputs, ""), "interrupted") || len(v.Cells[2].Outputs) != 0 {
		t.Errorf("got %+v", v.Cells)
	}
}

// TestFiles: a file is written when it is saved, whole; others' changes of it are not lost, nor are those
// that were not saved.
func TestFiles(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "a.mcs"), t.TempDir()
	text := "// %% [markdown]\n// # T\n\n// %% named\n1 + 1\n// > 2\n"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	saved := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("got %q %v, want %q", got, err, want)
		}
	}
	write(text)
	b := serve(t, path, dir)
	if _, err := open(path, dir); err == nil || !strings.Contains(err.Error(), "is open already, in process") {
		t.Errorf("a second one: got %v", err)
	}
	b.done("/save", fields{})
	saved(text)
	v := b.book()
	if len(v.Cells) != 2 || !strings.Contains(v.Cells[0].Prose, "<h1") || !strings.Contains(v.Cells[1].Outputs[0], "2") {
		t.Fatalf("got %+v", v.Cells)
	}
	list := []edit{v.Cells[0].edit, {"new", "code", "z := 1"}, v.Cells[1].edit}
	if code, reply := b.post("/edit", edited{"test", 7, list}); code != http.StatusConflict {
		t.Errorf("an edit of another revision: got %d %v", code, reply)
	}
	b.done("/edit", edited{"test", 0, list})
	b.done("/save", fields{})
	now := strings.Replace(text, "// %% named", "// %%\nz := 1\n\n// %% named", 1)
	saved(now)
	write("// others\n")
	if code, reply := b.post("/save", fields{}); code != http.StatusConflict || !strings.Contains(fmt.Sprint(reply["error"]), "another program") {
		t.Errorf("others' changes: got %d %v", code, reply)
	}
	saved("// others\n")
	b.done("/save", fields{"over": true})
	saved(now)
	b.revision = 1
	b.edit("unsaved := 1")
	b.end()
	saved(now)
	b = serve(t, path, dir)
	if v := b.book(); v.Saved || v.Cells[0].Source != "unsaved := 1" || !strings.Contains(v.Notice, "were not saved") {
		t.Errorf("after the end: got %+v", v)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	b.end()
	b = serve(t, path, dir)
	if code, _ := b.post("/save", fields{}); code != http.StatusConflict {
		t.Errorf("changes that are older than the file: got %d", code)
	}
	b.done("/save", fields{"over": true})
	saved("// %%\nunsaved := 1\n")
	b.end()
	if v := serve(t, path, dir).book(); !v.Saved || v.Notice != "" {
		t.Errorf("after a save: got %+v", v)
	}
}

// A notebook that is saved has outputs of this session, and those that did not run keep theirs.
func TestNotebook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ipynb")
	err := os.WriteFile(path, []byte(`{"nbformat": 4, "nbformat_minor": 5, "metadata": {"x": 1}, "cells": [
{"cell_type": "code", "id": "one", "metadata": {"k": 2}, "execution_count": 7, "source": "1 + 1", "outputs": [{"output_type": "stream", "name": "stdout", "text": "old"}]},
{"cell_type": "code", "id": "two", "metadata": {}, "execution_count": 8, "source": "2", "outputs": [{"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script>alert(1)</script>", "text/plain": "kept"}}]}]}`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, path, t.TempDir())
	s := b.connect()
	defer s.stop()
	b.done("/run", fields{"cells": []string{"one"}})
	s.until(kind("variables"))
	if b.book().Saved {
		t.Error("the notebook is saved before it was")
	}
	b.done("/save", fields{})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]bool{"old": false, `"text/plain": [`: true, "kept": true, `"k": 2`: true, `"x": 1`: true, `"execution_count": 1`: true, `"execution_count": 8`: true} {
		if strings.Contains(string(text), part) != want {
			t.Errorf("%s: want %v in\n%s", part, want, text)
		}
	}
}

// TestBad: what cannot be opened is said in a word, and nothing is served.
func TestBad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ipynb")
	if err := os.WriteFile(path, []byte(`{"nbformat": 4, "cells"`), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for range 2 { // the first leaves no lock
		if _, err := open(path, dir); err == nil || !strings.Contains(err.Error(), "got no notebook") {
			t.Errorf("a broken notebook: got %v", err)
		}
	}
	l, err := local.Listen(local.Loopback, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := local.Listen(local.Loopback, l.Addr().(*net.TCPAddr).Port); err == nil || !strings.Contains(err.Error(), "is taken by another program") {
		t.Errorf("a port that is taken: got %v", err)
	}
	b := serve(t, filepath.Join(t.TempDir(), "b.mcs"), dir)
	for name, list := range map[string][]edit{"a name": {{"a/b", "code", ""}}, "a name twice": {{"a", "code", ""}, {"a", "code", ""}}, "a kind": {{"a", "script", ""}}} {
		if code, reply := b.post("/edit", edited{"test", 0, list}); code != http.StatusBadRequest {
			t.Errorf("%s: got %d %v", name, code, reply)
		}
	}
	for path, body := range map[string]any{"/run": fields{"cells": []string{"none"}}, "/input": fields{"line": "x"}, "/edit": []int{1}} {
		if code, reply := b.post(path, body); code < 400 || code >= 500 || reply["error"] == "" {
			t.Errorf("%s: got %d %v", path, code, reply)
		}
	}
}
