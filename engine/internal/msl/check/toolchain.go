// Package check runs kernels in the Metal Shading Language on the CPU, to check them: thread by thread,
// with barriers that are watched, memory of exact bounds, and clang's sanitizers.
//
// A [Toolchain] is a clang that was found on this machine; without one there is nothing here to use, and
// tests skip. It compiles what [msl.Source.Check] writes against the prelude of package shaders, and keeps
// what it compiled by hash in the user's cache. A [Device] is a process that has memory and runs kernels in
// it, so a kernel that crashes or that a sanitizer stops is an error and not the end of the program. A
// device that had a [Fault] which ended its process is lost.
package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/shaders"
)

// A Mode says what watches the kernels.
type Mode int

const (
	Plain     Mode = iota // address spaces are types; memory ends where a buffer ends
	Address               // the address sanitizer: exact bounds of all memory
	Undefined             // the sanitizer of undefined behaviour: overflow, shifts, alignment
	Thread                // the thread sanitizer: races within a threadgroup of up to 200 threads, and between groups that have so many together
)

var modeNames = [...]string{"plain", "address", "undefined", "thread"}

// String returns the mode in lower case.
func (m Mode) String() string { return modeNames[m] }

// Modes are all of them.
var Modes = []Mode{Plain, Address, Undefined, Thread}

// A Toolchain compiles kernels for checking.
type Toolchain struct {
	clang      string   // the path of clang++
	symbolizer string   // of llvm-symbolizer, or empty
	dir        string   // of what was compiled, for this clang and this prelude
	target     string   // that clang compiles for, if it is another machine
	emulator   []string // the command that runs its programs
}

// leastVersion of clang: earlier ones cannot compute with bfloat.
const leastVersion = 19

// Find returns the machine's toolchain. The error says what to install.
func Find() (*Toolchain, error) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" || runtime.GOOS != "linux" { // its runtime is ELF's
		return nil, fmt.Errorf("check: got %s/%s, want linux on amd64 or arm64", runtime.GOOS, runtime.GOARCH)
	}
	clang, version, err := findClang()
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("check: no place for what is compiled: %w", err)
	}
	t := &Toolchain{clang: clang}
	for _, name := range []string{fmt.Sprintf("llvm-symbolizer-%d", leastVersion), "llvm-symbolizer"} {
		if path, err := exec.LookPath(name); err == nil {
			t.symbolizer = path
			break
		}
	}
	h := sha256.New()
	fmt.Fprintln(h, version, clang, runtime.GOARCH, compile, libraryFlags)
	for _, name := range preludeFiles {
		text, err := fs.ReadFile(shaders.Prelude, "prelude/"+name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(h, name, len(text))
		h.Write(text)
	}
	t.dir = filepath.Join(cache, "mcs", "check", hex.EncodeToString(h.Sum(nil)[:8]))
	return t, t.writePrelude()
}

var clangVersion = lazy.Regexp(`clang version (\d+)`)

// findClang returns the first clang++ that is new enough, and the line that says its version.
func findClang() (path, version string, err error) {
	for _, name := range []string{fmt.Sprintf("clang++-%d", leastVersion), "clang++"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.Command(path, "--version").Output()
		if err != nil {
			continue
		}
		m := clangVersion().FindSubmatch(out)
		if m == nil {
			continue
		}
		if n, _ := strconv.Atoi(string(m[1])); n >= leastVersion {
			return path, strings.SplitN(string(out), "\n", 2)[0], nil
		}
	}
	return "", "", fmt.Errorf("check: found no clang++ of version %d or later: install clang-%d, llvm-%[1]d and libclang-rt-%[1]d-dev", leastVersion, leastVersion)
}

var preludeFiles = []string{"check.h", "cuda.h", "mma.h", "runtime.h", "library.h", "functions.h", "fibers.cpp", "runner.cpp"}

