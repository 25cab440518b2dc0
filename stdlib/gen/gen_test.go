package main

import (
	"bytes"
	"go/token"
	"go/types"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/gcexportdata"
)

const stdlibDir = ".."

func needGo(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command to list packages:", err)
	}
}

// The type data of an engine package also describe the parts of the standard library that it uses. These
// differ between toolchains, so the engine is compared by its declarations, with any version of Go.
func TestEngineIsCurrent(t *testing.T) {
	needGo(t)
	out, err := build(stdlibDir, enginePart)
	if err != nil {
		t.Fatal(err)
	}
	stale, err := out.stale(stdlibDir, enginePart)
	if err != nil {
		t.Fatal(err)
	}
	old, err := readArchive(archivePath(stdlibDir, enginePart))
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(stale, "engine.zip"); i >= 0 && sameArchive(t, old, out.entries) {
		stale = slices.Delete(stale, i, i+1)
	}
	if len(stale) > 0 {
		t.Errorf("out of date: %s; run `go generate ./stdlib` and commit what it changes", strings.Join(stale, ", "))
	}
}

func sameArchive(t *testing.T, a, b map[string][]byte) bool {
	t.Helper()
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		path, isTypes := strings.CutPrefix(name, "types/")
		switch {
		case b[name] == nil:
			return false
		case isTypes && declarations(t, path, a[name]) != declarations(t, path, b[name]):
			return false
		case !isTypes && !bytes.Equal(a[name], b[name]):
			return false
		}
	}
	return true
}

// declarations writes down a package's exported objects with all their fields and methods.
func declarations(t *testing.T, path string, data []byte) string {
	t.Helper()
	pkg, err := gcexportdata.Read(bytes.NewReader(data), token.NewFileSet(), map[string]*types.Package{}, path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		b.WriteString(obj.String() + "\n")
		if named, ok := obj.Type().(*types.Named); ok {
			for m := range named.Methods() {
				b.WriteString("\t" + m.String() + "\n")
			}
		}
	}
	return b.String()
}

func TestStandardLibraryIsCurrent(t *testing.T) {
	needGo(t)
	old, err := readArchive(archivePath(stdlibDir, stdPart))
	if err != nil {
		t.Fatal(err)
	}
	if v := string(old[versionEntry]); v != runtime.Version() {
		t.Skipf("written by %s, and this is %s", v, runtime.Version())
	}
	out, err := build(stdlibDir, stdPart)
	if err != nil {
		t.Fatal(err)
	}
	stale, err := out.stale(stdlibDir, stdPart)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("out of date: %s; run `go generate ./stdlib` and commit what it changes", strings.Join(stale, ", "))
	}
}

// Type data must not depend on where and when they were made: no positions, no folders, no build id.
func TestTypeDataAreCanonical(t *testing.T) {
	moved := types.NewPackage("example.com/p", "p")
	moved.Scope().Insert(types.NewVar(token.Pos(99), moved, "V", types.Typ[types.Int]))
	same := types.NewPackage("example.com/p", "p")
	same.Scope().Insert(types.NewVar(token.Pos(7), same, "V", types.Typ[types.Int]))
	a, err := typeData(moved)
	if err != nil {
		t.Fatal(err)
	}
	b, err := typeData(same)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("the same declaration at another position gave other bytes")
	}
}

func TestIdentifier(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"io", "io"},
		{"math/rand/v2", "mathRandV2"},
		{modulePath + "/engine/tensor", "tensor"},
	} {
		if got := identifier(tt.path); got != tt.want {
			t.Errorf("identifier(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
}
