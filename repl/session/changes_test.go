package session_test

import (
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A tensor that was set has changed, also if its value got the address of the one that it had.
func TestChangesOfASetTensor(t *testing.T) {
	s, err := session.New(session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(cell string) {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	run("x := []tensor.Tensor{tensor.Ones(2).Eval()}\nstep := func() { x[0].Set(x[0].Add(1).Eval()) }")
	rounds := 2
	if long.Tests() {
		rounds = 10
	}
	for range rounds {
		since := s.Changes()
		run("step()")
		for range 1000 {
			run("step()")
			if changed, _ := since(); !slices.Contains(changed, "x") {
				t.Fatalf("got %v, want x", changed)
			}
		}
	}
}