// writePrelude puts the prelude where clang finds it.
func (t *Toolchain) writePrelude() error {
	dir := filepath.Join(t.dir, "prelude")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for _, name := range preludeFiles {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		text, err := fs.ReadFile(shaders.Prelude, "prelude/"+name)
		if err != nil {
			return err
		}
		if err := t.make(path, func(to string) error { return os.WriteFile(to, text, 0o666) }); err != nil {
			return err
		}
	}
	return nil
}

// make lets build write a file beside path and then gives it its name, so that no process ever sees a half
// of it.
func (t *Toolchain) make(path string, build func(to string) error) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".making-")
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, filepath.Base(path))
	if err := build(to); err != nil {
		return err
	}
	if err := os.Rename(to, path); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

// compile has the flags of everything, libraryFlags those of kernels: rounding is that of the type, and a
// variable that is read before it is written has a value that shows.
var (
	compile      = []string{"-std=c++17", "-O1", "-gline-tables-only", "-fPIC", "-fno-omit-frame-pointer"}
	libraryFlags = []string{"-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-ffp-contract=off", "-Xclang", "-ffloat16-excess-precision=none",
		"-Xclang", "-fbfloat16-excess-precision=none", "-ftrivial-auto-var-init=pattern", "-Werror=uninitialized", "-Werror=sometimes-uninitialized",
		"-Werror=return-type", "-Werror=array-bounds", "-Wno-unknown-attributes"}
)

// flags are those that depend on the mode.
func (m Mode) flags() (kernels, link []string) {
	switch m {
	case Address:
		return []string{"-DCHECK_FLAT", "-fsanitize=address"}, []string{"-fsanitize=address"}
	case Undefined:
		sanitize := "-fsanitize=undefined,float-cast-overflow"
		return []string{"-DCHECK_FLAT", sanitize, "-fno-sanitize-recover=all", "-fno-sanitize=vptr,function"}, []string{sanitize}
	case Thread:
		return []string{"-DCHECK_FLAT", "-fsanitize=thread"}, []string{"-fsanitize=thread"}
	}
	return nil, nil
}

// kernelFlags are all flags that kernels of a mode are compiled with.
func (t *Toolchain) kernelFlags(m Mode) []string {
	flags := append(append([]string{}, compile...), libraryFlags...)
	if runtime.GOARCH == "amd64" && t.target == "" {
		flags = append(flags, "-march=x86-64-v3")
	}
	special, _ := m.flags()
	return append(flags, special...)
}

// run runs clang. The error has what it printed.
func (t *Toolchain) run(ctx context.Context, args ...string) error {
	if t.target != "" {
		args = append([]string{"--target=" + t.target}, args...)
	}
	cmd := exec.CommandContext(ctx, t.clang, args...)
	cmd.Dir = t.dir
	apart(cmd)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return &CompileError{Output: strings.TrimSpace(string(out)), Err: err}
	}
	return nil
}

// A CompileError says what clang refused.
type CompileError struct {
	Output string // of clang, with places in the kernels' texts
	Err    error
}

// Error returns the first error of clang and, if it is in the prelude, the first place in a kernel that led
// there.
func (e *CompileError) Error() string {
	text := ""
	for _, line := range strings.Split(e.Output, "\n") {
		place, what, found := strings.Cut(line, ": error: ")
		prelude := strings.Contains(place, "prelude/")
		switch {
		case text == "" && found && !prelude:
			return "check: " + place + ": " + what
		case text == "" && found:
			text = what
		case text != "" && strings.Contains(line, ": note: ") && !prelude:
			place, _, _ = strings.Cut(line, ": note: ")
			return "check: " + place + ": " + text
		}
	}
	return fmt.Sprintf("check: clang: %v: %s", e.Err, e.Output)
}

// Unwrap returns the error of the process.
func (e *CompileError) Unwrap() error { return e.Err }

