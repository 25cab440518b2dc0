package llm

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/rows"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A prompt goes through the model in blocks of one of few lengths, so that a prompt of another length needs
// no other plan: of the longest of which more than half is left. The last block is filled up with copies of
// its first token, which change nothing: they are written where that is, with the same values. The longest
// ones are for devices with so many processors that a product of 512 rows is small.
const (
	shortBlock   = 32
	middleBlock  = 128
	longBlock    = 512
	longestBlock = 2048
)

// A memory has the keys and values of texts.
type memory struct {
	m      *Model
	kept   dtype.Type // of keys and values
	room   room
	pools  []*pool
	of     []*pool     // of each layer
	caches []*nn.Cache // nil before the first step
	states states
	begun  *text // what a prefix has read, for texts that go on from it; nil: nothing

	places  tensor.Tensor // of the last step: see place
	alone   bool          // one text grows, by a token at a time
	guesses bool          // a draft's tokens are read, some at a time
	again   again
	ctx     context.Context // of the call under way: see within
	ahead   ahead

	temperatures tensor.Tensor // of the rows of a step, f32 [rows 1], where tokens are drawn
	coming       tensor.Tensor // the last tokens of the texts, i64 [rows 1], while only the device knows them; else none
}

// A text is in a memory as far as its tokens went through the model.
type text struct {
	number int // in its batch
	ids    []int
	known  int    // how many of them did
	held   []held // by pool
	seat   int    // of its states, counted from 1; 0: none
	turned int    // tokens of the text when its keys were turned; 0: none was
}

func (m *Model) memory(kept dtype.Type, r room) *memory {
	s := &memory{m: m, kept: kept, room: r}
	longest, _ := s.blocks()
	for i, b := range m.Blocks {
		if b.Recurrent != nil {
			s.states.layers = append(s.states.layers, i)
		}
		if b.Attn == nil {
			s.of = append(s.of, nil)
			continue
		}
		window := b.Attn.Window
		k := slices.IndexFunc(s.pools, func(p *pool) bool { return p.window == window })
		if k < 0 {
			k = len(s.pools)
			p := &pool{window: window}
			if window > 0 {
				p.most = (window+longest)/pageTokens + 2
			}
			s.pools = append(s.pools, p)
		}
		if m.Config.lender(i) == i {
			s.pools[k].layers = append(s.pools[k].layers, i)
		}
		s.of = append(s.of, s.pools[k])
	}
	return s
}

// text adds one.
func (s *memory) text(ids []int) *text {
	return &text{ids: slices.Clone(ids), held: make([]held, len(s.pools))}
}

// goOn returns a memory for texts that go on from one of this memory, which stays as it is.
func (s *memory) goOn(t *text, r room) *memory {
	r.asked = max(r.asked, len(t.ids))
	c := s.m.memory(s.kept, r)
	c.furnish()
	c.begun = &text{ids: t.ids, known: t.known, turned: t.turned, held: make([]held, len(c.pools))}
	for k, p := range c.pools {
		from, h := &t.held[k], &c.begun.held[k]
		h.first = from.first
		if from.end() == h.first || t.known <= h.first {
			continue
		}
		p.extend(h, t.known)
		slots, its := h.slots(t.known), from.slots(t.known)
		for _, i := range p.layers {
			c.caches[i].Copy(slots, s.caches[i], its)
		}
	}
	return c
}

// free gives the memory back.
func (s *memory) free() {
	for _, c := range s.caches {
		c.Free()
	}
	s.caches = nil
	tensor.Free(s.places, s.temperatures)
	s.ahead.drop()
	for _, p := range s.pools {
		p.pages, p.free, p.shared = 0, nil, nil
	}
	s.states.seats, s.states.free = 0, nil
}

// forget gives the pages of a text to others.
func (s *memory) forget(t *text) {
	for k, p := range s.pools {
		p.release(&t.held[k])
	}
	s.leave(t)
	t.known, t.turned = 0, 0
}

