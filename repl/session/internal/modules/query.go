package modules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Get adds a module to the requirements: PATH, PATH@VERSION, or PATH@QUERY with what the go command takes
// there: latest, the beginning of a version (v1.2), a branch or a commit. The path of a package stands for
// its module. The module is fetched and checked; on an error nothing has changed.
func (b *Build) Get(ctx context.Context, arg string) (module.Version, error) {
	path, query, _ := strings.Cut(arg, "@")
	if query == "" {
		query = "latest"
	}
	if err := module.CheckImportPath(path); err != nil {
		return module.Version{}, err
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return module.Version{}, fmt.Errorf("%s is no path of a module: they begin with a host, as in gonum.org/v1/gonum", path)
	}
	if b.vendored != nil {
		return module.Version{}, fmt.Errorf("%s has a vendor folder, which says what is imported; go get and go mod vendor change it, and GOFLAGS=-mod=mod leaves it out", b.main.Module.Mod.Path)
	}
	m, err := b.c.resolve(ctx, path, query)
	if err != nil {
		return m, err
	}
	before, selected := slices.Clone(b.asked), b.selected
	b.require(m)
	if err = b.choose(ctx); err == nil {
		if higher := b.selected[m.Path]; higher != m.Version && higher != "" {
			err = fmt.Errorf("%s: other modules require %s@%s, which is newer; ask for that", m, m.Path, higher)
		} else if r := b.replaced(m); r.Version != "" {
			_, err = b.c.unpack(ctx, r, b.sums)
		}
	}
	if err != nil {
		b.asked, b.selected = before, selected
	}
	return m, err
}

// resolve finds the module that has a path, and the version that a query means. It asks for all paths above
// at once, and takes the longest.
func (c *Client) resolve(ctx context.Context, path, query string) (module.Version, error) {
	var paths []string
	for p := path; p != "." && strings.Contains(p, "/"); p = parent(p) {
		if module.CheckPath(p) == nil {
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		paths = []string{path}
	}
	versions, errs := make([]string, len(paths)), make([]error, len(paths))
	var wait sync.WaitGroup
	for i, p := range paths {
		wait.Go(func() { versions[i], errs[i] = c.version(ctx, p, query) })
	}
	wait.Wait()
	missing, led := new(missingError), new(directError)
	for i, err := range errs {
		if err == nil {
			return module.Version{Path: paths[i], Version: versions[i]}, nil
		}
		if !errors.As(err, &missing) && !errors.As(err, &led) {
			return module.Version{}, fmt.Errorf("%s@%s: %w", paths[i], query, err)
		}
	}
	for i := range paths { // no proxy has any of them
		if errors.As(errs[i], &led) {
			if versions[i], errs[i] = c.direct(ctx, paths[i], query, led); errs[i] == nil {
				return module.Version{Path: paths[i], Version: versions[i]}, nil
			}
		}
	}
	return module.Version{}, fmt.Errorf("%s@%s: %w", path, query, errs[0])
}

// version finds the version that a query means. The error is a directError if a repository has to be asked.
func (c *Client) version(ctx context.Context, path, query string) (string, error) {
	if module.CanonicalVersion(query) == query {
		if err := module.Check(path, query); err != nil {
			return "", err
		}
		_, _, err := c.proxied(ctx, module.Version{Path: path, Version: query}, "info", func(text []byte) error {
			got, err := versionOf(text)
			if err == nil && got != query {
				err = fmt.Errorf("info: got version %q, want %s", got, query)
			}
			return err
		})
		return query, err
	}
	if c.env.direct(path) {
		return "", &directError{}
	}
	return c.listed(ctx, path, query)
}

// listed finds the version that a query means among those that a proxy lists, or asks it for a commit.
func (c *Client) listed(ctx context.Context, path, query string) (string, error) {
	if query != "latest" && !strings.HasPrefix(query, "v") || strings.Contains(query, "/") {
		return c.revision(ctx, path, query)
	}
	text, err := c.fetch(ctx, path, "@v/list", maxText)
	if err != nil {
		return "", err
	}
	var list []string
	for v := range strings.FieldsSeq(string(text)) {
		if semver.IsValid(v) && module.Check(path, v) == nil && (query == "latest" || strings.HasPrefix(v, query+".") || strings.HasPrefix(v, query+"-")) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b string) int { // releases before others, newest first
		if ap, bp := semver.Prerelease(a) == "", semver.Prerelease(b) == ""; ap != bp {
			if ap {
				return -1
			}
			return 1
		}
		return semver.Compare(b, a)
	})
	if list, err = c.compatible(ctx, path, list); err != nil {
		return "", err
	}
	if len(list) > 0 {
		return c.kept(ctx, path, list), nil
	}
	return c.revision(ctx, path, query) // the newest commit, or a branch or a tag that begins with v
}

// compatible leaves versions of a module without go.mod files (+incompatible) out of a list, if the newest of
// the others has a go.mod: cmd/go/internal/modload does. A proxy makes a go.mod where there is none; it
// consists of the module's path.
func (c *Client) compatible(ctx context.Context, path string, list []string) ([]string, error) {
	kept := slices.DeleteFunc(slices.Clone(list), func(v string) bool { return semver.Build(v) == "+incompatible" })
	if len(kept) == 0 || len(kept) == len(list) {
		return list, nil
	}
	text, err := c.modOf(ctx, path, slices.MaxFunc(kept, semver.Compare))
	if err != nil {
		return nil, err
	}
	if made := "module " + modfile.AutoQuote(path) + "\n"; string(text) == made {
		return list, nil
	}
	return kept, nil
}

// modOf fetches the go.mod of a version, for what it says of others.
func (c *Client) modOf(ctx context.Context, path, version string) ([]byte, error) {
	escaped, err := module.EscapeVersion(version)
	if err != nil {
		return nil, err
	}
	return c.fetch(ctx, path, "@v/"+escaped+".mod", maxText)
}

// kept is the first of some versions that the module has not taken back: the newest go.mod says which.
func (c *Client) kept(ctx context.Context, path string, list []string) string {
	text, err := c.modOf(ctx, path, slices.MaxFunc(list, semver.Compare))
	if err != nil {
		return list[0] // fetching it says what is wrong
	}
	f, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return list[0]
	}
	for _, v := range list {
		if !slices.ContainsFunc(f.Retract, func(r *modfile.Retract) bool {
			return semver.Compare(r.Low, v) <= 0 && semver.Compare(v, r.High) <= 0
		}) {
			return v
		}
	}
	return list[0]
}

// revision reads the version of a branch, of a commit or of the newest one, for which the proxy makes a
// pseudo-version.
func (c *Client) revision(ctx context.Context, path, query string) (string, error) {
	file := "@latest"
	if query != "latest" {
		parts := strings.Split(query, "/")
		for i, part := range parts {
			var err error
			if parts[i], err = module.EscapeVersion(part); err != nil {
				return "", err
			}
		}
		file = "@v/" + strings.Join(parts, "%2F") + ".info"
	}
	text, err := c.fetch(ctx, path, file, maxText)
	if err != nil {
		return "", err
	}
	version, err := versionOf(text)
	if err != nil {
		return "", err
	}
	return version, module.Check(path, version)
}

// versionOf reads the version in a proxy's answer about one.
func versionOf(text []byte) (string, error) {
	var info struct{ Version string }
	if err := json.Unmarshal(text, &info); err != nil {
		return "", fmt.Errorf("info: %w", err)
	}
	return info.Version, nil
}
