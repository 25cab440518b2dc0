package hub

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server has one repository, org/name, and speaks as Hugging Face's hub does. Files of more than 100 bytes
// are large ones, which lie behind a redirect to another path.
type server struct {
	*httptest.Server
	files map[string][]byte
	token string // without which nothing is given

	mu     sync.Mutex
	asked  []string // "GET path range"
	tamper func(w http.ResponseWriter, r *http.Request) bool
}

const commit = "0123456789abcdef0123456789abcdef01234567"

func serve(t *testing.T, files map[string][]byte) *server {
	s := &server{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func blobHash(b []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
	return hex.EncodeToString(sum[:])
}

func largeHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	tamper := s.tamper
	s.mu.Unlock()
	if tamper != nil && tamper(w, r) {
		return
	}
	if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token && !strings.HasPrefix(r.URL.Path, "/blobs/") {
		w.Header().Set("X-Error-Message", "Access to model org/name is restricted")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if _, rest, ok := strings.Cut(r.URL.Path, "/api/models/org/name/revision/"); ok {
		if rest != "main" && rest != commit && rest != "refs/pr/1" {
			http.NotFound(w, r)
			return
		}
		s.list(w)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/api/models/org/name/tree/") {
		s.tree(w)
		return
	}
	if _, rest, ok := strings.Cut(r.URL.Path, "/org/name/resolve/"); ok {
		_, name, _ := strings.Cut(rest, "/")
		s.resolve(w, r, name)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/blobs/"); ok {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.files[name]))
		return
	}
	http.NotFound(w, r)
}

func (s *server) list(w http.ResponseWriter) {
	var siblings []map[string]any
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		b := s.files[name]
		entry := map[string]any{"rfilename": name, "size": len(b), "blobId": blobHash(b)}
		if len(b) > 100 {
			entry["blobId"] = blobHash([]byte("a pointer"))
			entry["lfs"] = map[string]any{"sha256": largeHash(b), "size": len(b), "pointerSize": 130}
		}
		siblings = append(siblings, entry)
	}
	json.NewEncoder(w).Encode(map[string]any{"id": "org/name", "modelId": "org/name", "sha": commit, "siblings": siblings, "private": false, "tags": []string{}, "downloads": 0})
}

// tree is the other list of the files, which Hugging Face's own package asks for.
func (s *server) tree(w http.ResponseWriter) {
	list := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		b := s.files[name]
		entry := map[string]any{"type": "file", "path": name, "size": len(b), "oid": blobHash(b)}
		if len(b) > 100 {
			entry["lfs"] = map[string]any{"oid": largeHash(b), "size": len(b), "pointerSize": 130}
		}
		list = append(list, entry)
	}
	json.NewEncoder(w).Encode(list)
}

func (s *server) resolve(w http.ResponseWriter, r *http.Request, name string) {
	b, ok := s.files[name]
	if !ok {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		http.NotFound(w, r)
		return
	}
	w.Header().Set("X-Repo-Commit", commit)
	if len(b) <= 100 {
		w.Header().Set("ETag", `"`+blobHash(b)+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
		return
	}
	w.Header().Set("X-Linked-Etag", `"`+largeHash(b)+`"`)
	w.Header().Set("X-Linked-Size", fmt.Sprint(len(b)))
	w.Header().Set("Location", strings.Replace(s.URL, "127.0.0.1", "localhost", 1)+"/blobs/"+url.PathEscape(name)) // another host, as the hub has
	w.WriteHeader(http.StatusFound)
}

// requests are those that were made of files, since the last call.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(s.asked, func(r string) bool { return strings.Contains(r, "/api/") })
	s.asked = nil
	return list
}
