package llm

import (
	"context"
	"slices"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/rows"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A prompt goes through the model in blocks of one of two lengths, so that a prompt of another length needs
// no other plan. The last block is filled up with copies of its first token, which change nothing: they are
// written where that is, with the same values.
const (
	shortBlock = 32
	longBlock  = 512 // where more than half of it is left
)

// A memory has the keys and values of texts.
type memory struct {
	m      *Model
	kept   dtype.Type // of keys and values
	alone  bool       // there will be one text only, which looks at the caches as they are
	pools  []*pool
	of     []*pool // of each layer
	caches []*nn.Cache
}

// A text is in a memory as far as its tokens went through the model.
type text struct {
	number int // in its batch
	ids    []int
	known  int    // how many of them did
	held   []held // by pool
}

func (m *Model) memory(kept dtype.Type, alone bool) *memory {
	s := &memory{m: m, kept: kept, alone: alone}
	for i, b := range m.Blocks {
		window := b.Attn.Window
		k := slices.IndexFunc(s.pools, func(p *pool) bool { return p.window == window })
		if k < 0 {
			k = len(s.pools)
			p := &pool{window: window}
			if window > 0 {
				p.most = (window+longBlock)/pageTokens + 2
			}
			s.pools = append(s.pools, p)
		}
		s.pools[k].layers = append(s.pools[k].layers, i)
		s.of = append(s.of, s.pools[k])
	}
	return s
}

// text adds one.
func (s *memory) text(ids []int) *text {
	return &text{ids: slices.Clone(ids), held: make([]held, len(s.pools))}
}

// clone returns a memory with the same texts, which goes on by itself.
func (s *memory) clone() *memory {
	c := *s
	c.pools, c.of, c.caches = nil, slices.Clone(s.of), nil
	for _, p := range s.pools {
		q := *p
		q.free, q.shared = slices.Clone(p.free), slices.Clone(p.shared)
		c.pools = append(c.pools, &q)
		for _, i := range p.layers {
			c.of[i] = &q
		}
	}
	for _, cache := range s.caches {
		c.caches = append(c.caches, cache.Snapshot())
	}
	return &c
}

// free gives the memory back.
func (s *memory) free() {
	for _, c := range s.caches {
		if c != nil { // a step that failed may not have come to all layers
			c.Free()
		}
	}
	s.caches = nil
}

// forget gives the pages of a text to others.
func (s *memory) forget(t *text) {
	for k, p := range s.pools {
		p.release(&t.held[k])
	}
	t.known = 0
}

// within runs f where the model is; what stops it is its error.
func (s *memory) within(ctx context.Context, f func()) error {
	err := tensor.Try(func() { tensor.Within(device.On(ctx, nn.Device(s.m)), f) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// read lets all tokens of texts but the last one of each go through the model.
func (s *memory) read(ctx context.Context, texts ...*text) error {
	unread := func(t *text) int { return len(t.ids) - 1 - t.known }
	all, left := 0, slices.Clone(texts)
	for _, t := range texts {
		all += unread(t)
	}
	for done := 0; done < all; {
		left = slices.DeleteFunc(left, func(t *text) bool { return unread(t) == 0 })
		width := shortBlock
		if len(left) == 1 && unread(left[0]) > longBlock/2 {
			width = longBlock
		}
		err := s.within(ctx, func() {
			s.step(filled(left), width, false)
			s.evaluate()
		})
		if err != nil {
			return err
		}
		for _, t := range left {
			n := min(unread(t), width)
			t.known += n
			done += n
		}
		if all > longBlock {
			progress.Report(ctx, progress.Event{Task: "prompt", Done: int64(done), Total: int64(all), Unit: "tok", Final: done == all})
		}
	}
	return nil
}

// scores returns what follows each of the last tokens, as many of each text as its last `width`, [len(texts)
// · width · Vocab]. A text has that many tokens, or fewer that did not go through the model before; then the
// scores of its first one stand repeated before.
func (s *memory) scores(ctx context.Context, texts []*text, width int) (scores []float32, err error) {
	err = s.within(ctx, func() {
		rows := filled(texts)
		out := s.step(rows, width, true)
		s.evaluate(out)
		scores = out.Floats()
		out.Free()
		scores = scores[len(scores)-len(texts)*width*s.m.Config.Vocab:]
	})
	if err != nil {
		return nil, err
	}
	for _, t := range texts {
		t.known = len(t.ids)
	}
	return scores, nil
}

// filled puts copies of the first text before the others, so that few numbers of rows occur.
func filled(texts []*text) []*text {
	n := 1
	for n < len(texts) {
		if n%2 == 0 && n*3/2 >= len(texts) {
			n = n * 3 / 2
		} else {
			n *= 2
		}
	}
	return append(slices.Repeat(texts[:1], n-len(texts)), texts...)
}

// evaluate computes some results and the caches together, so that one plan serves all.
func (s *memory) evaluate(results ...tensor.Tensor) {
	for _, c := range s.caches {
		results = append(results, c.Tensors()...)
	}
	tensor.Eval(results...)
}

// step lets tokens of each row go through the model that it does not know: at most width, and not the last
// one; or, for their scores [rows width Vocab], all of them.
func (s *memory) step(texts []*text, width int, scores bool) (result tensor.Tensor) {
	s.m.steps.RLock()
	defer s.m.steps.RUnlock()
	numbers := make([]int, len(texts))
	for i, t := range texts {
		numbers[i] = t.number
	}
	rows.Within(numbers, func() { result = s.build(texts, width, scores) })
	return result
}

func (s *memory) build(rows []*text, width int, scores bool) (result tensor.Tensor) {
	b := len(rows)
	ids, positions := make([]int, b*width), make([]int, b*width)
	longest := 0
	for i, t := range rows {
		to := len(t.ids)
		if !scores {
			to = min(to-1, t.known+width)
		}
		for j := range width { // copies of the first token stand before it
			at := max(t.known, to-width+j)
			ids[i*width+j], positions[i*width+j] = t.ids[at], at
		}
		longest = max(longest, len(t.ids))
	}
	base := nn.Step{Positions: tensor.From(positions, b, width), Tokens: longest}
	steps := map[*pool]nn.Step{}
	for k, p := range s.pools {
		steps[p] = s.place(base, rows, positions, k)
	}
	x := s.m.vectors(tensor.From(ids, b, width))
	for i, block := range s.m.Blocks {
		x = block.Continue(x, steps[s.of[i]], s.caches[i])
	}
	if scores {
		result = s.m.output(x)
	}
	return result
}

// place finds slots for the tokens at positions [rows width] in a pool, and says what the rows look at there.
func (s *memory) place(step nn.Step, rows []*text, positions []int, k int) nn.Step {
	p, width := s.pools[k], len(positions)/len(rows)
	s.reserve(rows, positions, k)
	slots := make([]int, len(positions))
	pages := 0
	for i, t := range rows {
		h := &t.held[k]
		for j := range width {
			slots[i*width+j] = h.slot(positions[i*width+j])
		}
		pages = max(pages, len(h.pages))
	}
	if pages = p.rounded(pages); s.alone {
		pages = p.pages
	}
	n := pages * pageTokens
	read, keys := make([]int, len(rows)*n), make([]int, len(rows)*n)
	for i, t := range rows {
		looks := read[i*n : (i+1)*n]
		if s.alone {
			looks = nil
		}
		t.held[k].places(looks, keys[i*n:(i+1)*n])
	}
	step.Slots = tensor.From(slots)
	step.Seen = nn.Seen(step.Positions, tensor.From(keys, len(rows), n), p.window)
	if !s.alone {
		step.Read = tensor.From(read)
	}
	return step
}

// reserve gives rows the pages of new tokens in a pool; the caches of its layers grow if they have too few.
func (s *memory) reserve(rows []*text, positions []int, k int) {
	p, width := s.pools[k], len(positions)/len(rows)
	wanted, done := 0, map[*text]bool{}
	for i, t := range rows {
		if !done[t] {
			p.drop(&t.held[k], positions[i*width])
			wanted += t.held[k].missing(positions[(i+1)*width-1] + 1)
		}
		done[t] = true
	}
	if lack := wanted - len(p.free); lack > 0 {
		p.add(p.rounded(p.pages + lack))
	}
	c := s.m.Config
	if s.caches == nil {
		s.caches = make([]*nn.Cache, len(s.m.Blocks))
	}
	for _, i := range p.layers {
		if s.caches[i] == nil {
			s.caches[i] = nn.NewCache(s.kept, c.KVHeads, p.pages*pageTokens, c.HeadDim)
		}
		s.caches[i].Grow(p.pages * pageTokens)
	}
	for i, t := range rows {
		p.extend(&t.held[k], positions[(i+1)*width-1]+1)
	}
}
