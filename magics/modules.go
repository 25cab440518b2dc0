package magics

import (
	"context"
	"strings"

	"github.com/mcs-notebook/mcs/repl/display"
)

// moduleMagics are about other people's packages.
func moduleMagics() []*Magic {
	return []*Magic{{
		Name: "get", Family: "Files and history", Args: "[MODULE[@VERSION] …]",
		Summary: "fetch modules of other people, whose packages cells import then; without one, list them",
		Help: "It does what go get does and needs no Go: a module comes from GOPROXY, is checked against go.sum or GOSUMDB, and is kept in\n" +
			"Go's module cache. GOPRIVATE, GONOSUMDB, GOFLAGS, and the go.mod and vendor folder of the session's folder are heeded.\n" +
			"VERSION is v1.2.3, the beginning of one, a branch, a commit, or latest. Packages are interpreted from their source; those\n" +
			"that need cgo, assembly or unsafe are refused. The line belongs into a .mcs file: mcs run fetches what it names.",
		Example: "%get gonum.org/v1/gonum@v0.16.0\n%get github.com/samber/lo",
		run:     runGet,
	}}
}

func runGet(ctx context.Context, c *call) (display.Value, error) {
	var got values
	for _, arg := range strings.Fields(c.rest) {
		m, err := c.s.Get(ctx, arg)
		if err != nil {
			return got.value(), c.errorf("%w", err)
		}
		got = append(got, display.Text(m.String()))
	}
	if len(got) > 0 || strings.TrimSpace(c.rest) != "" {
		return got.value(), nil
	}
	list := c.s.Modules()
	if len(list) == 0 {
		return display.Text("no modules yet; %get gonum.org/v1/gonum fetches one"), nil
	}
	t := display.NewTable("module", "version")
	for _, m := range list {
		t.Add(display.Cell{Text: m.Path, Role: display.Name}, m.Version)
	}
	return t, nil
}
