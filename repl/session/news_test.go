package session

import (
	"testing"
	"time"
)

// A goroutine that has ended keeps nothing, also while a goroutine of another cell runs.
func TestGoroutinesThatKeep(t *testing.T) {
	s, out := newSession(t, Options{})
	for _, cell := range []string{
		"func f() int { return 1 }\none, other := make(chan bool), make(chan bool)",
		"go func() { <-one; f() }()",
		"go func() { <-other; f() }()",
		"one <- true",
	} {
		if got := transcript(s, out, cell); got != "" {
			t.Fatalf("%s: got %q", cell, got)
		}
	}
	for began := time.Now(); s.rt.Runs("In[2]"); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("the goroutine of In[2] does not end")
		}
	}
	want := "f is a func() float64 now, it was a func() int; the goroutine of In[3]:1 keeps the old one\n"
	if got := transcript(s, out, "func f() float64 { return 2.5 }"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := transcript(s, out, "other <- true // ended"); got != "" {
		t.Errorf("got %q", got)
	}
}
