package train

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/testing/together"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// Ranks that hold a base together come to what one process with all of it comes to, bit for bit: losses,
// adapters and checkpoints, compiled or not.
func TestSharded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes hold memory together on Linux")
	}
	text := strings.Repeat("It was the best of times, it was the worst of times. ", 40)
	for _, c := range []struct {
		name    string
		config  llm.Config
		compile bool
		codes   int // of a block's matrices, tensors: 0 for numbers
	}{
		{name: "f32", config: llm.Config{Vocab: 256, Layers: 3, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Seed: 5, Checkpoint: true}},
		{name: "bf16, compiled", compile: true, config: llm.Config{Vocab: 256, Layers: 3, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Seed: 5, DType: dtype.BF16, Checkpoint: true}},
		{name: "codes", codes: 3, config: llm.Config{Vocab: 256, Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Seed: 5, DType: dtype.F16}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			dir := t.TempDir()
			var err error
			if c.codes > 0 {
				err = llm.SaveCodes(ctx, dir, llm.New(c.config), llm.Codes{Format: "mlx"})
			} else {
				err = llm.Save(dir, llm.New(c.config))
			}
			if err != nil {
				t.Fatal(err)
			}
			run := func(g *ranks.Group, all []outcome, folder string) (err error) {
				load := llm.Load
				if g.Size() > 1 {
					load = func(ctx context.Context, path string) (*llm.Model, error) { return llm.LoadSharded(ctx, path, g) }
				}
				m, err := load(ctx, dir)
				if err != nil {
					return err
				}
				m.Config.Checkpoint = true
				parts := 0
				for _, p := range nn.Params(m) {
					if access.InParts(p.Value()) {
						parts++
					}
				}
				if want := 7 * max(1, c.codes) * c.config.Layers * min(1, g.Size()-1); parts != want {
					t.Errorf("%d ranks: got %d weights in parts, want %d", g.Size(), parts, want)
				}
				w := data.Windows(text, 32, 2)
				o := Options{Steps: 5, Accumulate: 4, Compile: c.compile, Ranks: g, Seed: 3, LoRA: lora.Config{Rank: 4, Dropout: 0.1, Seed: 2}, Checkpoint: folder, CheckpointEvery: 2}
				tuned, err := LoRA(ctx, m, w, o)
				if err != nil {
					return err
				}
				all[g.Rank()] = outcome{tuned.History, nn.Hash(nn.Params(m))}
				return nil
			}
			whole, folder := make([]outcome, 1), t.TempDir()
			if err := run(nil, whole, folder); err != nil {
				t.Fatal(err)
			}
			want := sums(t, folder)
			for _, size := range []int{2, 4} {
				if size == 4 && !long.CI() {
					continue
				}
				all, folder := make([]outcome, size), t.TempDir()
				for rank, err := range together.Run(size, func(g *ranks.Group) error {
					err := run(g, all, folder)
					g.Fail(err)
					return err
				}) {
					if err != nil {
						t.Fatalf("rank %d of %d: %v", rank, size, err)
					}
					if what := differs(all[rank].history, whole[0].history); what != "" {
						t.Errorf("rank %d of %d: got %s", rank, size, what)
					}
					if all[rank].weights != whole[0].weights {
						t.Errorf("rank %d of %d: got other weights", rank, size)
					}
				}
				if got := sums(t, folder); got != want {
					t.Errorf("%d ranks: got checkpoints %s, want %s", size, got, want)
				}
			}
		})
	}
}

