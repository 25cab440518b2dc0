package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// storedKind is the metadata that tells files of sequences.
const storedKind = "mcs sequences 1"

// Save writes the sequences as a safetensors file, so that LoadSequences finds them without the work of the
// tokenizer: tokens i32 (−1 − token where it does not count), ends i64 and, for preferences, the chosen ones
// before the rejected. Readers find the old file or the whole new one.
func (s *Sequences) Save(path string) (err error) {
	defer wrap.Error(&err, "data: sequences")
	tokens, ends := make([]int32, 0, s.Tokens()), make([]int64, 0, len(s.list)*s.ways())
	for _, i := range s.list {
		for way := range s.ways() {
			tokens = append(tokens, s.store.at(i+way)...)
			ends = append(ends, int64(len(tokens)))
		}
	}
	about, err := json.Marshal(map[string]int{"records": s.Records, "empty": s.Empty, "cut": s.Cut, "cut tokens": s.CutTokens, "rewritten": s.Rewritten, "skipped": s.Skipped.Count})
	if err != nil {
		return err
	}
	skipped := ""
	if s.Skipped.First != nil {
		skipped = s.Skipped.First.Error()
	}
	return safetensors.Save(path, map[string]tensor.Tensor{"tokens": tensor.From(tokens, len(tokens)), "ends": tensor.From(ends, len(ends))},
		map[string]string{"format": storedKind, "kind": string(s.Kind), "about": string(about), "skipped": skipped, "check": s.checksum(string(about), skipped)})
}

// LoadSequences reads what Save wrote. The model is for Show; it may be nil, tokens are shown as bytes then.
// A token that its tokenizer lacks is an error.
func LoadSequences(path string, model Speaker) (s *Sequences, err error) {
	defer wrap.Error(&err, "data: sequences: "+visible.Line(filepath.Base(path)))
	all, about, err := safetensors.Load(path)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(all))
	if about["format"] != storedKind || !slices.Equal(names, []string{"ends", "tokens"}) {
		return nil, fmt.Errorf("got a file of format %q with %.60q, want one that Sequences.Save wrote", about["format"], names)
	}
	s = &Sequences{Kind: Kind(about["kind"]), store: &store{}}
	if !slices.Contains(kinds, s.Kind) {
		return nil, fmt.Errorf("got sequences of kind %.40q", about["kind"])
	}
	most := 0 // tokens of the vocabulary; 0: not known
	if model != nil {
		if s.tokenizer, _ = model.Speaks(); s.tokenizer != nil {
			most = s.tokenizer.Vocab()
		}
	}
	var ids []int32
	var ends []int
	if err := tensor.Try(func() { ids, ends = tokensOf(all["tokens"]), all["ends"].Ints() }); err != nil {
		return nil, err
	}
	if err := s.keep(ids, ends, most); err != nil {
		return nil, err
	}
	var numbers map[string]int
	if err := json.Unmarshal([]byte(about["about"]), &numbers); err != nil {
		return nil, fmt.Errorf("what it says about itself: %w", err)
	}
	for name, to := range map[string]*int{"records": &s.Records, "empty": &s.Empty, "cut": &s.Cut, "cut tokens": &s.CutTokens, "rewritten": &s.Rewritten, "skipped": &s.Skipped.Count} {
		if *to = numbers[name]; *to < 0 {
			return nil, fmt.Errorf("got %d %s", *to, name)
		}
	}
	s.whole = about["check"] == s.checksum(about["about"], about["skipped"])
	if about["skipped"] != "" && s.Skipped.Count > 0 {
		s.Skipped.First = errors.New(visible.Line(about["skipped"]))
	}
	return s, nil
}

// tokensOf are the elements of a tensor, which are i32 in files of Save. Others panic with a *tensor.Error.
func tokensOf(t tensor.Tensor) []int32 {
	if t.DType() != dtype.I32 {
		panic(&tensor.Error{Op: "data.LoadSequences", Msg: fmt.Sprintf("got tokens of %v, want i32", t.DType())})
	}
	b := t.Bytes()
	ids := make([]int32, t.Size())
	for i := range ids {
		ids[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return ids
}

// checksum is that of the sequences and of what is said about them.
func (s *Sequences) checksum(about, skipped string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %q", s.Fingerprint(), about, skipped))
	return hex.EncodeToString(sum[:16])
}

// keep takes tokens and ends, if they are those of whole sequences with tokens that count.
func (s *Sequences) keep(ids []int32, ends []int, most int) error {
	if len(ends) == 0 || len(ends)%s.ways() != 0 || ends[len(ends)-1] != len(ids) {
		return fmt.Errorf("got %d sequences that end at %d, of %d tokens", len(ends), ends[max(0, len(ends)-1):], len(ids))
	}
	s.store.tokens, s.store.ends = ids, ends
	for i, id := range ids {
		if token := tokenOf(id); token > 1<<31-2 || most > 0 && token >= most {
			return fmt.Errorf("token %d is %d, want one of the tokenizer's %d", i, token, most)
		}
	}
	before := 0
	for i, end := range ends {
		if end < before+2 || end > len(ids) || counts(s.store.tokens[before:end]) == 0 {
			return fmt.Errorf("sequence %d, from %d to %d, has no token that counts", i, before, end)
		}
		if before = end; i%s.ways() == 0 {
			s.list = append(s.list, i)
		}
	}
	return nil
}
