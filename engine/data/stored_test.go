package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// manySequences are chats or preferences, of which some are left out.
func manySequences(t *testing.T, lines string) *Sequences {
	t.Helper()
	d, err := Records{SkipBad: true}.Read(folder(t, map[string]string{"a.jsonl": lines}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Tokens{Template: chatML(t), Length: 20}.Of(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	twoTexts       = `{"text": "abc"}` + "\n" + `{"text": "a text that is far too long"}` + "\n{"
	twoPreferences = `{"prompt": "1", "chosen": "a", "rejected": "b"}` + "\n" + `{"prompt": "2", "chosen": "c", "rejected": "dd"}`
)

// What was saved is the same again: the batches, what is shown, and what is said about it.
func TestSaveSequences(t *testing.T) {
	for _, lines := range []string{twoTexts, twoPreferences} {
		s := manySequences(t, lines)
		_, last := s.Split(0.5, 1)
		for name, s := range map[string]*Sequences{"all": s, "a part": last} {
			path := filepath.Join(t.TempDir(), "rows.safetensors")
			if err := s.Save(path); err != nil {
				t.Fatal(err)
			}
			got, err := LoadSequences(path, nil)
			if err != nil || got.Fingerprint() != s.Fingerprint() || got.String() != s.String() || got.Show(0) != s.Show(0) || got.Padded(2).Fingerprint() != s.Padded(2).Fingerprint() {
				t.Errorf("%s: got %v, error %v, want %v", name, got, err, s)
			}
		}
	}
}

func TestLoadSequencesRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.safetensors")
	about := map[string]string{"format": storedKind, "kind": "text", "about": "{}"}
	one := func(tokens []int32, ends []int64) map[string]tensor.Tensor {
		return map[string]tensor.Tensor{"tokens": tensor.From(tokens, len(tokens)), "ends": tensor.From(ends, len(ends))}
	}
	for _, c := range []struct {
		name    string
		tensors map[string]tensor.Tensor
		about   map[string]string
		want    string
	}{
		{"weights", map[string]tensor.Tensor{"w": tensor.Ones(2)}, nil, `got a file of format "" with ["w"], want one that Sequences.Save wrote`},
		{"another kind", one([]int32{1, 2}, []int64{2}), map[string]string{"format": storedKind, "kind": "images", "about": "{}"}, `got sequences of kind "images"`},
		{"a long end", one([]int32{1, 2}, []int64{3}), about, "got 1 sequences that end at [3], of 2 tokens"},
		{"no sequences", one([]int32{}, []int64{}), about, "got 0 sequences that end at [], of 0 tokens"},
		{"half a pair", one([]int32{1, 2}, []int64{2}), map[string]string{"format": storedKind, "kind": "preference", "about": "{}"}, "got 1 sequences"},
		{"ends that go back", one([]int32{1, 2, 3, 4}, []int64{4, 2, 4}), about, "sequence 1, from 4 to 2"},
		{"nothing counts", one([]int32{1, -2}, []int64{2}), about, "sequence 0, from 0 to 2, has no token that counts"},
		{"floats", map[string]tensor.Tensor{"tokens": tensor.Ones(2), "ends": tensor.From([]int64{2}, 1)}, about, "got tokens of f32, want i32"},
	} {
		if err := safetensors.Save(path, c.tensors, c.about); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadSequences(path, nil); err == nil || !strings.HasPrefix(err.Error(), "data: sequences: rows.safetensors: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// A damaged file is refused, or has sequences that can be handed out.
func TestSequencesMutants(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.safetensors")
	for _, lines := range []string{twoTexts, twoPreferences} {
		if err := manySequences(t, lines).Save(path); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		mutate.Each(1, 500, whole, func(i int, mutant []byte) {
			if err := os.WriteFile(path, mutant, 0o666); err != nil {
				t.Fatal(err)
			}
			s, err := LoadSequences(path, nil)
			if err != nil {
				return
			}
			if _, err := s.Padded(2).Batch(0); err != nil {
				t.Errorf("mutant %d: %v", i, err)
			}
		})
	}
}
