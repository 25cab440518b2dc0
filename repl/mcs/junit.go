package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/repl/cell"
)

// The elements of JUnit's reports, as continuous integration systems read them: a suite is a file with a
// combination of parameters, and a case is a cell.
type (
	junitReport struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Seconds  seconds      `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		ID       int    `xml:"id,attr"`
		Name     string `xml:"name,attr"`
		Package  string `xml:"package,attr"`
		Begun    string `xml:"timestamp,attr"`
		Hostname string `xml:"hostname,attr"`
		junitCount
		Properties *junitProperties `xml:"properties"`
		Cases      []junitCase      `xml:"testcase"`
		Stdout     string           `xml:"system-out"`
		Stderr     string           `xml:"system-err"`
	}
	junitCount struct {
		Tests    int     `xml:"tests,attr"`
		Failures int     `xml:"failures,attr"`
		Errors   int     `xml:"errors,attr"`
		Skipped  int     `xml:"skipped,attr"`
		Seconds  seconds `xml:"time,attr"`
	}
	junitProperties struct {
		List []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Seconds seconds      `xml:"time,attr"`
		Skipped *junitDetail `xml:"skipped"`
		Error   *junitDetail `xml:"error"`
		Failure *junitDetail `xml:"failure"`
	}
	junitDetail struct {
		Message string `xml:"message,attr,omitempty"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

type seconds float64

// MarshalText writes no exponent: not every reader takes one.
func (s seconds) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%.6f", float64(s)), nil }

// writeJUnit writes a report.
func writeJUnit(name string, suites []junitSuite) error {
	host, _ := os.Hostname()
	var report junitReport
	for i, s := range suites {
		s.ID, s.Hostname = i, cmp.Or(host, "localhost")
		report.Suites = append(report.Suites, s)
		report.Tests, report.Failures, report.Errors, report.Seconds = report.Tests+s.Tests, report.Failures+s.Failures, report.Errors+s.Errors, report.Seconds+s.Seconds
	}
	text, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(name, durable.Text(xml.Header+string(text)+"\n"))
}

// begun is a time as the reports have it.
func begun(t time.Time) string { return t.UTC().Format(time.DateOnly + "T" + time.TimeOnly) }

// suite is the report of one process.
func (j *job) suite() junitSuite {
	s := junitSuite{Name: j.name, Package: "mcs", Begun: begun(j.start), Stdout: j.stdout.String(), Stderr: j.stderr.String()}
	var list []junitProperty
	for _, p := range j.params {
		name, value, _ := strings.Cut(p, "=")
		list = append(list, junitProperty{name, value})
	}
	if len(list) > 0 {
		s.Properties = &junitProperties{list}
		s.Name += " " + strings.Join(j.params, " ")
	}
	for _, c := range j.cells {
		s.Tests++
		one := junitCase{Class: s.Name, Name: fmt.Sprintf("cell %d: %s", c.N, c.Title), Seconds: seconds(c.Seconds)}
		if c.Title == "" {
			one.Name = fmt.Sprintf("cell %d, line %d", c.N, c.Line)
		}
		place := fmt.Sprintf("%s:%d: cell %d", j.name, c.Line, c.N)
		switch {
		case c.Error != "":
			s.Errors++
			one.Error = &junitDetail{cell.Line(c.Error, 1), "error", place + "\n" + c.Error}
		case c.Diff != "":
			s.Failures++
			one.Failure = &junitDetail{"output differs", "output", place + ": output differs (- expected, + got)\n" + c.Diff}
		case !c.Asked:
			s.Skipped++
			one.Skipped = &junitDetail{Message: "ran for a later cell"}
		}
		s.Cases = append(s.Cases, one)
	}
	if j.crashed() || j.unreadable() { // in the cell behind the last that was recorded
		s.Tests, s.Errors = s.Tests+1, s.Errors+1
		text := strings.TrimSpace(j.stderr.String())
		s.Cases = append(s.Cases, junitCase{Class: s.Name, Name: fmt.Sprintf("after cell %d", len(j.cells)),
			Error: &junitDetail{"ended without a result: " + j.err.Error(), "crash", text}})
	}
	s.Seconds = seconds(j.took.Seconds())
	return s
}
