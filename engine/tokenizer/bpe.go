package tokenizer

import (
	"container/heap"
	"sync"
	"unicode/utf8"
)

// A bpe joins the symbols of a word, pair by pair, the pair of the least rank first and of equal ones the
// left one (Sennrich, Haddow and Birch 2016). Symbols are bytes or runes at first.
type bpe struct {
	vocab map[string]int
	bytes bool // the first symbols are bytes

	// Of two ways to know a pair's rank one is used: merges has the pairs of a list; without a list a pair
	// can be joined if the text of both is a token, whose rank is ranks[id].
	merges map[[2]int32]merge
	ranks  []int32

	whole    bool     // a word that is a token needs no merges
	unknown  int      // the token of what the vocabulary lacks, −1: it is left out
	fuse     bool     // unknown symbols side by side are one token
	fallback []int    // tokens of the 256 bytes, for runes that the vocabulary lacks; nil: none
	prefix   string   // of all symbols of a word but the first
	suffix   string   // of the last symbol of a word
	runes    [128]int // tokens of ASCII's runes, or −1
	single   [256]int // tokens of single bytes, or −1

	mu    sync.RWMutex
	cache map[string][]int
}

type merge struct{ rank, id int32 }

// A symbol is a part of a word, linked to its neighbours.
type symbol struct {
	id         int32 // −1: not in the vocabulary
	start, end int32 // in the word
	prev, next int32
}

const (
	longest = 48      // bytes of a word that is remembered
	most    = 1 << 15 // words that are remembered
)

func (b *bpe) prepare() {
	b.cache = map[string][]int{}
	lookup := func(s string) int {
		if id, ok := b.vocab[s]; ok {
			return id
		}
		return -1
	}
	for i := range b.single {
		b.single[i] = lookup(string([]byte{byte(i)}))
	}
	for i := range b.runes {
		b.runes[i] = lookup(string(rune(i)))
	}
}

// tokens appends the tokens of a word.
func (b *bpe) tokens(ids []int, word string) []int {
	if word == "" {
		return ids
	}
	if b.whole {
		if id, ok := b.vocab[word]; ok {
			return append(ids, id)
		}
	}
	if len(word) > longest {
		return b.split(ids, word)
	}
	b.mu.RLock()
	known, ok := b.cache[word]
	b.mu.RUnlock()
	if !ok {
		known = b.split(nil, word)
		b.mu.Lock()
		if len(b.cache) >= most {
			clear(b.cache)
		}
		b.cache[string([]byte(word))] = known // a copy, so that the text it stands in is not kept
		b.mu.Unlock()
	}
	return append(ids, known...)
}

// split joins symbols until no pair can be joined.
func (b *bpe) split(ids []int, word string) []int {
	list := b.symbols(word)
	if len(list) <= 32 {
		b.joinFew(word, list)
	} else {
		b.joinMany(word, list)
	}
	wasUnknown := false
	for i := int32(0); i >= 0 && len(list) > 0; i = list[i].next {
		s := list[i]
		if s.id >= 0 {
			ids, wasUnknown = append(ids, int(s.id)), false
			continue
		}
		if b.fallback != nil {
			for _, c := range []byte(word[s.start:s.end]) {
				ids = append(ids, b.fallback[c])
			}
			wasUnknown = false
			continue
		}
		if b.unknown >= 0 && !(b.fuse && wasUnknown) {
			ids = append(ids, b.unknown)
		}
		wasUnknown = true
	}
	return ids
}

// symbols cuts a word into its first symbols.
func (b *bpe) symbols(word string) []symbol {
	list := make([]symbol, 0, len(word))
	for at := 0; at < len(word); {
		size, id := 1, -1
		switch {
		case b.bytes:
			id = b.single[word[at]]
		case word[at] < utf8.RuneSelf && b.prefix == "" && b.suffix == "":
			id = b.runes[word[at]]
		default:
			_, size = utf8.DecodeRuneInString(word[at:])
			text := word[at : at+size]
			if at > 0 {
				text = b.prefix + text
			}
			if at+size == len(word) {
				text += b.suffix
			}
			if known, ok := b.vocab[text]; ok {
				id = known
			}
		}
		i := int32(len(list))
		list = append(list, symbol{int32(id), int32(at), int32(at + size), i - 1, i + 1})
		at += size
	}
	if len(list) > 0 {
		list[len(list)-1].next = -1
	}
	return list
}

// pair says what two neighbours become, and how soon.
func (b *bpe) pair(word string, x, y *symbol) (merge, bool) {
	if b.merges != nil {
		m, ok := b.merges[[2]int32{x.id, y.id}]
		return m, ok && x.id >= 0 && y.id >= 0
	}
	id, ok := b.vocab[word[x.start:y.end]]
	if !ok || b.ranks[id] < 0 {
		return merge{}, false
	}
	return merge{b.ranks[id], int32(id)}, true
}

// join makes one symbol of symbol i and the one that follows it.
func join(list []symbol, i int32, id int32) {
	x := &list[i]
	y := &list[x.next]
	x.id, x.end, x.next = id, y.end, y.next
	y.end = y.start // it is gone
	if x.next >= 0 {
		list[x.next].prev = i
	}
}

// joinFew looks at all pairs for each merge.
func (b *bpe) joinFew(word string, list []symbol) {
	var room [32]merge
	ranks := room[:len(list)] // of each symbol with the next
	rate := func(i int32) {
		ranks[i] = merge{-1, -1}
		if n := list[i].next; n >= 0 {
			if m, ok := b.pair(word, &list[i], &list[n]); ok {
				ranks[i] = m
			}
		}
	}
	for i := range list {
		rate(int32(i))
	}
	for len(list) > 0 {
		best := int32(-1)
		for i := int32(0); i >= 0; i = list[i].next {
			if ranks[i].id >= 0 && (best < 0 || ranks[i].rank < ranks[best].rank) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		join(list, best, ranks[best].id)
		rate(best)
		if p := list[best].prev; p >= 0 {
			rate(p)
		}
	}
}

// joinMany keeps the pairs in a heap: long words are whole texts where nothing cuts them.
func (b *bpe) joinMany(word string, list []symbol) {
	h := &pairs{}
	add := func(i int32) {
		if n := list[i].next; n >= 0 {
			if m, ok := b.pair(word, &list[i], &list[n]); ok {
				heap.Push(h, candidate{m, i, list[n].end})
			}
		}
	}
	for i := range list {
		add(int32(i))
	}
	for h.Len() > 0 {
		c := heap.Pop(h).(candidate)
		x := &list[c.at]
		if x.end == x.start || x.next < 0 || list[x.next].end != c.end {
			continue // one of both was joined with another meanwhile
		}
		if m, ok := b.pair(word, x, &list[x.next]); !ok || m != c.merge {
			continue
		}
		join(list, c.at, c.id)
		add(c.at)
		if x.prev >= 0 {
			add(x.prev)
		}
	}
}

// A candidate is a pair that can be joined: the symbol at a place, and the one that ends at end.
type candidate struct {
	merge
	at, end int32
}

type pairs []candidate

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	return p[i].rank < p[j].rank || p[i].rank == p[j].rank && p[i].at < p[j].at
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(candidate)) }
func (p *pairs) Pop() any {
	old := *p
	last := old[len(old)-1]
	*p = old[:len(old)-1]
	return last
}
