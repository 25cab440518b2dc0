package llm

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/access"
)

// A Batch lets texts grow side by side, each by a token in a step. A text may come at any time and leaves
// when it has ended; a long prompt is read bit by bit, between the steps of others. So a step costs little
// more than that of one text as long as reading the weights is most of it. What a text becomes does not
// depend on the others. A Batch belongs to one goroutine.
//
//	b := m.NewBatch(ctx, llm.Sampling{Rows: 4})
//	g := b.Add(ctx, llm.Request{Prompt: ids, Sampling: llm.Sampling{Tokens: 20}})
//	for g.End == "" {
//		b.Step(ctx)
//		fmt.Print(g.Token.Text)
//	}
type Batch struct {
	m      *Model
	mem    *memory
	prefix *Prefix
	most   int
	rows   []*Growth
	first  bool            // no step was taken
	ctx    context.Context // of the step before
	whole  bool            // prompts are read at once: nobody waits for the next token of another text
}

// A Request is a prompt, and how it goes on. Cache, Prefix and Rows of its Sampling are those of the batch.
type Request struct {
	Prompt []int
	Sampling
	Row      int  // which row of lora.Rows it is, where the context of a step has adapters
	LogProbs bool // tokens have their log-probabilities
	Top      int  // and those of so many of the best
	Echo     bool // the tokens of the prompt, too: see Growth.Read
}

// An End says why a text has ended; "" is one that has not.
type End string

// Ends of texts.
const (
	EndStop   End = "stop"   // by a token of the model's Stop, by a stop string, or where its grammar ends
	EndLength End = "length" // all tokens were made
)

// A Token is a token of a text.
type Token struct {
	ID      int     // −1 is none: the text has ended
	Text    string  // what it completes, after a stop string was looked for; "" of one in the middle of a character
	LogProb float64 // of the model's scores, as they are before temperature and penalties; if asked for
	Top     []Token // the best instead, with their log-probabilities
}

// A Growth is a text that grows in a [Batch].
type Growth struct {
	Token Token   // of the last step; none as long as the prompt is being read
	End   End     // why the text has ended
	Read  []Token // of the prompt, once it is read, if asked for; the first one has no log-probability
	*text
	request Request
	s       *sampler
	speech  *speech // nil: the model's tokens are no text
	missing int     // tokens to be made
	echoed  []Token // of Read, as far as it is known
}

// NewBatch begins a batch of at most o.Rows texts, whose keys and values are kept in o.Cache, and all of
// which go on from o.Prefix, if there is one.
func (m *Model) NewBatch(ctx context.Context, o Sampling) (*Batch, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return m.newBatch(ctx, o, o.rows(), 0)
}

// newBatch begins a batch of at most so many texts, which come to asked tokens as far as is known.
func (m *Model) newBatch(ctx context.Context, o Sampling, most, asked int) (*Batch, error) {
	if m.varies() { // rates follow the longest text of a step
		most = 1
	}
	mem, err := m.begin(ctx, o, room{texts: max(2, most), asked: asked, rows: o.rows()})
	if err != nil {
		return nil, err
	}
	return &Batch{m: m, mem: mem, prefix: o.Prefix, most: most, first: true}, nil
}

// Free gives the memory back at once.
func (b *Batch) Free() { b.mem.free() }

// Places is how many texts can be added.
func (b *Batch) Places() int { return b.most - len(b.rows) }

// Len is how many texts grow.
func (b *Batch) Len() int { return len(b.rows) }

// Add begins a text. A batch that is full and a request that means nothing are errors.
func (b *Batch) Add(ctx context.Context, r Request) (*Growth, error) {
	if b.Places() == 0 {
		return nil, fmt.Errorf("generate: got one more text than the %d of the batch", b.most)
	}
	if err := b.m.refusesInBatch(r.Prompt, r.Sampling); err != nil {
		return nil, err
	}
	r.Sampling = r.seeded(ctx)
	return b.add(r)
}

func (b *Batch) add(r Request) (*Growth, error) {
	t, err := b.mem.from(b.prefix, r.Prompt)
	if err != nil {
		return nil, err
	}
	s, err := b.m.constrained(r.Prompt, r.Sampling)
	if err != nil {
		b.mem.forget(t)
		return nil, err
	}
	t.number = r.Row
	g := &Growth{text: t, request: r, s: s, missing: r.count(), Token: Token{ID: -1}}
	if b.m.Tokenizer != nil || b.m.Config.Vocab == 256 {
		g.speech = b.m.speech(r.Prompt, r.Sampling)
	}
	b.rows = append(b.rows, g)
	return g, nil
}

// Remove takes a text out that has not ended.
func (b *Batch) Remove(g *Growth) {
	if i := slices.Index(b.rows, g); i >= 0 {
		b.mem.forget(g.text)
		b.rows = slices.Delete(b.rows, i, i+1)
	}
}

