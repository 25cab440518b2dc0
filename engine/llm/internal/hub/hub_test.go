package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
	"github.com/mcs-notebook/mcs/internal/testing/python"
)

// repository has two small files and one large one.
func repository() map[string][]byte {
	large := make([]byte, 300_000)
	for i := range large {
		large[i] = byte(i * i >> 3)
	}
	return map[string][]byte{"config.json": []byte("{}"), "model.safetensors": large, "sub/a b.json": []byte("[1]"), "README.md": []byte("# text")}
}

func (s *server) options(t *testing.T) Options {
	return Options{Cache: t.TempDir(), Endpoint: s.URL, Choose: Matching("*.json", "*.safetensors", "sub/*"), Pause: time.Millisecond, Patience: time.Second, Tries: 3}
}

func checkFolder(t *testing.T, dir string, files map[string][]byte, names ...string) {
	t.Helper()
	var got []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != ".lock" {
			name, _ := filepath.Rel(dir, path)
			got = append(got, filepath.ToSlash(name))
		}
		return err
	})
	if slices.Sort(names); !slices.Equal(got, names) {
		t.Errorf("got files %q, want %q", got, names)
	}
	for _, name := range got {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(b, files[name]) {
			t.Errorf("%s has other bytes than the server's, %v", name, err)
		}
	}
}

// The chosen files come into a folder of the commit, large ones through a redirect; a second call fetches
// nothing.
func TestFetch(t *testing.T) {
	s := serve(t, repository())
	o := s.options(t)
	var events []progress.Event
	ctx := progress.With(context.Background(), func(e progress.Event) { events = append(events, e) })
	for _, revision := range []string{"", commit, "refs/pr/1"} {
		o.Revision = revision
		dir, err := Fetch(ctx, "org/name", o)
		if err != nil || !strings.HasSuffix(dir, filepath.Join("org", "name", commit)) {
			t.Fatal(dir, err)
		}
		checkFolder(t, dir, s.files, "config.json", "model.safetensors", "sub/a b.json")
		if got := s.requests(); len(got) != 4 && revision == "" || len(got) != 0 && revision != "" {
			t.Errorf("revision %q: requests %q", revision, got)
		}
	}
	if last := events[len(events)-1]; !last.Final || last.Done != last.Total || last.Total != 300_005 || last.Unit != "B" {
		t.Errorf("the last event is %+v", last)
	}
}

// The token goes to the hub, not to where the hub's redirects lead.
func TestToken(t *testing.T) {
	s := serve(t, repository())
	s.token = "secret"
	told := false
	other := serve(t, s.files)
	other.tamper = func(_ http.ResponseWriter, r *http.Request) bool {
		told = told || r.Header.Get("Authorization") != ""
		return false
	}
	s.tamper = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, ".safetensors") {
			http.Redirect(w, r, other.URL+"/blobs/model.safetensors", http.StatusFound)
			return true
		}
		return false
	}
	o := s.options(t)
	if _, err := Fetch(context.Background(), "org/name", o); err == nil || !strings.Contains(err.Error(), "Access to model org/name is restricted") || !strings.Contains(err.Error(), "HF_TOKEN") {
		t.Errorf("without a token: got %v", err)
	}
	o.Token = "secret"
	if _, err := Fetch(context.Background(), "org/name", o); err != nil {
		t.Error(err)
	}
	if told {
		t.Error("another server was told the token")
	}
}

// half lets a server fall silent, or break off, after half of the large file; once.
func (s *server) half(then func()) {
	broken := false
	s.mu.Lock() // the client may be another process
	defer s.mu.Unlock()
	s.tamper = func(w http.ResponseWriter, r *http.Request) bool {
		b := s.files["model.safetensors"]
		if !strings.HasPrefix(r.URL.Path, "/blobs/") || broken {
			return false
		}
		broken = true
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.Write(b[:len(b)/2])
		w.(http.Flusher).Flush()
		then()
		return true
	}
}

