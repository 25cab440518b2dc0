package modules

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/module"

	"github.com/mcs-notebook/mcs/internal/durable"
)

// A proxy serves modules: the files of each version.
type proxy map[module.Version]map[string]string

func (p proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	escaped, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/@")
	path, err := module.UnescapePath(escaped)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	var versions []string
	for m := range p {
		if m.Path == path {
			versions = append(versions, m.Version)
		}
	}
	slices.Sort(versions)
	switch {
	case len(versions) == 0:
		http.Error(w, "not found: module "+path+": no such repository", http.StatusNotFound)
		return
	case file == "latest":
		fmt.Fprintf(w, `{"Version":%q}`, versions[0])
		return
	case file == "v/list":
		for _, v := range versions {
			if !module.IsPseudoVersion(v) {
				fmt.Fprintln(w, v)
			}
		}
		return
	}
	name := strings.TrimPrefix(file, "v/")
	if slices.Contains([]string{"main.info", "v!next.info", "!x/y.info"}, name) { // branches
		fmt.Fprintf(w, `{"Version":%q}`, versions[0])
		return
	}
	ending := name[strings.LastIndexByte(name, '.')+1:]
	version, _ := module.UnescapeVersion(strings.TrimSuffix(name, "."+ending)) // "" is no version
	m := module.Version{Path: path, Version: version}
	files, ok := p[m]
	switch {
	case !ok:
		http.Error(w, "not found: unknown revision "+m.Version, http.StatusNotFound)
	case ending == "info":
		fmt.Fprintf(w, `{"Version":%q}`, m.Version)
	case ending == "mod":
		fmt.Fprint(w, files["go.mod"])
	default:
		z := zip.NewWriter(w)
		for name, text := range files {
			f, _ := z.Create(m.String() + "/" + name)
			fmt.Fprint(f, text)
		}
		z.Close()
	}
}

// served are the modules of the tests.
func served() proxy {
	p := proxy{}
	add := func(path, version, mod string, files ...string) {
		m := map[string]string{"go.mod": "module " + path + "\n" + mod, "a.go": "package a\n"}
		for _, f := range files {
			m[f] = "package b\n"
		}
		p[module.Version{Path: path, Version: version}] = m
	}
	add("example.com/a", "v1.0.0", "go 1.17\n", "sub/b.go")
	add("example.com/a", "v1.1.0", "go 1.17\nrequire example.com/b v1.0.0\n", "sub/b.go")
	add("example.com/a", "v1.2.0", "go 1.17\nretract v1.2.0\n")
	add("example.com/a", "v1.3.0-rc.1", "go 1.17\nretract v1.2.0\n")
	add("example.com/a/v2", "v2.0.0", "go 1.17\n")
	add("example.com/b", "v1.0.0", "go 1.17\nrequire example.com/deep v1.0.0\n")
	add("example.com/old", "v1.0.0", "require example.com/b v1.0.0\n")
	add("example.com/b", "v1.5.0", "go 1.17\n")
	add("example.com/deep", "v1.0.0", "go 1.17\n")
	add("example.com/newer", "v1.0.0", "go 1.17\nrequire example.com/b v1.5.0\n")
	add("example.com/commit", "v0.0.0-20240102030405-abcdefabcdef", "go 1.17\n")
	add("example.com/Upper/Case", "v1.0.0", "go 1.17\n")
	add("example.com/rc", "v1.0.0-RC0", "go 1.17\n")
	add("example.com/rc", "v1.0.0-RC1", "go 1.17\nretract v1.0.0-RC1\n")
	add("example.com/moved", "v1.0.0", "go 1.17\n")
	add("example.com/moved", "v2.0.0+incompatible", "")
	add("example.com/moving", "v1.0.0-rc.1", "go 1.17\n")
	add("example.com/moving", "v2.0.0+incompatible", "")
	add("example.com/legacy", "v1.0.0", "")
	add("example.com/legacy", "v2.0.0+incompatible", "")
	return p
}

// open makes a set whose environment is vars, beside a cache of its own and the proxy of the tests.
func open(t *testing.T, vars map[string]string) *Set {
	t.Helper()
	server := httptest.NewServer(served())
	t.Cleanup(server.Close)
	s := NewSet(nil)
	cache := t.TempDir()
	t.Cleanup(func() { removeAll(cache) })
	s.getenv = func(name string) string {
		if v, ok := vars[name]; ok {
			return v
		}
		return map[string]string{"GOPROXY": server.URL, "GOMODCACHE": cache, "GOSUMDB": "off", "GOENV": "off", "GOPATH": cache}[name]
	}
	return s
}

