package embed

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
)

var ctx = context.Background()

// testdata was written by tests/peers/embedding_models.py with sentence-transformers and model2vec.
const fixtures = "testdata"

func texts(t *testing.T, path string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func load(t *testing.T, dir string) (*Model, map[string]tensor.Tensor) {
	t.Helper()
	m, err := Load(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	expected, _, err := safetensors.Load(filepath.Join(dir, "expected.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return m, expected
}

func eachModel(t *testing.T, test func(t *testing.T, m *Model, expected map[string]tensor.Tensor)) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(fixtures, "*", "expected.safetensors"))
	if err != nil || len(list) < 30 {
		t.Fatalf("got %q, %v", list, err)
	}
	for _, path := range list {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m, expected := load(t, dir)
			test(t, m, expected)
		})
	}
}

// most is how much numbers in f32 may differ, of the largest.
const most = 1e-5

// relative is the greatest difference over the greatest number, where seen is true.
func relative(got, want, seen tensor.Tensor) float64 {
	if !seen.IsNone() {
		got, want = tensor.Where(seen.Unsqueeze(-1), got, 0), tensor.Where(seen.Unsqueeze(-1), want, 0)
	}
	return tensor.MaxAbsDiff(got, want) / want.Abs().Max().Item()
}

// The vectors of tokens are those of transformers, whatever the padding holds; in bf16 they are as near to
// those in f32 as transformers' own.
func TestEncodersAgreeWithTransformers(t *testing.T) {
	compared := 0
	eachModel(t, func(t *testing.T, m *Model, expected map[string]tensor.Tensor) {
		hidden, ok := expected["hidden"]
		if !ok {
			t.Skip("a table of vectors: it has no hidden states, and its vectors of texts are compared elsewhere")
		}
		compared++
		seen := expected["seen"]
		if d := relative(m.Body.Vectors(expected["ids"], seen), hidden, seen); !(d <= most) {
			t.Errorf("vectors differ by %.3g of the largest", d)
		}
		other := tensor.Where(seen, expected["ids"], 7).Cast(dtype.I64)
		if d := relative(m.Body.Vectors(other, seen), hidden, seen); !(d <= most) {
			t.Errorf("with another padding vectors differ by %.3g of the largest", d)
		}
		if rounded, ok := expected["rounded"]; ok {
			nn.Convert(m, dtype.BF16)
			limit := 1.5 * relative(rounded, hidden, seen)
			if d := relative(m.Body.Vectors(expected["ids"], seen), hidden, seen); !(d <= limit) || limit > 0.2 {
				t.Errorf("vectors in bf16 differ by %.3g, want at most %.3g", d, limit)
			}
		}
	})
	if compared < 28 {
		t.Errorf("%d encoders were compared", compared)
	}
}

// Texts become the vectors of sentence-transformers and model2vec: empty ones, long ones that are cut, with
// prompts and without.
func TestEncodeAgreesWithSentenceTransformers(t *testing.T) {
	list := texts(t, filepath.Join(fixtures, "texts.json"))
	eachModel(t, func(t *testing.T, m *Model, expected map[string]tensor.Tensor) {
		for prompt, key := range map[string]string{"": "vectors", "query": "queries"} {
			want, ok := expected[key]
			if !ok {
				continue
			}
			got, err := m.EncodeAs(ctx, prompt, list...)
			if err != nil {
				t.Fatal(err)
			}
			if d := relative(got, want, tensor.Tensor{}); !(d <= most) {
				t.Errorf("%s differ by %.3g of the largest", key, d)
			}
			one, err := m.EncodeAs(ctx, prompt, list[0])
			if err != nil {
				t.Fatal(err)
			}
			if d := relative(one, want.Slice(0, 0, 1), tensor.Tensor{}); !(d <= most) {
				t.Errorf("%s of one text differ by %.3g of the largest", key, d)
			}
			if key == "vectors" {
				m := *m
				m.Dims, m.Normalize = 5, true
				short, err := m.EncodeAs(ctx, prompt, list...)
				if err != nil {
					t.Fatal(err)
				}
				if want, ok := expected["short"]; ok && !(relative(short, want, tensor.Tensor{}) <= most) {
					t.Errorf("their first five numbers differ by %.3g of the largest", relative(short, want, tensor.Tensor{}))
				}
			}
			if w := m.Width(); w != want.Len(1) {
				t.Errorf("got width %d, want %d", w, want.Len(1))
			}
		}
	})
}

