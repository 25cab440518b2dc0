package ir_test

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Each run of a statement has a context of its own, and asks for its stack in each evaluation: that makes no
// objects, because the text is the front end's.
func TestStackMakesNoObjects(t *testing.T) {
	const text = "In[2]:1\nIn[1]:3"
	place := func(string) string { return text }
	alone := testing.AllocsPerRun(100, func() { ir.WithPlaces(t.Context(), place) })
	asked := testing.AllocsPerRun(100, func() {
		if got := ir.Stack(ir.WithPlaces(t.Context(), place)); got != text {
			t.Errorf("got %q", got)
		}
	})
	if asked > alone {
		t.Errorf("got %v objects, want %v", asked, alone)
	}
	if got := ir.Stack(t.Context()); got != "" {
		t.Errorf("got %q of a context that does not ask", got)
	}
}
