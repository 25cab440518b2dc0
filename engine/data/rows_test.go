package data

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// lengthsOf makes completions of the given lengths, each of which begins with its number.
func lengthsOf(t testing.TB, lengths ...int) *Sequences {
	t.Helper()
	s := &Sequences{Kind: CompletionKind, store: &store{}}
	for i, n := range lengths {
		ids := make([]int32, n)
		for k := range ids {
			ids[k] = int32(1000*k + i)
			if k < 2 {
				ids[k] = -1 - ids[k]
			}
		}
		s.add(tokenized{sequences: [][]int32{ids}}, Record{Kind: CompletionKind})
	}
	return s
}

func someLengths(n int) (list []int) {
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		list = append(list, 4+int(r.ExpFloat64()*120)%1000)
	}
	return list
}

// documentsOf reads back what a batch has: for each document the number with which it begins.
func documentsOf(t *testing.T, b Batch) (list []int) {
	t.Helper()
	inputs, targets, width := b.Inputs.Ints(), b.Targets.Ints(), b.Inputs.Len(1)
	starts := make([]int, len(inputs))
	if !b.Starts.IsNone() {
		starts = b.Starts.Ints()
	}
	for i, id := range inputs {
		place := i%width - starts[i]
		padding := targets[i] == Ignored && place > 0
		switch {
		case place == 0 && (targets[i] == Ignored && i+1 < len(inputs) && targets[i+1] != Ignored):
			list = append(list, id)
		case padding || place == 0:
		case id != 1000*place+list[len(list)-1] || targets[i] != 1000*(place+1)+list[len(list)-1]:
			t.Fatalf("place %d: got input %d and target %d in document %d", i, id, targets[i], list[len(list)-1])
		}
	}
	return list
}

// Every sequence comes once an epoch, whatever the batches; each epoch has another order, and the same number
// gives the same batch.
func TestRows(t *testing.T) {
	s := lengthsOf(t, someLengths(203)...)
	for _, c := range []struct {
		name string
		make func() *Rows
	}{
		{"padded", func() *Rows { return s.Padded(8) }},
		{"packed", func() *Rows { return s.Packed(4, 0) }},
		{"packed into long rows", func() *Rows { return s.Packed(4, 2000) }},
	} {
		r := c.make()
		var epochs [][]int
		for epoch := range 3 {
			var all []int
			for n := range r.Len() {
				b, err := r.Batch(epoch*r.Len() + n)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, documentsOf(t, b)...)
			}
			epochs = append(epochs, slices.Clone(all))
			slices.Sort(all)
			if len(all) != s.Len() || len(slices.Compact(all)) != s.Len() {
				t.Errorf("%s, epoch %d: got %d documents, want each of %d once", c.name, epoch, len(all), s.Len())
			}
		}
		if slices.Equal(epochs[0], epochs[1]) {
			t.Errorf("%s: two epochs have the same order", c.name)
		}
		again := c.make()
		for _, n := range []int{2*r.Len() + 1, 0} {
			want, _ := r.Batch(n)
			if got, err := again.Batch(n); err != nil || !bytes.Equal(got.Inputs.Bytes(), want.Inputs.Bytes()) || !bytes.Equal(got.Targets.Bytes(), want.Targets.Bytes()) {
				t.Errorf("%s: batch %d is another one the second time, error %v", c.name, n, err)
			}
		}
		if again.Fingerprint() != r.Fingerprint() {
			t.Errorf("%s: the fingerprint is another", c.name)
		}
		if again.Seed = 1; again.Fingerprint() == r.Fingerprint() {
			t.Errorf("%s: the fingerprint does not know the seed", c.name)
		}
		if _, err := r.Batch(-1); err == nil {
			t.Errorf("%s: batch -1 is no error", c.name)
		}
	}
}

