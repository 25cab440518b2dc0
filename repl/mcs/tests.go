package main

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// testOptions are the flags of `mcs test`.
type testOptions struct {
	jobOptions
	update bool
	limit  time.Duration // for a cell; 0: none
	only   string        // which files and cells are tested; "": all
	junit  string        // the file for a report; "": none
}

// selection says which of a file's cells are tested; nil: all.
func (o *testOptions) selection(f *mcsfile.File) func(*mcsfile.Cell) bool {
	only, err := regexp.Compile(o.only)
	if err != nil || o.only == "" || only.MatchString(f.Name) {
		return nil
	}
	return func(c *mcsfile.Cell) bool { return c.Title != "" && only.MatchString(c.Title) }
}

// selected returns the files in which something is tested. One that cannot be read is among them: its test
// says why.
func (o *testOptions) selected(names []string) (list []string, err error) {
	if _, err := regexp.Compile(o.only); err != nil {
		return nil, fmt.Errorf("test: -run: %w", err)
	}
	for _, name := range names {
		if name != "-" && o.only != "" {
			f, err := readFile(name)
			if only := o.selection(f); err == nil && only != nil && !slices.ContainsFunc(f.Code(), only) {
				continue
			}
		}
		list = append(list, name)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("test: -run %s: no file has this in its name, and no cell in its title", o.only)
	}
	return list, nil
}

// testAll is `mcs test`. Several files are tested by a process for each of them, because some faults end a
// process whatever guards it, and must not end the tests of the other files.
func testAll(cmd *cobra.Command, names []string, o testOptions) error {
	names, err := o.selected(names)
	if err != nil {
		return err
	}
	jobs, err := o.jobs("test", cmd, names)
	if err != nil {
		return err
	}
	if len(jobs) == 1 && o.junit == "" {
		o.params = jobs[0].params
		return testOne(cmd.Context(), names[0], o)
	}
	if o.update && len(jobs) > len(names) {
		return fmt.Errorf("test: got -u and several values of a parameter, want one: a file has one expected output")
	}
	err = o.run(cmd, jobs)
	if o.junit != "" {
		var suites []junitSuite
		for _, j := range jobs {
			if !j.start.IsZero() { // the run was not stopped before
				suites = append(suites, j.suite())
			}
		}
		if failed := writeJUnit(o.junit, suites); failed != nil {
			return failed
		}
	}
	return err
}

// runAll is `mcs run` of a .mcs file.
func runAll(cmd *cobra.Command, name string, o jobOptions) error {
	jobs, err := o.jobs("run", cmd, []string{name})
	if err != nil {
		return err
	}
	switch {
	case len(jobs) > 1:
		return o.run(cmd, jobs)
	case o.ranks == 1 || ranks.Started():
		o.params = jobs[0].params
		return runFile(cmd, name, o)
	case name == "-":
		return fmt.Errorf("run: got -n %d and standard input, which can be read once; want a file", o.ranks)
	}
	return startRanks(o.ranks)
}
