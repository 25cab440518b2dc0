package session

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/stdlib"
)

var allPrograms = flag.Bool("programs", false, "run all programs of the corpora, not a sample")

// beProgram makes the test binary run the program that it names, as a process of its own: programs exit,
// print to the process's streams and leave goroutines behind.
const beProgram = "MCS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400) // hundreds of short sessions and programs: a fifth of the time
	name := os.Getenv(beProgram)
	if name == "" {
		os.Exit(m.Run())
	}
	text, err := os.ReadFile(name)
	if err == nil {
		var status int
		status, err = RunProgram(context.Background(), []ProgramFile{{Name: name, Source: string(text)}}, Options{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
		if err == nil {
			os.Exit(status)
		}
	}
	fmt.Fprintln(os.Stderr, refusedMark, err)
	if cause := errors.Unwrap(err); cause != nil {
		fmt.Fprintln(os.Stderr, "cause:", cause)
	}
	os.Exit(statusRefused)
}

// refusedMark begins the message about a program that the process did not run.
const refusedMark = "refused:"

// A corpusProgram is a program of a corpus with its output under go run.
type corpusProgram struct {
	name, want string
	path, src  string // its file, or its text
	any        bool   // what it prints is not known
	unordered  bool   // in which order it prints lines is not known
	ask        bool   // only go run tells whether it is a program
	plain      bool   // it runs where the interpreter works alone
}

// A tally counts how the programs of a corpus did.
type tally struct {
	passed, refused, misbehaved, total int
	names                              []string          // of those that misbehave
	why                                map[string]string // of those that are refused
}

// TestGoPrograms runs the programs of the Go distribution's own test suite.
func TestGoPrograms(t *testing.T) {
	list := goPrograms(t)
	n := runCorpus(t, "the Go distribution's test suite", list)
	if *allPrograms && (n.passed < 755) {
		t.Errorf("%d programs behave as under go run, want at least 755", n.passed)
	}
}

// goPrograms are the programs of the Go distribution's own test suite: those that are one file of
// package main, are marked to be run and to end well, and do without unsafe, the runtime and build tags.
func goPrograms(t *testing.T) (list []corpusProgram) {
	root, err := goRoot()
	if err != nil {
		t.Skip(err)
	}
	root = filepath.Join(root, "test")
	for _, dir := range []string{".", "ken", "chan", "interface", "typeparam", "fixedbugs"} {
		paths, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			src := string(text)
			if !runMark.MatchString(src) || !strings.Contains(src, "\npackage main") || machineBound.MatchString(src) {
				continue
			}
			p := corpusProgram{name: filepath.Join(dir, filepath.Base(path)), path: path}
			want, err := os.ReadFile(strings.TrimSuffix(path, ".go") + ".out")
			p.want, p.any = string(want), err != nil
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		t.Skipf("the Go installation has no programs in %s", root)
	}
	return list
}

var (
	runMark      = regexp.MustCompile(`^// run\s*\n`)
	machineBound = regexp.MustCompile(`"(unsafe|syscall|os/exec|runtime|runtime/debug)"|//go:build|// \+build|import "C"`)
)

// TestInterpreterPrograms runs the test programs of the interpreter's authors, if they state the output of
// go run and import the standard library only.
func TestInterpreterPrograms(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/traefik/yaegi").Output()
	if err != nil {
		t.Skipf("the module cache cannot be asked: %v", err)
	}
	paths, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "_test", "*.go"))
	var list []corpusProgram
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := outputComment.FindStringSubmatch(string(text))
		name := filepath.Base(path)
		if m == nil || slices.Contains(otherThanGo, strings.TrimSuffix(name, ".go")) || !importsStandard(path, text) {
			continue
		}
		var lines []string
		for line := range strings.Lines(strings.TrimRight(m[1], "\n") + "\n") {
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(line, "//"), " "))
		}
		want := strings.Join(lines, "")
		if asGo, ok := printedByGo[strings.TrimSuffix(name, ".go")]; ok {
			want = asGo
		}
		list = append(list, corpusProgram{name: name, path: path, want: want})
	}
	if len(list) == 0 {
		t.Skip("the interpreter's module has no programs in the module cache")
	}
	n := runCorpus(t, "the interpreter's test suite", list)
	if *allPrograms && n.passed < 824 {
		t.Errorf("%d programs behave as under go run, want at least 824", n.passed)
	}
}

