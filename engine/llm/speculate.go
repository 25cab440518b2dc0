package llm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/access"
)

// A Draft is a smaller model that guesses what another one will say. The large one looks at several guesses
// in one step, which takes little longer than one token, and keeps those that it would have said (Leviathan
// and others 2023): greedy text is the same as without, and drawn text has the same probabilities.
type Draft struct {
	Model  *Model // has the vocabulary of the large one
	Tokens int    // guesses at a time; 0 means 4

	guessed, accepted atomic.Int64
}

// Accepted says how many guesses were made so far, and how many of them were right.
func (d *Draft) Accepted() (accepted, of int) { return int(d.accepted.Load()), int(d.guessed.Load()) }

// String says what share of the guesses was right.
func (d *Draft) String() string {
	accepted, of := d.Accepted()
	if of == 0 {
		return "draft: no guesses yet"
	}
	return fmt.Sprintf("draft: %d of %d guesses accepted (%.0f %%)", accepted, of, 100*float64(accepted)/float64(of))
}

func (d *Draft) count() int {
	return cmp.Or(d.Tokens, 4)
}

// refuses says why a draft cannot guess for a model.
func (d *Draft) refuses(m *Model) error {
	switch {
	case d.Model == nil:
		return fmt.Errorf("generate: got a draft without a model, want one with a small model of the same vocabulary")
	case d.Tokens < 0:
		return fmt.Errorf("generate: got %d guesses at a time, want a positive number, or 0 for 4", d.Tokens)
	}
	if err := cmp.Or(m.refusesDraft(), d.Model.refusesDraft()); err != nil {
		return err
	}
	a, b := m.Tokenizer, d.Model.Tokenizer
	if a == nil || b == nil || a == b {
		if v, w := m.Config.Vocab, d.Model.Config.Vocab; v != w {
			return fmt.Errorf("generate: got a draft with a vocabulary of %d, want the model's of %d", w, v)
		}
		return nil
	}
	for id := range max(a.Vocab(), b.Vocab()) {
		if a.Token(id) != b.Token(id) {
			return fmt.Errorf("generate: token %d of the draft is %q, want the model's %q", id, b.Token(id), a.Token(id))
		}
	}
	return nil
}

// A speculation extends a text by guesses.
type speculation struct {
	*memory
	t       *text
	draft   *memory
	guesser *text // the same text, in the draft's memory
	d       *Draft
	choose  *sampler
	draws   *rand.Rand // for the guesses
	shares  []float64  // by token; all 0 between uses
}

// speculate is extend with a draft.
func (s *memory) speculate(ctx context.Context, t *text, o Sampling, yield func(int, error) bool) {
	g := &speculation{memory: s, t: t, d: o.Draft, choose: o.sampler(t.ids), draws: rand.New(rand.NewPCG(o.Seed, 1)),
		draft: o.Draft.Model.memory(o.Draft.Model.kept(o), s.room), shares: make([]float64, s.m.Config.Vocab)}
	defer g.draft.free()
	built, first := access.Built(), true
	g.guesser = g.draft.text(g.known(t.ids))
	err := s.read(ctx, t)
	if err == nil {
		err = g.draft.read(ctx, g.guesser)
	}
	for left := o.count(); err == nil && left > 0; {
		var fresh []int
		if fresh, err = g.round(ctx, min(o.Draft.count(), left-1)); err != nil {
			break
		}
		left -= len(fresh)
		for _, id := range fresh {
			if slices.Contains(s.m.Stop, id) || !yield(id, nil) {
				return
			}
		}
		if first && access.Built() != built {
			if err = s.prepare(ctx, 1, scores); err == nil {
				err = g.draft.prepare(ctx, 1, scores)
			}
		}
		first = false
	}
	if err != nil {
		yield(-1, err)
	}
}

// known are tokens as the draft knows them: its vocabulary may end before the large model's, behind the last
// one of the tokenizer.
func (g *speculation) known(ids []int) []int {
	ids = slices.Clone(ids)
	for i := range ids {
		ids[i] = min(ids[i], g.draft.m.Config.Vocab-1)
	}
	return ids
}

// round guesses n tokens, and returns those that are right with the one that follows them.
func (g *speculation) round(ctx context.Context, n int) ([]int, error) {
	start := len(g.t.ids)
	guesses, chances, err := g.guess(ctx, n)
	if err != nil {
		return nil, err
	}
	g.t.ids = append(g.t.ids, guesses...)
	vocab := g.m.Config.Vocab
	scores, err := g.scores(ctx, []*text{g.t}, g.d.count()+1)
	if err != nil {
		return nil, err
	}
	scores = scores[len(scores)-(n+1)*vocab:]
	var fresh []int
	for i := range n + 1 {
		row := scores[i*vocab : (i+1)*vocab]
		g.choose.penalise(row)
		list, right := g.choose.weigh(row), false
		id := 0
		if i < n {
			id, right = g.accept(list, chances[i], guesses[i])
		} else {
			id = draw(list, g.choose.rng.Float64())
		}
		g.choose.note(id)
		if fresh = append(fresh, id); !right {
			break
		}
	}
	right := len(fresh) - 1
	g.d.guessed.Add(int64(n))
	g.d.accepted.Add(int64(right))
	g.t.ids = append(g.t.ids[:start+right], fresh[right])
	g.t.known = start + right
	g.guesser.ids = append(g.guesser.ids[:start+right], g.known(fresh[right:])...)
	g.guesser.known = min(g.guesser.known, start+right)
	return fresh, nil
}

// guess draws n tokens from the draft, and returns with each what it was drawn from.
func (g *speculation) guess(ctx context.Context, n int) (guesses []int, chances [][]candidate, err error) {
	s := *g.choose // which goes on by itself, but for its random numbers
	s.seen, s.made = maps.Clone(s.seen), maps.Clone(s.made)
	vocab := g.draft.m.Config.Vocab
	for i := range n {
		width := 1
		if i == 0 {
			width = 2 // all guesses may have been right, and the last one was not read
		}
		scores, err := g.draft.scores(ctx, []*text{g.guesser}, width)
		if err != nil {
			return nil, nil, err
		}
		scores = scores[len(scores)-vocab:]
		scores = scores[:min(vocab, g.m.Config.Vocab)]
		s.penalise(scores)
		list := s.weigh(scores)
		id := draw(list, g.draws.Float64())
		s.note(id)
		guesses, chances = append(guesses, id), append(chances, list)
		g.guesser.ids = append(g.guesser.ids, id)
	}
	return guesses, chances, nil
}

// accept takes a guess that was drawn from q as a draw from p, or draws another token, such that all draws
// together are draws from p.
func (g *speculation) accept(p, q []candidate, guess int) (id int, right bool) {
	sum, other := total(p), total(q)
	for _, c := range q {
		g.shares[c.id] = c.weight / other
	}
	defer func() {
		for _, c := range q {
			g.shares[c.id] = 0
		}
	}()
	at := slices.IndexFunc(p, func(c candidate) bool { return c.id == guess })
	if at >= 0 && g.choose.rng.Float64()*g.shares[guess] < p[at].weight/sum {
		return guess, true
	}
	rest := make([]candidate, 0, len(p))
	for _, c := range p { // what q gives too rarely
		if c.weight = c.weight/sum - g.shares[c.id]; c.weight > 0 {
			rest = append(rest, c)
		}
	}
	if len(rest) == 0 { // p and q are the same but for rounding
		rest = p
	}
	return draw(rest, g.choose.rng.Float64()), false
}
