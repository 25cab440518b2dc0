package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// batchTexts and batchTokens are the most of a batch.
const (
	batchTexts  = 32
	batchTokens = 8192
)

// Encode returns a vector for each text, f32 [texts width], on the model's device. Texts that are longer than
// the model takes are cut. It reports its progress, and stops with the cause when ctx is done. No text, and a
// tokenizer with more tokens than the model, are errors.
func (m *Model) Encode(ctx context.Context, texts ...string) (tensor.Tensor, error) {
	return m.EncodeAs(ctx, m.Prompt, texts...)
}

// EncodeAs is Encode of texts that begin with the prompt of that name, "query" or "passage" for example. The
// empty name has none. A name that is not among the model's Prompts is an error.
func (m *Model) EncodeAs(ctx context.Context, prompt string, texts ...string) (tensor.Tensor, error) {
	start, ok := m.Prompts[prompt]
	if !ok && prompt != "" {
		return tensor.Tensor{}, fmt.Errorf("encode: the model has no prompt %q, only %q: set it in Prompts", prompt, slices.Sorted(maps.Keys(m.Prompts)))
	}
	list, err := m.tokensOf(ctx, start, texts)
	if err != nil {
		return tensor.Tensor{}, err
	}
	var all tensor.Tensor
	err = access.Try(device.On(ctx, nn.Device(m)), func() error {
		all = m.encode(ctx, list)
		return nil
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return all, err
}

// Tokens returns the tokens of texts, i64 [texts T], where T is the length of the longest. Where a text has
// ended the token is −1. Texts that are longer than the model takes are cut.
func (m *Model) Tokens(texts ...string) (tensor.Tensor, error) {
	list, err := m.tokensOf(context.Background(), "", texts)
	if err != nil {
		return tensor.Tensor{}, err
	}
	longest := 1
	for _, ids := range list {
		longest = max(longest, len(ids))
	}
	return rows(list, len(texts), longest).To(nn.Device(m)), nil
}

// tokensOf cuts texts into tokens, each behind a prompt.
func (m *Model) tokensOf(ctx context.Context, prompt string, texts []string) (list [][]int, err error) {
	if len(texts) == 0 {
		return nil, errors.New("encode: got no texts")
	}
	list = make([][]int, len(texts))
	for i, text := range texts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if list[i], err = m.tokens(prompt + text); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// tokens cuts a text into tokens.
func (m *Model) tokens(text string) ([]int, error) {
	if m.Lower {
		text = strings.ToLower(text)
	}
	var ids []int
	switch {
	case m.Tokenizer != nil:
		ids = m.Tokenizer.Encode(text, !m.Plain)
	case m.Body.Vocab() != 256:
		return nil, fmt.Errorf("encode: got a vocabulary of %d and no tokenizer, want 256 (bytes)", m.Body.Vocab())
	default:
		for _, b := range []byte(text) {
			ids = append(ids, int(b))
		}
	}
	if len(m.Without) > 0 {
		ids = slices.DeleteFunc(ids, func(id int) bool { return slices.Contains(m.Without, id) })
	}
	for _, id := range ids {
		if id >= m.Body.Vocab() {
			return nil, fmt.Errorf("encode: got token %d of the tokenizer, but the model has %d", id, m.Body.Vocab())
		}
	}
	if most := m.room(); len(ids) > most {
		end := m.ending()
		if len(end) >= most {
			end = nil
		}
		ids = append(slices.Clip(ids[:most-len(end)]), end...)
	}
	return ids, nil
}

// room is the number of tokens of the longest text.
func (m *Model) room() int {
	most := m.MaxTokens
	if b, ok := m.Body.(interface{ Room() int }); ok && b.Room() > 0 && (most == 0 || most > b.Room()) {
		most = b.Room()
	}
	return cmp.Or(most, 1<<30)
}

// ending are the special tokens after a text.
func (m *Model) ending() []int {
	if m.Plain || m.Tokenizer == nil {
		return nil
	}
	with, without := m.Tokenizer.Encode("a", true), m.Tokenizer.Encode("a", false)
	for i := range with {
		if rest := with[i:]; len(without) > 0 && len(rest) >= len(without) && slices.Equal(rest[:len(without)], without) {
			return rest[len(without):]
		}
	}
	return nil
}

// encode computes the vectors of texts.
func (m *Model) encode(ctx context.Context, texts [][]int) tensor.Tensor {
	width := m.Width()
	all := batches(ctx, texts, m.room(), width, func(at []int, count, length int) tensor.Tensor {
		return m.Forward(chosen(texts, at, count, length).To(nn.Device(m)))
	})
	if all == nil {
		return tensor.Tensor{}
	}
	return tensor.From(all, len(texts), width).To(nn.Device(m))
}

// batches computes so many numbers for each text, batch by batch, those of similar length together. Of a
// batch forward gets the texts' places, and the rows and tokens that it has with padding. The result is nil
// if ctx was done.
func batches(ctx context.Context, texts [][]int, room, width int, forward func(at []int, count, length int) tensor.Tensor) []float32 {
	order := ir.Indices(len(texts))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(texts[b]), len(texts[a])) }) // the longest first: it needs the most memory
	all := make([]float32, len(texts)*width)
	for done := 0; done < len(order); {
		if ctx.Err() != nil {
			return nil
		}
		length := min(rounded(len(texts[order[done]])), room)
		batch := order[done:min(len(order), done+max(1, min(batchTexts, batchTokens/length)))]
		count := 1 << bits.Len(uint(len(batch)-1)) // so that few shapes occur, and few plans are made
		y := forward(batch, count, length)
		values := y.Floats()
		y.Free()
		for i, at := range batch {
			copy(all[at*width:(at+1)*width], values[i*width:(i+1)*width])
		}
		done += len(batch)
		progress.Report(ctx, progress.Event{Task: "encoding", Done: int64(done), Total: int64(len(order)), Unit: "texts", Final: done == len(order)})
	}
	return all
}

// rounded is a length of at least n, of which there are four between a power of two and the next.
func rounded(n int) int {
	step := 4
	for step*8 <= n {
		step *= 2
	}
	return max(step, (n+step-1)/step*step)
}

// chosen are the rows of some texts.
func chosen(texts [][]int, at []int, count, length int) tensor.Tensor {
	list := make([][]int, len(at))
	for i, n := range at {
		list[i] = texts[n]
	}
	return rows(list, count, length)
}

// rows puts texts into a batch, i64 [count length], with −1 where they have ended.
func rows(texts [][]int, count, length int) tensor.Tensor {
	ids := slices.Repeat([]int{-1}, count*length)
	for i, text := range texts {
		copy(ids[i*length:], text)
	}
	return tensor.From(ids, count, length)
}
