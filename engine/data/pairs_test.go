package data

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func squares(n, batch int) *Examples {
	x := tensor.Range(n)
	return Pairs(x.Cast(dtype.F32).Reshape(n, 1), x.Square(), batch)
}

// Every example comes once an epoch, with its own target, in an order that the seed and the number decide.
func TestPairs(t *testing.T) {
	e := squares(6, 4)
	if got, want := e.String(), "6 examples, inputs f32[1], targets i64[], 4 a batch"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	large := Pairs(tensor.From([]float32{1, 2}, 2, 1), tensor.From([]int{0, 1}), 5)
	if b, err := large.Batch(0); err != nil || b.Examples() != 5 || !strings.HasSuffix(large.String(), ", 5 a batch, some more than once") {
		t.Errorf("a batch of more rows than there are: got %v of %v, %v", b.Examples(), large, err)
	}
	var inputs []int
	for n := range 3 {
		b, err := e.Batch(n)
		if err != nil {
			t.Fatal(err)
		}
		if b.Tokens() != 0 || b.Examples() != 4 {
			t.Errorf("got %d tokens and %d examples, want 0 and 4", b.Tokens(), b.Examples())
		}
		for i, x := range b.Inputs.Floats() {
			if got := b.Targets.Ints()[i]; got != int(x*x) {
				t.Errorf("the target of %v is %v", x, got)
			}
			inputs = append(inputs, int(x))
		}
	}
	first, second := inputs[:6], inputs[6:]
	for _, epoch := range [][]int{first, second} {
		if got := slices.Sorted(slices.Values(epoch)); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) {
			t.Errorf("got the epoch %v", epoch)
		}
	}
	if slices.Equal(first, second) {
		t.Errorf("both epochs have the order %v", first)
	}
	again, err := squares(6, 4).Batch(2)
	if err != nil || again.Inputs.Floats()[3] != float32(inputs[11]) {
		t.Errorf("batch 2 differs when it comes first: %v, error %v", again.Inputs, err)
	}
	if _, err := e.Batch(-1); err == nil {
		t.Error("batch −1: no error")
	}
}

func TestPairsSplit(t *testing.T) {
	train, test := squares(10, 2).Split(0.8)
	all := append(train.rows.(pairs).inputs.Floats(), test.rows.(pairs).inputs.Floats()...)
	if train.Len() != 8 || test.Len() != 2 {
		t.Errorf("got %d and %d examples, want 8 and 2", train.Len(), test.Len())
	}
	if slices.IsSorted(all) {
		t.Errorf("%v is no random cut", all)
	}
	slices.Sort(all)
	if !slices.Equal(all, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("got the examples %v", all)
	}
	if one, other := squares(2, 1).Split(1); one.Len() != 1 || other.Len() != 1 {
		t.Error("a part is empty")
	}
}

func TestPairsFingerprint(t *testing.T) {
	prints := map[string]bool{squares(4, 2).Fingerprint(): true}
	if !prints[squares(4, 2).Fingerprint()] {
		t.Error("equal data has two fingerprints")
	}
	seeded := squares(4, 2)
	seeded.Seed = 1
	for _, e := range []*Examples{seeded, squares(5, 2), squares(4, 3), Pairs(tensor.Range(4), tensor.Range(4), 2)} {
		if p := e.Fingerprint(); prints[p] {
			t.Errorf("%v has the fingerprint of other data", e)
		} else {
			prints[p] = true
		}
	}
}

func TestPairsRefuses(t *testing.T) {
	for _, c := range []struct {
		inputs, targets tensor.Tensor
		batch           int
		want            string
	}{
		{tensor.Ones(3, 1), tensor.Ones(4), 1, "data.Pairs: got inputs f32[3 1] and targets f32[4], want the same number of rows"},
		{tensor.Ones(3), tensor.Scalar(1), 1, "data.Pairs: got inputs f32[3] and targets f32[], want the same number of rows"},
		{tensor.Ones(0, 2), tensor.Ones(0), 1, "data.Pairs: got no rows, want at least 1"},
		{tensor.Ones(3), tensor.Ones(3), 0, "data.Pairs: got batch 0, want at least 1"},
	} {
		if err := tensor.Try(func() { Pairs(c.inputs, c.targets, c.batch) }); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
