package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/engine/tokenizer"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// Sequences are the tokens of a dataset's records. Make them with Tokens.Of. Padded and Packed hand them out.
type Sequences struct {
	Kind Kind

	Records   int     // that were read and are good
	Skipped   Skipped // that were not
	Empty     int     // records that were left out, as no token of them counts
	Cut       int     // records that were too long
	CutTokens int     // what was cut off
	Rewritten int     // answers that do not count, as the template rewrites them: see Tokens

	Kept bool // they are those of an earlier call: see Tokens.Cache

	whole     bool  // the file from which they are has their checksum
	unkept    error // why they could not be kept
	store     *store
	list      []int // numbers of the sequences; of pairs those of the chosen ones, which the rejected ones follow
	tokenizer *tokenizer.Tokenizer

	mu    sync.Mutex
	print string
}

// Len is the number of sequences; of preferences that of pairs.
func (s *Sequences) Len() int { return len(s.list) }

// ways is how many sequences belong to an example.
func (s *Sequences) ways() int {
	if s.Kind == PreferenceKind {
		return 2
	}
	return 1
}

// halves is how many rows of a batch an example becomes: see Padded.
func (s *Sequences) halves() int {
	if s.Kind == UnpairedKind {
		return 2
	}
	return s.ways()
}

// Unwanted is added to the targets of an answer that is not wanted (UnpairedKind), in batches and in store.
const Unwanted = 1 << 30

// tokenOf is the token of an element of store.
func tokenOf(id int32) int { return int(max(id, -1-id) &^ Unwanted) }

// Tokens is the number of tokens of all sequences.
func (s *Sequences) Tokens() (n int) {
	for _, i := range s.list {
		for way := range s.ways() {
			n += len(s.store.at(i + way))
		}
	}
	return n
}

// Counted is the number of tokens that a model learns to say. The first one of a sequence is never one of
// them.
func (s *Sequences) Counted() (n int) {
	for _, i := range s.list {
		for way := range s.ways() {
			n += counts(s.store.at(i + way))
		}
	}
	return n
}

// counts is the number of targets of a sequence that count.
func counts(ids []int32) (n int) {
	for _, id := range ids[1:] {
		if id >= 0 {
			n++
		}
	}
	return n
}

// inputs is the length of an example: of its longest sequence without the last token.
func (s *Sequences) inputs(example int) (n int) {
	for way := range s.ways() {
		n = max(n, len(s.store.at(s.list[example]+way))-1)
	}
	return n
}

// longest is the length of the longest example.
func (s *Sequences) longest() (n int) {
	for i := range s.list {
		n = max(n, s.inputs(i))
	}
	return n
}

// At returns the tokens of sequence n, and which of them count. Of pairs it is the chosen one.
func (s *Sequences) At(n int) (ids []int, counted []bool) {
	for _, id := range s.store.at(s.list[n]) {
		ids, counted = append(ids, tokenOf(id)), append(counted, id >= 0)
	}
	return ids, counted
}

// Show returns the text of sequence n with what counts in brackets, to see what a model would learn:
// "What is 2+2? ⟦4</s>⟧". Of pairs it shows both, and it says of an answer if it is not wanted.
func (s *Sequences) Show(n int) string {
	if n < 0 || n >= len(s.list) {
		s.fail("data.Sequences", "got sequence %d, want one in 0…%d", n, len(s.list)-1)
	}
	var list []string
	for way := range s.ways() {
		list = append(list, s.show(s.store.at(s.list[n]+way)))
	}
	if ids := s.store.at(s.list[n]); ids[len(ids)-1] >= Unwanted {
		return "--- not wanted\n" + list[0]
	}
	return strings.Join(list, "\n--- rejected\n")
}

func (s *Sequences) show(ids []int32) string {
	var b strings.Builder
	for from := 0; from < len(ids); {
		to := from
		var part []int
		for to < len(ids) && (ids[to] >= 0) == (ids[from] >= 0) {
			part = append(part, tokenOf(ids[to]))
			to++
		}
		text := s.text(part)
		if ids[from] >= 0 {
			text = "⟦" + text + "⟧"
		}
		b.WriteString(text)
		from = to
	}
	return visible.Text(b.String())
}

func (s *Sequences) text(ids []int) string {
	if s.tokenizer != nil {
		return s.tokenizer.Decode(ids, true)
	}
	b := make([]byte, len(ids))
	for i, id := range ids {
		b[i] = byte(id)
	}
	return string(b)
}

// Split cuts the sequences in two: share (0.9) of them, drawn by the seed, and the rest. Both get at least
// one; what became of the other records is told by the first. A share that is not from 0 to 1, and fewer than
// two sequences, panic with a *tensor.Error.
func (s *Sequences) Split(share float64, seed uint64) (first, rest *Sequences) {
	if !(share >= 0 && share <= 1) || len(s.list) < 2 {
		s.fail("data.Split", "got share %v of %d sequences, want 0 to 1 of at least 2", share, len(s.list))
	}
	order := rand.New(rand.NewPCG(seed, uint64(math.MaxUint64))).Perm(len(s.list)) // no epoch has this order
	n := min(max(int(math.Round(share*float64(len(order)))), 1), len(order)-1)
	first, rest = s.part(order[:n]), s.part(order[n:])
	first.Skipped, first.Empty, first.Cut, first.CutTokens, first.Rewritten = s.Skipped, s.Empty, s.Cut, s.CutTokens, s.Rewritten
	return first, rest
}

func (s *Sequences) part(order []int) *Sequences {
	p := &Sequences{Kind: s.Kind, Records: len(order), Kept: s.Kept, unkept: s.unkept, store: s.store, tokenizer: s.tokenizer, list: make([]int, len(order))}
	for i, n := range order {
		p.list[i] = s.list[n]
	}
	return p
}

// Fingerprint is made of the tokens and of which of them count.
func (s *Sequences) Fingerprint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.print == "" {
		hash := sha256.New()
		fmt.Fprintf(hash, "sequences %s\n", s.Kind)
		var b []byte
		for _, i := range s.list {
			for way := range s.ways() {
				ids := s.store.at(i + way)
				b = binary.LittleEndian.AppendUint64(b[:0], uint64(len(ids)))
				for _, id := range ids {
					b = binary.LittleEndian.AppendUint32(b, uint32(id))
				}
				hash.Write(b)
			}
		}
		s.print = hex.EncodeToString(hash.Sum(nil)[:16])
	}
	return s.print
}

// String says what there is, and what became of the other records.
func (s *Sequences) String() string {
	what := "sequence"
	if s.Kind == PreferenceKind {
		what = "pair"
	}
	total := s.Tokens()
	text := fmt.Sprintf("%s · %s, %.0f %% count", units.Plural(int64(len(s.list)), what), units.Plural(int64(total), "token"), 100*float64(s.Counted())/float64(max(1, total)))
	if len(s.list) > 0 {
		text += fmt.Sprintf(", longest %d", s.longest()+1)
	}
	switch {
	case s.Kept:
		text += " · tokens made before"
	case s.unkept != nil:
		text += " · not kept: " + s.unkept.Error()
	}
	if note := s.note(); note != "" {
		text += " · " + note
	}
	return text
}