var real = flag.String("real", "", "folder that tests/peers/embedding_models.py FOLDER OUT wrote")

// TestReal compares a folder that people use.
func TestReal(t *testing.T) {
	if *real == "" {
		t.Skip("needs -real FOLDER")
	}
	m, expected := load(t, *real)
	want := expected["vectors"]
	m.Normalize = true // the tables' vectors were made so
	got, err := m.Encode(ctx, texts(t, filepath.Join(*real, "texts.json"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %d texts, the largest difference is %.3g of the largest number", m, got.Len(0), relative(got, want, tensor.Tensor{}))
	if d := relative(got, want, tensor.Tensor{}); !(d <= most) {
		t.Errorf("vectors differ by %.3g of the largest", d)
	}
}

// Many texts, of all lengths, need few plans and come back in their order; progress is told, and stops count.
func TestEncodeInBatches(t *testing.T) {
	m, _ := load(t, filepath.Join(fixtures, "bert"))
	list := make([]string, 100)
	for i := range list {
		list[i] = strings.Repeat("cat dog ", i%7) + "house"
	}
	var events []progress.Event
	got, err := m.Encode(progress.With(ctx, func(e progress.Event) { events = append(events, e) }), list...)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 3, 6, 50, 99} {
		one, err := m.Encode(ctx, list[i])
		if err != nil {
			t.Fatal(err)
		}
		if d := tensor.MaxAbsDiff(one, got.Slice(0, i, i+1)); d > 1e-5 {
			t.Errorf("text %d differs by %g", i, d)
		}
	}
	if len(events) < 2 || events[len(events)-1].Done != 100 || !events[len(events)-1].Final {
		t.Errorf("got progress %v", events)
	}
	stopped, cancel := context.WithCancelCause(ctx)
	cause := errors.New("enough")
	_, err = m.Encode(progress.With(stopped, func(progress.Event) { cancel(cause) }), list...)
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	m, _ := load(t, filepath.Join(fixtures, "bert-max"))
	if _, err := m.EncodeAs(ctx, "answer", "a"); err == nil || !strings.Contains(err.Error(), `no prompt "answer", only ["passage" "query"]`) {
		t.Errorf("got %v", err)
	}
	if _, err := m.Encode(ctx); err == nil {
		t.Error("no texts are no error")
	}
	m.Tokenizer = nil
	if _, err := m.Encode(ctx, "a"); err == nil || !strings.Contains(err.Error(), "no tokenizer") {
		t.Errorf("got %v", err)
	}
	if err := tensor.Try(func() { m.Forward(tensor.Zeros(1, 25).Cast(dtype.I64)) }); err == nil || !strings.Contains(err.Error(), "texts of 25 tokens, want at most 24") {
		t.Errorf("got %v", err)
	}
}

// Similarity is 1 for a text and itself, and symmetric.
func TestSimilarity(t *testing.T) {
	m := NewTable(256, 32, 1)
	v, err := m.Encode(ctx, "the cat", "the cats", "another dog", "")
	if err != nil {
		t.Fatal(err)
	}
	s := m.Similarity(v, v)
	at := func(i, j int) float64 { return s.Slice(0, i, i+1).Slice(1, j, j+1).Item() }
	if math.Abs(at(0, 0)-1) > 1e-5 || at(0, 1) != at(1, 0) || at(0, 1) <= at(0, 2) || at(3, 0) != 0 {
		t.Errorf("got %v", s)
	}
	m.Normalize, m.Dot = false, true
	if v, err = m.Encode(ctx, "aa"); err != nil || math.Abs(m.Similarity(v, v).Item()-v.Square().Sum().Item()) > 1e-3 {
		t.Errorf("got %v, %v", m.Similarity(v, v), err)
	}
}

// An adapter finds the layers by the names of the checkpoint, changes vectors once it is trained, and
// gradients reach it alone.
func TestAdapters(t *testing.T) {
	for dir, layer := range map[string]string{
		"gte": "encoder.layer.1.attention.qkv_proj", "jina3": "encoder.layers.1.mixer.Wqkv", "eurobert": "layers.1.self_attn.q_proj", "modernbert-biases": "layers.1.attn.Wqkv", "nomic": "encoder.layers.1.attn.Wqkv", "qwen3": "layers.1.self_attn.q_proj", "gemma3-groups": "layers.1.self_attn.q_proj",
		"bert": "encoder.layer.1.attention.self.query", "mpnet": "encoder.layer.1.attention.attn.q", "distilbert": "transformer.layer.1.attention.q_lin",
	} {
		m, expected := load(t, filepath.Join(fixtures, dir))
		all := nn.Params(m)
		stored, _, err := safetensors.Load(filepath.Join(fixtures, dir, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if w, ok := stored[p.Name]; !ok || !slices.Equal(w.Shape(), p.InFile().Shape()) {
				t.Errorf("%s: the file has no %s", dir, p.Name)
			}
		}
		last := layer[strings.LastIndexByte(layer, '.')+1:]
		a, err := lora.Inject(m, lora.Config{Rank: 2, Targets: last})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(a.Layers(), layer) || len(a.Layers()) != 2 {
			t.Errorf("%s: got %q, want %s in it", dir, a.Layers(), layer)
		}
		y := m.Forward(tensor.Where(expected["seen"], expected["ids"], -1))
		var values []tensor.Tensor
		for _, p := range a.Params() {
			values = append(values, p.Value())
		}
		grads := tensor.Grad(y.Slice(1, 0, 3).Sum(), values...)
		tensor.Eval(grads...)
		for i, g := range grads {
			if b := strings.HasSuffix(a.Params()[i].Name, "lora_B"); b && g.Abs().Max().Item() == 0 {
				t.Errorf("%s: no gradient reaches %s", dir, a.Params()[i].Name)
			}
		}
	}
}

// A model of New is BERT's: bytes are its tokens, and texts have different vectors.
func TestNew(t *testing.T) {
	for family := range families() {
		m := New(Config{Family: family, Vocab: 256, Layers: 3, Width: 16, Heads: 2, Seed: 3})
		v, err := m.Encode(ctx, "a cat", "a dog")
		if err != nil {
			t.Fatal(err)
		}
		if s := m.Similarity(v, v); s.Max().Item() > 1.0001 || s.Min().Item() > 0.99999 {
			t.Errorf("%s: got %v", family, s)
		}
		if room := m.Body.(*Encoder).Room(); room != 512 {
			t.Errorf("%s: texts have room for %d tokens, want 512", family, room)
		}
	}
	if err := tensor.Try(func() { New(Config{Vocab: 256, Layers: 2, Width: 15, Heads: 2}) }); err == nil || !strings.Contains(err.Error(), "width 15 and 2 heads") {
		t.Errorf("got %v", err)
	}
}

// Contrast is the loss of sentence-transformers, and training by it brings together what belongs together.
func TestContrast(t *testing.T) {
	m := NewTable(256, 16, 1)
	ids := func(list ...string) tensor.Tensor {
		x, err := m.Tokens(list...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	a, b := ids("abc", "de", "x"), ids("ABC", "DE", "X")
	s := m.Similarity(m.Forward(a), m.Forward(b)).Mul(20)
	want := s.LogSoftmax(1).Mul(tensor.Eye(3)).Sum().Div(-3).Item()
	c := Contrast{Model: m}
	if got := c.Loss(a, b).Item(); math.Abs(got-want) > 1e-4 {
		t.Errorf("got %g, want %g", got, want)
	}
	_, err := train.Run(ctx, c, data.Pairs(a, b, 3), train.Options{Steps: 40, LR: optim.Constant(0.05)})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Loss(a, b).Item(); !(got < 0.05) {
		t.Errorf("after training the loss is %g, before it was %g", got, want)
	}
	if err := tensor.Try(func() { c.Loss(a, ids("a")) }); err == nil || !strings.Contains(err.Error(), "[3 3]") {
		t.Errorf("got %v", err)
	}
}