// Batches of about equal lengths, and rows of several sequences, pad little; the waste that is told is what
// is there, and there are few lengths.
func TestWaste(t *testing.T) {
	s := lengthsOf(t, someLengths(1000)...)
	for _, c := range []struct {
		name          string
		rows          *Rows
		least, most   float64
		differentWide int
	}{
		{"padded", s.Padded(8), 0, 0.11, 40},
		{"padded exactly", func() *Rows { r := s.Padded(8); r.Round = 1; return r }(), 0, 0.06, 200},
		{"packed", s.Packed(8, 0), 0, 0.01, 1},
		{"one sequence a row", lengthsOf(t, 5, 9, 100).Padded(3), 0.6, 0.7, 1},
	} {
		places, tokens, widths := 0, 0, map[int]bool{}
		for n := range c.rows.Len() {
			b, err := c.rows.Batch(n)
			if err != nil {
				t.Fatal(err)
			}
			widths[b.Inputs.Len(1)] = true
			places += b.Inputs.Size()
		}
		for i := range c.rows.of.Len() {
			tokens += c.rows.of.inputs(i)
		}
		waste := 1 - float64(tokens)/float64(places)
		if got := c.rows.Waste(); got != waste || got < c.least || got > c.most || len(widths) > c.differentWide {
			t.Errorf("%s: got waste %.4f, which is %.4f of what came, and %d lengths; want %v to %v, %d", c.name, got, waste, len(widths), c.least, c.most, c.differentWide)
		}
		if want := fmt.Sprintf("%.1f %% padding", 100*waste); !strings.Contains(c.rows.String(), want) {
			t.Errorf("got %q, want it to say %s", c.rows, want)
		}
	}
}