// have makes a file if it is not there yet.
func (t *Toolchain) have(path string, build func(to string) error) (string, error) {
	if _, err := os.Stat(path); err == nil {
		now := time.Now()
		os.Chtimes(path, now, now) // prune goes by it
		return path, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("check: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", fmt.Errorf("check: %w", err)
	}
	t.prune()
	return path, t.make(path, build)
}

// keptAs is the path of what is made of texts, by their hash.
func (t *Toolchain) keptAs(folder, name, ending string, texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintln(h, len(text), text)
	}
	return filepath.Join(t.dir, folder, name+hex.EncodeToString(h.Sum(nil)[:12])+ending)
}

// kept is how long something stays in the cache that nobody uses.
const kept = 30 * 24 * time.Hour

// prune removes what was not used for long, of earlier preludes and compilers, too. Whatever does not work
// is tried again next time.
func (t *Toolchain) prune() {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(t.dir), "*", "*", "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) > kept && filepath.Dir(f) != filepath.Join(t.dir, "prelude") {
			os.RemoveAll(f)
		}
	}
}

// runner returns the program that runs kernels in a mode.
func (t *Toolchain) runner(ctx context.Context, m Mode) (string, error) {
	return t.have(filepath.Join(t.dir, m.String(), "runner"), func(to string) error {
		_, link := m.flags()
		args := append(append([]string{}, compile...), "-Iprelude", "-Wno-parentheses")
		if m != Plain {
			args = append(args, "-DCHECK_SANITIZED")
		}
		if m == Thread {
			args = append(args, "-DCHECK_THREADS")
		}
		objects := []string{}
		for _, name := range []string{"fibers", "runner"} {
			object := to + name + ".o"
			if err := t.run(ctx, append(args, "-c", "prelude/"+name+".cpp", "-o", object)...); err != nil {
				return err
			}
			objects = append(objects, object)
		}
		args = append(append(link, "-rdynamic", "-o", to), objects...)
		return t.run(ctx, append(args, "-ldl")...)
	})
}

// precompiled returns the prelude as clang reads it fastest.
func (t *Toolchain) precompiled(ctx context.Context, m Mode) (string, error) {
	return t.have(filepath.Join(t.dir, m.String(), "check.pch"), func(to string) error {
		return t.run(ctx, append(t.kernelFlags(m), "-x", "c++-header", "prelude/check.h", "-o", to)...)
	})
}

// object compiles a unit. It is kept by itself, so that a kernel that has changed costs its unit alone.
func (t *Toolchain) object(ctx context.Context, m Mode, text, header string) (string, error) {
	return t.have(t.keptAs(m.String(), "unit-", ".o", text), func(to string) error {
		source := to + ".cpp"
		if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
			return err
		}
		return t.run(ctx, append(t.kernelFlags(m), "-Iprelude", "-include-pch", header, "-c", source, "-o", to)...)
	})
}

// mostText is how many bytes of kernels one run of clang compiles.
const mostText = 128 << 10

// library returns a shared object with the kernels of sources.
func (t *Toolchain) library(ctx context.Context, m Mode, sources []*msl.Source) (string, error) {
	var units []string
	for _, s := range sources {
		text := s.Check()
		if n := len(units); n > 0 && len(units[n-1])+len(text) <= mostText {
			units[n-1] += text
		} else {
			units = append(units, text)
		}
	}
	return t.have(t.keptAs(m.String(), "kernels-", ".so", units...), func(to string) error { return t.link(ctx, m, units, to) })
}

// link compiles each of units and makes one shared object of them.
func (t *Toolchain) link(ctx context.Context, m Mode, units []string, to string) error {
	header, err := t.precompiled(ctx, m)
	if err != nil {
		return err
	}
	objects := make([]string, len(units))
	failed := make(chan error, len(units))
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, text := range units {
		go func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			var err error
			objects[i], err = t.object(ctx, m, text, header)
			failed <- err
		}()
	}
	for range units {
		err = errors.Join(err, <-failed)
	}
	if err != nil {
		return err
	}
	_, link := m.flags()
	args := append(append(link, "-shared", "-o", to), objects...)
	if runtime.GOOS == "darwin" {
		args = append(args, "-undefined", "dynamic_lookup")
	}
	return t.run(ctx, args...)
}
