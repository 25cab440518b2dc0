package session

import (
	"path/filepath"
	"testing"
)

// FuzzCheck takes any text for a cell as far as it goes without being run: the session must neither crash nor say that
// right Go cannot be compiled.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/*.cells")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		for _, seq := range readSequences(f, file) {
			for i, c := range seq.cells {
				if i%5 == 0 {
					f.Add(c.src)
				}
			}
		}
	}
	s, _ := newSession(f, Options{})
	n := 0
	f.Fuzz(func(t *testing.T, cell string) {
		if n++; n%500 == 0 {
			s.Reset()
		}
		Incomplete(cell)
		s.Complete(cell, len(cell))
		st := s.world.stage()
		units, err := s.checkPieces(st, 1, cell, split(cell))
		if err != nil {
			return
		}
		for _, list := range units {
			for _, u := range list {
				if err := s.build(st, u); err != nil {
					if _, refused := err.(*CheckError); !refused {
						t.Errorf("%s\n%v", cell, err)
					}
					return
				}
			}
		}
	})
}
