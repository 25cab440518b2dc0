package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// mine is a package of one's own, with what a table has rows of: functions, types, constants that fit no int,
// interfaces, and types of a package that it shows.
var mine = fstest.MapFS{
	"mine/go.mod": text("module example.com/mine\n\ngo 1.26\n"),
	"mine/mine.go": text(`// Package mine is compiled in.
package mine

import "example.com/mine/shown"

// Big fits no int.
const Big = 1 << 100

// A Shape has an area.
type Shape interface{ Area() float64 }

// Total adds areas.
func Total(list ...Shape) (s float64) {
	for _, x := range list {
		s += x.Area()
	}
	return s
}

// Map is generic.
func Map[T, U any](list []T, f func(T) U) (out []U) {
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

// At makes a point.
func At(x int) shown.Point { return shown.Point{X: x} }
`),
	"mine/shown/shown.go": text("package shown\n\n// A Point is a point.\ntype Point struct{ X int }\n\n// Twice doubles.\nfunc (p Point) Twice() int { return 2 * p.X }\n"),
	"cells.mcs": text(`import ("example.com/mine"; "example.com/mine/shown")
type square struct{ a float64 }
func (s square) Area() float64 { return s.a * s.a }
mine.Total(square{2}, square{3})
// > 13 float64
// %%
shown.Point{X: 4}.Twice() + mine.At(1).Twice()
// > 10
// %%
float64(mine.Big)
// > 1.2676506002282294e+30 float64
// %%
mine.Map([]int{1}, func(i int) int { return i })
// > In[4]:1:1: the generic functions of package example.com/mine are not available in cells
// > ...
// %%
%get example.com/mine
// > example.com/mine
// %%
%get example.com/mine@v1.0.0
// > %get: example.com/mine@v1.0.0: this mcs has example.com/mine@FOLDER compiled in; mcs build --with example.com/mine@v1.0.0 makes another
// > ...
// %%
%get
// > module            version
// > example.com/mine  compiled in
`),
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), Mode: 0o666} }

// A program with a package of one's own compiled in runs cells that use it.
func TestBuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, mine); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"build -o m":          "build: got no --with, want a module",
		"build --with ./mine": "build: got no -o, want the name of the program",
		"build --with ./nothing -o m --mcs " + root(t): "build: --with ./nothing: there is no such folder",
		"build --with . -o m --mcs mine":               "build: --mcs mine: it has no go.mod of " + mcsModule,
		"build --with . -o m --mcs " + root(t):         "build: --with .: it lies in no module; go mod init NAME makes one there",
	} {
		if _, stderr, code := mcs(t, dir, "", strings.Fields(args)...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: got %d %s, want 2 and %s", args, code, stderr, want)
		}
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("it needs the go command to compile:", err)
	}
	long.InCI(t, "compiles a program")
	// A program without symbols for debuggers is linked in half the time.
	_, stderr, code := mcsWith(t, dir, []string{"GOFLAGS=" + os.Getenv("GOFLAGS") + " -ldflags=-s"}, "", "build", "--mcs", root(t), "--with", "./mine", "-o", "mymcs")
	if strings.Contains(stderr, "dial tcp") {
		t.Skip("it needs modules that are neither in Go's cache nor in reach:", stderr)
	}
	if code != 0 || !strings.Contains(stderr, "example.com/mine: left out, because they are generic: Map") {
		t.Fatalf("got %d %s", code, stderr)
	}
	cmd := exec.Command(filepath.Join(dir, "mymcs"), "test", "cells.mcs")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "mymcs"), "version").Output()
	if err != nil || !strings.HasSuffix(string(out), "\nwith example.com/mine\n") {
		t.Errorf("%v: %q does not end in the module", err, out)
	}
}

// root is the folder of mcs's module.
func root(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(dir))
}
