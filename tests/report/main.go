// Command report runs go test and shows of what it prints what a person looks for:
//
//	go run ./tests/report -timeout=30m ./...
//
// A line for each package, all that a failed test or package printed, then which tests were skipped and why,
// and which took longest. Up to three tests that failed are run again, one package after another with nothing
// beside them: on a machine with two processors a test of time or of processes can miss its moment while
// other packages compute. Those that pass then are listed; a crash or a data race is not run again. The exit
// status is 1 if something failed, or if nothing was tested.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

func main() {
	ok, err := run(os.Args[1:], goTest, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// A command runs go test with these arguments, gives what it prints to read, and says whether it ended well.
type command func(args []string, read func(io.Reader) error) (bool, error)

func goTest(args []string, read func(io.Reader) error) (bool, error) {
	c := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := c.Start(); err != nil {
		return false, err
	}
	err = read(out)
	return c.Wait() == nil, err
}

// run tests with the arguments of go test, flags in one word each and packages that begin with ".", and says
// whether all tests passed, at least when they ran again.
func run(args []string, test command, w io.Writer) (bool, error) {
	first := newReport(w)
	ok, err := test(args, first.read)
	if err != nil {
		return false, err
	}
	failed := first.again()
	if len(failed) == 0 {
		first.tables()
		return ok && first.ok(), nil
	}
	ok = true
	flags := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, ".") })
	for _, pkg := range slices.Sorted(maps.Keys(failed)) {
		fmt.Fprintf(w, "again, with nothing beside: %s %s\n", pkg, strings.Join(failed[pkg], " "))
		second := newReport(w)
		alone := append([]string{"-count=1", "-run=^(" + strings.Join(failed[pkg], "|") + ")$", pkg}, flags...)
		passed, err := test(alone, second.read)
		if err != nil {
			return false, err
		}
		ok = ok && passed && second.ok()
	}
	first.tables()
	if ok {
		fmt.Fprintln(w, "\nPassed only with nothing beside:")
		for _, pkg := range slices.Sorted(maps.Keys(failed)) {
			fmt.Fprintf(w, "  %s %s\n", pkg, strings.Join(failed[pkg], " "))
		}
	}
	return ok, nil
}

// An event is a line of go test -json: see go doc test2json. The build of a package has ImportPath in the
// place of Package.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // seconds
}

// A test is one of a package, or the package itself, whose name is empty.
type test struct{ pkg, name string }

// position begins the line in which t.Skip says why.
var position = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

const (
	slowest   = 15 // how many of the tests that took longest are shown
	mostAgain = 3  // tests that are run again: where more fail, it is not the moment
)

// crash is in what is printed of a failure that comes of the moment and is one all the same.
var crash = regexp.MustCompile(`(?m)^(panic:|fatal error:|unexpected fault|WARNING: DATA RACE|SIG)`)

// A report is what the events of one run of go test say.
type report struct {
	w              io.Writer
	output         map[test][]string
	took           map[test]float64
	skipped        map[string][]string // by reason
	failed         []test              // without those of which a part failed
	passed, broken int                 // broken: what is no failure of a test, or a crash
}

func newReport(w io.Writer) *report {
	return &report{w: w, output: map[test][]string{}, took: map[test]float64{}, skipped: map[string][]string{}}
}

// read shows the events that r has.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil && err != io.EOF {
			return err
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprintf(r.w, "%s", line) // what the go command says itself
			continue
		}
		r.event(e)
	}
	for id, text := range r.output { // of a process that ended in the middle
		if id.name != "" {
			r.broken++
			fmt.Fprintf(r.w, "%s %s did not end:\n%s", id.pkg, id.name, strings.Join(text, ""))
		}
	}
	return nil
}

func (r *report) event(e event) {
	id := test{cmp.Or(e.Package, e.ImportPath), e.Test}
	switch e.Action {
	case "output", "build-output":
		r.output[id] = append(r.output[id], e.Output)
		return
	case "pass":
		r.passed++
	case "fail", "build-fail":
		text := strings.Join(r.output[id], "")
		fmt.Fprint(r.w, text)
		inPackage := func(f test) bool { return f.pkg == id.pkg }
		switch {
		case crash.MatchString(text), id.name == "" && !slices.ContainsFunc(r.failed, inPackage):
			r.broken++
		case id.name != "" && !strings.Contains(id.name, "/"):
			r.failed = append(r.failed, id)
		}
	case "skip":
		if e.Test != "" {
			why := reason(r.output[id])
			r.skipped[why] = append(r.skipped[why], e.Package[strings.LastIndex(e.Package, "/")+1:]+"."+e.Test)
		}
	default:
		return
	}
	if e.Test == "" && e.Action != "build-fail" {
		fmt.Fprintf(r.w, "%-4s %s %.1f s\n", e.Action, e.Package, e.Elapsed)
	} else if e.Test != "" && !strings.Contains(e.Test, "/") {
		r.took[id] = e.Elapsed
	}
	delete(r.output, id)
}

func (r *report) ok() bool { return len(r.failed) == 0 && r.broken == 0 && r.passed > 0 }

// again returns the names of failed tests by package, none if they are too many or not all of what failed.
func (r *report) again() map[string][]string {
	if r.broken > 0 || len(r.failed) > mostAgain {
		return nil
	}
	again := map[string][]string{}
	for _, id := range r.failed {
		again[id.pkg] = append(again[id.pkg], id.name)
	}
	return again
}

// reason returns what a skipped test says in its last line with a position.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if at := position.FindString(line); at != "" {
			return strings.TrimSpace(line[len(at):])
		}
	}
	return "no reason"
}

func (r *report) tables() {
	w, skipped, took := r.w, r.skipped, r.took
	n := 0
	for _, tests := range skipped {
		n += len(tests)
	}
	fmt.Fprintf(w, "\n%d tests were skipped:\n", n)
	for _, why := range slices.SortedFunc(maps.Keys(skipped), func(a, b string) int {
		return cmp.Or(len(skipped[b])-len(skipped[a]), strings.Compare(a, b))
	}) {
		fmt.Fprintf(w, "%6d  %s (%s)\n", len(skipped[why]), why, skipped[why][0])
	}
	fmt.Fprintln(w, "\nThe tests that took longest:")
	longest := slices.SortedFunc(maps.Keys(took), func(a, b test) int { return cmp.Compare(took[b], took[a]) })
	for _, id := range longest[:min(slowest, len(longest))] {
		fmt.Fprintf(w, "%6.1f s  %s %s\n", took[id], id.pkg[strings.LastIndex(id.pkg, "/")+1:], id.name)
	}
}
