package train

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A sizing is a large GPU that computes nothing: its memory is only room.
type sizing struct{ info gpu.Info }

type room int

func (c room) Bytes() int { return int(c) }

func (s sizing) Info() backend.Info                                     { return gpu.InfoOf("sizing", s.info) }
func (s sizing) Alloc(bytes int) (ir.Buffer, error)                     { return room(bytes), nil }
func (s sizing) Free(ir.Buffer)                                         {}
func (s sizing) Upload(ir.Buffer, int, []byte) error                    { return nil }
func (s sizing) Download(context.Context, []byte, ir.Buffer, int) error { return nil }
func (s sizing) Sync(context.Context) error                             { return nil }
func (s sizing) Load(*backend.Program) (backend.Loaded, error)          { return sized{}, nil }
func (s sizing) Run(context.Context, backend.Loaded, *backend.Table, []time.Duration) error {
	return nil
}

// Compile writes the texts that a GPU would run, for the workspace they need.
func (s sizing) Compile(g *backend.Group) (backend.Kernel, error) {
	limits := gpu.LimitsOf(s.info)
	limits.Library = &kernel.Library{Room: gpu.RoomOf(s.info), Memory: int(s.info.Memory),
		Offer: func(w gpu.Work) (int, bool) {
			a, ok := w.(gpu.Attention)
			switch {
			case !ok:
				return 32 << 20, true
			case !a.Gradient:
				return 0, true
			}
			return a.DType.Size() * a.Batches * a.Heads * a.Queries * a.Keys, true // cuDNN's slopes
		},
	}
	k, err := kernel.Render(g, limits)
	return sized{k}, err
}

type sized struct{ *kernel.Kernel }

func (sized) Name() string   { return "sized" }
func (sized) Launches() int  { return 1 }
func (s sized) Scratch() int { return s.Kernel.Scratch }
func (sized) Close()         {}

// TestPredictLong: an adapter of a model of 7 B learns on one H200 texts of 32,768 tokens, with checkpoints,
// and of 4,096, two at once, without.
func TestPredictLong(t *testing.T) {
	info := gpu.Info{Name: "H200", Family: "sm_90", Memory: 139 << 30, Limits: gpu.Limits{
		Threads: 1024, ThreadgroupMemory: 227 << 10, Simdgroup: 32, Processors: 132, Groups: gpu.Size{X: 1<<31 - 1, Y: 65535, Z: 65535},
		Args: 1000, InlineBytes: 4096, Alignment: 256, Buffer: 139 << 30}}
	backend.Register(backend.Driver{Name: "sizing", Open: func(int) (backend.Backend, error) { return sizing{info}, nil },
		Probe: func() []backend.Found { return []backend.Found{{Name: "sizing"}} }})
	dev, err := device.Lookup("sizing")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		texts, tokens int
		checkpoint    bool
		most          int64
	}{
		{1, 32768, true, 50 << 30},
		{2, 4096, false, 54 << 30},
	} {
		tensor.Within(device.On(t.Context(), dev), func() {
			m := llm.New(llm.Config{Vocab: 152064, Layers: 28, Width: 3584, Heads: 28, KVHeads: 4, Hidden: 18944, Untied: true, QKVBias: true,
				DType: dtype.BF16, Compute: dtype.BF16, Checkpoint: c.checkpoint, Seed: 1})
			nn.Freeze(m)
			text := strings.Repeat("a", 2*c.texts*c.tokens)
			e, err := PredictLoRA(t.Context(), m, data.Windows(text, c.tokens, c.texts), Options{LoRA: lora.Config{Rank: 16}, Steps: 2})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%v", e)
			if e.Peak > c.most {
				t.Errorf("%d×%d tokens: got %d bytes, want at most %d", c.texts, c.tokens, e.Peak, c.most)
			}
		})
	}
}
