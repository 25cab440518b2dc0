package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
)

// Texts that go on from a prefix, one after the other or side by side, are those without it, also when it was
// in a file meanwhile; it stays as it is.
func TestPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for name, m := range decoders() {
		for _, n := range []int{1, 60, 300} {
			begin := randomTokens(rng, n)
			var prompts, want [][]int
			for range 3 {
				prompt := slices.Concat(begin, randomTokens(rng, 1+rng.IntN(90)))
				ids, err := m.GenerateTokens(t.Context(), prompt, Sampling{Tokens: 9})
				if err != nil {
					t.Fatal(err)
				}
				prompts, want = append(prompts, prompt), append(want, ids)
			}
			prompts = append(prompts, slices.Clone(begin)) // nothing follows
			ids, _ := m.GenerateTokens(t.Context(), begin, Sampling{Tokens: 9})
			want = append(want, ids)
			made, err := m.PrefixTokens(t.Context(), begin, Sampling{})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "prefix.safetensors")
			if err := made.Save(path); err != nil {
				t.Fatal(err)
			}
			loaded, err := m.LoadPrefix(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			for kind, p := range map[string]*Prefix{"made": made, "loaded": loaded} {
				o := Sampling{Tokens: 9, Prefix: p}
				for i, prompt := range prompts {
					if got, err := m.GenerateTokens(t.Context(), prompt, o); err != nil || !slices.Equal(got, want[i]) {
						t.Errorf("%s, %s with %d tokens: got %v, %v, want %v", name, kind, n, got[len(prompt):], err, want[i][len(prompt):])
					}
				}
				got, err := m.GenerateBatchTokens(t.Context(), prompts, o)
				for i := range want {
					if err != nil || !slices.Equal(got[i], want[i]) {
						t.Errorf("%s, a batch of %s with %d tokens: got %v, %v, want %v", name, kind, n, got[i][len(prompts[i]):], err, want[i][len(prompts[i]):])
					}
				}
				if !slices.Equal(p.Tokens(), begin) || p.text.known != n-1 {
					t.Errorf("%s, %s: the prefix has changed", name, kind)
				}
			}
		}
	}
}

// A prefix spares the work of reading it.
func TestPrefixIsNotReadAgain(t *testing.T) {
	m := New(tiny())
	begin := make([]int, 1500)
	p, err := m.PrefixTokens(t.Context(), begin, Sampling{})
	if err != nil {
		t.Fatal(err)
	}
	flops := func(o Sampling) int64 {
		return profile.Record(t.Context(), func(ctx context.Context) {
			if _, err := m.GenerateTokens(ctx, append(slices.Clip(begin), 1, 2, 3), o); err != nil {
				t.Fatal(err)
			}
		}).Flops()
	}
	if with, without := flops(Sampling{Tokens: 1, Prefix: p}), flops(Sampling{Tokens: 1}); with > without/10 {
		t.Errorf("with a prefix: %d flops, without: %d", with, without)
	}
}

// A prefix of other tokens, of another model or of other weights is refused.
func TestPrefixRefuses(t *testing.T) {
	m := New(tiny())
	c := tiny()
	c.Seed = 8
	other := New(c)
	begin := randomTokens(rand.New(rand.NewPCG(1, 1)), 40)
	p, err := m.PrefixTokens(t.Context(), begin, Sampling{Cache: dtype.BF16})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "p.safetensors")
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := other.LoadPrefix(t.Context(), path); err == nil || !strings.Contains(err.Error(), path+": another model") {
		t.Errorf("a file of another model: got %v", err)
	}
	check := func(what string, m *Model, prompt []int, o Sampling, want string) {
		t.Helper()
		o.Tokens = 1
		if _, err := m.GenerateTokens(t.Context(), prompt, o); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	changed := slices.Clone(begin)
	changed[3]++
	check("other tokens", m, changed, Sampling{Prefix: p}, "token 3 of the prompt is not that of the prefix")
	check("a short prompt", m, begin[:10], Sampling{Prefix: p}, "token 10 of the prompt")
	check("another cut at its end", m, append(begin[:38:38], 1, 2, 3), Sampling{Prefix: p}, "")
	check("another model", other, begin, Sampling{Prefix: p}, "another model")
	check("another type", m, begin, Sampling{Prefix: p, Cache: dtype.I8}, "kept in bf16, want i8")
	if _, err := m.GenerateBatchTokens(t.Context(), [][]int{begin, changed}, Sampling{Prefix: p}); err == nil || !strings.Contains(err.Error(), "prompt 1: generate: token 3") {
		t.Errorf("a batch with other tokens: got %v", err)
	}
	nn.Params(m)[3].Value().Set(nn.Params(other)[3].Value())
	check("other weights", m, begin, Sampling{Prefix: p}, "other weights")
	p.Free()
	check("freed", m, begin, Sampling{Prefix: p}, "want it read again")
	if err := p.Save(path); err == nil {
		t.Error("a prefix that was freed was saved")
	}
}