func TestGet(t *testing.T) {
	for _, c := range []struct{ arg, want, wrong string }{
		{arg: "example.com/a@v1.0.0", want: "example.com/a@v1.0.0"},
		{arg: "example.com/a", want: "example.com/a@v1.1.0"}, // the newest was taken back
		{arg: "example.com/a@latest", want: "example.com/a@v1.1.0"},
		{arg: "example.com/a@v1.0", want: "example.com/a@v1.0.0"},
		{arg: "example.com/a@v1.3.0-rc.1", want: "example.com/a@v1.3.0-rc.1"},
		{arg: "example.com/a/sub@v1.0.0", want: "example.com/a@v1.0.0"}, // a package's path
		{arg: "example.com/a/v2", want: "example.com/a/v2@v2.0.0"},
		{arg: "example.com/commit", want: "example.com/commit@v0.0.0-20240102030405-abcdefabcdef"},
		{arg: "example.com/commit@main", want: "example.com/commit@v0.0.0-20240102030405-abcdefabcdef"},
		{arg: "example.com/Upper/Case", want: "example.com/Upper/Case@v1.0.0"},
		{arg: "example.com/commit@vNext", want: "example.com/commit@v0.0.0-20240102030405-abcdefabcdef"},
		{arg: "example.com/commit@X/y", want: "example.com/commit@v0.0.0-20240102030405-abcdefabcdef"},
		{arg: "example.com/rc@v1.0.0-RC1", want: "example.com/rc@v1.0.0-RC1"},
		{arg: "example.com/rc", want: "example.com/rc@v1.0.0-RC0"},          // the newest takes itself back
		{arg: "example.com/moved", want: "example.com/moved@v1.0.0"},        // it has a go.mod
		{arg: "example.com/moving", want: "example.com/moving@v1.0.0-rc.1"}, // likewise
		{arg: "example.com/moved@v2", want: "example.com/moved@v2.0.0+incompatible"},
		{arg: "example.com/legacy", want: "example.com/legacy@v2.0.0+incompatible"},
		{arg: "example.com/commit@v1!", wrong: "disallowed version string"},
		{arg: "example.com/a@v2.0.0", wrong: "should be v0 or v1, not v2"},
		{arg: "example.com/a@v1.9.9", wrong: "example.com/a@v1.9.9: 127.0.0.1: does not have it: unknown revision v1.9.9"},
		{arg: "example.com/nothing", wrong: "example.com/nothing@latest: 127.0.0.1: does not have it: module example.com/nothing: no such repository"},
		{arg: "fmt", wrong: "fmt is no path of a module"},
		{arg: "example.com/a b", wrong: "invalid char"},
	} {
		m, err := open(t, nil).Get(context.Background(), "", c.arg)
		if c.wrong != "" {
			if err == nil || !strings.Contains(portless(err.Error()), c.wrong) {
				t.Errorf("%s: got %v, %v, want %q", c.arg, m, err, c.wrong)
			}
		} else if err != nil || m.String() != c.want {
			t.Errorf("%s: got %v, %v, want %s", c.arg, m, err, c.want)
		}
	}
}

// portless takes the number of the proxy's port out of a message.
func portless(s string) string {
	before, after, ok := strings.Cut(s, "127.0.0.1:")
	if !ok {
		return s
	}
	return before + "127.0.0.1:" + strings.TrimLeft(after, "0123456789")
}