// A download that stopped goes on where it was: after a broken connection by itself, after a stop and after a
// kill when it is asked for again.
func TestResume(t *testing.T) {
	const rest = "GET /blobs/model.safetensors bytes=150000-"
	t.Run("broken connection", func(t *testing.T) {
		s := serve(t, repository())
		s.half(func() { panic(http.ErrAbortHandler) })
		dir, err := Fetch(context.Background(), "org/name", s.options(t))
		if err != nil {
			t.Fatal(err)
		}
		checkFolder(t, dir, s.files, "config.json", "model.safetensors", "sub/a b.json")
		if got := s.requests(); !slices.Contains(got, rest) {
			t.Errorf("requests %q, want %q", got, rest)
		}
	})
	t.Run("silence", func(t *testing.T) {
		s := serve(t, repository())
		released := make(chan bool)
		defer close(released)
		s.half(func() { <-released })
		o := s.options(t)
		o.Patience = 100 * time.Millisecond
		if _, err := Fetch(context.Background(), "org/name", o); err != nil {
			t.Fatal(err)
		}
		if got := s.requests(); !slices.Contains(got, rest) {
			t.Errorf("requests %q, want %q", got, rest)
		}
	})
	t.Run("stop", func(t *testing.T) {
		s := serve(t, repository())
		ctx, cancel := context.WithCancelCause(context.Background())
		released := make(chan bool)
		defer close(released)
		enough := errors.New("enough")
		s.half(func() { <-released })
		ctx = progress.With(ctx, func(e progress.Event) {
			if e.Done >= 150_005 {
				cancel(enough)
			}
		})
		o := s.options(t)
		if _, err := Fetch(ctx, "org/name", o); !errors.Is(err, enough) {
			t.Fatalf("got %v, want the cause", err)
		}
		again(t, s, o, rest)
	})
	t.Run("kill", func(t *testing.T) {
		s := serve(t, repository())
		killed, ready := make(chan bool), make(chan bool)
		s.half(func() { close(ready); <-killed })
		o := s.options(t)
		child := exec.Command(os.Args[0], "-test.run=^TestChild$")
		child.Env = append(os.Environ(), "HUB_CHILD="+s.URL, "HUB_CACHE="+o.Cache)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		<-ready
		part := filepath.Join(o.Cache, "org", "name", commit, fmt.Sprintf("model.safetensors.%.16s%s", largeHash(s.files["model.safetensors"]), partial))
		for range 1000 {
			if stat, err := os.Stat(part); err == nil && stat.Size() == 150_000 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		child.Process.Kill()
		child.Wait()
		close(killed)
		again(t, s, o, rest)
	})
}

// TestChild is the process that TestResume kills.
func TestChild(t *testing.T) {
	if url := os.Getenv("HUB_CHILD"); url != "" {
		Fetch(context.Background(), "org/name", Options{Cache: os.Getenv("HUB_CACHE"), Endpoint: url, Choose: Matching("*.json", "*.safetensors", "sub/*")})
	}
}

func again(t *testing.T, s *server, o Options, want string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(o.Cache, "org", "name", commit, "model.safetensors")); err == nil {
		t.Error("half of a file has its name")
	}
	s.requests()
	dir, err := Fetch(context.Background(), "org/name", o)
	if err != nil {
		t.Fatal(err)
	}
	checkFolder(t, dir, s.files, "config.json", "model.safetensors", "sub/a b.json")
	if got := s.requests(); !slices.Contains(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}

// What an earlier download left is continued only if it is the beginning of the file.
func TestDamagedPart(t *testing.T) {
	for name, change := range map[string]func(b []byte) []byte{
		"wrong bytes": func(b []byte) []byte { b[5] ^= 1; return b[:1000] },
		"too long":    func(b []byte) []byte { return append(b, 1) },
		"all wrong":   func(b []byte) []byte { return make([]byte, len(b)) },
		"whole":       func(b []byte) []byte { return b },
		"empty":       func([]byte) []byte { return nil },
	} {
		s := serve(t, repository())
		o := s.options(t)
		b := bytes.Clone(s.files["model.safetensors"])
		dir := filepath.Join(o.Cache, "org", "name", commit)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("model.safetensors.%.16s%s", largeHash(b), partial)), change(b), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Fetch(context.Background(), "org/name", o); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkFolder(t, dir, s.files, "config.json", "model.safetensors", "sub/a b.json")
	}
}

// A server that gives no parts is asked for the whole.
func TestServerWithoutRanges(t *testing.T) {
	s := serve(t, repository())
	s.half(func() { panic(http.ErrAbortHandler) })
	half := s.tamper
	s.tamper = func(w http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("Range")
		return half(w, r)
	}
	dir, err := Fetch(context.Background(), "org/name", s.options(t))
	if err != nil {
		t.Fatal(err)
	}
	checkFolder(t, dir, s.files, "config.json", "model.safetensors", "sub/a b.json")
}

