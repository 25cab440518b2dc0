// Command report reads what go test -json prints and shows of it what a person looks for:
//
//	go test -json ./... | go run ./tests/report
//
// A line for each package, all that a failed test or package printed, then which tests were skipped and why,
// and which took longest. The exit status is 1 if something failed, or if nothing was tested.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	ok, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
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

// slowest is how many of the tests that took longest are shown.
const slowest = 15

// report shows the events that r has, and says whether tests ran and none failed.
func report(r io.Reader, w io.Writer) (ok bool, err error) {
	output, took := map[test][]string{}, map[test]float64{}
	skipped := map[string][]string{} // by reason
	passed, failed := 0, 0
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil && err != io.EOF {
			return false, err
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprintf(w, "%s", line) // what the go command says itself
			continue
		}
		id := test{cmp.Or(e.Package, e.ImportPath), e.Test}
		switch e.Action {
		case "output", "build-output":
			output[id] = append(output[id], e.Output)
			continue
		case "pass":
			passed++
		case "fail", "build-fail":
			failed++
			fmt.Fprint(w, strings.Join(output[id], ""))
		case "skip":
			if e.Test != "" {
				why := reason(output[id])
				skipped[why] = append(skipped[why], e.Package[strings.LastIndex(e.Package, "/")+1:]+"."+e.Test)
			}
		default:
			continue
		}
		if e.Test == "" && e.Action != "build-fail" {
			fmt.Fprintf(w, "%-4s %s %.1f s\n", e.Action, e.Package, e.Elapsed)
		} else if e.Test != "" && !strings.Contains(e.Test, "/") {
			took[id] = e.Elapsed
		}
		delete(output, id)
	}
	for id, text := range output { // of a process that ended in the middle
		if id.name != "" {
			failed++
			fmt.Fprintf(w, "%s %s did not end:\n%s", id.pkg, id.name, strings.Join(text, ""))
		}
	}
	tables(w, skipped, took)
	return failed == 0 && passed > 0, nil
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

func tables(w io.Writer, skipped map[string][]string, took map[test]float64) {
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
