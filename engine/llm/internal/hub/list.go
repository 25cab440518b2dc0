package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

const (
	maxList  = 64 << 20 // bytes of the list of a repository's files
	maxFiles = 1 << 17
)

// A file is one of a repository.
type file struct {
	name   string // with slashes
	size   int64
	sha256 string // of a large file
	sha1   string // of others: that of git's blob
}

var (
	hex40 = lazy.Regexp(`^[0-9a-f]{40}$`)
	hex64 = lazy.Regexp(`^[0-9a-f]{64}$`)
)

// list asks for the commit of the revision and for its files, and chooses among these.
func (h *hub) list(ctx context.Context) (commit string, files []file, err error) {
	var answer struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
			Size *int64 `json:"size"`
			Blob string `json:"blobId"`
			LFS  *struct {
				SHA256 string `json:"sha256"`
				Size   int64  `json:"size"`
			} `json:"lfs"`
		} `json:"siblings"`
	}
	address := h.url("api/models", h.repository, "revision") + "/" + url.PathEscape(h.Revision) + "?blobs=true"
	err = h.again(ctx, func() (int64, error) {
		r, err := h.request(ctx, address, 0)
		if err != nil {
			return 0, err
		}
		defer r.Close()
		text, err := io.ReadAll(io.LimitReader(r, maxList+1))
		switch {
		case err != nil:
			return 0, &laterError{err: err}
		case len(text) > maxList:
			return 0, fmt.Errorf("the list of its files has more than %d bytes", maxList)
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return 0, fmt.Errorf("the list of its files: %w", err)
		}
		return 0, nil
	})
	if err != nil {
		return "", nil, err
	}
	if !hex40().MatchString(answer.SHA) {
		return "", nil, fmt.Errorf("the server calls the commit %.60q, want 40 hexadecimal digits", answer.SHA)
	}
	if len(answer.Siblings) > maxFiles {
		return "", nil, fmt.Errorf("got %d files, want at most %d", len(answer.Siblings), maxFiles)
	}
	all, names := map[string]file{}, []string{}
	for _, s := range answer.Siblings {
		f := file{name: s.Name, sha1: s.Blob}
		if s.Size != nil {
			f.size = *s.Size
		}
		if s.LFS != nil {
			f.size, f.sha256, f.sha1 = s.LFS.Size, s.LFS.SHA256, ""
		}
		if _, ok := all[f.name]; ok {
			return "", nil, fmt.Errorf("%.100q is there twice", f.name)
		}
		all[f.name], names = f, append(names, f.name)
	}
	chosen, err := h.Choose(names)
	if err != nil {
		return "", nil, err
	}
	lower := map[string]bool{} // for disks that do not tell letters apart
	for _, name := range chosen {
		f := all[name]
		if err := f.check(); err != nil {
			return "", nil, err
		}
		if key := strings.ToLower(name); lower[key] {
			return "", nil, fmt.Errorf("%q is there in capital and in small letters", name)
		} else {
			lower[key] = true
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b file) int { return int(min(max(a.size-b.size, -1), 1)) }) // settings before weights
	return answer.SHA, files, nil
}

// check says what is wrong with what the server says of a file.
func (f file) check() error {
	local := filepath.FromSlash(f.name)
	switch {
	case !filepath.IsLocal(local) || strings.ContainsAny(f.name, "\\:\x00") || filepath.ToSlash(filepath.Clean(local)) != f.name || strings.HasPrefix(f.name, "."):
		return fmt.Errorf("got a file %.100q, want a name inside of the folder", f.name)
	case f.size < 0:
		return fmt.Errorf("%s: the server says %d bytes", f.name, f.size)
	case f.sha256 != "" && !hex64().MatchString(f.sha256):
		return fmt.Errorf("%s: got SHA-256 %.80q, want 64 hexadecimal digits", f.name, f.sha256)
	case f.sha256 == "" && !hex40().MatchString(f.sha1):
		return fmt.Errorf("%s: the server says no hash by which the file could be checked", f.name)
	}
	return nil
}

// Some names a few of many.
func Some(names []string) string {
	if len(names) <= 8 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:8], ", "), len(names)-8)
}
