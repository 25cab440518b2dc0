package data

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/tokenizer"
)

// tokenCases is testdata/tokens.json, which tests/peers/data_files.py writes.
type tokenCases struct {
	Templates map[string]string
	Cases     []struct {
		Template  string
		Record    json.RawMessage
		Sequences []struct{ IDs, Labels []int }
	}
}

func readTokenCases(t *testing.T) (c tokenCases, tok *tokenizer.Tokenizer) {
	t.Helper()
	text, err := os.ReadFile("testdata/tokens.json")
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil {
		tok, err = tokenizer.Load("testdata/tokenizer.json")
	}
	if err != nil || len(c.Cases) < 50 {
		t.Fatalf("%d cases, error %v", len(c.Cases), err)
	}
	return c, tok
}

// Tokens and what counts of them are those of TRL and transformers.
func TestTokensArePeers(t *testing.T) {
	cases, tok := readTokenCases(t)
	templates := map[string]*chat.Template{}
	for name, text := range cases.Templates {
		tmpl, err := chat.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		templates[name] = tmpl
	}
	for _, c := range cases.Cases {
		path := filepath.Join(t.TempDir(), "one.jsonl")
		if err := os.WriteFile(path, c.Record, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := ReadRecords(path)
		if err != nil {
			t.Errorf("%s %s: %v", c.Template, c.Record, err)
			continue
		}
		s, err := Tokens{Tokenizer: tok, Template: templates[c.Template], BOS: "<s>", EOS: "</s>"}.Of(t.Context(), d)
		counted := 0
		for _, want := range c.Sequences {
			for _, label := range want.Labels[min(1, len(want.Labels)):] {
				if label != Ignored {
					counted++
				}
			}
		}
		if counted == 0 {
			if err == nil || !strings.Contains(err.Error(), "1 record without a token that counts") {
				t.Errorf("%s %s: nothing counts: got %v, error %v", c.Template, c.Record, s, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.Template, c.Record, err)
			continue
		}
		for way, want := range c.Sequences {
			ids := s.store.at(s.list[0] + way)
			var got, labels []int
			for _, id := range ids {
				if got = append(got, int(max(id, -1-id))); id < 0 {
					id = Ignored
				}
				labels = append(labels, int(id))
			}
			if !slices.Equal(got, want.IDs) || !slices.Equal(labels, want.Labels) {
				t.Errorf("%s %s, sequence %d: got %q\nids %v\nwant %v\nlabels %v\nwant   %v", c.Template, c.Record, way, s.Show(0), got, want.IDs, labels, want.Labels)
			}
		}
	}
}

// chatML writes turns in brackets.
func chatML(t testing.TB) *chat.Template {
	t.Helper()
	tmpl, err := chat.Parse("chatml", "{% for m in messages %}<{{ m.role }}>{{ m.content }}|{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// What counts stands in brackets: all of a text, the completion of a prompt, what the assistant says.
func TestShow(t *testing.T) {
	for _, c := range []struct {
		name, line string
		o          Tokens
		want       string
	}{
		{"text", `{"text": "größer"}`, Tokens{EOS: "."}, "⟦größer.⟧"},
		{"completion", `{"prompt": "2+2=", "completion": "4"}`, Tokens{EOS: "."}, "2+2=⟦4.⟧"},
		{"completion, all", `{"prompt": "2+2=", "completion": "4"}`, Tokens{EOS: ".", Prompts: true}, "⟦2+2=4.⟧"},
		{"completion as a chat", `{"prompt": "2+2=", "completion": "4"}`, Tokens{EOS: ".", Chat: true}, "<user>2+2=|<assistant>⟦4|⟧"},
		{"chat", `{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]}`,
			Tokens{}, "<user>a|<assistant>⟦b|⟧<user>c|<assistant>⟦d|⟧"},
		{"two turns of the assistant", `{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "assistant", "content": "d"}]}`,
			Tokens{}, "<user>a|<assistant>⟦b|<assistant>d|⟧"},
		{"cut", `{"prompt": "2+2=", "completion": "12345678"}`, Tokens{Length: 7}, "2+2=⟦1234⟧"},
		{"ShareGPT", `{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}`, Tokens{}, "<user>a|<assistant>⟦b|⟧"},
		{"preference", `{"prompt": "a", "chosen": "b", "rejected": "c"}`, Tokens{}, "a⟦b⟧\n--- rejected\na⟦c⟧"},
		{"preference without a prompt", `{"chosen": "größe: a", "rejected": "größe: ä"}`, Tokens{}, "größe:⟦ a⟧\n--- rejected\ngröße:⟦ ä⟧"},
	} {
		c.o.Template = chatML(t)
		dir := folder(t, map[string]string{"one.jsonl": c.line})
		d, err := ReadRecords(filepath.Join(dir, "one.jsonl"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		s, err := c.o.Of(t.Context(), d)
		if err != nil || s.Show(0) != c.want {
			t.Errorf("%s: got %q, error %v, want %q", c.name, s.Show(0), err, c.want)
		}
	}
}

// A turn that the template writes in another way later does not count, and is counted.
func TestRewrittenAnswers(t *testing.T) {
	tmpl, err := chat.Parse("thoughts", "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and loop.last %}(thinks){% endif %}{{ m.content }}|{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"a.jsonl": `{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]}`})
	d, err := ReadRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Tokens{Template: tmpl}.Of(t.Context(), d)
	if err != nil || s.Show(0) != "<user>a|<assistant>b|<user>c|<assistant>⟦(thinks)d|⟧" || s.Rewritten != 1 || !strings.Contains(s.String(), "1 answer that the template rewrites later") {
		t.Errorf("got %q, %v, error %v", s.Show(0), s, err)
	}
}

// Reasoning models' templates end a prompt with a thought that answers in a conversation do not have, or have
// in another way. An answer counts from where the two part.
func TestPromptIsNoPrefix(t *testing.T) {
	chats := `{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]}`
	const turn = "{% for m in messages %}<{{ m.role }}>"
	for _, c := range []struct{ name, template, line, want string }{
		{"DeepSeek's R1", turn + "{{ m.content }}|{% endfor %}{% if add_generation_prompt %}<assistant><think>\n{% endif %}", chats,
			"<user>a|<assistant>⟦b|⟧<user>c|<assistant>⟦d|⟧"},
		{"GLM 4.7", turn + "{% if m.role == 'assistant' %}</think>{% endif %}{{ m.content }}|{% endfor %}{% if add_generation_prompt %}<assistant><think>{% endif %}", chats,
			"<user>a|<assistant><⟦/think>b|⟧<user>c|<assistant><⟦/think>d|⟧"},
		{"a character in two", turn + "{{ m.content }}|{% endfor %}{% if add_generation_prompt %}<assistant>ä{% endif %}",
			`{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "ö"}]}`, "<user>a|<assistant>⟦ö|⟧"},
		{"a prompt of its own", turn + "{{ m.content }}|{% endfor %}{% if add_generation_prompt %}[answer]{% endif %}", chats,
			"<user>a|⟦<assistant>b|⟧<user>c|⟦<assistant>d|⟧"},
	} {
		tmpl, err := chat.Parse(c.name, c.template)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ReadRecords(folder(t, map[string]string{"a.jsonl": c.line}))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Tokens{Template: tmpl}.Of(t.Context(), d)
		if err != nil || s.Show(0) != c.want || s.Rewritten != 0 {
			t.Errorf("%s: got %q, %v, want %q", c.name, s.Show(0), err, c.want)
		}
	}
}

// Where a span begins inside of a token, the token belongs to it; where it ends inside of one, it does not.
func TestPlaces(t *testing.T) {
	_, tok := readTokenCases(t)
	o := Tokens{Tokenizer: tok}
	for _, text := range []string{"<|im_start|>user\nrow<|im_end|>\n<|im_start|>assistant\nthe gradient<|im_end|>", "the gradient of the tensor"} {
		ids := o.tokens(text, false)
		for from := range text {
			for to := from; to <= len(text); to++ {
				before, through := common(o.tokens(text[:from], false), ids), common(o.tokens(text[:to], false), ids)
				if got := o.places(text, []chat.Span{{From: from, To: to}}, ids); got[0] != before || got[1] != through {
					t.Fatalf("%q: got places %v of %q, want %d and %d", text, got, text[from:to], before, through)
				}
			}
		}
	}
}

// Texts that are too long are cut, or go on: each token is a target once.
func TestLongTexts(t *testing.T) {
	dir := folder(t, map[string]string{"a.jsonl": `{"text": "abcdefghij"}` + "\n" + `{"text": "kl"}`})
	d, err := ReadRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		wrap bool
		want []string
		cut  int
	}{{false, []string{"abcd", "kl"}, 6}, {true, []string{"abcd", "defg", "ghij", "kl"}, 0}} {
		s, err := Tokens{Length: 3, Wrap: c.wrap}.Of(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range s.Len() {
			ids, _ := s.At(i)
			got = append(got, s.text(ids))
		}
		if !slices.Equal(got, c.want) || s.CutTokens != c.cut || s.Cut != min(1, c.cut) {
			t.Errorf("wrap %v: got %q, %d tokens cut of %d records, want %q", c.wrap, got, s.CutTokens, s.Cut, c.want)
		}
	}
}

// What was cut off is told of the first part of a split, too.
func TestSplitTellsWhatWasCut(t *testing.T) {
	d, err := ReadRecords(folder(t, map[string]string{"a.jsonl": strings.Repeat(`{"text": "abcdefghij"}`+"\n", 4)}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Tokens{Length: 3}.Of(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	first, rest := s.Split(0.5, 1)
	if got := first.Padded(1).String(); !strings.Contains(got, "4 records cut by 24 tokens") || strings.Contains(rest.String(), "cut") {
		t.Errorf("got %s, and %v", got, rest)
	}
}

func TestTokensRefused(t *testing.T) {
	_, tok := readTokenCases(t)
	raising, err := chat.Parse("strict", "{{ raise_exception('roles must alternate') }}")
	if err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	text, messages := `{"text": "a"}`, `{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}`
	for _, c := range []struct {
		line string
		o    Tokens
		ctx  context.Context
		want string
	}{
		{text, Tokens{Length: -1}, t.Context(), "got length -1, want at least 1"},
		{text, Tokens{Tokenizer: tok, EOS: "<eos>"}, t.Context(), `got EOS "<eos>", which is no token of the tokenizer`},
		{text, Tokens{}, done, "context canceled"},
		{text, Tokens{Chat: true}, t.Context(), "text records need a chat template"},
		{text, Tokens{}, t.Context(), "no record gives a sequence with a token that counts: 0 sequences"},
		{messages, Tokens{}, t.Context(), "chat records need a chat template: set Template"},
		{messages, Tokens{Wrap: true, Template: raising}, t.Context(), "got Wrap for chat records, want text"},
		{messages, Tokens{Template: raising}, t.Context(), "a.jsonl:1: chat: strict:1: roles must alternate"},
		{`{"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]}`, Tokens{}, t.Context(), "a.jsonl:1: the record has messages: set Template"},
	} {
		d, err := ReadRecords(folder(t, map[string]string{"a.jsonl": c.line}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.o.Of(c.ctx, d); err == nil || !strings.HasPrefix(err.Error(), "data: tokens: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.line, err, c.want)
		}
	}
}
