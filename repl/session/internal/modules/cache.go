package modules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	modzip "golang.org/x/mod/zip"

	"github.com/mcs-notebook/mcs/internal/durable"
)

// A Client fetches modules into Go's cache of them, and checks them. Its methods may be called by several
// goroutines.
type Client struct {
	env  *Env
	http *http.Client
	mu   sync.Mutex
	sums *database
	// Tell says that a module is being fetched; it may be nil.
	Tell func(text string)
}

// NewClient makes a client that follows an environment.
func NewClient(env *Env) *Client {
	c := &Client{env: env, http: &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: patience}).DialContext,
		TLSHandshakeTimeout: 2 * patience, ResponseHeaderTimeout: time.Minute, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16,
	}}}
	c.sums = newDatabase(c)
	return c
}

// cached is where Go keeps a file of a version: info, mod, zip, ziphash, lock or partial.
func (c *Client) cached(m module.Version, ending string) (string, error) {
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return "", err
	}
	return filepath.Join(c.env.ModCache, "cache", "download", filepath.FromSlash(path), "@v", version+"."+ending), nil
}

// folder is where Go unpacks a version.
func (c *Client) folder(m module.Version) (string, error) {
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(m.Version)
	return filepath.Join(c.env.ModCache, filepath.FromSlash(path)+"@"+version), err
}

// file returns a file of a version, from the cache if it is there, and where it lies in the cache. Check
// sees what was fetched before the cache gets it.
func (c *Client) file(ctx context.Context, m module.Version, ending string, check func(text []byte) error) (text []byte, name string, err error) {
	text, name, err = c.proxied(ctx, m, ending, check)
	if led := new(directError); errors.As(err, &led) {
		if _, err = c.direct(ctx, m.Path, m.Version, led); err == nil {
			text, err = os.ReadFile(name)
		}
	}
	return text, name, err
}

// proxied is file without the repositories: the error is a directError where one is next.
func (c *Client) proxied(ctx context.Context, m module.Version, ending string, check func(text []byte) error) ([]byte, string, error) {
	name, err := c.cached(m, ending)
	if err != nil {
		return nil, "", err
	}
	if text, err := os.ReadFile(name); err == nil {
		return text, name, nil
	}
	limit := int64(maxText)
	if ending == "zip" {
		limit = maxModule
		if c.Tell != nil {
			c.Tell("fetching " + m.String())
		}
	}
	text, err := []byte(nil), error(&directError{})
	if !c.env.direct(m.Path) {
		version, _ := module.EscapeVersion(m.Version) // cached has done the same
		text, err = c.fetch(ctx, m.Path, "@v/"+version+"."+ending, limit)
	}
	if err != nil {
		return nil, name, err
	}
	if err := check(text); err != nil {
		return nil, "", err
	}
	return text, name, store(name, text)
}

// store writes a file of the cache as a whole: another process may read it at any time, and what a crash has
// cut off would be taken for a forgery.
func store(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return durable.Writer{Perm: 0o644}.WriteFile(name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// goMod returns the go.mod of a version, checked.
func (c *Client) goMod(ctx context.Context, m module.Version, sums *sums) ([]byte, error) {
	check := func(text []byte) error {
		open := func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
		hash, err := dirhash.Hash1([]string{"go.mod"}, open)
		if err != nil {
			return err
		}
		return c.check(ctx, sums, module.Version{Path: m.Path, Version: m.Version + "/go.mod"}, hash)
	}
	text, _, err := c.file(ctx, m, "mod", check)
	if err != nil {
		return nil, moduleError(m, err)
	}
	return text, moduleError(m, check(text))
}

// unpack fetches, checks and unpacks a version, unless the cache has it, and returns its folder.
func (c *Client) unpack(ctx context.Context, m module.Version, sums *sums) (string, error) {
	dir, err := c.folder(m)
	if err != nil {
		return "", err
	}
	_, unpacked := os.Stat(dir)
	partial, err := c.cached(m, "partial")
	if err != nil {
		return "", err
	}
	_, half := os.Stat(partial)
	hashName, _ := c.cached(m, "ziphash")
	hash, err := os.ReadFile(hashName)
	if unpacked == nil && half != nil && err == nil {
		return dir, moduleError(m, c.check(ctx, sums, m, strings.TrimSpace(string(hash))))
	}
	if err := c.unzip(ctx, m, sums, dir); err != nil {
		return "", moduleError(m, err)
	}
	return dir, nil
}

// unzip makes the folder of a version from its zip file, under the lock that the go command takes.
func (c *Client) unzip(ctx context.Context, m module.Version, sums *sums, dir string) error {
	lockName, err := c.cached(m, "lock")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(lockName), 0o777); err != nil {
		return err
	}
	lock, err := durable.WaitLock(ctx, lockName, time.Minute)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	_, name, err := c.file(ctx, m, "zip", func([]byte) error { return nil })
	if err != nil {
		return err
	}
	hash, err := dirhash.HashZip(name, dirhash.DefaultHash)
	if err == nil {
		err = c.check(ctx, sums, m, hash)
	}
	if err != nil {
		os.Remove(name) // the cache keeps nothing that is not what it should be
		return err
	}
	hashName, _ := c.cached(m, "ziphash")
	if err := store(hashName, []byte(hash)); err != nil {
		return err
	}
	partial, _ := c.cached(m, "partial")
	if _, err := os.Stat(dir); err == nil {
		if _, err := os.Stat(partial); errors.Is(err, fs.ErrNotExist) {
			return nil // another process has just done it
		}
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	if err := store(partial, nil); err != nil {
		return err
	}
	if err := modzip.Unzip(dir, m, name); err != nil {
		return errors.Join(err, removeAll(dir), os.Remove(partial))
	}
	if !c.env.Writable {
		readOnly(dir)
	}
	return os.Remove(partial)
}

// readOnly takes the right to write from folders, as the go command does: nobody changes what was checked.
func readOnly(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if info, err := d.Info(); err == nil {
				_ = os.Chmod(path, info.Mode()&^0o222) // some file systems have no such rights
			}
		}
		return nil
	})
}

// removeAll removes a folder of the cache, whose folders may be read only.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o777) // RemoveAll says what it cannot remove
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// moduleError puts a module's name before an error about it.
func moduleError(m module.Version, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", m, err)
}
