package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const start = `{"Action":"start","Package":"m/p"}` + "\n"
	tests := []struct {
		name, events string
		want         []string
		ok           bool
	}{
		{"a test that passes says nothing", start +
			`{"Action":"output","Package":"m/p","Test":"TestA","Output":"    a_test.go:3: words\n"}
{"Action":"pass","Package":"m/p","Test":"TestA","Elapsed":2.5}
{"Action":"pass","Package":"m/p","Elapsed":3}`,
			[]string{"pass m/p 3.0 s\n\n0 tests were skipped:\n", "   2.5 s  p TestA\n"}, true},
		{"a test that fails says all", start +
			`{"Action":"output","Package":"m/p","Test":"TestA","Output":"    a_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"m/p","Test":"TestA","Elapsed":0.1}
{"Action":"fail","Package":"m/p","Elapsed":0.2}`,
			[]string{"    a_test.go:3: got 1, want 2\nfail m/p 0.2 s\n"}, false},
		{"reasons for skips are counted", start +
			`{"Action":"output","Package":"m/p","Test":"TestA","Output":"    a_test.go:3: no GPU\n"}
{"Action":"output","Package":"m/p","Test":"TestA","Output":"--- SKIP: TestA\n"}
{"Action":"skip","Package":"m/p","Test":"TestA"}
{"Action":"output","Package":"m/p","Test":"TestB/x","Output":"    b_test.go:4: no GPU\n"}
{"Action":"skip","Package":"m/p","Test":"TestB/x"}
{"Action":"pass","Package":"m/p","Elapsed":1}`,
			[]string{"2 tests were skipped:\n     2  no GPU (p.TestA)\n"}, true},
		{"a process that ends in the middle", start +
			`{"Action":"output","Package":"m/p","Test":"TestA","Output":"half a li"}
{"Action":"output","Package":"m/p","Output":"signal: killed\n"}
{"Action":"fail","Package":"m/p","Elapsed":1}`,
			[]string{"signal: killed\nfail m/p 1.0 s\n", "m/p TestA did not end:\nhalf a li"}, false},
		{"a package that does not compile", `{"ImportPath":"m/p","Action":"build-output","Output":"p.go:1:1: undefined: x\n"}
{"ImportPath":"m/p","Action":"build-fail"}
{"Action":"fail","Package":"m/p","Elapsed":0}`,
			[]string{"p.go:1:1: undefined: x\nfail m/p 0.0 s\n"}, false},
		{"nothing was tested", "go: no packages\n", []string{"go: no packages\n"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			ok, err := report(strings.NewReader(test.events), &out)
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
