package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// decoders are small models that look back in different ways, without CI=1 three of them.
func decoders() map[string]*Model {
	list := map[string]*Model{}
	for name, change := range map[string]func(c *Config){
		"all":           func(c *Config) {},
		"window":        func(c *Config) { c.Window = 70 },
		"narrow window": func(c *Config) { c.Window = 3 },
		"some windows":  func(c *Config) { c.Layers, c.Window, c.Local, c.ScoreCap = 3, 100, []bool{true, false, true}, 5 },
		"sinks":         func(c *Config) { c.Sinks, c.Window, c.Local = true, 70, []bool{true, false} },
		"latent":        func(c *Config) { c.KVHeads, c.Latent = 4, Latent{Q: 12, KV: 10, Turning: 4, Value: 6} },
	} {
		if !long.CI() && !slices.Contains([]string{"window", "sinks", "latent"}, name) {
			continue
		}
		c := tiny()
		change(&c)
		list[name] = New(c)
	}
	return list
}

func randomTokens(rng *rand.Rand, n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = rng.IntN(256)
	}
	return ids
}

// What a text's tokens give through its pages, in blocks and one by one, is what they give at once: alone or
// beside another text, in f32, and near it in fewer bits.
func TestMemoryIsLogits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ids, other := randomTokens(rng, 700), randomTokens(rng, 90)
	for name, m := range decoders() {
		want := m.Logits(tensor.From(ids, 1, len(ids))).Eval()
		for _, c := range []struct {
			kept  dtype.Type
			alone bool
			limit float64
		}{{dtype.F32, true, 1e-5}, {dtype.F32, false, 1e-5}, {dtype.BF16, true, 1e-2}, {dtype.F16, false, 2e-3}, {dtype.I8, true, 2e-2}, {dtype.I8, false, 2e-2}} {
			texts := 2
			if c.alone {
				texts = 1
			}
			mem := m.memory(c.kept, room{texts: texts, asked: 700})
			main, beside := mem.text(ids[:1]), mem.text(other)
			for _, n := range []int{41, 42, 401, 591, 640, 641} {
				main.ids = ids[:n]
				if err := mem.read(t.Context(), main); err != nil {
					t.Fatal(err)
				}
				texts := []*text{main}
				if !c.alone { // rows of other lengths, which come and go
					if n == 401 || n == 640 {
						mem.forget(beside)
					}
					if err := mem.read(t.Context(), beside); err != nil {
						t.Fatal(err)
					}
					beside.ids = append(slices.Clip(beside.ids), 7)
					texts = []*text{beside, main}
				}
				scores, err := mem.scores(t.Context(), texts, 1)
				if err != nil {
					t.Fatal(err)
				}
				row := want.Slice(1, n-1, n).Flatten()
				if d := relative(tensor.From(scores[len(scores)-256:]), row); !(d <= c.limit) {
					t.Errorf("%s, %v, alone %v: after %d tokens scores differ by %.3g, want at most %g", name, c.kept, c.alone, n, d, c.limit)
				}
			}
			for k, p := range mem.pools {
				if n := len(main.held[k].pages); p.window > 0 && n > (p.window+longBlock)/pageTokens+2 {
					t.Errorf("%s: a text with a window of %d holds %d pages after %d tokens", name, p.window, n, len(main.ids))
				}
				seen := map[int]bool{}
				for _, page := range slices.Concat(main.held[k].pages, beside.held[k].pages, p.free) {
					if seen[page] || page >= p.pages {
						t.Errorf("%s: page %d of %d is dealt twice", name, page, p.pages)
					}
					seen[page] = true
				}
				if len(seen) != p.pages {
					t.Errorf("%s: %d of %d pages are somewhere", name, len(seen), p.pages)
				}
			}
			mem.free()
		}
	}
}

