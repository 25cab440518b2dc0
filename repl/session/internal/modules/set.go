// Package modules brings other people's packages: it fetches modules as the go command does, without one.
//
// A [Client] reads proxies (GOPROXY), checks what comes from them (go.sum, GOSUMDB) and keeps it in Go's own
// module cache, in Go's own form, so that what one of the two has fetched the other finds. A [Build] is what
// a main module and a session require, in the versions that minimal version selection chooses; it finds the
// folder of a package. A [Set] is the builds of a session.
//
// Not heeded: GOAUTH and .netrc, GOVCS, GOINSECURE, go.work, -modfile. A module that comes from its
// repository (GOPRIVATE, GOPROXY=direct) needs the go command. Protocol, cache and go.sum:
// https://go.dev/ref/mod.
//
// Reading order: set.go, build.go, query.go, cache.go, proxy.go, sum.go, env.go.
package modules

import (
	"context"
	"os"
	"slices"

	"golang.org/x/mod/module"
)

// A Version is a module in a version.
type Version = module.Version

// A Set is the modules of a session, for each main module whose code it runs.
type Set struct {
	getenv func(string) string
	Tell   func(text string) // says that something is being fetched

	client *Client
	builds map[string]*Build // by folder of go.mod
	asked  []Version
}

// NewSet makes the set of a session that has required nothing. The environment is read when a module is
// first asked for.
func NewSet(tell func(text string)) *Set {
	return &Set{getenv: os.Getenv, Tell: tell, builds: map[string]*Build{}}
}

// Build returns the modules of the main module in a folder, with what the session requires.
func (s *Set) Build(root string) (*Build, error) {
	if b := s.builds[root]; b != nil {
		return b, nil
	}
	if s.client == nil {
		env, err := ReadEnv(s.getenv)
		if err != nil {
			return nil, err
		}
		s.client = NewClient(env)
		s.client.Tell = s.Tell
	}
	b, err := s.client.Main(root)
	if err != nil {
		return nil, err
	}
	b.asked = append(b.asked, s.asked...)
	s.builds[root] = b
	return b, nil
}

// Get requires a module from now on, see [Build.Get].
func (s *Set) Get(ctx context.Context, root, arg string) (Version, error) {
	b, err := s.Build(root)
	if err != nil {
		return Version{}, err
	}
	m, err := b.Get(ctx, arg)
	if err != nil {
		return m, err
	}
	s.asked = b.Asked()
	s.builds = map[string]*Build{root: b}
	return m, nil
}

// Have requires a version that is compiled in, and fetches nothing. That of a folder stays unknown.
func (s *Set) Have(m Version) Version {
	if m.Version != "" && !slices.Contains(s.asked, m) {
		s.asked = append(slices.Clip(s.asked), m)
		s.builds = map[string]*Build{}
	}
	return m
}

// Asked are the modules that the session requires, in order.
func (s *Set) Asked() []Version { return s.asked }