// Damaged files of a prefix are errors that name the file, and never panics.
func TestDamagedPrefix(t *testing.T) {
	c := tiny()
	c.Layers, c.Width, c.Heads, c.KVHeads, c.Hidden = 1, 8, 2, 1, 8
	m := New(c)
	for _, kept := range []dtype.Type{dtype.F32, dtype.I8} {
		p, err := m.PrefixTokens(t.Context(), []int{1, 2, 3, 4}, Sampling{Cache: kept})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "p.safetensors")
		if err := p.Save(path); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		header := 8 + int(whole[0]) + int(whole[1])<<8
		rng := rand.New(rand.NewPCG(3, 4))
		wrong := 0
		for n := range 300 {
			text := slices.Clone(whole)
			switch n % 3 {
			case 0:
				text = text[:rng.IntN(len(text))]
			case 1:
				text[rng.IntN(header)] ^= 1 << rng.IntN(8)
			case 2: // a name, a shape or a type
				change := [][2]string{{"layers.0", "layers.1"}, {"F32", "I32"}, {"[1,3,4]", "[1,4,3]"}, {"[4]", "[3]"}, {"tokens", "probes"}, {"prefix 1", "prefix 2"}}[rng.IntN(6)]
				text = []byte(strings.Replace(string(text), change[0], change[1], 1+rng.IntN(2)))
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := m.LoadPrefix(t.Context(), path); err != nil {
				if wrong++; !strings.Contains(err.Error(), filepath.Base(path)) {
					t.Errorf("%v does not name the file", err)
				}
			}
		}
		if wrong < 250 {
			t.Errorf("%v: only %d of 300 are errors", kept, wrong)
		}
	}
}

// A talk gives the answers that whole conversations give, and reads only what is new.
func TestTalk(t *testing.T) {
	m := loaded(t, chatFolder)
	o := Sampling{Tokens: 12, Repetition: 1.2}
	talk := m.NewTalk()
	talk.Messages = []chat.Message{{Role: "system", Content: "a dog that helps " + strings.Repeat("everybody ", 20)}}
	var messages []chat.Message
	for i, say := range []string{"what is the fox?", "and the dog?", "again", "or"} {
		messages = append(slices.Clone(talk.Messages), chat.Message{Role: "user", Content: say})
		want, err := m.Chat(t.Context(), messages, o)
		if err != nil {
			t.Fatal(err)
		}
		read := -1
		if talk.text != nil {
			read = talk.text.known
		}
		var got string
		if i%2 == 0 {
			got, err = talk.Say(t.Context(), say, o)
		} else {
			for text, failed := range talk.Stream(t.Context(), say, o) {
				got, err = got+text, failed
			}
		}
		if err != nil || got != want || len(talk.Messages) != len(messages)+1 {
			t.Errorf("%d: got %q, %v, want %q", i, got, err, want)
		}
		if i == 1 && read < 60 {
			t.Errorf("only %d tokens are known when the second answer begins", read)
		}
		switch i {
		case 1: // another beginning
			talk.Messages[0].Content = "a fox."
		case 2: // other weights
			w := nn.Params(m)[1].Value()
			w.Set(w.Mul(1.5))
		}
	}
	if want := "system: a fox.\nuser: what is the fox?\nassistant: "; !strings.HasPrefix(talk.String(), want) {
		t.Errorf("got %q, want %q …", talk, want)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("enough"))
	before := len(talk.Messages)
	if _, err := talk.Say(ctx, "more", o); err == nil || len(talk.Messages) != before {
		t.Errorf("a ctx that is done: got %v and %d messages, want those of before", err, len(talk.Messages))
	}
	for range talk.Stream(t.Context(), "more", o) { // who does not listen has heard nothing
		break
	}
	if _, err := talk.Say(t.Context(), "more", o); err != nil || len(talk.Messages) != before+2 {
		t.Errorf("afterwards: got %v and %d messages", err, len(talk.Messages))
	}
}

// Several texts go on from a prefix at the same time.
func TestPrefixAtTheSameTime(t *testing.T) {
	m := New(tiny())
	begin := randomTokens(rand.New(rand.NewPCG(7, 7)), 100)
	p, err := m.PrefixTokens(t.Context(), begin, Sampling{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 6 {
		prompt := append(slices.Clone(begin), i, 2*i)
		want, err := m.GenerateTokens(t.Context(), prompt, Sampling{Tokens: 12})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if got, err := m.GenerateTokens(t.Context(), prompt, Sampling{Tokens: 12, Prefix: p}); err != nil || !slices.Equal(got, want) {
				t.Errorf("text %d: got %v, %v, want %v", i, got[100:], err, want[100:])
			}
		})
	}
	all.Wait()
}

// TestTalkInChannels: of an answer in channels the thought is a field of its message, which the template
// leaves out of what follows.
func TestTalkInChannels(t *testing.T) {
	text, err := os.ReadFile("../chat/testdata/real.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Templates []struct{ Name, Template string }
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	m := loaded(t, chatFolder)
	for _, one := range all.Templates {
		if one.Name == "gptoss" {
			m.conversation.templates["default"], err = chat.Parse(one.Name, one.Template)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	m.Config.Context = 1 << 13
	talk, o := m.NewTalk(), Sampling{Tokens: 2}
	messages, _, err := talk.ask(t.Context(), "what is the fox?", &o)
	if err != nil || !slices.Contains(o.Marks, "<|channel|>") {
		t.Fatalf("got marks %q, %v", o.Marks, err)
	}
	said := talk.read(o)("<|channel|>analysis<|message|>So.<|end|><|start|>assistant<|channel|>final<|message|>A dog.", true)
	talk.hear(messages, said, nil)
	next, err := m.ChatText(append(talk.Messages, chat.Message{Role: "user", Content: "and"}), chat.Options{})
	if want := "what is the fox?<|end|><|start|>assistant<|channel|>final<|message|>A dog.<|end|>"; err != nil || said.Text != "A dog." || said.Thought != "So." || !strings.Contains(next, want) {
		t.Errorf("got %+v and %q, %v, want in it %q", said, next, err, want)
	}
	answer, err := talk.Say(t.Context(), "and the dog?", Sampling{Tokens: 8}) // of a model that knows no marks
	if last := talk.Messages[len(talk.Messages)-1]; err != nil || answer == "" || last.Content != answer {
		t.Errorf("got %q, %v, and %+v", answer, err, last)
	}
}