// A batch of preferences has the chosen answers in its first half and the rejected ones in the second.
func TestPreferenceRows(t *testing.T) {
	lines := `{"prompt": "1", "chosen": "a", "rejected": "longer"}` + "\n" + `{"prompt": "2", "chosen": "the longest", "rejected": "b"}` + "\n" + `{"prompt": "3", "chosen": "", "rejected": "b"}`
	d, err := ReadRecords(filepath.Join(folder(t, map[string]string{"a.jsonl": lines}), "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Tokens{}.Of(t.Context(), d)
	if err != nil || s.Len() != 2 || s.Empty != 1 {
		t.Fatalf("got %v, error %v", s, err)
	}
	b, err := s.Padded(2).Batch(0)
	if err != nil || b.Inputs.Len(0) != 4 || b.Examples() != 4 {
		t.Fatalf("got %v, error %v", b.Inputs, err)
	}
	text := func(x tensor.Tensor, row int) string {
		var b strings.Builder
		for _, id := range x.Select(0, row).Ints() {
			if id > 0 {
				b.WriteByte(byte(id))
			}
		}
		return b.String()
	}
	for i := range 2 {
		chosen, rejected := text(b.Inputs, i)[:1]+text(b.Targets, i), text(b.Inputs, i+2)[:1]+text(b.Targets, i+2)
		if want := map[string]string{"1a": "1longer", "2the longest": "2b"}[chosen]; want == "" || rejected != want {
			t.Errorf("row %d: got chosen %q and rejected %q", i, chosen, rejected)
		}
	}
	if err := tensor.Try(func() { s.Packed(1, 0) }); err == nil || !strings.Contains(err.Error(), "got preference records, want sequences: use Padded") {
		t.Errorf("got %v", err)
	}
}

// A batch of answers that are wanted or not has them in its first half, and in the second each prompt with
// another answer, cut where it is longer than any sequence.
func TestUnpairedRows(t *testing.T) {
	lines := `{"prompt": "1", "completion": "a", "label": true}` + "\n" + `{"prompt": "long: 2", "completion": "b", "label": false}` + "\n" + `{"prompt": "3", "completion": "cc dd ee", "label": "True"}`
	d, err := ReadRecords(filepath.Join(folder(t, map[string]string{"a.jsonl": lines}), "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Tokens{}.Of(t.Context(), d)
	if err != nil || s.Len() != 3 || s.Show(0) != "1⟦a⟧" || s.Show(1) != "--- not wanted\nlong: 2⟦b⟧" {
		t.Fatalf("got %v, %q, error %v", s, s.Show(1), err)
	}
	text := func(b Batch, row int) string {
		var text strings.Builder
		inputs, targets := b.Inputs.Select(0, row).Ints(), b.Targets.Select(0, row).Ints()
		text.WriteByte(byte(inputs[0]))
		for i, id := range targets {
			switch {
			case id >= Unwanted:
				text.WriteString("−" + string(rune(id-Unwanted)))
			case id >= 0:
				text.WriteRune(rune(id))
			case i+1 < len(inputs) && inputs[i+1] > 0:
				text.WriteByte(byte(inputs[i+1]))
			}
		}
		return text.String()
	}
	for n, want := range map[int][]string{ // of a batch of 1 and one of 3
		1: {"1a", "long: 2−b", "3cc dd ee"},
		3: {"1a", "long: 2−b", "3cc dd ee"},
	} {
		rows, seen, mixed := s.Padded(n), []string{}, map[string]bool{}
		for i := range rows.Len() {
			b, err := rows.Batch(i)
			if err != nil || b.Examples() != 2*n {
				t.Fatalf("got %v, error %v", b.Inputs, err)
			}
			for row := range n {
				seen = append(seen, text(b, row))
				mixed[text(b, n+row)] = true
			}
		}
		slices.Sort(seen)
		slices.Sort(want)
		if !slices.Equal(seen, want) || len(mixed) != 3 || mixed["1a"] || mixed["3cc dd ee"] {
			t.Errorf("batches of %d: got %q and %v, want %q", n, seen, mixed, want)
		}
		if n == 3 && !(mixed["1−b"] && mixed["long: 2cc"] && mixed["3a"] || mixed["1cc dd ee"] && mixed["long: 2a"] && mixed["3−b"]) {
			t.Errorf("got %v, want each prompt with the answer to another", mixed)
		}
	}
	path := filepath.Join(t.TempDir(), "tokens.safetensors")
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	if again, err := LoadSequences(path, nil); err != nil || again.Fingerprint() != s.Fingerprint() {
		t.Errorf("kept and read again: got %v, %v", again, err)
	}
	if _, err := (Tokens{Prompts: true}).Of(t.Context(), d); err == nil || !strings.Contains(err.Error(), "got Prompts for unpaired records") {
		t.Errorf("got %v", err)
	}
}

// Both parts of a split together are the whole, and neither knows the other's.
func TestSplitSequences(t *testing.T) {
	s := lengthsOf(t, someLengths(50)...)
	fit, test := s.Split(0.9, 3)
	var all []int
	for _, part := range []*Sequences{fit, test} {
		for i := range part.Len() {
			ids, _ := part.At(i)
			all = append(all, ids[0])
		}
	}
	slices.Sort(all)
	if fit.Len() != 45 || test.Len() != 5 || len(slices.Compact(all)) != 50 {
		t.Errorf("got parts of %d and %d, %d different", fit.Len(), test.Len(), len(all))
	}
	if again, _ := s.Split(0.9, 3); again.Fingerprint() != fit.Fingerprint() || fit.Fingerprint() == test.Fingerprint() {
		t.Error("the split is another one the second time, or both parts are the same")
	}
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { s.Split(1.5, 0) }, "data.Split: got share 1.5 of 50 sequences"},
		{func() { s.Padded(0) }, "data.Padded: got batch 0"},
		{func() { s.Packed(0, 0) }, "data.Packed: got batch 0"},
		{func() { s.Packed(1, 3) }, "data.Packed: got rows of 3, but a sequence has"},
		{func() { s.Show(50) }, "data.Sequences: got sequence 50, want one in 0…49"},
	} {
		if err := tensor.Try(c.do); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A batch knows how many of its targets count, whatever else was made of it.
func TestCounted(t *testing.T) {
	rows := lengthsOf(t, 3, 9, 20, 5, 12)
	for name, r := range map[string]*Rows{"padded": rows.Padded(2), "packed": rows.Packed(2, 0)} {
		for n := range r.Len() {
			b, err := r.Batch(n)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, id := range b.Targets.Ints() {
				if id != Ignored {
					want++
				}
			}
			if want == 0 || want == b.Tokens() || b.Counted() != want {
				t.Errorf("%s, batch %d: got %d of %d tokens that count, want %d", name, n, b.Counted(), b.Tokens(), want)
			}
			other := b
			other.Targets = b.Inputs // as data.Map may
			b.Targets.Set(b.Inputs)
			for _, b := range []Batch{b, other} {
				if b.Counted() != b.Tokens() {
					t.Errorf("%s, batch %d, other targets: got %d that count, want all %d", name, n, b.Counted(), b.Tokens())
				}
			}
		}
	}
}
