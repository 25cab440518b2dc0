package ranks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/together"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/mpiexec"
)

// child says to a process of the test what it is to do.
const child = "MCS_TEST_RANKS"

func TestMain(m *testing.M) {
	if what := os.Getenv(child); what != "" {
		if err := joined(what); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			ranks.Exit(1)
		}
		ranks.Exit(0)
	}
	devicetest.Main(m)
}

// joined is what a process of the test does.
func joined(what string) error {
	if what == "stay away" && os.Getenv("MCS_RANK") == "1" {
		os.Exit(3)
	}
	g, err := ranks.Join(context.Background())
	if err != nil {
		return err
	}
	if g == nil {
		return errors.New("no launcher has started this")
	}
	switch what {
	case "hang":
		return hang(g)
	case "die":
		return die(g)
	case "again":
		return again(g)
	}
	if err := uses(g); err != nil {
		return err
	}
	if g.Rank() == 0 {
		fmt.Println("all is well on", g)
	}
	return g.Close()
}

// hang fails on rank 1, while the others wait for it.
func hang(g *ranks.Group) error {
	if g.Rank() == 1 {
		time.Sleep(100 * time.Millisecond)
		err := errors.New("the disk is gone")
		g.Fail(err)
		return err
	}
	_, err := g.Texts("here")
	return err
}

// die ends the process of rank 1, while the others wait for it.
func die(g *ranks.Group) error {
	if g.Rank() == 1 {
		p, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return p.Kill()
	}
	_, err := g.Texts("here")
	return err
}

// uses calls all methods of a group and checks what they return.
func uses(g *ranks.Group) error {
	size := g.Size()
	for _, n := range []int{0, 1, 100, 1 << 20} {
		texts, err := g.Texts(strings.Repeat(fmt.Sprint(g.Rank()), n*g.Rank()))
		if err != nil {
			return err
		}
		for rank, text := range texts {
			if text != strings.Repeat(fmt.Sprint(rank), n*rank) {
				return fmt.Errorf("the text of rank %d has %d bytes", rank, len(text))
			}
		}
	}
	numbers, err := g.Numbers([]float64{float64(g.Rank()), 0.5})
	if err != nil || len(numbers) != 2*size || numbers[2*size-2] != float64(size-1) {
		return fmt.Errorf("got numbers %v, %w", numbers, err)
	}
	whole := make([]byte, 9_000_001)
	_, _ = rand.NewChaCha8([32]byte{1, 2}).Read(whole) // it has no errors
	got, err := g.Once(func() ([]byte, error) { return whole, nil })
	if err != nil || !slices.Equal(got, whole) {
		return fmt.Errorf("got %d bytes of rank 0, want %d: %w", len(got), len(whole), err)
	}
	for _, terms := range []int{size, 2*size + 1, 17} {
		term := func(i int) []tensor.Tensor {
			r := tensor.NewRNG(uint64(i))
			return []tensor.Tensor{r.Randn(30, 1000).Eval(), r.Randn(3).Eval()}
		}
		got, err := g.Sum(terms, term)
		if err != nil {
			return err
		}
		var none *ranks.Group
		want, _ := none.Sum(terms, term)
		for i := range want {
			if size&(size-1) == 0 && !slices.Equal(got[i].Floats(), want[i].Floats()) || tensor.MaxAbsDiff(got[i], want[i]) > 1e-4 {
				return fmt.Errorf("%d terms: sum %d is %v, want %v", terms, i, got[i], want[i])
			}
		}
	}
	if err := g.Agree("the data", "same"); err != nil {
		return err
	}
	err = g.Agree("the data", fmt.Sprint("of rank ", g.Rank()/(size-1)))
	if want := fmt.Sprintf("the data: got of rank 1 on rank %d, want of rank 0 as on rank 0", size-1); err == nil || err.Error() != want {
		return fmt.Errorf("got %w, want %s", err, want)
	}
	_, err = g.Once(func() ([]byte, error) { return nil, errors.New("no file") })
	if want := map[bool]string{true: "no file", false: "rank 0: no file"}[g.Rank() == 0]; err == nil || err.Error() != want {
		return fmt.Errorf("got %w, want %s", err, want)
	}
	g.Fail(err) // all know it: the group goes on
	return g.Agree("the end", "same")
}

func TestGroup(t *testing.T) {
	for _, size := range []int{2, 3, 4} {
		if size == 4 && !long.CI() {
			continue
		}
		if err := errors.Join(together.Run(size, uses)...); err != nil {
			t.Errorf("%d ranks: %v", size, err)
		}
		if err := errors.Join(together.Run(size, func(g *ranks.Group) error { return uses(ranks.InPieces(g, 7_001)) })...); err != nil {
			t.Errorf("%d ranks, in pieces: %v", size, err)
		}
	}
	errs := together.Run(3, hang)
	if errs[0] == nil || errs[0].Error() != "rank 1: the disk is gone" {
		t.Errorf("got %v", errs)
	}
}

// Processes of mpiexec are a group, and one that fails ends the others.
func TestMPI(t *testing.T) {
	for _, launcher := range mpiexec.All(t) {
		run := func(size int, what string) (string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			c := launcher.Command(ctx, "-n", fmt.Sprint(size), os.Args[0])
			c.Env = append(c.Env, child+"="+what)
			out, err := c.CombinedOutput()
			return string(out), err
		}
		for _, size := range []int{2, 4} {
			out, err := run(size, "use")
			if want := fmt.Sprintf("all is well on %d ranks by MPI", size); err != nil || !strings.Contains(out, want) {
				t.Errorf("%v, %d processes: got %v, want %s\n%s", launcher, size, err, want, out)
			}
			t.Logf("%s", out)
		}
		began := time.Now()
		if out, err := run(2, "hang"); err == nil || !strings.Contains(out, "child: the disk is gone") {
			t.Errorf("%v: got %v, want the words of the rank that failed\n%s", launcher, err, out)
		}
		t.Logf("%v: a rank that fails ends the others, %.1f s in all", launcher, time.Since(began).Seconds())
	}
}