// Step makes a token of each text whose prompt is read. Where texts grow already, no more than a block of the
// prompts of others is read before. After an error the batch is of no use, but for Free.
func (b *Batch) Step(ctx context.Context) error {
	if len(b.rows) == 0 {
		return nil
	}
	built := access.Built()
	b.mem.resume(ctx)
	ready, err := b.read(ctx)
	if err != nil {
		return err
	}
	begun, others := b.begun(ready)
	w := theBest
	for _, rows := range [][]*Growth{begun, others} {
		if len(rows) > 0 && err == nil {
			w, err = b.tokens(ctx, rows)
		}
	}
	if err != nil {
		return err
	}
	b.ctx = ctx
	if b.first && access.Built() != built {
		if err := b.mem.prepare(ctx, len(ready), w); err != nil {
			return err
		}
	}
	b.first = false
	for _, g := range ready {
		if b.take(g); g.End != "" {
			b.mem.forget(g.text)
		}
	}
	b.rows = slices.DeleteFunc(b.rows, func(g *Growth) bool { return g.End != "" })
	return nil
}

// read reads prompts: of all texts, or where some grow already and wait for it a block of one, or of several
// that are short. It says of which nothing is left.
func (b *Batch) read(ctx context.Context) (ready []*Growth, err error) {
	blocks := math.MaxInt
	if !b.whole && slices.ContainsFunc(b.rows, func(g *Growth) bool { return g.missing < g.request.count() }) {
		blocks = 1
	}
	var texts []*text
	for _, g := range b.rows {
		g.Token = Token{ID: -1}
		if g.request.Echo && g.Read == nil {
			if blocks, err = b.echo(ctx, g, blocks); err != nil {
				return nil, err
			}
		}
		if !g.request.Echo || g.Read != nil {
			texts = append(texts, g.text)
		}
	}
	if err := b.mem.readSome(ctx, blocks, texts); err != nil {
		return nil, err
	}
	for _, g := range b.rows {
		if g.unread() == 0 && slices.Contains(texts, g.text) {
			ready = append(ready, g)
		}
	}
	return ready, nil
}

// begun divides rows into those whose step was begun ahead and others.
func (b *Batch) begun(rows []*Growth) (begun, others []*Growth) {
	for _, g := range rows {
		if slices.Contains(b.mem.ahead.texts, g.text) {
			begun = append(begun, g)
		} else {
			others = append(others, g)
		}
	}
	return begun, others
}

// tokens chooses what follows each of these rows, by what is wanted from a step.
func (b *Batch) tokens(ctx context.Context, rows []*Growth) (w wanted, err error) {
	texts, samplers := make([]*text, len(rows)), make([]*sampler, len(rows))
	more, said := len(rows) == len(b.rows) && same(b.ctx, ctx), false // else the next one may have another, too
	for i, g := range rows {
		texts[i], samplers[i] = g.text, g.s
		more, said = more && g.missing > 1, said || g.request.LogProbs
	}
	if w = b.mem.wanted(samplers); said || w == scores {
		return scores, b.score(ctx, rows, texts)
	}
	ids, err := b.mem.follow(ctx, texts, samplers, w, more)
	for i, id := range ids {
		rows[i].Token = Token{ID: id}
	}
	return w, err
}

// score chooses what follows rows by all scores.
func (b *Batch) score(ctx context.Context, rows []*Growth, texts []*text) error {
	all, err := b.mem.scores(ctx, texts, 1)
	if err != nil {
		return err
	}
	vocab := b.m.Config.Vocab
	for i, g := range rows {
		row := all[i*vocab : (i+1)*vocab]
		var said []float32
		if g.request.LogProbs {
			said = slices.Clone(row) // choosing changes the scores
		}
		g.Token = likely(said, g.s.next(row), g.request.Top)
	}
	return nil
}

// take appends the token of a step to its text, and says whether it ends it.
func (b *Batch) take(g *Growth) {
	id := g.Token.ID
	if slices.Contains(b.m.Stop, id) {
		g.Token, g.End = Token{ID: -1}, EndStop
	} else {
		g.ids = append(g.ids, id)
		g.missing--
		over := false
		if g.speech != nil {
			g.Token.Text, over = g.speech.next(id)
		}
		switch {
		case over || g.s.over():
			g.End = EndStop
		case g.missing == 0:
			g.End = EndLength
		}
	}
	if g.End != "" && g.speech != nil {
		g.Token.Text += g.speech.end()
	}
}

// echo lets the prompt of a text go through the model with the scores of its tokens, at most so many blocks
// of it, and says how many are left of these.
func (b *Batch) echo(ctx context.Context, g *Growth, blocks int) (left int, err error) {
	prompt, vocab := g.ids, b.m.Config.Vocab
	if g.echoed == nil {
		g.known, g.echoed = 0, []Token{{ID: prompt[0]}}
		for k := range b.mem.pools {
			b.mem.pools[k].release(&g.held[k]) // of a prefix, which was read without scores
		}
	}
	defer func() { g.ids = prompt }()
	for ; len(g.echoed) < len(prompt) && blocks > 0; blocks-- {
		n := min(len(g.echoed)+shortBlock-1, len(prompt)-1)
		g.ids = prompt[:n:n]
		all, err := b.mem.scores(ctx, []*text{g.text}, shortBlock)
		if err != nil {
			return blocks, err
		}
		for at := len(g.echoed); at <= n; at++ {
			row := all[len(all)-(n-at+1)*vocab:][:vocab]
			g.echoed = append(g.echoed, likely(row, prompt[at], g.request.Top))
		}
	}
	if len(g.echoed) == len(prompt) {
		g.Read, g.turned = g.echoed, len(prompt)
	}
	return blocks, nil
}

