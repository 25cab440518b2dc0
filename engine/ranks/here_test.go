package ranks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The group of a context is that of its code, and of no other.
func TestHere(t *testing.T) {
	g := ranks.New(nil)
	tensor.Within(ranks.With(context.Background(), g), func() {
		tensor.Within(context.Background(), func() {
			if ranks.Here() != g {
				t.Error("an inner context has another group")
			}
		})
	})
	if got := ranks.Here(); got.Size() != 1 || got.Rank() != 0 {
		t.Errorf("got rank %d of %d, want one process", got.Rank(), got.Size())
	}
}

// again fails on one rank in a second group of the same processes; the first goes on, and makes a third.
func again(g *ranks.Group) error {
	ctx := context.Background()
	second, err := g.Again(ctx)
	if err != nil {
		return err
	}
	if _, err := second.Failure(); g.Rank() == 1 && err != nil {
		return fmt.Errorf("a new group has failed: %w", err)
	}
	if g.Rank() == 1 {
		second.Fail(errors.New("the disk is gone"))
	} else if _, err := second.Numbers([]float64{1}); err == nil {
		return errors.New("a group goes on without one of its ranks")
	}
	<-second.Ended()
	if rank, err := second.Failure(); rank != 1 || err == nil || err.Error() != "the disk is gone" {
		return fmt.Errorf("got %d, %v, want the words of rank 1", rank, err)
	}
	third, err := g.Again(ctx)
	if err != nil {
		return err
	}
	if err := uses(third); err != nil {
		return err
	}
	if g.Rank() == 0 {
		fmt.Println("all is well on", g)
	}
	return errors.Join(third.Close(), g.Close())
}

// A failure in a second group leaves the first as it is.
func TestAgain(t *testing.T) {
	commands, said := children(3, "again")
	if err := ranks.Start(commands, nil); err != nil || !strings.Contains(said.String(), "all is well on 3 ranks by TCP") {
		t.Errorf("%v\n%s", err, said)
	}
}