// TestSelection: the highest version that is required wins, requirements of a module of go 1.17 are not
// followed further, those of an older one are.
func TestSelection(t *testing.T) {
	for _, c := range []struct {
		name, mod string
		asked     []string
		want      string // path@version …
	}{
		{"pruned", "", []string{"example.com/a@v1.1.0"}, "example.com/a@v1.1.0 example.com/b@v1.0.0"},
		{"followed", "", []string{"example.com/old"}, "example.com/b@v1.0.0 example.com/deep@v1.0.0 example.com/old@v1.0.0"},
		{"highest", "", []string{"example.com/a@v1.1.0", "example.com/b@v1.5.0"}, "example.com/a@v1.1.0 example.com/b@v1.5.0"},
		{"the go.mod of the folder", "require example.com/a v1.0.0", nil, "example.com/a@v1.0.0"},
		{"asked beats it", "require example.com/a v1.1.0", []string{"example.com/a@v1.0.0"}, "example.com/a@v1.0.0"},
		{"excluded", "require example.com/a v1.1.0\nexclude example.com/b v1.0.0", nil, "example.com/a@v1.1.0"},
		{"replaced", "require example.com/a v1.0.0\nreplace example.com/a => example.com/a v1.1.0", nil, "example.com/a@v1.0.0 example.com/b@v1.0.0"},
	} {
		root := ""
		if c.mod != "" {
			root = t.TempDir()
			write(t, filepath.Join(root, "go.mod"), "module main\ngo 1.26\n"+c.mod)
		}
		s := open(t, nil)
		for _, arg := range c.asked {
			if _, err := s.Get(context.Background(), root, arg); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		b, err := s.Build(root)
		if err == nil {
			err = b.choose(context.Background())
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []string
		for path, version := range b.selected {
			got = append(got, path+"@"+version)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module main\ngo 1.26\nrequire (\nexample.com/a v1.0.0\nexample.com/here v1.0.0\n)\nreplace example.com/here => ./here\n")
	write(t, filepath.Join(root, "here", "go.mod"), "module example.com/here\n")
	write(t, filepath.Join(root, "here", "x.go"), "package here\n")
	vendored := t.TempDir()
	write(t, filepath.Join(vendored, "go.mod"), "module main\ngo 1.26\nrequire example.com/a v1.0.0\n")
	write(t, filepath.Join(vendored, "vendor", "modules.txt"), "# example.com/a v1.0.0\n## explicit\nexample.com/a\n")
	write(t, filepath.Join(vendored, "vendor", "example.com", "a", "a.go"), "package a\n")
	for _, c := range []struct{ root, path, flags, want, wrong string }{
		{root: root, path: "example.com/a/sub", want: "example.com/a@v1.0.0/sub"},
		{root: root, path: "example.com/here", want: "here"},
		{root: root, path: "example.com/a/none", wrong: "example.com/a@v1.0.0 has no such package"},
		{root: root, path: "example.com/b", wrong: "no required module has it; fetch its module with %get example.com/b"},
		{root: vendored, path: "example.com/a", want: "vendor/example.com/a"},
		{root: vendored, path: "example.com/a/sub", wrong: "the vendor folder of main does not have it"},
		{root: vendored, path: "example.com/a/sub", flags: "-mod=mod", want: "example.com/a@v1.0.0/sub"},
	} {
		b, err := open(t, map[string]string{"GOFLAGS": c.flags}).Build(c.root)
		if err != nil {
			t.Fatal(err)
		}
		found, err := b.Find(context.Background(), c.path)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: got %v, want %q", c.path, err, c.wrong)
			}
		case err != nil:
			t.Errorf("%s: %v", c.path, err)
		case !strings.HasSuffix(filepath.ToSlash(found.Dir), "/"+c.want):
			t.Errorf("%s: got %s, want …/%s", c.path, found.Dir, c.want)
		}
	}
}

// TestChecksums: what differs from go.sum is not loaded, and nothing of it stays in the cache.
func TestChecksums(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module main\ngo 1.26\nrequire example.com/a v1.0.0\n")
	write(t, filepath.Join(root, "go.sum"), "example.com/a v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	s := open(t, nil)
	b, err := s.Build(root)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Find(context.Background(), "example.com/a")
	if wrong := new(SumError); !errors.As(err, &wrong) || wrong.Where != "go.sum" || !strings.HasPrefix(err.Error(), "example.com/a@v1.0.0: checksum differs: got h1:") {
		t.Fatalf("got %v", err)
	}
	for _, ending := range []string{"zip", "ziphash"} {
		name, _ := s.client.cached(module.Version{Path: "example.com/a", Version: "v1.0.0"}, ending)
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s stays", name)
		}
	}
}

// TestOtherSums: lines of go.sum that Go does not know leave the question to the database.
func TestOtherSums(t *testing.T) {
	asked := make(chan bool, 10)
	database := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		http.Error(w, "closed", http.StatusInternalServerError)
	}))
	defer database.Close()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module main\ngo 1.26\nrequire example.com/a v1.0.0\n")
	write(t, filepath.Join(root, "go.sum"), "example.com/a v1.0.0/go.mod h2:AAAA\nexample.com/a v1.0.0 h2:AAAA\n")
	b, err := open(t, map[string]string{"GOSUMDB": sumKey + " " + database.URL}).Build(root)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := b.Find(context.Background(), "example.com/a"); err == nil || len(asked) == 0 {
		t.Errorf("got %v, %v, and the database was asked %d times", found, err, len(asked))
	}
}