// A server that is wrong, or lies, is refused by what it does, and by the file; nothing gets a name.
func TestRefusals(t *testing.T) {
	list := func(text string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/api/") {
				fmt.Fprintf(w, `{"sha": "%s", "siblings": [%s]}`, commit, text)
				return true
			}
			return false
		}
	}
	blob := func(answer func(w http.ResponseWriter, r *http.Request)) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/blobs/") {
				answer(w, r)
				return true
			}
			return false
		}
	}
	status := func(code int) func(w http.ResponseWriter, r *http.Request) bool {
		return blob(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	sum := blobHash(nil)
	for _, test := range []struct {
		name   string
		tamper func(w http.ResponseWriter, r *http.Request) bool
		want   string
	}{
		{"no JSON", func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, "{,"); return true }, "the list of its files: invalid character"},
		{"no commit", func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, `{"sha": "../.."}`); return true }, `calls the commit "../.."`},
		{"name outside", list(`{"rfilename": "../a.json", "size": 0, "blobId": "` + sum + `"}, {"rfilename": "sub/../../b", "size": 1, "blobId": "` + sum + `"}`), "no file is one of"},
		{"name outside of the pattern's folder", list(`{"rfilename": "sub/..", "size": 0, "blobId": "` + sum + `"}`), `got a file "sub/..", want a name inside`},
		{"backslash", list(`{"rfilename": "a\\b.json", "size": 0, "blobId": "` + sum + `"}`), "want a name inside"},
		{"hidden", list(`{"rfilename": ".lock.json", "size": 0, "blobId": "` + sum + `"}`), "want a name inside"},
		{"twice", list(`{"rfilename": "a.json", "size": 0, "blobId": "` + sum + `"}, {"rfilename": "a.json", "size": 0, "blobId": "` + sum + `"}`), `"a.json" is there twice`},
		{"in two cases", list(`{"rfilename": "a.json", "size": 0, "blobId": "` + sum + `"}, {"rfilename": "A.json", "size": 0, "blobId": "` + sum + `"}`), `in capital and in small letters`},
		{"no hash", list(`{"rfilename": "a.json", "size": 0}`), "a.json: the server says no hash"},
		{"negative size", list(`{"rfilename": "a.json", "size": -1, "blobId": "` + sum + `"}`), "a.json: the server says -1 bytes"},
		{"no such file", status(404), "model.safetensors: the server says \"404 Not Found\""},
		{"forbidden", status(403), "model.safetensors: the server says \"403 Forbidden\""},
		{"always busy", status(503), `"503 Service Unavailable" (tried 3 times)`},
		{"teapot", status(418), "418"},
		{"other bytes", blob(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 300_000)) }), "model.safetensors: got bytes with the hash"},
		{"longer", blob(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 300_001)) }), "more than the 300000 bytes"},
		{"longer, as it says", blob(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "300001")
			w.Write(make([]byte, 300_001))
		}), "sends 300001 bytes, want 300000"},
		{"shorter", blob(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "7")
			w.Write(make([]byte, 7))
		}), "sends 7 bytes, want 300000"},
		{"always short", blob(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "300000") }), "the connection ended after 0 of 300000 bytes (tried 3 times)"},
		{"other part", blob(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 5-299999/300000")
			w.WriteHeader(http.StatusPartialContent)
		}), `sends "bytes 5-299999/300000", want "bytes 0-299999/300000"`},
		{"circle", blob(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }), "on and on"},
		{"a page in place of the file", blob(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html>Sign in")
			w.(http.Flusher).Flush() // without a length
		}), "model.safetensors: the server sends a page of HTML in the place of it"},
		{"a page in place of all", func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, "<!DOCTYPE html>"); return true }, "org/name: the server sends a page of HTML"},
		{"a trickle", blob(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Write([]byte{0})
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		}), "next to nothing, for 200ms (tried 3 times)"},
		{"a byte for each call", blob(func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte{0})
			panic(http.ErrAbortHandler)
		}), "(tried 3 times)"},
		{"in a circle of two", func(w http.ResponseWriter, r *http.Request) bool {
			to, ok := map[string]string{"/api/models/org/name/revision/main": "/a", "/a": "/b", "/b": "/a"}[r.URL.Path]
			if ok {
				http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			}
			return ok
		}, "org/name: the server leads on and on"},
		{"other protocol", blob(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}), `leads to "file:///etc/passwd"`},
	} {
		s := serve(t, repository())
		s.tamper = test.tamper
		o := s.options(t)
		o.Patience = 200 * time.Millisecond
		_, err := Fetch(context.Background(), "org/name", o)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "org/name") {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if _, err := os.Stat(filepath.Join(o.Cache, "org", "name", commit, "model.safetensors")); err == nil {
			t.Errorf("%s: the file got its name", test.name)
		}
	}
}

