package session

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A cell of a script whose goroutines all wait for each other stops as Go's runtime stops a program, and the
// next cell runs. What something else may wake goes on.
func TestDeadlocksOfScripts(t *testing.T) {
	for i, c := range []struct{ before, cell, want string }{
		{"ch := make(chan int)", "ch <- 1", "[chan send]\n    ch <- 1"},
		{"ch := make(chan int)", "<-ch", "[chan receive]"},
		{"var ch chan int", "for range ch {}", "[chan receive]"},
		{"", "select {}", "[select (no cases)]"},
		{"a, b := make(chan int), make(chan int)", "select { case <-a: case b <- 1: }", "[select]"},
		{"var wg sync.WaitGroup; wg.Add(1)", "wg.Wait()", "[sync.WaitGroup.Wait]"},
		{"var mu sync.Mutex; mu.Lock()", "mu.Lock()", "[sync.Mutex.Lock]"},
		{"var mu sync.RWMutex; mu.RLock()", "mu.Lock()", "[sync.RWMutex.Lock]"},
		{"ch := make(chan int); go func() { ch <- 1 }(); <-ch; go func() { select {} }()", "<-ch", "[chan receive]"},
		{"x := tensor.Randn(64, 64).Eval(); ch := make(chan int)", "x.MatMul(x).Eval(); <-ch", "[chan receive]"},
		{"ch := make(chan int); go func() { time.Sleep(300 * time.Millisecond); ch <- 1 }()", "<-ch", ""},
		{"", "<-time.After(300 * time.Millisecond)", ""},
		{"ch := make(chan int); time.AfterFunc(300 * time.Millisecond, func() { ch <- 1 })", "<-ch", ""},
		{"done := make(chan bool)", "go func() { for i := 0; i < 3_000_000; i++ {}; done <- true }(); <-done", ""},
		{"", `exec.Command("sleep", "0.3").Run()`, ""},
	} {
		if i%3 > 0 && !long.CI() {
			continue
		}
		t.Run(c.cell, func(t *testing.T) {
			s, _ := newSession(t, Options{Script: true})
			if c.before != "" {
				if r := s.Run(context.Background(), c.before); r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			got := ""
			if r := s.Run(context.Background(), c.cell); r.Err != nil {
				got = r.Err.Error()
			}
			want := c.want
			if want != "" {
				want = "fatal error: all goroutines are asleep - deadlock! " + want
			}
			if !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := run(t, s, "1 + 1"); got != "2" {
				t.Errorf("the next cell shows %s, want 2", got)
			}
		})
	}
}

// Scripts of one process that wait for ever at the same time each end with their own reason.
func TestDeadlocksBesideEachOther(t *testing.T) {
	var all sync.WaitGroup
	for cell, want := range map[string]string{
		"var wg sync.WaitGroup; wg.Add(1); wg.Wait()":                                                      "[sync.WaitGroup.Wait]",
		"var mu sync.Mutex; mu.Lock(); mu.Lock()":                                                          "[sync.Mutex.Lock]",
		"var rw sync.RWMutex; rw.RLock(); rw.Lock()":                                                       "[sync.RWMutex.Lock]",
		"ch := make(chan int); go func() { var wg sync.WaitGroup; wg.Add(1); wg.Wait(); ch <- 1 }(); <-ch": "[chan receive]",
	} {
		s, _ := newSession(t, Options{Script: true})
		all.Add(1)
		go func() {
			defer all.Done()
			for range 3 {
				if r := s.Run(t.Context(), "{ "+cell+" }"); r.Err == nil || !strings.Contains(r.Err.Error(), want) {
					t.Errorf("%s: got %v, want %s", cell, r.Err, want)
				}
			}
		}()
	}
	all.Wait()
}
