package session

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// TestModules runs examples of well-known modules. What they print is in out.txt, as `go run
// -tags=purego,noasm,appengine,safe` prints it, and why one is refused in refused.txt. The modules come from
// Go's cache or from the network; without either a module's example is skipped.
// fetched are the lines that say what was not in Go's cache yet.
var fetched = regexp.MustCompile(`(?m)^fetching .*\n`)

func TestModules(t *testing.T) {
	list, err := filepath.Glob("testdata/modules/*/main.go")
	if err != nil || len(list) < 20 {
		t.Fatal(len(list), err)
	}
	large := []string{"echarts", "graph", "lipgloss", "lo", "mat", "stat"} // each takes seconds to load
	for _, name := range list {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			t.Parallel()
			if dir, base := filepath.Dir(name), filepath.Base(filepath.Dir(name)); slices.Contains(large, base) {
				long.Only(t, "loads "+dir)
			}
			runModule(t, name)
		})
	}
}

// runModule runs a program in a process of its own: what pools of a module make is kept until a process ends.
func runModule(t *testing.T, name string) {
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Dir = append(os.Environ(), beProgram+"="+path), filepath.Dir(path)
	b, err := cmd.CombinedOutput()
	got := fetched.ReplaceAllString(string(b), "")
	if strings.Contains(got, "cannot be reached") {
		t.Skip("its module is neither in Go's cache nor in reach: ", got)
	}
	want, file := os.ReadFile(filepath.Join(cmd.Dir, "refused.txt"))
	if file == nil {
		first, _, _ := strings.Cut(got, "\n")
		if first != refusedMark+" "+strings.TrimSpace(string(want)) {
			t.Errorf("got %q, want %q", first, want)
		}
		return
	}
	if want, file = os.ReadFile(filepath.Join(cmd.Dir, "out.txt")); file != nil {
		t.Fatal(file)
	}
	if err != nil || got != string(want) {
		t.Errorf("%v\n%s\nwant:\n%s", err, got, want)
	}
}
