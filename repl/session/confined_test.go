package session

import (
	"strings"
	"testing"
)

// TestConfined: a confined session names what it refuses, and runs the rest.
func TestConfined(t *testing.T) {
	for _, c := range []struct{ cell, says string }{
		{`import "net/http"`, "package net/http: not available here: it reaches the network or other programs"},
		{`import "os/exec"`, "package os/exec: not available here"},
		{`import "unsafe"`, "package unsafe: not available here"},
		{`http.Get("http://localhost")`, "undefined: http"},
		{`exec.Command("true").Run()`, "undefined: exec"},
		{`p, err := os.StartProcess("/bin/true", nil, new(os.ProcAttr)); p != nil, err.Error()`, ""},
		{`_, err := os.StartProcess("/bin/true", nil, new(os.ProcAttr)); if err != nil { panic(err) }`, "start /bin/true: permission denied"},
		{`url.PathEscape("a b")`, ""},
	} {
		s, err := New(Options{Confined: true})
		if err != nil {
			t.Fatal(err)
		}
		r := s.Run(t.Context(), c.cell)
		if c.says == "" && r.Err != nil || c.says != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), c.says)) {
			t.Errorf("%s: got %v, want %q", c.cell, r.Err, c.says)
		}
		if _, err := s.Get(t.Context(), "example.com/m"); err == nil || !strings.Contains(err.Error(), "not available here") {
			t.Errorf("Get: got %v", err)
		}
		_ = s.Close()
	}
}

// TestMemory: a cell that would hold more than Options.Memory is stopped, and the session goes on.
func TestMemory(t *testing.T) {
	s, err := New(Options{Memory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Run(t.Context(), "var list [][]byte\nfor { list = append(list, make([]byte, 1<<20)) }")
	if r.Err == nil || !strings.Contains(r.Err.Error(), "memory") {
		t.Errorf("got %v", r.Err)
	}
	if r := s.Run(t.Context(), "list = nil\n1 + 1"); r.Err != nil {
		t.Errorf("then got %v", r.Err)
	}
}
