package llm

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// BenchmarkDecode generates greedily after a short prompt, with weights in several formats. It reports the
// best rate of tokens, without the prompt's time, the bandwidth at which the weights are read for them, and
// the share of what summing up as much memory reaches in the same run.
func BenchmarkDecode(b *testing.B) {
	for _, bm := range []struct {
		name   string
		c      Config
		tokens int
		long   bool
	}{
		{"small", Config{Vocab: 8192, Layers: 4, Width: 512, Heads: 8, KVHeads: 2, Hidden: 1408}, 32, false},
		{"0.5B", Config{Vocab: 151936, Layers: 24, Width: 896, Heads: 14, KVHeads: 2, Hidden: 4864}, 8, true},
	} {
		for _, bits := range []int{32, 16, 8, 4} {
			b.Run(bm.name+"/"+map[int]string{32: "f32", 16: "bf16", 8: "int8", 4: "int4"}[bits], func(b *testing.B) {
				if bm.long && !long.Tests() {
					b.Skip("only with -long")
				}
				m := New(bm.c)
				nn.Freeze(m)
				if bits == 16 {
					nn.Convert(m, dtype.BF16)
				}
				if bits < 16 {
					if _, err := quant.Module(m, quant.Config{Bits: bits}, quant.AllLinear, "embed_tokens"); err != nil {
						b.Fatal(err)
					}
				}
				benchDecode(b, m, bm.tokens)
			})
		}
	}
}

func benchDecode(b *testing.B, m *Model, tokens int) {
	_, weights := nn.Size(m)
	memory := tensor.Ones(weights / 4).Eval()
	took := func(f func()) float64 {
		start := time.Now()
		f()
		return time.Since(start).Seconds()
	}
	generate := func(n int) float64 {
		return took(func() {
			if _, err := m.GenerateTokens(context.Background(), make([]int, 32), Sampling{Tokens: n}); err != nil {
				b.Fatal(err)
			}
		})
	}
	generate(2)
	prompt, all, read := generate(1), generate(1+tokens), 1e9
	for b.Loop() {
		prompt, all = min(prompt, generate(1)), min(all, generate(1+tokens))
		read = min(read, took(func() { memory.Sum().Eval() }))
	}
	rate := float64(tokens) / (all - prompt)
	b.ReportMetric(rate, "tok/s")
	b.ReportMetric(rate*float64(weights)/1e9, "GB/s")
	b.ReportMetric(100*rate*read, "%read")
}

// benchModels are the sizes of prompts' and batches' benchmarks.
var benchModels = []struct {
	name string
	c    Config
	long bool
}{
	{"small", Config{Vocab: 8192, Layers: 4, Width: 512, Heads: 8, KVHeads: 2, Hidden: 1408}, false},
	{"0.5B", Config{Vocab: 151936, Layers: 24, Width: 896, Heads: 14, KVHeads: 2, Hidden: 4864}, true},
}

// BenchmarkPrefill lets prompts of several lengths go through a model, in blocks.
func BenchmarkPrefill(b *testing.B) {
	for _, bm := range benchModels {
		for _, n := range []int{32, 128, 512, 2048} {
			b.Run(fmt.Sprintf("%s/%d", bm.name, n), func(b *testing.B) {
				if bm.long && !long.Tests() {
					b.Skip("only with -long")
				}
				m := New(bm.c)
				nn.Freeze(m)
				read := func() {
					mem := m.memory(dtype.F32, room{texts: 1, asked: n + 1})
					if err := mem.read(b.Context(), mem.text(make([]int, n+1))); err != nil {
						b.Fatal(err)
					}
					mem.free()
				}
				read()
				for b.Loop() {
					read()
				}
				b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tok/s")
			})
		}
	}
}

// BenchmarkBatch generates texts side by side, and reports the tokens of all of them.
func BenchmarkBatch(b *testing.B) {
	const tokens = 32
	for _, bm := range benchModels {
		for _, rows := range []int{1, 2, 4, 8, 16} {
			b.Run(fmt.Sprintf("%s/%d", bm.name, rows), func(b *testing.B) {
				if bm.long && !long.Tests() {
					b.Skip("only with -long")
				}
				m := New(bm.c)
				nn.Freeze(m)
				prompts := make([][]int, rows)
				for i := range prompts {
					prompts[i] = []int{i}
				}
				generate := func() {
					if _, err := m.GenerateBatchTokens(b.Context(), prompts, Sampling{Tokens: tokens}); err != nil {
						b.Fatal(err)
					}
				}
				generate()
				for b.Loop() {
					generate()
				}
				b.ReportMetric(float64(tokens*rows*b.N)/b.Elapsed().Seconds(), "tok/s")
			})
		}
	}
}

// BenchmarkSpeculation generates with the model itself in 4 bits as its draft, and without one.
func BenchmarkSpeculation(b *testing.B) {
	const tokens = 32
	for _, bm := range benchModels {
		for _, guesses := range []int{0, 2, 4, 8} {
			b.Run(fmt.Sprintf("%s/%d", bm.name, guesses), func(b *testing.B) {
				if bm.long && !long.Tests() {
					b.Skip("only with -long")
				}
				m, small, o := New(bm.c), New(bm.c), Sampling{Tokens: tokens}
				nn.Freeze(m)
				nn.Freeze(small)
				if guesses > 0 {
					if _, err := quant.Module(small, quant.Config{Bits: 4}, quant.AllLinear, "embed_tokens"); err != nil {
						b.Fatal(err)
					}
					o.Draft = &Draft{Model: small, Tokens: guesses}
				}
				generate := func() {
					if _, err := m.GenerateTokens(b.Context(), []int{1, 2, 3}, o); err != nil {
						b.Fatal(err)
					}
				}
				generate()
				for b.Loop() {
					generate()
				}
				b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tok/s")
				if guesses > 0 {
					accepted, of := o.Draft.Accepted()
					b.ReportMetric(100*float64(accepted)/float64(of), "%accepted")
				}
			})
		}
	}
}
