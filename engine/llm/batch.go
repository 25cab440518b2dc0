package llm

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// GenerateBatch goes on from several prompts at once, and returns each with what follows: text i is what
// Generate gives with Seed + i, also of a Seed that is drawn. At most o.Rows texts grow at a time, and the
// next prompt takes the place of one that has ended. A step costs little more than that of one text as long
// as reading the weights is most of it. When ctx is done it returns the texts so far, with the cause.
func (m *Model) GenerateBatch(ctx context.Context, prompts []string, o Sampling) ([]string, error) {
	texts, ids := slices.Clone(prompts), make([][]int, len(prompts))
	speeches := make([]*speech, len(prompts))
	for i, prompt := range prompts {
		var err error
		if ids[i], err = m.encode(prompt); err != nil {
			return texts, fmt.Errorf("prompt %d: %w", i, err)
		}
		speeches[i] = m.speech(ids[i], o.Stop)
	}
	err := m.batch(ctx, ids, o, func(i, id int) bool {
		part, over := speeches[i].next(id)
		texts[i] += part
		return over
	})
	for i, s := range speeches {
		texts[i] += s.end()
	}
	return texts, err
}

// GenerateBatchTokens is GenerateBatch of tokens: see [Model.GenerateTokens].
func (m *Model) GenerateBatchTokens(ctx context.Context, prompts [][]int, o Sampling) ([][]int, error) {
	all, speeches := make([][]int, len(prompts)), make([]*speech, len(prompts))
	for i, prompt := range prompts {
		all[i], speeches[i] = slices.Clone(prompt), m.speech(prompt, o.Stop)
	}
	err := m.batch(ctx, prompts, o, func(i, id int) bool {
		all[i] = append(all[i], id)
		if len(o.Stop) == 0 {
			return false
		}
		_, over := speeches[i].next(id)
		return over
	})
	return all, err
}

// A row is a text of a batch that grows.
type row struct {
	*text
	s       *sampler
	number  int // of its prompt
	missing int // tokens to be made
}

// batch generates what follows prompts. It gives each token of a prompt to took, which says whether the text
// has ended with it.
func (m *Model) batch(ctx context.Context, prompts [][]int, o Sampling, took func(prompt, id int) (over bool)) error {
	if o.Draft != nil {
		return fmt.Errorf("generate: got a draft for a batch, want none: guesses are for one text")
	}
	for i, prompt := range prompts {
		if err := m.refuses(prompt, o); err != nil {
			return fmt.Errorf("prompt %d: %w", i, err)
		}
	}
	bar := newBar(ctx, o.count()*len(prompts))
	defer bar.end()
	most := min(o.rows(), len(prompts))
	if m.varies() { // rates follow the longest text of a step
		most = 1
	}
	longest := 0
	for _, prompt := range prompts {
		longest = max(longest, len(prompt))
	}
	mem, err := m.begin(ctx, o, room{texts: max(2, most), asked: longest + o.count(), rows: o.rows()})
	if err != nil {
		return err
	}
	defer mem.free()
	o = o.seeded(ctx)
	var rows []*row
	built, first := access.Built(), true
	for next := 0; next < len(prompts) || len(rows) > 0; {
		for ; len(rows) < most && next < len(prompts); next++ {
			t, err := mem.from(o.Prefix, prompts[next])
			if err != nil {
				return fmt.Errorf("prompt %d: %w", next, err)
			}
			t.number = next
			own := o
			own.Seed += uint64(next)
			rows = append(rows, &row{t, own.sampler(prompts[next]), next, o.count()})
		}
		texts := make([]*text, len(rows))
		for i, r := range rows {
			texts[i] = r.text
		}
		if err := mem.read(ctx, texts...); err != nil {
			return err
		}
		fresh, err := mem.tokens(ctx, rows, texts)
		if err != nil {
			return err
		}
		if first && access.Built() != built {
			w := scores
			if o.best() {
				w = theBest
			}
			if err := mem.prepare(ctx, len(texts), w); err != nil {
				return err
			}
		}
		first = false
		for i, r := range rows {
			id := fresh[i]
			if slices.Contains(m.Stop, id) {
				r.missing = 0
				continue
			}
			r.ids = append(r.ids, id)
			r.missing--
			bar.step()
			if took(r.number, id) {
				r.missing = 0
			}
		}
		rows = slices.DeleteFunc(rows, func(r *row) bool {
			if r.missing == 0 {
				mem.forget(r.text)
			}
			return r.missing == 0
		})
	}
	return nil
}

// tokens chooses what follows each row, whose texts these are.
func (s *memory) tokens(ctx context.Context, rows []*row, texts []*text) (ids []int, err error) {
	if rows[0].s.best() {
		var best tensor.Tensor
		if best, err = s.best(ctx, texts); err == nil {
			err = s.within(ctx, func() { ids = best.Ints() })
		}
		if err != nil {
			return nil, err
		}
		return ids[len(ids)-len(texts):], nil
	}
	all, err := s.scores(ctx, texts, 1)
	if err != nil {
		return nil, err
	}
	vocab := s.m.Config.Vocab
	for i, r := range rows {
		ids = append(ids, r.s.next(all[i*vocab:(i+1)*vocab]))
	}
	return ids, nil
}

// varies says whether keys depend on the length of their text.
func (m *Model) varies() bool {
	return slices.ContainsFunc(m.Blocks, func(b *Block) bool { return b.Attn.Rope.Varies() })
}

// turnsAnew says whether keys that were turned in a text of so many tokens are not those of a text of another
// length: longrope has two sets of rates.
func (m *Model) turnsAnew(before, now int) bool {
	return slices.ContainsFunc(m.Blocks, func(b *Block) bool {
		r := b.Attn.Rope.Scaling
		return r.Kind == "longrope" && (before > r.Original) != (now > r.Original)
	})
}
