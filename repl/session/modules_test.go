package session

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModules runs examples of well-known modules. What they print is in out.txt, as `go run
// -tags=purego,noasm,appengine,safe` prints it, and why one is refused in refused.txt. The modules come from
// Go's cache or from the network; without either a module's example is skipped.
func TestModules(t *testing.T) {
	if testing.Short() {
		t.Skip("it loads large modules")
	}
	list, err := filepath.Glob("testdata/modules/*/main.go")
	if err != nil || len(list) < 20 {
		t.Fatal(len(list), err)
	}
	behave := 0
	for _, name := range list {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			status, err := RunProgram(context.Background(), []ProgramFile{{Name: name, Source: string(text)}}, Options{Stdout: &out, Stderr: &out})
			if err != nil && strings.Contains(err.Error(), "cannot be reached") {
				t.Skip(err)
			}
			want, ok := os.ReadFile(filepath.Join(filepath.Dir(name), "refused.txt"))
			if ok == nil {
				if first, _, _ := strings.Cut(errText(err), "\n"); first != strings.TrimSpace(string(want)) {
					t.Fatalf("got %q, want %q", first, want)
				}
				return
			}
			if want, ok = os.ReadFile(filepath.Join(filepath.Dir(name), "out.txt")); ok != nil {
				t.Fatal(ok)
			}
			if err != nil || status != 0 || out.String() != string(want) {
				t.Fatalf("status %d, %v\n%s\nwant:\n%s", status, err, out.String(), want)
			}
			behave++
		})
	}
	if behave < 15 && !t.Failed() {
		t.Logf("%d of %d behave as under go run; others were refused or skipped", behave, len(list))
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
