package main

import (
	"io"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const start = `{"Action":"start","Package":"m/p"}` + "\n"
	tests := []struct {
		name, events string
		want         []string
		ok           bool
		again        string // events of the second run, of what failed
	}{
		{"a test that passes says nothing", start +
			`{"Action":"output","Package":"m/p","Test":"TestA","Output":"    a_test.go:3: words\n"}
{"Action":"pass","Package":"m/p","Test":"TestA","Elapsed":2.5}
{"Action":"pass","Package":"m/p","Elapsed":3}`,
			[]string{"pass m/p 3.0 s\n\n0 tests were skipped:\n", "   2.5 s  p TestA\n"}, true, ""},
		{"a test that fails says all", start +
			`{"Action":"output","Package":"m/p","Test":"TestA","Output":"    a_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"m/p","Test":"TestA","Elapsed":0.1}
{"Action":"fail","Package":"m/p","Elapsed":0.2}`,
			[]string{"    a_test.go:3: got 1, want 2\nfail m/p 0.2 s\nagain, with nothing beside: m/p TestA\n    a_test.go:3: got 7, want 2\n"}, false, start +
				`{"Action":"output","Package":"m/p","Test":"TestA","Output":"    a_test.go:3: got 7, want 2\n"}
{"Action":"fail","Package":"m/p","Test":"TestA","Elapsed":0.1}
{"Action":"fail","Package":"m/p","Elapsed":0.2}`},
		{"a test that passes with nothing beside it is listed", start +
			`{"Action":"output","Package":"m/p","Test":"TestA/x","Output":"    a_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"m/p","Test":"TestA/x","Elapsed":0.1}
{"Action":"fail","Package":"m/p","Test":"TestA","Elapsed":0.1}
{"Action":"fail","Package":"m/p","Elapsed":0.2}`,
			[]string{"    a_test.go:3: got 1, want 2\nfail m/p 0.2 s\n", "Passed only with nothing beside:\n  m/p TestA\n"}, true, start +
				`{"Action":"pass","Package":"m/p","Test":"TestA/x","Elapsed":0.1}
{"Action":"pass","Package":"m/p","Test":"TestA","Elapsed":0.1}
{"Action":"pass","Package":"m/p","Elapsed":0.2}`},
		{"a second run without tests is none", start +
			`{"Action":"fail","Package":"m/p","Test":"TestA","Elapsed":0.1}
{"Action":"fail","Package":"m/p","Elapsed":0.2}`, nil, false, "go: no packages\n"},
		{"a data race is not tried again", start +
			`{"Action":"output","Package":"m/p","Test":"TestA","Output":"WARNING: DATA RACE\n"}
{"Action":"fail","Package":"m/p","Test":"TestA","Elapsed":0.1}
{"Action":"fail","Package":"m/p","Elapsed":0.2}`,
			nil, false, `{"Action":"pass","Package":"m/p"}`},
		{"many tests are not tried again", start +
			strings.Repeat(`{"Action":"fail","Package":"m/p","Test":"TestA"}`+"\n", 4) + `{"Action":"fail","Package":"m/p"}`,
			nil, false, `{"Action":"pass","Package":"m/p"}`},
		{"reasons for skips are counted", start +
			`{"Action":"output","Package":"m/p","Test":"TestA","Output":"    a_test.go:3: no GPU\n"}
{"Action":"output","Package":"m/p","Test":"TestA","Output":"--- SKIP: TestA\n"}
{"Action":"skip","Package":"m/p","Test":"TestA"}
{"Action":"output","Package":"m/p","Test":"TestB/x","Output":"    b_test.go:4: no GPU\n"}
{"Action":"skip","Package":"m/p","Test":"TestB/x"}
{"Action":"pass","Package":"m/p","Elapsed":1}`,
			[]string{"2 tests were skipped:\n     2  no GPU (p.TestA)\n"}, true, ""},
		{"a process that ends in the middle", start +
			`{"Action":"output","Package":"m/p","Test":"TestA","Output":"half a li"}
{"Action":"output","Package":"m/p","Output":"signal: killed\n"}
{"Action":"fail","Package":"m/p","Elapsed":1}`,
			[]string{"signal: killed\nfail m/p 1.0 s\n", "m/p TestA did not end:\nhalf a li"}, false, ""},
		{"a package that does not compile", `{"ImportPath":"m/p","Action":"build-output","Output":"p.go:1:1: undefined: x\n"}
{"ImportPath":"m/p","Action":"build-fail"}
{"Action":"fail","Package":"m/p","Elapsed":0}`,
			[]string{"p.go:1:1: undefined: x\nfail m/p 0.0 s\n"}, false, ""},
		{"nothing was tested", "go: no packages\n", []string{"go: no packages\n"}, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			runs := 0
			ok, err := run([]string{"-timeout=30m", "./..."}, func(args []string, read func(io.Reader) error) (bool, error) {
				runs++
				if runs == 1 {
					return true, read(strings.NewReader(test.events))
				}
				if got := strings.Join(args, " "); got != "-count=1 -run=^(TestA)$ m/p -timeout=30m" {
					t.Errorf("got %s for the second run", got)
				}
				return true, read(strings.NewReader(test.again))
			}, &out)
			if ok != test.ok || err != nil {
				t.Errorf("got %v, %v, want %v", ok, err, test.ok)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got\n%s\nwant in it\n%s", &out, want)
				}
			}
		})
	}
}

// The go command may fail in a way that no event tells.
func TestStatus(t *testing.T) {
	ok, err := run(nil, func(_ []string, read func(io.Reader) error) (bool, error) {
		return false, read(strings.NewReader(`{"Action":"pass","Package":"m/p"}`))
	}, io.Discard)
	if ok || err != nil {
		t.Errorf("got %v, %v for a status of 1, want false", ok, err)
	}
}
