package stdlib

import (
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/stdlib/internal/std"
)

// apiLine is one promise of the toolchain: `pkg math, func Abs(float64) float64`, `pkg os (windows-amd64),
// const …`.
var apiLine = regexp.MustCompile(`^pkg ([^ ,]+)(?: \(([^)]+)\))?, (const|var|func|type|method) (.*)$`)

// An apiName is something that a package has: symbol alone at package level, with a member a field or method
// of it.
type apiName struct{ path, symbol, member string }

var (
	apiMethod = regexp.MustCompile(`^\(\*?(\w+)[^)]*\) (\w+)`)
	apiMember = regexp.MustCompile(`^(\w+)(?:\[[^,]*\])? (?:struct|interface), (?:embedded )?(\w+)(?: |\()`)
	apiSymbol = regexp.MustCompile(`^\w+`)
)

func parseAPI(line string) (n apiName, ok bool) {
	m := apiLine.FindStringSubmatch(line)
	if m == nil || m[2] != "" && m[2] != "linux-amd64" || strings.Contains(m[4], "unexported methods") {
		return n, false
	}
	n.path = m[1]
	switch member := apiMember.FindStringSubmatch(m[4]); {
	case m[3] == "method":
		mm := apiMethod.FindStringSubmatch(m[4])
		if mm == nil {
			return n, false
		}
		n.symbol, n.member = mm[1], mm[2]
	case m[3] == "type" && member != nil && !strings.Contains(m[4], ", embedded "):
		n.symbol, n.member = member[1], member[2]
	default:
		n.symbol = apiSymbol.FindString(m[4])
	}
	return n, true
}

func TestParseAPI(t *testing.T) {
	for _, tt := range []struct {
		line string
		want apiName
	}{
		{"pkg math, func Abs(float64) float64", apiName{"math", "Abs", ""}},
		{"pkg slices, func Max[$0 interface{ ~[]$1 }, $1 cmp.Ordered]($0) $1 #57433", apiName{"slices", "Max", ""}},
		{"pkg os (linux-amd64), const O_SYNC = 1052672", apiName{"os", "O_SYNC", ""}},
		{"pkg os (windows-amd64), const O_SYNC = 4096", apiName{}},
		{"pkg bytes, method (*Buffer) Peek(int) ([]uint8, error) #73794", apiName{"bytes", "Buffer", "Peek"}},
		{"pkg sync/atomic, method (*Pointer[$0]) Load() *$0 #50860", apiName{"sync/atomic", "Pointer", "Load"}},
		{"pkg image, type Point struct, X int", apiName{"image", "Point", "X"}},
		{"pkg io, type Reader interface, Read([]uint8) (int, error)", apiName{"io", "Reader", "Read"}},
		{"pkg io, type Reader interface { Read }", apiName{"io", "Reader", ""}},
		{"pkg crypto/hpke, type KEM interface, unexported methods #75300", apiName{}},
	} {
		if got, ok := parseAPI(tt.line); got != tt.want || ok != (tt.want.path != "") {
			t.Errorf("%s\n\tgot %+v, want %+v", tt.line, got, tt.want)
		}
	}
}

// goroot is the folder of the toolchain whose API is compared.
func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("needs the go command to find the API files:", err)
	}
	dir := strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(dir, "api", "go1.26.txt")); err != nil {
		t.Skip("this toolchain comes without API files:", err)
	}
	return dir
}

// readAPI returns what Go 1.26 promises, without what it has taken back.
func readAPI(t *testing.T, dir string) []apiName {
	t.Helper()
	lines := func(name string) []string {
		data, err := os.ReadFile(filepath.Join(dir, "api", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(data), "\n")
	}
	gone := map[string]bool{}
	for _, line := range lines("except.txt") {
		gone[line] = true
	}
	seen := map[apiName]bool{}
	var names []apiName
	for minor := range 27 {
		name := "go1.txt"
		if minor > 0 {
			name = fmt.Sprintf("go1.%d.txt", minor)
		}
		for _, line := range lines(name) {
			if n, ok := parseAPI(line); ok && !gone[line] && !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	return names
}

// TestAPI holds the tables against the API files of the toolchain: each package is there or left out for a
// reason, and each name of those that are there can be used. Generic ones have no symbol: a session makes
// instances of them.
func TestAPI(t *testing.T) {
	dir := goroot(t)
	im := Importer()
	absent := map[string]bool{}
	checked, generic, packages := 0, 0, map[string]bool{}
	for _, n := range readAPI(t, dir) {
		if n.path == "unsafe" { // the type checker knows it by itself
			continue
		}
		table, ok := Symbols(n.path)
		if !ok {
			if leftOut[n.path] == "" && !absent[n.path] {
				t.Errorf("package %s is not available, and leftOut has no reason", n.path)
			}
			absent[n.path] = true
			continue
		}
		packages[n.path] = true
		pkg, err := im.Import(n.path)
		if err != nil {
			t.Fatal(err)
		}
		obj := pkg.Scope().Lookup(n.symbol)
		if obj == nil {
			t.Errorf("%s.%s is not in the type data", n.path, n.symbol)
			continue
		}
		checked++
		if n.member != "" {
			if o, _, _ := types.LookupFieldOrMethod(obj.Type(), true, pkg, n.member); o == nil {
				t.Errorf("%s.%s.%s is not in the type data", n.path, n.symbol, n.member)
			}
			continue
		}
		if isGeneric(obj) {
			generic++
			continue
		}
		if !table[n.symbol].IsValid() {
			t.Errorf("%s.%s has no symbol", n.path, n.symbol)
		}
	}
	t.Logf("%d names of %d packages, %d of them generic; %d packages left out", checked, len(packages), generic, len(leftOut))
	if len(packages) < 110 {
		t.Errorf("%d packages, want at least 110", len(packages))
	}
	for path, reason := range leftOut {
		if _, err := os.Stat(filepath.Join(dir, "src", filepath.FromSlash(path))); err != nil {
			t.Errorf("leftOut has %s, which is no package: %v", path, err)
		}
		if _, ok := Symbols(path); ok {
			t.Errorf("leftOut has %s (%s), which is there", path, reason)
		}
	}
}

func TestPackagesAreCounted(t *testing.T) {
	data, err := os.ReadFile("../docs/cells.md")
	if err != nil {
		t.Fatal(err)
	}
	if count := fmt.Sprintf("%d packages, imported when used", len(paths(std.Packages))); !strings.Contains(string(data), count) {
		t.Errorf("docs/cells.md does not say %q", count)
	}
}

func TestWhyNot(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"os/signal", "not available in cells: signals belong to the notebook; ctx is cancelled by Ctrl-C"},
		{"example.com/x", "cells import other modules once %get has fetched them"},
		{"internal/abi", "an internal package of the standard library"},
		{"nowhere/at/all", "not in the standard library"},
	} {
		if got := WhyNot(tt.path); !strings.HasPrefix(got, tt.want) {
			t.Errorf("WhyNot(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
}
