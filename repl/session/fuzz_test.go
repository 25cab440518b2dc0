package session

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
)

// FuzzCheck takes any text for a cell as far as it goes without being run: the session must neither crash nor
// say that right Go cannot be compiled.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/*.cells")
	if err != nil {
		f.Fatal(err)
	}
	every := 15
	if long.CI() {
		every = 5
	}
	for _, file := range files {
		for _, seq := range readSequences(f, file) {
			for i, c := range seq.cells {
				if i%every == 0 {
					f.Add(c.src)
				}
			}
		}
	}
	s, _ := newSession(f, Options{})
	n := 0
	f.Fuzz(func(t *testing.T, src string) {
		if n++; n%500 == 0 {
			s.Reset()
		}
		s.Complete(src, len(src))
		st := s.compiler.World.Stage()
		units, err := s.compiler.Check(st, 1, src, cell.Join(cell.Split(src)))
		if err != nil {
			return
		}
		for _, list := range units {
			for _, u := range list {
				if err := s.compiler.Build(st, u); err != nil {
					if _, refused := err.(*CheckError); !refused {
						t.Errorf("%s\n%v", src, err)
					}
					return
				}
			}
		}
	})
}

// FuzzCell runs cells of the tables with their tokens exchanged: whatever they have become, the session
// neither crashes nor hangs, reports no fault of its own, and keeps its variables.
func FuzzCell(f *testing.F) {
	var seeds []string
	files, err := filepath.Glob("testdata/*.cells")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		for _, seq := range readSequences(f, file) {
			for _, c := range seq.cells {
				if !reachesOut.MatchString(c.src) {
					seeds = append(seeds, c.src)
				}
			}
		}
	}
	for i := 0; i < len(seeds); i += 15 {
		f.Add(seeds[i], uint64(i))
	}
	var s *Session
	n := 0
	f.Fuzz(func(t *testing.T, cell string, seed uint64) {
		if n%200 == 0 {
			if s != nil {
				_ = s.Close() // it never fails
			}
			var err error
			if s, err = New(Options{limits: supervise.Limits{Memory: 1 << 30}}); err != nil {
				t.Fatal(err)
			}
			run(t, s, "keptByTheTest := 41")
		}
		n++
		cell = exchange(cell, seeds, rand.New(rand.NewPCG(seed, 1)))
		if reachesOut.MatchString(cell) {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		done := make(chan Result, 1)
		go func() { done <- s.Run(ctx, cell) }()
		select {
		case r := <-done:
			if r.Err != nil && strings.Contains(r.Err.Error(), "internal error") {
				t.Errorf("%s\n%v", cell, r.Err)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("this hangs:\n%s", cell)
		}
		if got := run(t, s, "keptByTheTest + 1"); got != "42" {
			t.Errorf("%s\nafterwards a variable is %s", cell, got)
		}
	})
}

// reachesOut matches names that cells of the fuzzer must not use, to protect the machine.
var reachesOut = regexp.MustCompile(`\b(os|exec|net|http|syscall|ioutil|filepath|debug|unsafe)\b|Goexit|keptByTheTest`)

// exchange deletes, doubles, swaps and replaces some tokens of a cell; what comes in is from any of the
// cells.
func exchange(src string, others []string, r *rand.Rand) string {
	pieces := func(text string) (list []string) {
		tokens := cell.Code(cell.ScanGo(text))
		for i, t := range tokens {
			end := len(text)
			if i+1 < len(tokens) {
				end = tokens[i+1].From
			}
			list = append(list, text[t.From:end])
		}
		return list
	}
	list := pieces(src)
	other := pieces(others[r.IntN(len(others))])
	for range r.IntN(4) {
		if len(list) == 0 || len(other) == 0 {
			break
		}
		i := r.IntN(len(list))
		switch r.IntN(5) {
		case 0:
			list = slices.Delete(list, i, i+1)
		case 1:
			list = slices.Insert(list, i, list[i])
		case 2:
			j := r.IntN(len(list))
			list[i], list[j] = list[j], list[i]
		case 3:
			list[i] = other[r.IntN(len(other))]
		case 4:
			j := r.IntN(len(other))
			list = slices.Insert(list, i, other[j:min(j+1+r.IntN(8), len(other))]...)
		}
	}
	return strings.Join(list, "")
}