// TestInfo: what a proxy says of a version is kept only if it is about that version.
func TestInfo(t *testing.T) {
	for _, c := range []struct{ info, wrong string }{
		{`{"Version":"v1.0.0"}`, ""},
		{"<html>please log in</html>", "example.com/x@v1.0.0: info: invalid character"},
		{`{"Version":"v1.0.1"}`, `example.com/x@v1.0.0: info: got version "v1.0.1", want v1.0.0`},
		{"{}", `got version "", want v1.0.0`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.info) }))
		s := open(t, map[string]string{"GOPROXY": server.URL})
		if _, err := s.Build(""); err != nil {
			t.Fatal(err)
		}
		m := module.Version{Path: "example.com/x", Version: "v1.0.0"}
		_, err := s.client.resolve(context.Background(), m.Path, m.Version)
		name, _ := s.client.cached(m, "info")
		_, stat := os.Stat(name)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) || (stat == nil) != (err == nil) {
			t.Errorf("%s: got %v, kept: %v, want %q", c.info, err, stat == nil, c.wrong)
		}
		server.Close()
	}
}

// TestReach: without a network the answer comes at once, and names the host.
func TestReach(t *testing.T) {
	for _, c := range []struct{ proxy, want string }{
		{"http://127.0.0.1:1", "127.0.0.1:1 cannot be reached"},
		{"http://127.0.0.1:1,direct", "127.0.0.1:1 cannot be reached"},
		{"http://127.0.0.1:1|off", "GOPROXY=off forbids to fetch modules"},
		{"off", "GOPROXY=off forbids to fetch modules"},
		{" , |", "GOPROXY has no entries"},
	} {
		start := time.Now()
		_, err := open(t, map[string]string{"GOPROXY": c.proxy}).Get(context.Background(), "", "example.com/a")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.proxy, err, c.want)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: took %v", c.proxy, d)
		}
	}
}

// TestDirect: the repository is asked behind a comma for what a proxy does not have, behind a bar after any
// error, and once for all paths above a package's. A script stands for the go command.
func TestDirect(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for the go command is a shell script")
	}
	server := httptest.NewServer(served())
	defer server.Close()
	bin := t.TempDir()
	script := "#!/bin/sh\necho \"$4\" >>" + bin + "/asked\necho '{\"Version\":\"v9.0.0\"}'\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ proxy, path, want, asked, wrong string }{
		{proxy: server.URL + ",direct", path: "example.com/nothing/sub", want: "example.com/nothing/sub@v9.0.0", asked: "example.com/nothing/sub@latest"},
		{proxy: server.URL + "|direct", path: "example.com/nothing", want: "example.com/nothing@v9.0.0", asked: "example.com/nothing@latest"},
		{proxy: "http://127.0.0.1:1|direct", path: "example.com/nothing", want: "example.com/nothing@v9.0.0", asked: "example.com/nothing@latest"},
		{proxy: "http://127.0.0.1:1,direct", path: "example.com/nothing", wrong: "cannot be reached"},
		{proxy: server.URL + ",off", path: "example.com/nothing", wrong: "GOPROXY=off"},
		{proxy: server.URL + ",direct", path: "example.com/a/sub", want: "example.com/a@v1.1.0"},
	} {
		t.Setenv("PATH", bin)
		s := open(t, map[string]string{"GOPROXY": c.proxy})
		if _, err := s.Build(""); err != nil {
			t.Fatal(err)
		}
		m, err := s.client.resolve(context.Background(), c.path, "latest")
		asked, _ := os.ReadFile(filepath.Join(bin, "asked"))
		os.Remove(filepath.Join(bin, "asked"))
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: got %v, %v, want %s", c.proxy, m, err, c.wrong)
		case c.wrong == "" && (err != nil || m.String() != c.want || strings.TrimSpace(string(asked)) != c.asked):
			t.Errorf("%s: got %v, %v from %q, want %s from %q", c.proxy, m, err, asked, c.want, c.asked)
		}
		t.Setenv("PATH", "")
		if m, err := s.client.resolve(context.Background(), c.path, "latest"); c.asked != "" && err == nil {
			t.Errorf("%s: got %v without Go", c.proxy, m)
		}
	}
}

