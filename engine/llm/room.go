package llm

import (
	"cmp"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The shapes of caches, and the lengths of the lists of pages, are part of a plan. So a memory has its final
// room from the start where that costs nothing: on a device whose memory takes room only where it was written
// it is the model's whole context. Elsewhere it is what was asked for, rounded up to one of few numbers. A
// text that outgrows it gets twice as much, and new plans.
const (
	unsaidContext = 1 << 15 // of a model that does not say its own
	leastContext  = 1 << 12 // also of models that are shorter
	leastRoom     = 1 << 10 // tokens of a text where memory is taken at once
	reservedShare = 2       // the caches of a memory get at most this part of the device's memory
)

// A room is how large the caches of a memory are.
type room struct {
	texts int // side by side
	asked int // tokens that each of them may come to, as far as is known
	rows  int // texts that stand side by side in other batches; at least texts counts
}

// vector is how many bytes a token takes in the cache of a layer.
func (s *memory) vector(layer int) int {
	heads, key, value := s.m.Config.cached(layer)
	bytes := heads * (key + value) * s.kept.Size()
	if s.kept == dtype.I8 {
		bytes += 4 * heads * (1 + min(value, 1))
	}
	return bytes
}

// bytes is what caches for so many tokens of each text take.
func (s *memory) bytes(texts, tokens int) (n int) {
	for _, p := range s.pools {
		n += len(p.layers) * s.vector(p.layers[0]) * texts * p.table(tokens) * pageTokens
	}
	return n
}

// table is how many pages a text of so many tokens has.
func (p *pool) table(tokens int) int {
	n := (tokens + pageTokens - 1) / pageTokens
	if p.most > 0 {
		n = min(n, p.most)
	}
	return n
}

// device is where the caches are.
func (s *memory) device() *backend.Device {
	return access.Node(s.m.normWeight(), "generate").Dev.(*backend.Device)
}

// furnish makes the caches.
func (s *memory) furnish() {
	d := s.device()
	asked := s.room.asked
	if d.Sparse() {
		context := cmp.Or(s.m.Config.Context, unsaidContext)
		texts, tokens := max(s.room.texts, s.room.rows), doubled(max(context, leastContext), asked)
		most := int(d.Backend().Info().Memory) / reservedShare
		for tokens/2 >= asked && most > 0 && s.bytes(texts, tokens) > most {
			tokens /= 2
		}
		if tensor.Try(func() { s.allot(texts, tokens) }) == nil {
			return
		}
		s.free() // the system does not give so much address space
	}
	s.allot(s.room.texts, doubled(leastRoom, asked))
}

// doubled is n, doubled until it is no less than asked.
func doubled(n, asked int) int {
	for n < asked {
		n *= 2
	}
	return n
}

// allot makes caches for so many tokens of each text.
func (s *memory) allot(texts, tokens int) {
	s.caches = make([]*nn.Cache, len(s.m.Blocks))
	for i := range s.caches {
		s.caches[i] = &nn.Cache{}
	}
	for _, p := range s.pools {
		p.listed = p.table(tokens)
		heads, key, value := s.m.Config.cached(p.layers[0])
		p.add(texts * p.listed)
		for _, i := range p.layers {
			s.caches[i] = nn.NewCache(s.kept, heads, p.pages*pageTokens, key, value)
		}
	}
	s.allotStates(texts + 1) // one for plans
}

// grow gives a pool at least so many pages, of which a text has at most listed. What its texts know goes to
// the new caches.
func (s *memory) grow(p *pool, pages, listed int) {
	for p.listed < listed {
		p.listed *= 2
	}
	if pages <= p.pages {
		return
	}
	var used []int
	free := map[int]bool{}
	for _, page := range p.free {
		free[page] = true
	}
	for slot := range p.pages * pageTokens {
		if !free[slot/pageTokens] {
			used = append(used, slot)
		}
	}
	more := p.pages
	for more < pages {
		more *= 2
	}
	p.add(more)
	heads, key, value := s.m.Config.cached(p.layers[0])
	for _, i := range p.layers {
		old := s.caches[i]
		s.caches[i] = nn.NewCache(s.kept, heads, p.pages*pageTokens, key, value)
		s.caches[i].Copy(used, old, used)
		s.caches[i].States, old.States = old.States, nil
		old.Free()
	}
}
