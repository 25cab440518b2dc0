package llm

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/progress"
)

// Generate goes on from a prompt, and returns it with what follows. Text becomes tokens by the model's
// Tokenizer, or byte by byte where the vocabulary is the 256 bytes. When ctx is done it returns the text so
// far, with the cause.
func (m *Model) Generate(ctx context.Context, prompt string, o Sampling) (string, error) {
	ids, err := m.Encode(prompt)
	if err != nil {
		return prompt, err
	}
	text, err := m.text(ctx, ids, o, m.StreamTokens(ctx, ids, o))
	return prompt + text, err
}

// text is the text of tokens that follow a prompt. It reports its progress.
func (m *Model) text(ctx context.Context, prompt []int, o Sampling, tokens iter.Seq2[int, error]) (string, error) {
	var text []byte
	var err error
	bar := newBar(ctx, o.count())
	bar.draft = o.Draft
	defer bar.end()
	for part, failed := range m.stream(prompt, o, tokens, bar.step) {
		text, err = append(text, part...), failed
	}
	return string(text), err
}

// Stream generates the text that follows a prompt, part by part as it is made: whole characters, and nothing
// of a stop string. What goes wrong comes last, with what text there is: an error of the settings, or the
// cause of a ctx that is done. A loop may end at any time.
//
//	for text, err := range m.Stream(ctx, "Once upon a time", llm.Sampling{Tokens: 100}) {
//		fmt.Print(text)
//	}
func (m *Model) Stream(ctx context.Context, prompt string, o Sampling) iter.Seq2[string, error] {
	return m.streamed(ctx, o, func() ([]int, error) { return m.Encode(prompt) })
}

// streamed is Stream from the tokens that prompt gives when the loop begins.
func (m *Model) streamed(ctx context.Context, o Sampling, prompt func() ([]int, error)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ids, err := prompt()
		if err != nil {
			yield("", err)
			return
		}
		m.stream(ids, o, m.StreamTokens(ctx, ids, o), func() {})(yield)
	}
}

// stream is Stream from the tokens that follow a prompt. It calls made after each of them.
func (m *Model) stream(prompt []int, o Sampling, tokens iter.Seq2[int, error], made func()) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		speech := m.speech(prompt, o)
		for id, err := range tokens {
			if err != nil {
				yield(speech.end(), err)
				return
			}
			made()
			text, over := speech.next(id)
			if text != "" && !yield(text, nil) || over {
				return
			}
		}
		if text := speech.end(); text != "" {
			yield(text, nil)
		}
	}
}

// GenerateTokens goes on from at least one token, until it has made o.Tokens, a stop string, or one of the
// model's Stop, which it leaves out. It returns the prompt and what follows, to the token that ends a stop
// string. When ctx is done it returns the tokens so far, with the cause. An empty prompt, tokens that the
// model does not have and numbers of a Sampling that mean nothing are errors.
func (m *Model) GenerateTokens(ctx context.Context, prompt []int, o Sampling) ([]int, error) {
	ids := slices.Clone(prompt)
	bar := newBar(ctx, o.count())
	bar.draft = o.Draft
	defer bar.end()
	speech := m.speech(prompt, o)
	for id, err := range m.StreamTokens(ctx, prompt, o) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
		bar.step()
		if len(o.Stop) == 0 {
			continue
		}
		if _, over := speech.next(id); over {
			break
		}
	}
	return ids, nil
}

// StreamTokens generates the tokens that follow a prompt, one after the other, as GenerateTokens does, but
// looks for no stop string. An error comes last, beside −1.
func (m *Model) StreamTokens(ctx context.Context, prompt []int, o Sampling) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		if err := m.refuses(prompt, o); err != nil {
			yield(-1, err)
			return
		}
		mem, err := m.begin(ctx, o, room{texts: 1, asked: len(prompt) + o.count()})
		if err != nil {
			yield(-1, err)
			return
		}
		defer mem.free()
		t, err := mem.from(o.Prefix, prompt)
		if err != nil {
			yield(-1, err)
			return
		}
		mem.extend(ctx, t, o, yield)
	}
}

