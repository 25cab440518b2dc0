package llm

import (
	"context"
	"slices"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// An ahead is a step that a device has begun before its turn: the best tokens after some texts, the last of
// whose tokens only the device knew.
type ahead struct {
	ctx     context.Context
	changes int // of the model
	texts   []*text
	tokens  tensor.Tensor // i64 [rows 1], of which the last ones are theirs
}

func (a *ahead) drop() {
	a.tokens.Free()
	*a = ahead{}
}

// next takes the best token after each of these texts: none has been begun ahead, or all have. Where all go
// on, as more says, a device that works later is asked for the step after this one before the host reads
// these tokens, and has that to do meanwhile. If then one of them ends, its step was for nothing.
func (s *memory) next(ctx context.Context, texts []*text, more bool) (ids []int, err error) {
	now := s.ahead
	s.ahead = ahead{}
	if now.texts == nil {
		now.texts = texts
		if now.tokens, err = s.ask(ctx, texts); err != nil {
			return nil, err
		}
	}
	if more && slices.Equal(now.texts, texts) && s.device().Hints().Later {
		if err := s.goAhead(ctx, now); err != nil {
			return nil, err
		}
	}
	err = s.within(ctx, func() {
		all := now.tokens.Ints()
		all = all[len(all)-len(now.texts):]
		for _, t := range texts {
			ids = append(ids, all[slices.Index(now.texts, t)])
		}
		now.tokens.Free()
	})
	return ids, err
}

// goAhead begins the step that follows another one.
func (s *memory) goAhead(ctx context.Context, now ahead) (err error) {
	for _, t := range now.texts {
		t.ids = append(t.ids, -1)
	}
	s.coming = now.tokens
	s.ahead = ahead{ctx: ctx, changes: s.m.steps.Changes(), texts: slices.Clone(now.texts)}
	s.ahead.tokens, err = s.ask(ctx, now.texts)
	s.coming = tensor.Tensor{}
	for _, t := range now.texts {
		t.ids = t.ids[:len(t.ids)-1]
	}
	return err
}

// ask asks for the best token after each text, i64 [rows 1].
func (s *memory) ask(ctx context.Context, texts []*text) (tensor.Tensor, error) {
	list, err := s.take(ctx, texts, 1, theBest)
	if err != nil {
		return tensor.Tensor{}, err
	}
	return list[0], nil
}

// resume takes back what was begun ahead in another context, which may choose adapters, or with another
// model.
func (s *memory) resume(ctx context.Context) {
	if a := &s.ahead; a.texts != nil && !(same(a.ctx, ctx) && a.changes == s.m.steps.Changes()) {
		for _, t := range a.texts {
			s.goBack(t, min(t.known, len(t.ids)-1))
		}
		a.drop()
	}
}