// A list of files that is damaged in 500 ways is an error, or leads to a folder that has nothing but files
// with the right bytes; nothing is written elsewhere.
func TestDamagedList(t *testing.T) {
	s := serve(t, repository())
	s.files["model.safetensors"] = s.files["model.safetensors"][:200]
	recorder := httptest.NewRecorder()
	s.list(recorder)
	var list []byte
	s.tamper = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			w.Write(list)
			return true
		}
		return false
	}
	o := s.options(t)
	o.Tries, o.Choose = 1, func(names []string) ([]string, error) { return names, nil }
	refused := 0
	n := mutate.Each(1, 500, recorder.Body.Bytes(), func(i int, mutant []byte) {
		parent := t.TempDir()
		list, o.Cache = mutant, filepath.Join(parent, "cache")
		dir, err := Fetch(context.Background(), "org/name", o)
		if err != nil {
			if refused++; !strings.Contains(err.Error(), "org/name") {
				t.Errorf("mutant %d: %v does not name the repository", i, err)
			}
		} else if !strings.HasPrefix(dir, o.Cache) {
			t.Errorf("mutant %d: the folder is %s", i, dir)
		}
		filepath.WalkDir(parent, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && d.Name() != ".lock" && !strings.HasSuffix(path, partial) {
				b, _ := os.ReadFile(path)
				inside := strings.HasPrefix(path, filepath.Join(o.Cache, "org", "name"))
				if known := slices.ContainsFunc(slices.Collect(maps.Values(s.files)), func(f []byte) bool { return bytes.Equal(f, b) }); !known || !inside {
					t.Errorf("mutant %d: %s was written with %d bytes", i, path, len(b))
				}
			}
			return nil
		})
	})
	if refused < n/5 || refused == n {
		t.Errorf("%d of %d damaged lists were refused", refused, n)
	}
}

// A server that is busy for a moment is asked again.
func TestBusyForAMoment(t *testing.T) {
	s := serve(t, repository())
	asked := map[string]int{}
	s.tamper = func(w http.ResponseWriter, r *http.Request) bool {
		busy := []int{http.StatusTooManyRequests, http.StatusBadGateway}
		if asked[r.URL.Path]++; asked[r.URL.Path] <= len(busy) {
			w.WriteHeader(busy[asked[r.URL.Path]-1])
			return true
		}
		return false
	}
	o := s.options(t)
	o.Tries = 8
	if _, err := Fetch(context.Background(), "org/name", o); err != nil {
		t.Error(err)
	}
}

func TestWrongCalls(t *testing.T) {
	s := serve(t, repository())
	for name, want := range map[string]string{"": "want org/name", "../x": "want org/name", "a/b/c": "want org/name", "a/..b": "want org/name", "https://x": "want org/name", "org/other": "404"} {
		if _, err := Fetch(context.Background(), name, s.options(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
	o := s.options(t)
	o.Revision = "../../x?y"
	if _, err := Fetch(context.Background(), "org/name", o); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
	o.Endpoint = "ftp://x"
	if _, err := Fetch(context.Background(), "org/name", o); err == nil || !strings.Contains(err.Error(), `got endpoint "ftp://x"`) {
		t.Errorf("got %v", err)
	}
}

// Hugging Face's own package, where it is installed, downloads from the test's server what Fetch does: the
// server speaks as the hub.
func TestHuggingFaceHubReadsTheServer(t *testing.T) {
	python := python.With(t, "huggingface_hub")
	s := serve(t, repository())
	dir := t.TempDir()
	text := `import sys; from huggingface_hub import snapshot_download
print(snapshot_download("org/name", endpoint=sys.argv[1], local_dir=sys.argv[2], allow_patterns=["*.json", "*.safetensors", "sub/*"]))`
	command := exec.Command(python, "-c", text, s.URL, dir)
	command.Env = append(os.Environ(), "HF_HOME="+t.TempDir(), "HF_HUB_DISABLE_TELEMETRY=1", "HF_HUB_DISABLE_XET=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	os.RemoveAll(filepath.Join(dir, ".cache"))
	checkFolder(t, dir, s.files, "config.json", "model.safetensors", "sub/a b.json")
}
