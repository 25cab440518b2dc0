package llm

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/machine"
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

// BenchmarkLoad loads a GGUF file of half a gigabyte, which the system has in memory, in turns with reading
// it by pieces into one buffer. It reports the best rates, what Load takes in times of the reading, and the
// same of what processors spend.
func BenchmarkLoad(b *testing.B) {
	for name, c := range map[string]struct {
		kind, block, size, layers int // of the type in files: its number, weights of a block and bytes
	}{"Q4_K": {12, 256, 144, 12}, "Q8_0": {8, 32, 34, 6}} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "m.gguf")
			size := writeRandomGGUF(b, path, c.kind, c.block, c.size, c.layers)
			piece := make([]byte, 1<<20)
			ways := []func() error{
				func() error {
					f, err := os.Open(path)
					if err != nil {
						return err
					}
					defer f.Close()
					_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, piece)
					return err
				},
				func() error {
					m, err := Load(context.Background(), path)
					if err == nil {
						tensor.Free(weightsOf(m)...)
					}
					return err
				},
			}
			wall, spent := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(1), math.Inf(1)}
			for b.Loop() {
				for i, way := range ways {
					before, _ := machine.Spent()
					from := time.Now()
					if err := way(); err != nil {
						b.Fatal(err)
					}
					wall[i] = min(wall[i], time.Since(from).Seconds())
					after, _ := machine.Spent()
					spent[i] = min(spent[i], (after - before).Seconds())
				}
			}
			b.ReportMetric(size/wall[0]/1e9, "read-GB/s")
			b.ReportMetric(size/wall[1]/1e9, "load-GB/s")
			b.ReportMetric(wall[1]/wall[0], "×wall")
			b.ReportMetric(spent[1]/spent[0], "×cpu")
		})
	}
}

// weightsOf are the tensors of a model's weights.
func weightsOf(m *Model) (list []tensor.Tensor) {
	for _, p := range nn.Params(m) {
		list = append(list, p.Value())
	}
	return list
}

// writeRandomGGUF writes a Llama whose matrices are random codes with scales of 2⁻¹⁰, and gives its bytes.
func writeRandomGGUF(b *testing.B, path string, kind, block, size, layers int) float64 {
	const width, hidden, vocab = 2048, 8192, 32000
	long := func(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
	number := func(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	text := func(s string) []byte { return append(long(len(s)), s...) }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	codes := make([]byte, size<<10)
	for i := range codes {
		codes[i] = byte(rand.Uint32())
	}
	for at := 0; at < len(codes); at += size {
		binary.LittleEndian.PutUint16(codes[at:], 0x1400)
		if block == 256 { // the minimums' scale
			binary.LittleEndian.PutUint16(codes[at+2:], 0x1400)
		}
	}
	keys := [][]byte{join(text("general.architecture"), number(8), text("llama"))}
	for key, n := range map[string]int{"block_count": layers, "context_length": 512, "embedding_length": width, "feed_forward_length": hidden, "attention.head_count": 16} {
		keys = append(keys, join(text("llama."+key), number(4), number(n)))
	}
	var infos [][]byte
	var data []io.Reader
	total := 0
	add := func(name string, kind, bytesOf int, content []byte, shape ...int) {
		info := join(text(name+".weight"), number(len(shape)))
		for _, n := range shape {
			info = append(info, long(n)...)
		}
		infos = append(infos, join(info, number(kind), long(total)))
		for left := bytesOf; left > 0; left -= len(content) {
			data = append(data, bytes.NewReader(content[:min(left, len(content))]))
		}
		total += bytesOf // whole pieces of 32
	}
	matrix := func(name string, out, in int) { add(name, kind, out*in/block*size, codes, in, out) }
	norm := func(name string) { add(name, 0, 4*width, bytes.Repeat(number(0x3f800000), width), width) }
	matrix("token_embd", vocab, width)
	matrix("output", vocab, width)
	norm("output_norm")
	for i := range layers {
		at := fmt.Sprintf("blk.%d.", i)
		norm(at + "attn_norm")
		norm(at + "ffn_norm")
		for _, part := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			matrix(at+part, width, width)
		}
		matrix(at+"ffn_gate", hidden, width)
		matrix(at+"ffn_up", hidden, width)
		matrix(at+"ffn_down", width, hidden)
	}
	head := join([]byte("GGUF"), number(3), long(len(infos)), long(len(keys)), join(keys...), join(infos...))
	head = append(head, make([]byte, (32-len(head)%32)%32)...)
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	n, err := io.Copy(f, io.MultiReader(append([]io.Reader{bytes.NewReader(head)}, data...)...))
	if err != nil {
		b.Fatal(err)
	}
	return float64(n)
}