// likely is a token with its log-probability and those of so many of the best; without scores it has none.
func likely(scores []float32, id, top int) Token {
	t := Token{ID: id}
	if scores == nil {
		return t
	}
	most := float64(scores[largest(scores)])
	sum := 0.0
	for i, s := range scores {
		if s != s {
			continue
		}
		sum += math.Exp(float64(s) - most)
		if n := len(t.Top); n < top || top > 0 && float64(s) > t.Top[n-1].LogProb {
			at, _ := slices.BinarySearchFunc(t.Top, float64(s), func(c Token, s float64) int {
				if c.LogProb >= s {
					return -1
				}
				return 1
			})
			t.Top = slices.Insert(t.Top[:min(n, top-1)], at, Token{ID: i, LogProb: float64(s)})
		}
	}
	all := most + math.Log(sum)
	for i := range t.Top {
		t.Top[i].LogProb -= all
	}
	t.LogProb = float64(scores[id]) - all
	return t
}

// GenerateBatch goes on from several prompts at once, and returns each with what follows: text i is what
// Generate gives with Seed + i, also of a Seed that is drawn. At most o.Rows texts grow at a time, and the
// next prompt takes the place of one that has ended. A step costs little more than that of one text as long
// as reading the weights is most of it. When ctx is done it returns the texts so far, with the cause.
func (m *Model) GenerateBatch(ctx context.Context, prompts []string, o Sampling) ([]string, error) {
	texts, ids := slices.Clone(prompts), make([][]int, len(prompts))
	for i, prompt := range prompts {
		var err error
		if ids[i], err = m.Encode(prompt); err != nil {
			return texts, fmt.Errorf("prompt %d: %w", i, err)
		}
	}
	err := m.batch(ctx, ids, o, func(i int, t Token) { texts[i] += t.Text })
	return texts, err
}

// GenerateBatchTokens is GenerateBatch of tokens: see [Model.GenerateTokens].
func (m *Model) GenerateBatchTokens(ctx context.Context, prompts [][]int, o Sampling) ([][]int, error) {
	all := make([][]int, len(prompts))
	for i, prompt := range prompts {
		all[i] = slices.Clone(prompt)
	}
	err := m.batch(ctx, prompts, o, func(i int, t Token) {
		if t.ID >= 0 {
			all[i] = append(all[i], t.ID)
		}
	})
	return all, err
}

// batch generates what follows prompts, and gives each token of a prompt to took.
func (m *Model) batch(ctx context.Context, prompts [][]int, o Sampling, took func(prompt int, t Token)) error {
	longest := 0
	for i, prompt := range prompts {
		if err := m.refusesInBatch(prompt, o); err != nil {
			return fmt.Errorf("prompt %d: %w", i, err)
		}
		longest = max(longest, len(prompt))
	}
	bar := newBar(ctx, o.count()*len(prompts))
	defer bar.end()
	b, err := m.newBatch(ctx, o, min(o.rows(), len(prompts)), longest+o.count())
	if err != nil {
		return err
	}
	defer b.Free()
	b.whole = true
	o = o.seeded(ctx)
	for next := 0; next < len(prompts) || b.Len() > 0; {
		for ; b.Places() > 0 && next < len(prompts); next++ {
			own := o
			own.Seed += uint64(next)
			if _, err := b.add(Request{Prompt: prompts[next], Sampling: own, Row: next}); err != nil {
				return fmt.Errorf("prompt %d: %w", next, err)
			}
		}
		rows := slices.Clone(b.rows)
		err := b.Step(ctx)
		for _, g := range rows {
			if err != nil {
				g.Token = Token{ID: -1}
				if g.speech != nil {
					g.Token.Text = g.speech.end()
				}
			}
			took(g.number, g.Token)
			if g.Token.ID >= 0 {
				bar.step()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refusesInBatch says what is wrong with a prompt of a batch and its settings.
func (m *Model) refusesInBatch(prompt []int, o Sampling) error {
	if o.Draft != nil {
		return fmt.Errorf("generate: got a draft for a batch, want none: guesses are for one text")
	}
	return m.refuses(prompt, o)
}

// varies says whether keys depend on the length of their text.
func (m *Model) varies() bool {
	return slices.ContainsFunc(m.Blocks, func(b *Block) bool { return b.Attn != nil && b.Attn.Rope.Varies() })
}

// turnsAnew says whether keys that were turned in a text of so many tokens are not those of a text of another
// length: longrope has two sets of rates.
func (m *Model) turnsAnew(before, now int) bool {
	return slices.ContainsFunc(m.Blocks, func(b *Block) bool {
		if b.Attn == nil {
			return false
		}
		r := b.Attn.Rope.Scaling
		return r.Kind == "longrope" && (before > r.Original) != (now > r.Original)
	})
}
