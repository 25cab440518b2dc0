package llm

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// Numbers that mean nothing are errors, before anything is computed.
func TestSamplingIsChecked(t *testing.T) {
	m := New(Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2})
	for _, c := range []struct {
		o    Sampling
		want string
	}{
		{Sampling{Tokens: -1}, "got -1 tokens"},
		{Sampling{TopK: -2}, "top-k -2"},
		{Sampling{Temperature: -0.5}, "temperature -0.5"},
		{Sampling{Temperature: math.NaN()}, "temperature NaN"},
		{Sampling{TopP: 1.5}, "top-p 1.5"},
		{Sampling{TopP: math.NaN()}, "top-p NaN"},
		{Sampling{Tokens: 1 << 50}, "memory"},
	} {
		if _, err := m.GenerateTokens(t.Context(), []int{1}, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want an error about %q", c.o, err, c.want)
		}
	}
}

// Generation stops in the middle of a token, and returns what there is with the cause.
func TestGenerationStops(t *testing.T) {
	m := New(Config{Vocab: 256, Layers: 2, Width: 32, Heads: 2})
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(stop) })
	ids, err := m.GenerateTokens(ctx, []int{1, 2}, Sampling{Tokens: 1 << 16})
	if !errors.Is(err, stop) || len(ids) < 2 || len(ids) > 1<<15 {
		t.Errorf("got %d tokens, %v", len(ids), err)
	}
	if ids, err := m.GenerateTokens(t.Context(), ids, Sampling{Tokens: 2}); err != nil || len(ids) < 4 {
		t.Errorf("afterwards: got %d tokens, %v", len(ids), err)
	}
}
