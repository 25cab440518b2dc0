package llm

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// shortLength is how many of the best tokens the host looks at before it draws one of a large vocabulary. To
// bring all scores to the host and to look at each there takes as long as many steps of a model on a GPU. The
// others count by their weight together, and their scores are read only if one of them is drawn.
const (
	shortLength = 64
	leastVocab  = 64 * shortLength
)

// shortens says whether a sampler draws from a shortlist: by the scores alone, not by the text so far.
func (m *Model) shortens(s *sampler) bool {
	return m.Config.Vocab >= leastVocab && !s.penalises() && s.state == nil
}

// draw draws the token after each text, from shortlists.
func (s *memory) draw(ctx context.Context, texts []*text, samplers []*sampler) ([]int, error) {
	temperatures := slices.Repeat([]float32{1}, rowsOf(len(texts)))
	for i, c := range samplers {
		temperatures[len(temperatures)-len(samplers)+i] = float32(cmp.Or(c.Temperature, 1))
	}
	if err := s.within(ctx, func() { s.temperatures = tensor.From(temperatures, len(temperatures), 1) }); err != nil {
		return nil, err
	}
	list, err := s.take(ctx, texts, 1, drawn)
	if err != nil {
		return nil, err
	}
	defer tensor.Free(list...)
	var short, all []float32
	if err := s.within(ctx, func() { short = list[0].Floats() }); err != nil {
		return nil, err
	}
	ids, vocab, each := make([]int, len(texts)), s.m.Config.Vocab, len(short)/len(temperatures)
	short = short[len(short)-len(texts)*each:]
	for i, c := range samplers {
		row, u, ok := short[i*each:][:each], c.u(), false
		if ids[i], ok = c.among(candidatesOf(row), vocab, float64(row[each-1]), u); ok {
			continue
		}
		if all == nil {
			if all, err = s.fetch(ctx, list[1], len(texts)); err != nil {
				return nil, err
			}
		}
		ids[i] = c.choose(all[i*vocab:][:vocab], u)
	}
	return ids, nil
}

// shortlist gives of scores [rows 1 Vocab] the best ones of each row in order, their tokens, and the
// logarithm of the sum of all e^(score/temperature), f32 [rows n].
func shortlist(scores, temperatures tensor.Tensor) tensor.Tensor {
	x := scores.Squeeze(1).Cast(dtype.F32)
	x = tensor.Where(x.IsNaN(), math.Inf(-1), x)
	best, ids := x.TopK(min(shortLength, x.Len(-1)))
	return tensor.Concat([]tensor.Tensor{best, ids.Cast(dtype.F32), x.Div(temperatures).LogSumExp(-1).Unsqueeze(-1)}, -1)
}

// candidatesOf lists the candidates of a row of a shortlist.
func candidatesOf(row []float32) []candidate {
	list := make([]candidate, len(row)/2)
	for i := range list {
		list[i] = candidate{id: int(row[len(list)+i]), score: row[i]}
	}
	return list
}
