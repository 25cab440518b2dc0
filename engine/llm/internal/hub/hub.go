// Package hub fetches repositories of models from Hugging Face's hub, or from a server that speaks its
// protocol.
//
//	GET /api/models/ORG/NAME/revision/REV?blobs=true    the commit, and its files with sizes and hashes
//	GET /ORG/NAME/resolve/COMMIT/FILE                   a file, perhaps behind redirects
//
// A file is written beside its final name, continued where an earlier download ended, and gets its name when
// its hash is the one that the server said at first: SHA-256 of a large file, git's SHA-1 of a small one. So
// a file that is there is whole. What a server says is not believed: names that lead out of the folder, other
// lengths than announced, and parts of files that were not asked for are errors that name the file.
//
// Reading order: hub.go, list.go (what a repository has), get.go (one file), transfer.go (one request).
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/lazy"
)

// Options say what is fetched, and from where.
type Options struct {
	Revision string // a branch, tag or commit; "": main
	Cache    string // the folder of all repositories
	Endpoint string // "https://huggingface.co"
	Token    string // of the reader's account; "": none

	// Choose returns those of the repository's files that are fetched.
	Choose func(names []string) ([]string, error)

	Client   *http.Client  // nil: one of its own
	Patience time.Duration // how long a server may say nothing; 0: a minute
	Tries    int           // how often a request is made that fails for the moment; 0: 5
	Pause    time.Duration // before the second try, doubled from then on; 0: a second
}

func (o Options) withDefaults() Options {
	o.Revision = cmp.Or(o.Revision, "main")
	if o.Client == nil {
		o.Client = &http.Client{}
	}
	o.Patience = cmp.Or(o.Patience, time.Minute)
	o.Tries = cmp.Or(o.Tries, 5)
	o.Pause = cmp.Or(o.Pause, time.Second)
	return o
}

// nameOfRepository is "org/name", or "name" of the oldest models.
var nameOfRepository = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?$`)

// Fetch downloads the chosen files of a repository, those that are not there yet, and returns the folder that
// has them: one for each commit. It reports bytes to the context's progress.
func Fetch(ctx context.Context, repository string, o Options) (dir string, err error) {
	o = o.withDefaults()
	if !nameOfRepository().MatchString(repository) || strings.Contains(repository, "..") {
		return "", fmt.Errorf("got repository %q, want org/name", repository)
	}
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil || endpoint.Scheme != "https" && endpoint.Scheme != "http" || endpoint.Host == "" {
		return "", fmt.Errorf("got endpoint %q, want a URL of http or https", o.Endpoint)
	}
	h := &hub{Options: o, endpoint: strings.TrimSuffix(o.Endpoint, "/"), host: endpoint.Host, repository: repository}
	commit, files, err := h.list(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", repository, err)
	}
	dir = filepath.Join(o.Cache, filepath.FromSlash(repository), commit)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	lock, err := durable.TryLock(filepath.Join(dir, ".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	var total, done int64
	for _, f := range files {
		total += f.size
	}
	report := func(n int64, note string, final bool) {
		done += n
		progress.Report(ctx, progress.Event{Task: "download", Done: done, Total: total, Unit: "B", Note: note, Final: final})
	}
	defer func() { report(0, repository, true) }()
	for _, f := range files {
		if err := h.get(ctx, dir, commit, f, func(n int64) { report(n, f.name, false) }); err != nil {
			return "", fmt.Errorf("%s: %s: %w", repository, f.name, err)
		}
	}
	return dir, nil
}

// A hub is one repository of a server.
type hub struct {
	Options
	endpoint   string
	host       string // of the endpoint: the only one that is told the token
	repository string
}

// url is an address of the endpoint; parts are escaped.
func (h *hub) url(parts ...string) string {
	for i, p := range parts {
		list := strings.Split(p, "/")
		for j := range list {
			list[j] = url.PathEscape(list[j])
		}
		parts[i] = strings.Join(list, "/")
	}
	return h.endpoint + "/" + strings.Join(parts, "/")
}

// Matching chooses the files that match one of the patterns of [path.Match].
func Matching(patterns ...string) func(names []string) ([]string, error) {
	return func(names []string) ([]string, error) {
		var list []string
		for _, name := range names {
			for _, p := range patterns {
				ok, err := path.Match(p, name)
				if err != nil {
					return nil, fmt.Errorf("got pattern %q: %w", p, err)
				}
				if ok {
					list = append(list, name)
					break
				}
			}
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("no file is one of %s: there are %s", strings.Join(patterns, ", "), Some(names))
		}
		return list, nil
	}
}

// again calls try until it succeeds, fails for good, or has failed too often. What a try has fetched is kept,
// so a try that has brought some bytes does not count.
func (h *hub) again(ctx context.Context, try func() (got int64, err error)) error {
	pause := h.Pause
	for left := h.Tries - 1; ; {
		got, err := try()
		var later *laterError
		if err == nil || ctx.Err() != nil || !errors.As(err, &later) {
			return err
		}
		if got >= slowest {
			left, pause = h.Tries-1, h.Pause
		}
		if left <= 0 {
			return fmt.Errorf("%w (tried %d times)", err, h.Tries)
		}
		left--
		wait := max(pause, min(later.after, time.Minute))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		pause *= 2
	}
}