// TestCancelled: a checksum database that does not answer keeps nobody waiting, and is asked again later.
func TestCancelled(t *testing.T) {
	asked, ended := make(chan bool, 10), make(chan bool)
	var hung atomic.Bool
	database := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if hung.Swap(true) {
			http.Error(w, "closed", http.StatusInternalServerError)
			return
		}
		asked <- true
		<-ended
	}))
	defer database.Close()
	defer close(ended)
	s := open(t, map[string]string{"GOSUMDB": sumKey + " " + database.URL})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-asked; cancel() }()
	if _, err := s.Get(ctx, "", "example.com/a@v1.0.0"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := s.Get(ctx, "", "example.com/a@v1.0.0"); err == nil || !strings.Contains(err.Error(), "500 Internal Server Error") {
		t.Errorf("later: got %v, want the database's answer", err)
	}
}

// TestLocked: who waits for another process that unpacks a module can stop.
func TestLocked(t *testing.T) {
	s := open(t, nil)
	if _, err := s.Build(""); err != nil {
		t.Fatal(err)
	}
	name, _ := s.client.cached(module.Version{Path: "example.com/a", Version: "v1.0.0"}, "lock")
	write(t, name, "")
	lock, err := durable.TryLock(name)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := s.Get(ctx, "", "example.com/a@v1.0.0"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestGoMod: a saved program says what it needs, as go mod tidy writes it.
func TestGoMod(t *testing.T) {
	s := open(t, nil)
	if _, err := s.Get(context.Background(), "", "example.com/a@v1.1.0"); err != nil {
		t.Fatal(err)
	}
	b, _ := s.Build("")
	for _, path := range []string{"example.com/a/sub", "example.com/b"} {
		if _, err := b.Find(context.Background(), path); err != nil {
			t.Fatal(err)
		}
	}
	mod, sum, err := b.GoMod(context.Background(), "lora", "1.26")
	want := "module lora\n\ngo 1.26\n\nrequire example.com/a v1.1.0\n\nrequire example.com/b v1.0.0 // indirect\n"
	if err != nil || mod != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, mod, want)
	}
	for _, line := range []string{"example.com/a v1.1.0 h1:", "example.com/a v1.1.0/go.mod h1:", "example.com/b v1.0.0 h1:"} {
		if !bytes.Contains([]byte(sum), []byte(line)) {
			t.Errorf("go.sum has no %s:\n%s", line, sum)
		}
	}
	// A newer version that is asked for later takes the place of the one that was imported.
	if _, err := s.Get(context.Background(), "", "example.com/b@v1.5.0"); err != nil {
		t.Fatal(err)
	}
	want = "module lora\n\ngo 1.26\n\nrequire (\n\texample.com/a v1.1.0\n\texample.com/b v1.5.0\n)\n"
	for _, again := range []bool{false, true} {
		if b, _ = s.Build(""); again {
			if _, err := b.Find(context.Background(), "example.com/b"); err != nil {
				t.Fatal(err)
			}
		}
		for range 8 {
			if mod, _, err := b.GoMod(context.Background(), "lora", "1.26"); err != nil || mod != want {
				t.Fatalf("imported again: %v: got %v\n%s\nwant\n%s", again, err, mod, want)
			}
		}
	}
	// What another module requires may be newer than what was asked for.
	for _, arg := range []string{"example.com/b@v1.0.0", "example.com/newer"} {
		if _, err := s.Get(context.Background(), "", arg); err != nil {
			t.Fatal(err)
		}
	}
	want = strings.Replace(want, "\n)", "\n\texample.com/newer v1.0.0\n)", 1)
	if mod, _, err := b.GoMod(context.Background(), "lora", "1.26"); err != nil || mod != want {
		t.Errorf("required newer: got %v\n%s\nwant\n%s", err, mod, want)
	}
}