// extend appends tokens to a text of this memory, and gives each to yield.
func (s *memory) extend(ctx context.Context, t *text, o Sampling, yield func(int, error) bool) {
	o = o.seeded(ctx)
	s.guesses = o.Draft != nil && !s.m.varies() // keys that were turned for a longer text would stay
	s.alone = !s.guesses
	if s.guesses {
		s.speculate(ctx, t, o, yield)
		return
	}
	built := access.Built()
	if err := s.read(ctx, t); err != nil {
		yield(-1, err)
		return
	}
	choose, err := s.m.constrained(t.ids, o)
	if err != nil {
		yield(-1, err)
		return
	}
	samplers := []*sampler{choose}
	w := s.wanted(samplers)
	defer func() {
		s.ahead.drop()
		s.goBack(t, min(t.known, len(t.ids))) // a token that ends the text may have been read
	}()
	for i := range o.count() {
		ids, err := s.follow(ctx, []*text{t}, samplers, w, i+1 < o.count())
		if err != nil {
			yield(-1, err)
			return
		}
		id := ids[0]
		over := slices.Contains(s.m.Stop, id)
		if !over {
			t.ids = append(t.ids, id)
			if !yield(id, nil) {
				return
			}
		}
		if i == 0 && access.Built() != built { // nobody waits for the first token meanwhile
			if err := s.prepare(ctx, 1, w); err != nil {
				yield(-1, err)
				return
			}
		}
		if over || choose.over() {
			return
		}
	}
}

// wanted is what samplers want of a step.
func (s *memory) wanted(samplers []*sampler) wanted {
	best, short := true, true
	for _, c := range samplers {
		best, short = best && c.best(), short && s.m.shortens(c)
	}
	switch {
	case best:
		return theBest
	case short:
		return drawn
	}
	return scores
}

// follow chooses the token after each text by what its sampler wants of the step. More is that of next.
func (s *memory) follow(ctx context.Context, texts []*text, samplers []*sampler, w wanted, more bool) (ids []int, err error) {
	switch w {
	case theBest:
		return s.next(ctx, texts, more)
	case drawn:
		return s.draw(ctx, texts, samplers)
	}
	all, err := s.scores(ctx, texts, 1)
	for row := range slices.Chunk(all, s.m.Config.Vocab) {
		ids = append(ids, samplers[len(ids)].next(row))
	}
	return ids, err
}

// refuses says what is wrong with a prompt and its settings.
func (m *Model) refuses(prompt []int, o Sampling) error {
	if len(prompt) == 0 {
		return fmt.Errorf("generate: got an empty prompt, want at least one token")
	}
	if m.Config.Bidirectional {
		return fmt.Errorf("generate: the model's tokens see those after them: it has vectors (package embed), and no next token")
	}
	for _, id := range prompt {
		if id < 0 || id >= m.Config.Vocab {
			return fmt.Errorf("generate: got token %d, want one in 0…%d", id, m.Config.Vocab-1)
		}
	}
	if len(o.Stop) > 0 && m.Tokenizer == nil && m.Config.Vocab != 256 {
		return fmt.Errorf("generate: got stop strings and no tokenizer, want one, or a vocabulary of 256 (bytes)")
	}
	if o.Draft != nil {
		if err := o.Draft.refuses(m); err != nil {
			return err
		}
	}
	return o.check()
}

// A bar reports how many tokens were made.
type bar struct {
	ctx         context.Context
	done, total int64
	draft       *Draft
	final       bool
}

func newBar(ctx context.Context, total int) *bar { return &bar{ctx: ctx, total: int64(total)} }

func (b *bar) step() {
	b.done++
	b.report(b.done == b.total)
}

func (b *bar) end() {
	if b.done > 0 && !b.final {
		b.report(true)
	}
}

func (b *bar) report(final bool) {
	b.final = final
	note := ""
	if b.draft != nil {
		note = b.draft.String()
	}
	progress.Report(b.ctx, progress.Event{Task: "generate", Done: b.done, Total: b.total, Unit: "tok", Note: note, Final: final})
}
