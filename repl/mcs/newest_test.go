package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingIsStale: the sessions about functions, methods and types that are declared again behave in mcs
// run as they do in a session. Of what they put out, mcs run has the notices on standard error.
func TestNothingIsStale(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "session", "testdata", "newest.cells"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(text), "\n// %% ")[1:] {
		name, cells, _ := strings.Cut(part, "\n")
		t.Run(name, func(t *testing.T) {
			var script, want, notices []string
			for _, line := range strings.Split(cells, "\n") {
				expected, ok := strings.CutPrefix(line, "// > ")
				switch {
				case !ok:
					script = append(script, line)
				case isNotice(expected):
					notices = append(notices, expected)
				default:
					want = append(want, expected)
				}
			}
			if strings.Contains(cells, "> EOF") || strings.Contains(cells, "panic: ") {
				t.Skip("mcs run ends with the first error")
			}
			stdout, stderr, code := mcs(t, writeFiles(t, map[string]string{"t.mcs": strings.Join(script, "\n")}), "", "run", "t.mcs")
			if got := strings.Fields(stdout); code != 0 || strings.Join(got, " ") != strings.Join(strings.Fields(strings.Join(want, "\n")), " ") {
				t.Errorf("exit code %d: got\n%s%s\nwant\n%s", code, stdout, stderr, strings.Join(want, "\n"))
			}
			for _, n := range notices {
				if !strings.Contains(stderr, n) {
					t.Errorf("got the notices\n%s\nwant %s", stderr, n)
				}
			}
		})
	}
}

func isNotice(line string) bool {
	for _, text := range []string{" now, it was ", " now; ", " keeps the ", " keep the ", " keeps values of ", " keep values of ", " stays as it was: "} {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}
