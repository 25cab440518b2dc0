package ranks_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/testing/together"
	"github.com/mcs-notebook/mcs/engine/ranks"
)

// The ranks of a machine get the files of all, and and see who gives none. One that is gone is an error.
func TestParts(t *testing.T) {
	const size = 3
	for rank, err := range together.Run(size, func(g *ranks.Group) error {
		p, err := g.Parts(context.Background())
		if err != nil {
			return err
		}
		defer p.Close()
		for turn := range 3 {
			var own *os.File
			if turn != g.Rank() { // which has none this time
				if own, err = os.CreateTemp(t.TempDir(), ""); err != nil {
					return err
				}
				fmt.Fprintf(own, "%d of turn %d", g.Rank(), turn)
			}
			files, err := p.Swap(own)
			if err != nil {
				return err
			}
			for rank, f := range files {
				if rank == turn {
					if f != nil {
						t.Errorf("turn %d: got a file of rank %d, want none", turn, rank)
					}
					continue
				}
				text := make([]byte, 20)
				n, _ := f.ReadAt(text, 0)
				if got, want := string(text[:n]), fmt.Sprintf("%d of turn %d", rank, turn); got != want {
					t.Errorf("rank %d: got %q, want %q", g.Rank(), got, want)
				}
				f.Close()
			}
		}
		if _, err := g.Texts("done"); err != nil {
			return err
		}
		if g.Rank() == 1 {
			return nil
		}
		if _, err := p.Swap(nil); err == nil || !strings.Contains(err.Error(), "of this machine: ") {
			t.Errorf("rank %d: got %v, want one that says of whom", g.Rank(), err)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