// A rank holds its part of the blocks, and in a step one block more.
func TestShardedMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes hold memory together on Linux")
	}
	const size = 2
	config := llm.Config{Vocab: 64, Layers: 8, Width: 128, Heads: 2, KVHeads: 2, Hidden: 512, Seed: 5, Checkpoint: true}
	held, peak := make([]int64, size+1), make([]int64, size+1)
	measure := func(at int, make func(ctx context.Context) (*llm.Model, error)) error {
		d := device.CPU(at + 1) // one of its own
		ctx := device.On(context.Background(), d)
		runtime.GC()
		before := d.Memory().InUse
		m, err := make(ctx)
		if err != nil {
			return err
		}
		for range 3 {
			runtime.GC()
		}
		held[at] = d.Memory().InUse - before
		return tensor.Try(func() {
			tensor.Within(ctx, func() {
				if _, err = lora.Inject(m, lora.Config{Rank: 2, Seed: 1}); err != nil {
					return
				}
				ids := tensor.Zeros(1, 8).Cast(dtype.I64)
				params := nn.Trainable(m)
				peak[at] = tensor.CostOf(tensor.Grad(m.Loss(ids, ids), nn.Values(params)...)...).Memory
			})
		})
	}
	if err := measure(size, func(ctx context.Context) (m *llm.Model, _ error) {
		tensor.Within(ctx, func() { m = llm.New(config) })
		tensor.Within(ctx, func() { tensor.Eval(nn.Values(nn.Params(m))...) })
		return m, nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, err := range together.Run(size, func(g *ranks.Group) error {
		return measure(g.Rank(), func(ctx context.Context) (*llm.Model, error) { return llm.NewSharded(ctx, config, g) })
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	block := int64(4*config.Width*config.Width+3*config.Width*config.Hidden) * 4
	outside := int64(2*config.Vocab*config.Width) * 4
	for rank := range size {
		if most := block*int64(config.Layers)/size + 2*outside + 64<<10; held[rank] > most || held[rank] < most/2 {
			t.Errorf("rank %d: got %d bytes, want about %d; the whole model takes %d", rank, held[rank], most, held[size])
		}
		if more := peak[rank] - peak[size]; more > 2*block || more <= 0 {
			t.Errorf("rank %d: got %d bytes more in a step, want those of a block of %d, or two", rank, more, block)
		}
	}
}

// What would change a base that is held in parts is refused by name, and so is one process alone. A
// prediction counts what is held here.
func TestShardedRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes hold memory together on Linux")
	}
	ctx, config := context.Background(), llm.Config{Vocab: 256, Layers: 2, Width: 64, Heads: 2, KVHeads: 2, Hidden: 128, Seed: 5}
	if _, err := llm.NewSharded(ctx, config, nil); err == nil || !strings.Contains(err.Error(), "got one process") {
		t.Errorf("one process: got %v", err)
	}
	w := data.Windows(strings.Repeat("one and two ", 40), 16, 2)
	for rank, err := range together.Run(2, func(g *ranks.Group) error {
		m, err := llm.NewSharded(ctx, config, g)
		if err != nil {
			return err
		}
		_, whole := nn.Size(m)
		const matrices = 2 * (4*64*64 + 3*64*128) * 4 // bytes of the blocks
		e, err := PredictLoRA(ctx, m, w, Options{Steps: 1, LoRA: lora.Config{Rank: 2}})
		if err != nil {
			return err
		}
		if got := whole - int(e.Weights); got < matrices/2-32<<10 || got > matrices/2 { // the adapter has 17 kB
			t.Errorf("rank %d: got weights of %d bytes, want half of the blocks' %d less than %d", g.Rank(), e.Weights, matrices, whole)
		}
		nn.Unfreeze(m)
		if _, err := Full(ctx, m, w, Options{Steps: 1}); err == nil || !strings.Contains(err.Error(), "train: model.layers.0.self_attn.q_proj.weight is held by several processes together") {
			t.Errorf("full: got %v", err)
		}
		weight := nn.Params(m.Blocks[0].MLP)[0].Value()
		if err := tensor.Try(func() { weight.Set(tensor.ZerosLike(weight)) }); err == nil || !strings.Contains(err.Error(), "none can change") {
			t.Errorf("set: got %v", err)
		}
		a, err := lora.Inject(m, lora.Config{Rank: 2, Seed: 1})
		if err != nil {
			return err
		}
		report, err := a.Merge()
		if err != nil {
			return err
		}
		if text := report.String(); report.Merged() != 0 || !strings.Contains(text, "several processes hold the weight together") {
			t.Errorf("merge: got %s", text)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