// TestBytesOfLatents: a token of DeepSeek V3 takes the 512 + 64 numbers of its paper in a layer's cache; one
// whose heads are smaller than that takes what these have.
func TestBytesOfLatents(t *testing.T) {
	v3 := Config{KVHeads: 128, HeadDim: 192, Latent: Latent{KV: 512, Turning: 64, Value: 128}}
	few := Config{KVHeads: 2, HeadDim: 8, Latent: Latent{KV: 40, Turning: 4, Value: 6}}
	for _, c := range []struct {
		config Config
		kept   dtype.Type
		want   int
	}{{v3, dtype.BF16, 576 * 2}, {v3, dtype.I8, 576 + 4}, {few, dtype.F32, 2 * (8 + 6) * 4}} {
		if got := (&memory{m: &Model{Config: c.config}, kept: c.kept}).vector(0); got != c.want {
			t.Errorf("%+v in %v: got %d bytes, want %d", c.config.Latent, c.kept, got, c.want)
		}
	}
}

// planned is how many plans f makes.
func planned(t *testing.T, f func(ctx context.Context) error) int {
	t.Helper()
	r := profile.Record(t.Context(), func(ctx context.Context) {
		if err := f(ctx); err != nil {
			t.Fatal(err)
		}
	})
	return r.PlansBuilt
}

// After a first prompt of any length, prompts of all other lengths need no plan and no kernel that was not
// there, in whatever type the cache is; nor, after a first batch, do batches of other prompts.
func TestOtherLengthsPlanNothing(t *testing.T) {
	lengths := []int{1, 7, 31, 32, 33, 64, 250, 300, 700, 1500, 3000}
	for i, kept := range []dtype.Type{dtype.F32, dtype.BF16, dtype.F16, dtype.I8} {
		for _, first := range [][]int{{1}, {5}, {700}, {3000}}[i:][:1] {
			c := tiny()
			c.Hidden += 8 * (1 + i) // no other model has its plans
			m := New(c)
			generate := func(n int) func(context.Context) error {
				return func(ctx context.Context) error {
					_, err := m.GenerateTokens(ctx, make([]int, n), Sampling{Tokens: 5, Cache: kept})
					return err
				}
			}
			if n := planned(t, generate(first[0])); n == 0 {
				t.Errorf("%v: the first prompt made no plan", kept)
			}
			for _, n := range lengths {
				if made := planned(t, generate(n)); made > 0 {
					t.Errorf("%v: a prompt of %d tokens after one of %d made %d plans, want none", kept, n, first[0], made)
				}
			}
			batch := func(prompts ...int) func(context.Context) error {
				return func(ctx context.Context) error {
					var list [][]int
					for _, n := range prompts {
						list = append(list, make([]int, n))
					}
					_, err := m.GenerateBatchTokens(ctx, list, Sampling{Tokens: 9, Temperature: 9, Cache: kept})
					return err
				}
			}
			planned(t, batch(3, 40, 9, 2, 1))
			for id := range 60 {
				m.Stop = append(m.Stop, id) // texts end one after the other
			}
			for _, list := range [][]int{{1, 1, 1, 1, 1}, {700, 2, 90, 6, 7}, {300, 299, 1500, 1, 80}, {5, 600, 600, 3, 3}, {3000}} {
				if made := planned(t, batch(list...)); made > 0 {
					t.Errorf("%v: a batch of %v tokens made %d plans, want none", kept, list, made)
				}
			}
		}
	}
}