// within runs f where the model is; what stops it is its error.
func (s *memory) within(ctx context.Context, f func()) error {
	s.ctx = ctx
	err := tensor.Try(func() { tensor.Within(device.On(ctx, s.m.normWeight().Device()), f) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// unread is how many tokens of a text have to go through the model before its scores.
func (t *text) unread() int { return max(0, len(t.ids)-1-t.known) }

// read lets all tokens of texts but the last one of each go through the model.
func (s *memory) read(ctx context.Context, texts ...*text) error {
	return s.readSome(ctx, math.MaxInt, texts)
}

// readSome is read, of at most so many blocks.
func (s *memory) readSome(ctx context.Context, blocks int, texts []*text) error {
	all := 0
	for _, t := range texts {
		if s.m.turnsAnew(t.turned, len(t.ids)) {
			s.forget(t)
		}
		t.turned = len(t.ids)
		all += t.unread()
	}
	for done := 0; done < all && blocks > 0; blocks-- {
		some, width := s.together(texts)
		if blocks == 1 {
			_, shared := s.blocks()
			width = min(width, shared)
		}
		err := s.within(ctx, func() {
			s.step(some, width, nothing)
			s.evaluate()
		})
		if err != nil {
			return err
		}
		for _, t := range texts {
			if n := min(t.unread(), width); slices.Contains(some, t) {
				t.known += n
				done += n
			}
		}
		if all > longBlock {
			progress.Report(ctx, progress.Event{Task: "prompt", Done: int64(done), Total: int64(all), Unit: "tok", Final: done == all || blocks == 1})
		}
	}
	return nil
}

// renew reads texts again whose length has come to turn all keys in another way.
func (s *memory) renew(ctx context.Context, texts []*text) error {
	for _, t := range texts {
		if s.m.turnsAnew(t.turned, len(t.ids)) {
			if err := s.read(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// blocks is the length of the longest blocks, and of the longest where other texts wait: a processor is busy
// with few tokens.
func (s *memory) blocks() (longest, shared int) {
	if s.device().Hints().Later {
		return longestBlock, longBlock
	}
	return longBlock, shortBlock
}

// together says which texts are read next, and how many tokens of each: short blocks of several, as long as
// that is of use to most, or a block of one. So few shapes occur, whatever the prompts' lengths.
func (s *memory) together(texts []*text) (rows []*text, width int) {
	longest, _ := s.blocks()
	var left []*text
	for _, t := range texts {
		switch n := t.unread(); {
		case n > longest/2:
			return []*text{t}, longest
		case n > longBlock/2:
			return []*text{t}, longBlock
		case n > 0:
			left = append(left, t)
		}
	}
	if len(left) > 1 && 2*len(left) > len(texts) {
		return filled(left, rowsOf(len(texts))), shortBlock
	}
	if left[0].unread() > middleBlock/2 {
		return left[:1], middleBlock
	}
	return left[:1], shortBlock
}

// scores returns what follows each of the last tokens, as many of each text as its last `width`, [len(texts)
// · width · Vocab]. A text has that many tokens, or fewer that did not go through the model before; then the
// scores of its first one stand repeated before.
func (s *memory) scores(ctx context.Context, texts []*text, width int) ([]float32, error) {
	list, err := s.take(ctx, texts, width, scores)
	if err != nil {
		return nil, err
	}
	defer tensor.Free(list...)
	return s.fetch(ctx, list[0], len(texts)*width)
}

// take takes a step of all tokens of texts, as many as `width`, and returns what is wanted of it; the last
// rows are theirs. It does not wait for a device that computes later.
func (s *memory) take(ctx context.Context, texts []*text, width int, w wanted) (results []tensor.Tensor, err error) {
	if err := s.renew(ctx, texts); err != nil {
		return nil, err
	}
	err = s.within(ctx, func() {
		results = s.step(filled(texts, rowsOf(len(texts))), width, w)
		s.evaluate(results...)
	})
	for _, t := range texts {
		t.known = len(t.ids)
	}
	return results, err
}

// fetch reads the last scores of a step, those of so many tokens.
func (s *memory) fetch(ctx context.Context, out tensor.Tensor, tokens int) (all []float32, err error) {
	vocab := s.m.Config.Vocab
	if err := s.within(ctx, func() { all = out.Floats() }); err != nil {
		return nil, err
	}
	all = all[len(all)-tokens*vocab:]
	for row := range slices.Chunk(all, vocab) {
		if !slices.ContainsFunc(row, func(score float32) bool { return score == score }) {
			return nil, errors.New("llm: the scores of the next token are all NaN: a weight is NaN, or too large")
		}
	}
	return all, nil
}

// rowsOf is a number of rows for so many texts: one of few.
func rowsOf(texts int) int {
	n := 1
	for n < texts {
		if n%2 == 0 && n*3/2 >= texts {
			n = n * 3 / 2
		} else {
			n *= 2
		}
	}
	return n
}

// filled puts copies of the first text before the others, to have so many rows.
func filled(texts []*text, rows int) []*text {
	return append(slices.Repeat(texts[:1], rows-len(texts)), texts...)
}

// prepare plans the steps of other prompts, and of batches of so many texts, from which something is wanted,
// as soon as those of a first one had to be planned: nobody waits for plans again.
func (s *memory) prepare(ctx context.Context, texts int, w wanted) error {
	if slices.ContainsFunc(s.pools, func(p *pool) bool { return len(p.free) == 0 }) || s.states.full() {
		return nil // the caches would have to grow for it
	}
	return s.within(ctx, func() {
		for _, width := range []int{longBlock, middleBlock, shortBlock} {
			s.planStep(1, width, nothing)
		}
		s.planStep(rowsOf(texts), shortBlock, nothing)
		s.planStep(rowsOf(texts), 1, w)
		for texts--; texts > 0 && s.device().Hints().Compilers <= 1; texts-- { // as they end; where kernels cost little
			if rowsOf(texts) != rowsOf(texts+1) {
				s.planStep(rowsOf(texts), 1, w)
			}
		}
	})
}

// planStep plans a step of that many rows without taking it. One that is computed again and again has been.
func (s *memory) planStep(rows, width int, w wanted) {
	if s.alone && s.replays(width, w) {
		return
	}
	t := s.text([]int{0, 0})
	defer s.forget(t)
	defer func(a again) { s.again = a }(s.again)
	s.again = again{} // this is no step of theirs
	s.keeping(func() {
		if w == drawn {
			s.temperatures = tensor.Ones(rows, 1).Eval()
		}
		access.Prepare(append(s.step(filled([]*text{t}, rows), width, w), s.tensors()...))
	})
}

// evaluate computes some results and the caches together, so that one plan serves all.
func (s *memory) evaluate(results ...tensor.Tensor) {
	tensor.Eval(append(results, s.tensors()...)...)
}

// tensors lists what the caches are made of.
func (s *memory) tensors() (list []tensor.Tensor) {
	for _, c := range s.caches {
		list = append(list, c.Tensors()...)
	}
	return list
}

// wanted is what a step gives beside the keys and values that it stores.
type wanted int

const (
	nothing wanted = iota
	scores         // of what follows each token, [rows width Vocab]
	theBest        // token that follows each token, i64 [rows width]
	drawn          // a shortlist of what follows each token, and the scores
)

// step lets tokens of each row go through the model that it does not know: at most width, and not the last
// one; or, if something is wanted from them, all.
func (s *memory) step(texts []*text, width int, w wanted) (results []tensor.Tensor) {
	s.m.steps.RLock()
	defer s.m.steps.RUnlock()
	numbers := make([]int, len(texts))
	for i, t := range texts {
		numbers[i] = t.number
	}
	rows.Within(numbers, func() { results = s.build(texts, width, w) })
	return results
}

func (s *memory) build(rows []*text, width int, w wanted) []tensor.Tensor {
	b := len(rows)
	ids, positions := make([]int, b*width), make([]int, b*width)
	longest := 0
	for i, t := range rows {
		to := len(t.ids)
		if w == nothing {
			to = min(to-1, t.known+width)
		}
		for j := range width { // copies of the first token stand before it
			at := max(t.known, to-width+j)
			ids[i*width+j], positions[i*width+j] = t.ids[at], at
		}
		longest = max(longest, len(t.ids))
	}
	tokens := s.coming
	if tokens.IsNone() || w == nothing { // which stops before it
		tokens = tensor.From(ids, b, width)
	}
	s.places.Free() // now, so that the next ones lie there: a device that has a step's addresses gets no others
	s.places = s.place(rows, positions)
	if s.replays(width, w) {
		if results, ok := s.replay(tokens, w); ok {
			return results
		}
	}
	return s.pass(tokens, s.places, s.temperatures, w, longest)
}

// pass lets tokens [rows width] go through the model, whose places a step has found. The longest text has so
// many tokens.
func (s *memory) pass(tokens, places, temperatures tensor.Tensor, w wanted, longest int) []tensor.Tensor {
	steps := s.stepsOf(places, tokens.Len(0), tokens.Len(1))
	turns := turning{tokens: longest}
	x := s.m.vectors(tokens, steps[nil].Positions)
	pass := s.m.pass(tokens, x)
	for i := range s.m.Blocks {
		block := pass.block(i)
		step := steps[s.of[i]]
		if block.Attn != nil {
			step.Turns = turns.of(block.Attn.Rope, s.m.Config.HeadDim)
		}
		x = block.Continue(x, step, s.caches[s.m.Config.lender(i)])
	}
	if w == nothing {
		access.Unwanted(x) // what the last block makes of its keys and values
		return nil
	}
	out := s.m.output(x)
	switch w {
	case theBest:
		return []tensor.Tensor{Sampling{}.Draw(out)}
	case drawn:
		return []tensor.Tensor{shortlist(out, temperatures), out}
	}
	return []tensor.Tensor{out}
}

// place finds slots for the tokens at positions [rows width] in each pool, and says what the rows look at
// there, all in one tensor: so it goes to the device in one copy. See stepsOf.
func (s *memory) place(rows []*text, positions []int) tensor.Tensor {
	b, width := len(rows), len(positions)/len(rows)
	if s.caches == nil {
		s.furnish()
	}
	all := append(slices.Clone(positions), s.seats(rows)...)
	for k, p := range s.pools {
		s.reserve(rows, positions, k)
		slots, last := make([]int, len(positions)), make([]int, len(positions))
		pages := make([]int, b*p.listed)
		for i, t := range rows {
			h := &t.held[k]
			for j := i * width; j < (i+1)*width; j++ {
				slots[j], last[j] = h.slot(positions[j]), positions[j]-h.first
			}
			copy(pages[i*p.listed:], h.pages)
		}
		all = append(append(append(all, slots...), last...), pages...)
	}
	return tensor.From(all)
}

// stepsOf is what place has found of b rows of tokens, by pool.
func (s *memory) stepsOf(data tensor.Tensor, b, width int) map[*pool]nn.Step {
	next := func(shape ...int) tensor.Tensor {
		n := ir.Size(shape)
		part := data.Slice(0, 0, n).Reshape(shape...)
		if n < data.Len(0) {
			data = data.Slice(0, n, data.Len(0))
		}
		return part
	}
	at := next(b, width)
	var texts tensor.Tensor
	if s.states.layers != nil {
		texts = next(b)
	}
	steps := map[*pool]nn.Step{nil: {Positions: at, Texts: texts}}
	for _, p := range s.pools {
		steps[p] = nn.Step{Positions: at, Texts: texts, Slots: next(b * width), Last: next(b, width), Pages: next(b, p.listed), Page: pageTokens}
	}
	return steps
}

// reserve gives rows the pages of new tokens in a pool; the caches of its layers grow if they have too few.
func (s *memory) reserve(rows []*text, positions []int, k int) {
	p, width := s.pools[k], len(positions)/len(rows)
	wanted, listed, done := 0, 0, map[*text]bool{}
	for i, t := range rows {
		h := &t.held[k]
		if !done[t] {
			p.drop(h, positions[i*width])
			lack := h.missing(positions[(i+1)*width-1] + 1)
			wanted, listed = wanted+lack, max(listed, len(h.pages)+lack)
		}
		done[t] = true
	}
	s.grow(p, p.pages+wanted-len(p.free), listed)
	for i, t := range rows {
		p.extend(&t.held[k], positions[(i+1)*width-1]+1)
	}
}

// A turning has the turns of a model's ropes in texts of one length.
type turning struct {
	tokens int
	ropes  []nn.Rope
	turns  []tensor.Tensor
}

// of returns the turns of a rope, none of one that does not vary.
func (t *turning) of(r nn.Rope, width int) tensor.Tensor {
	if !r.Varies() {
		return tensor.Tensor{}
	}
	k := slices.IndexFunc(t.ropes, func(o nn.Rope) bool { return reflect.DeepEqual(o, r) })
	if k < 0 {
		k = len(t.ropes)
		t.ropes, t.turns = append(t.ropes, r), append(t.turns, r.Turns(width, t.tokens))
	}
	return t.turns[k]
}
