package magics

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/gomod"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/stdlib"
)

// moduleMagics are about other people's packages.
func moduleMagics() []*Magic {
	return []*Magic{{
		Name: "get", Family: "Files and history", Args: "[MODULE[@VERSION] …]",
		Summary: "fetch modules of other people, or list those that were fetched",
		Help: "Cells import their packages then, interpreted; mcs build compiles them in. It does what go get does and needs no Go: a module comes from GOPROXY, is checked against go.sum or GOSUMDB, and is kept in\n" +
			"Go's module cache. GOPRIVATE, GONOSUMDB, GOFLAGS, and the go.mod and vendor folder of the session's folder are heeded.\n" +
			"VERSION is v1.2.3, the beginning of one, a branch, a commit, or latest. Packages are interpreted from their source; those\n" +
			"that need cgo, assembly or unsafe are refused. The line belongs into a .mcs file: mcs run fetches what it names.",
		Example: "%get gonum.org/v1/gonum@v0.16.0\n%get github.com/samber/lo",
		run:     runGet,
	}}
}

func runGet(ctx context.Context, c *call) (display.Value, error) {
	var got values
	for arg := range strings.FieldsSeq(c.rest) {
		m, err := c.s.Get(ctx, arg)
		if err != nil {
			return got.value(), c.errorf("%w", err)
		}
		got = append(got, display.Text(m.String()))
	}
	if len(got) > 0 || strings.TrimSpace(c.rest) != "" {
		return got.value(), nil
	}
	list, compiled := c.s.Modules(), stdlib.Modules()
	if len(list)+len(compiled) == 0 {
		return display.Text("no modules yet; %get gonum.org/v1/gonum fetches one"), nil
	}
	t := display.NewTable("module", "version")
	for _, m := range list {
		if !slices.Contains(compiled, stdlib.Module(m)) {
			t.Add(display.Cell{Text: m.Path, Role: display.Name}, m.Version)
		}
	}
	for _, m := range compiled {
		t.Add(display.Cell{Text: m.Path, Role: display.Name}, strings.TrimSpace(m.Version+" compiled in"))
	}
	return t, nil
}

// pinned writes into the %get lines of a cell the versions that the session has chosen, so that a file runs
// with the same ones later.
func pinned(source string, modules []session.Module) string {
	return withCommands(source, func(m *Magic, text string) string {
		if m.Name != "get" {
			return text
		}
		words := strings.Fields(text)
		for i, word := range words {
			path, _, _ := strings.Cut(word, "@")
			for _, module := range modules {
				if strings.HasPrefix(path+"/", module.Path+"/") {
					words[i] = module.String()
				}
			}
		}
		return strings.Join(words, " ")
	})
}

// saveGoMod writes what a program needs beside it, unless it lies in a module already, which is the person's
// to change. It says what it did or what to do.
func (c *call) saveGoMod(ctx context.Context, program string) (string, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return "", err
	}
	if root, _ := gomod.Above(filepath.Dir(program)); root != "" {
		var list []string
		for _, m := range c.s.Modules() {
			list = append(list, m.String())
		}
		return "it lies in a module: `go get " + strings.Join(list, " ") + "` adds what it needs", nil
	}
	mod, sum, err := c.s.GoMod(ctx, strings.TrimSuffix(filepath.Base(program), ".go"))
	if err != nil {
		return "", err
	}
	for name, text := range map[string]string{"go.mod": mod, "go.sum": sum} {
		if err := durable.WriteFile(filepath.Join(filepath.Dir(program), name), durable.Text(text)); err != nil {
			return "", err
		}
	}
	return "go.mod and go.sum beside it say which modules", nil
}