// Nor do conversations that grow, prefixes and drafts need plans again, nor a rope that turns each length of
// a text in its own way.
func TestOtherStepsPlanNothing(t *testing.T) {
	fresh := func(change func(c *Config)) *Model {
		c := tiny()
		c.Hidden, c.Layers = 136, 1 // no other model has its plans
		change(&c)
		return New(c)
	}
	generate := func(ctx context.Context, m *Model, n int, o Sampling) error {
		o.Tokens = 4
		_, err := m.GenerateTokens(ctx, make([]int, n), o)
		return err
	}
	plain := fresh(func(c *Config) {})
	draft := fresh(func(c *Config) { c.Hidden, c.Seed = 144, 5 })
	dynamic := fresh(func(c *Config) {
		c.Rope.Scaling = nn.RopeScaling{Kind: "dynamic", Factor: 4, Context: 64}
	})
	talking := loaded(t, chatFolder)
	talk := talking.NewTalk()
	for _, c := range []struct {
		name string
		step func(ctx context.Context, n int) error
	}{
		{"dynamic rope", func(ctx context.Context, n int) error { return generate(ctx, dynamic, n, Sampling{}) }},
		{"draft", func(ctx context.Context, n int) error {
			return generate(ctx, plain, n, Sampling{Draft: &Draft{Model: draft}})
		}},
		{"prefix", func(ctx context.Context, n int) error {
			p, err := plain.PrefixTokens(ctx, make([]int, n), Sampling{Cache: dtype.BF16})
			if err != nil {
				return err
			}
			defer p.Free()
			return generate(ctx, plain, n+n/2, Sampling{Prefix: p})
		}},
		{"talk", func(ctx context.Context, n int) error {
			_, err := talk.Say(ctx, strings.Repeat("the fox ", n/2), Sampling{Tokens: 4})
			return err
		}},
	} {
		planned(t, func(ctx context.Context) error { return c.step(ctx, 20) })
		for _, n := range []int{3, 60, 70, 300, 600, 1200} {
			if made := planned(t, func(ctx context.Context) error { return c.step(ctx, n) }); made > 0 {
				t.Errorf("%s: %d tokens after 20 made %d plans, want none", c.name, n, made)
			}
		}
	}
	talk.Free()
}

// A long room costs nothing until it is used, where memory is given page by page, and a text that outgrows
// its room is the same as in a larger one.
func TestRoom(t *testing.T) {
	c := tiny()
	c.Context = 1 << 17
	m := New(c)
	dev := device.CPU(3) // nothing else is on it
	m.To(dev)
	for _, weights := nn.Size(m); dev.Memory().InUse > int64(weights); time.Sleep(time.Millisecond) {
		runtime.GC() // frees the model of a run before
	}
	mem := m.memory(dtype.F32, room{texts: 1, asked: 10})
	before := dev.Memory().InUse
	short := mem.text(make([]int, 50))
	if err := mem.read(t.Context(), short); err != nil {
		t.Fatal(err)
	}
	if mem.device().Sparse() {
		page := mem.bytes(1, pageTokens)
		if n := mem.pools[0].listed * pageTokens; n != c.Context {
			t.Errorf("the room is for %d tokens, want the context of %d", n, c.Context)
		}
		least, grown := 50*int64(page)/pageTokens, int64(0)
		for start := time.Now(); grown < least && time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
			grown = dev.Memory().InUse - before // which is looked up now and then
		}
		if grown < least || grown > 4*int64(page) {
			t.Errorf("49 tokens take %d bytes, want about the %d of a page of the cache", grown, page)
		}
	}
	mem.free()
	if left := dev.Memory().InUse - before; left > 1<<16 {
		t.Errorf("%d bytes are left of a memory that was freed", left)
	}

	m = New(c)
	ids := randomTokens(rand.New(rand.NewPCG(3, 1)), 900)
	want := m.Logits(tensor.From(ids, 1, len(ids))).Slice(1, 899, 900).Flatten().Eval()
	for _, kept := range []dtype.Type{dtype.F32, dtype.I8} {
		mem := m.memory(kept, room{texts: 1})
		mem.allot(1, 128)
		long := mem.text(ids)
		if err := mem.read(t.Context(), long); err != nil {
			t.Fatal(err)
		}
		scores, err := mem.scores(t.Context(), []*text{long}, 1)
		if d := relative(tensor.From(scores), want); err != nil || d > 2e-2 || kept == dtype.F32 && d > 1e-5 {
			t.Errorf("%v: after the room was outgrown scores differ by %g, %v", kept, d, err)
		}
		mem.free()
	}
}

// A long prompt stops between its blocks.
func TestPromptStops(t *testing.T) {
	m := New(tiny())
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	mem := m.memory(dtype.F32, room{texts: 1, asked: 2000})
	defer mem.free()
	text := mem.text(make([]int, 2000))
	n := 0
	ctx = progress.With(ctx, func(e progress.Event) {
		if n++; n == 2 {
			cancel(stop)
		}
	})
	if err := mem.read(ctx, text); !errors.Is(err, stop) || text.known != 2*longBlock {
		t.Errorf("got %v after %d tokens, want the cause after two blocks", err, text.known)
	}
}
