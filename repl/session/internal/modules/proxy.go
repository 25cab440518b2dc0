package modules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
)

// The limits of what a proxy may send, in bytes. Go's own is 500 MB for a module.
const (
	maxText   = 16 << 20
	maxModule = 500 << 20
)

// patience is how long a proxy may take to accept a connection: without a network the answer comes at once.
const patience = 3 * time.Second

// A missingError is the answer of a proxy that does not have a module, a version or a file.
type missingError struct{ where, why string }

func (e *missingError) Error() string {
	if e.why == "" {
		return e.where + " does not have it"
	}
	return e.where + " does not have it: " + e.why
}

// get reads an address of a proxy, at most limit bytes.
func (c *Client) get(ctx context.Context, address string, limit int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("GOPROXY: %w", err)
	}
	if u.Scheme == "file" {
		text, err := os.ReadFile(filepath.FromSlash(u.Path))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &missingError{where: "the folder of GOPROXY"}
		}
		return text, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, netError(ctx, u, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		line, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(why)), "not found: "), "\n")
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone {
			return nil, &missingError{u.Host, line}
		}
		return nil, fmt.Errorf("%s answers %s: %s", u.Host, resp.Status, line)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, netError(ctx, u, err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s sends more than %d MB for %s", u.Host, limit>>20, u.Path)
	}
	return text, nil
}

// netError says that a host cannot be reached, without the address that it was asked for.
func netError(ctx context.Context, u *url.URL, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if ue := new(url.Error); errors.As(err, &ue) {
		err = ue.Err
	}
	return fmt.Errorf("%s cannot be reached: %w", u.Host, err)
}

// fetch reads a file of a module, such as @v/v1.2.3.zip, from the first proxy that has it: from one
// behind a comma if those before do not have the module, and from one behind a bar after any error. The
// error is a directError if the repository is next.
func (c *Client) fetch(ctx context.Context, path, file string, limit int64) (text []byte, err error) {
	escaped, err := module.EscapePath(path)
	if err != nil {
		return nil, err
	}
	rest := c.env.Proxy
	for rest != "" {
		end := strings.IndexAny(rest, ",|")
		proxy, always := rest, false
		if rest = ""; end >= 0 {
			always = proxy[end] == '|'
			proxy, rest = proxy[:end], proxy[end+1:]
		}
		switch proxy = strings.TrimSpace(proxy); proxy {
		case "":
			continue
		case "off":
			return nil, errors.Join(err, errors.New("GOPROXY=off forbids to fetch modules"))
		case "direct":
			return nil, &directError{err}
		}
		if !strings.Contains(proxy, "://") {
			proxy = "https://" + proxy
		}
		text, err = c.get(ctx, strings.TrimSuffix(proxy, "/")+"/"+escaped+"/"+file, limit)
		if missing := new(missingError); err == nil || !always && !errors.As(err, &missing) {
			return text, err
		}
	}
	if err == nil {
		err = errors.New("GOPROXY has no entries")
	}
	return nil, err
}

// A directError says that a module comes from its repository: GOPROXY, GONOPROXY or GOPRIVATE say so, or the
// proxies before did not have it, and why.
type directError struct{ before error }

func (e *directError) Error() string {
	if e.before != nil {
		return e.before.Error()
	}
	return "it comes from its repository (GOPROXY, GONOPROXY or GOPRIVATE say so), which needs Go: install it, or name a proxy in GOPROXY"
}

func (e *directError) Unwrap() error { return e.before }

// direct has the go command bring a module from its repository into the cache; query is a version or what
// else may stand behind the @. Without Go the error is what led here.
func (c *Client) direct(ctx context.Context, path, query string, led *directError) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", path+"@"+query)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOPROXY="+c.env.Proxy, "GO111MODULE=on", "GOWORK=off", "GOFLAGS=-mod=mod", "GOMODCACHE="+c.env.ModCache)
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", led
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var got struct{ Version, Error string }
	if json.Unmarshal(out, &got) != nil || got.Error != "" || got.Version == "" {
		if ee := new(exec.ExitError); got.Error == "" && errors.As(err, &ee) {
			got.Error = strings.TrimSpace(string(ee.Stderr))
		}
		return "", fmt.Errorf("go mod download: %s", got.Error)
	}
	return got.Version, nil
}
