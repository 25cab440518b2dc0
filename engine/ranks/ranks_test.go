package ranks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The tree of a number of terms is the same on 1, 2, 4 and 8 ranks; with other numbers of ranks it is
// another.
func TestTree(t *testing.T) {
	text := func(from, to int) string {
		return halves(from, to, func(i int) string { return fmt.Sprint(i) }, func(a, b string) string { return "(" + a + "+" + b + ")" })
	}
	for n, want := range map[int]string{
		1: "0", 2: "(0+1)", 3: "((0+1)+2)", 4: "((0+1)+(2+3))", 5: "(((0+1)+2)+(3+4))", 6: "(((0+1)+2)+((3+4)+5))",
		7: "(((0+1)+(2+3))+((4+5)+6))", 8: "(((0+1)+(2+3))+((4+5)+(6+7)))",
	} {
		if got := text(0, n); got != want {
			t.Errorf("%d terms: got %s, want %s", n, got, want)
		}
	}
	for n := 1; n <= 40; n++ {
		for size := 1; size <= n; size++ {
			next := 0
			var sums []string
			for rank := range size {
				g := New(numbered{rank: rank, size: size})
				from, to := g.Share(n)
				if from != next || to <= from {
					t.Errorf("%d terms: rank %d of %d has %d to %d", n, rank, size, from, to)
				}
				next = to
				sums = append(sums, text(from, to))
			}
			if next != n {
				t.Errorf("%d terms: %d ranks have %d of them", n, size, next)
			}
			got := halves(0, size, func(i int) string { return sums[i] }, func(a, b string) string { return "(" + a + "+" + b + ")" })
			if power := size&(size-1) == 0; power && got != text(0, n) {
				t.Errorf("%d terms, %d ranks: got %s, want %s", n, size, got, text(0, n))
			}
		}
	}
}

// numbered is a link that only knows which it is.
type numbered struct {
	Link
	rank, size int
}

func (n numbered) Rank() int { return n.rank }
func (n numbered) Size() int { return n.size }

// A nil group is one process.
func TestNoGroup(t *testing.T) {
	var g *Group
	texts, err := g.Texts("a")
	numbers, failed := g.Numbers([]float64{1, 2})
	once, wrong := g.Once(func() ([]byte, error) { return []byte("x"), nil })
	sum, bad := g.Sum(3, func(i int) []tensor.Tensor { return []tensor.Tensor{tensor.Scalar(float64(i)).Eval()} })
	if err := errors.Join(err, failed, wrong, bad, g.Agree("the data", "a"), g.Close()); err != nil {
		t.Fatal(err)
	}
	if g.Fail(errors.New("bad")); !slices.Equal(texts, []string{"a"}) || !slices.Equal(numbers, []float64{1, 2}) || string(once) != "x" || sum[0].Item() != 3 || g.Rank() != 0 || g.String() != "one process" {
		t.Errorf("got %v, %v, %s, %v", texts, numbers, once, sum)
	}
}

// What a launcher says only in part is an error.
func TestJoin(t *testing.T) {
	t.Setenv("RANK", "1")
	if g, err := Join(t.Context()); g != nil || err == nil || !strings.Contains(err.Error(), "WORLD_SIZE is missing") {
		t.Errorf("got %v, %v", g, err)
	}
	t.Setenv("RANK", "")
	if g, err := Join(t.Context()); g != nil || err != nil {
		t.Errorf("got %v, %v, want no group", g, err)
	}
}