var outputComment = regexp.MustCompile(`\n// Output:\n((?://.*\n?)+)\s*$`)

// otherThanGo are programs whose expected output is the interpreter's, not Go's: loop variables of Go 1.21,
// exported fields, os.Exit that panics, places in panics; two are no programs.
var otherThanGo = []string{"closure9", "closure10", "closure11", "closure12", "method16", "restricted0", "restricted1",
	"restricted2", "restricted3", "type24", "export0", "export1"}

// printedByGo has the output of go run for programs that expect the interpreter's names of types.
var printedByGo = map[string]string{"type5": "main.T", "type6": "main.T"}

func importsStandard(path string, text []byte) bool {
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
	if err != nil {
		return false
	}
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if _, known := stdlib.Name(p); err != nil || !known && strings.Contains(strings.Split(p, "/")[0], ".") {
			return false
		}
	}
	return true
}

// runCorpus runs the programs, or a fixed sample of them, and reports each that does not behave.
func runCorpus(t *testing.T, name string, list []corpusProgram) (n tally) {
	const sample = 20
	if !*allPrograms {
		var some []corpusProgram
		for i := range sample {
			some = append(some, list[i*len(list)/sample])
		}
		list = some
	}
	n.total, n.why = len(list), map[string]string{}
	var mu sync.Mutex
	var group sync.WaitGroup
	slots := make(chan bool, max(runtime.NumCPU(), 2))
	for _, p := range list {
		slots <- true
		group.Go(func() {
			defer func() { <-slots }()
			dir := t.TempDir()
			if p.src != "" {
				p.path = filepath.Join(dir, "main.go")
				if err := os.WriteFile(p.path, []byte(p.src), 0o600); err != nil {
					t.Error(err)
				}
			}
			failure, refused := p.run(dir)
			none := failure != "" && p.ask && !p.behaves(p.path)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case failure == "":
				n.passed++
				return
			case none:
				n.total--
				return
			case refused:
				n.refused++
				_, message, _ := strings.Cut(failure, ".go:")
				n.why[strings.TrimSuffix(p.name, ".go")] = strings.TrimLeft(message, "0123456789: ")
				if *allPrograms {
					checkWords(t, p.name, message)
				}
			default:
				n.misbehaved++
				n.names = append(n.names, strings.TrimSuffix(p.name, ".go"))
			}
			t.Logf("%s: %s", p.name, failure)
		})
	}
	group.Wait()
	t.Logf("%d of %d programs behave as under go run; %d are refused, %d misbehave", n.passed, n.total, n.refused, n.misbehaved)
	if *allPrograms && *write && !list[0].plain {
		recordCorpus(t, name, n)
	}
	if n.passed < n.total*3/4 && !list[0].plain {
		t.Errorf("only %d of %d programs behave as under go run", n.passed, n.total)
	}
	return n
}

// run runs a program in an empty folder. It returns why it does not behave, and whether it was refused.
func (p corpusProgram) run(dir string) (failure string, refused bool) {
	limit := 30 * time.Second
	if *allPrograms {
		limit = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), beProgram+"="+p.path)
	cmd.Dir = dir
	if p.plain {
		cmd.Env = append(cmd.Env, "MCS_PLAIN=1")
	}
	out, err := cmd.CombinedOutput()
	if _, rest, ok := strings.Cut(string(out), "\n"); ok && p.plain { // the line that says so
		out = []byte(rest)
	}
	got := p.printed(string(out))
	first, _, _ := strings.Cut(got, "\n")
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("does not end in %v", limit), false
	case strings.HasPrefix(got, refusedMark):
		return first, true
	case err != nil:
		return fmt.Sprintf("%v: %s", err, first), false
	case !p.any && got != p.printed(p.want):
		return fmt.Sprintf("got %q, want %q", got, p.want), false
	}
	return "", false
}
