package llm

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/chat"
)

// testdata/chat was written by tests/peers/chat_folder.py with transformers.
const chatFolder = "testdata/chat"

type talk struct {
	Messages    []chat.Message
	Text        string
	IDs, Greedy []int
	Answer      string
}

func talks(t *testing.T) (list []talk) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chatFolder, "chats.json"))
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || len(list) == 0 {
		t.Fatal(len(list), err)
	}
	return list
}

func loaded(t *testing.T, dir string) *Model {
	t.Helper()
	m, err := Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A conversation becomes the text and the tokens that transformers make of it, and its answer is theirs.
func TestChatAsTransformers(t *testing.T) {
	m := loaded(t, chatFolder)
	o := Sampling{Tokens: 24, Repetition: m.Defaults.Repetition}
	for i, c := range talks(t) {
		if text, err := m.ChatText(c.Messages, chat.Options{AddGenerationPrompt: true}); err != nil || text != c.Text {
			t.Errorf("%d: got the text %q, %v, want %q", i, text, err, c.Text)
		}
		ids, err := m.ChatTokens(c.Messages, chat.Options{})
		if err != nil || !slices.Equal(ids, c.IDs) {
			t.Errorf("%d: got the tokens %v, %v, want %v", i, ids, err, c.IDs)
		}
		want := c.Greedy
		if slices.Contains(m.Stop, want[len(want)-1]) {
			want = want[:len(want)-1]
		}
		if got, err := m.GenerateTokens(t.Context(), ids, o); err != nil || !slices.Equal(got[len(ids):], want) {
			t.Errorf("%d: got %v, %v, want %v", i, got[len(ids):], err, want)
		}
		if answer, err := m.Chat(t.Context(), c.Messages, o); err != nil || answer != c.Answer {
			t.Errorf("%d: got the answer %q, %v, want %q", i, answer, err, c.Answer)
		}
		answer := ""
		for text, err := range m.StreamChat(t.Context(), c.Messages, o) {
			if answer += text; err != nil || !strings.Contains(c.Answer, text) {
				t.Errorf("%d: got the part %q, %v, of %q", i, text, err, c.Answer)
			}
		}
		if answer != c.Answer {
			t.Errorf("%d: got the answer %q part by part, want %q", i, answer, c.Answer)
		}
	}
}

// generation_config.json says how the makers of a model want tokens to be chosen.
func TestDefaults(t *testing.T) {
	want := Sampling{Temperature: 0.7, TopK: 20, TopP: 0.8, Repetition: 1.2}
	m := loaded(t, chatFolder)
	if got := m.Defaults; got.check() != nil || got.Temperature != want.Temperature || got.TopK != want.TopK || got.TopP != want.TopP || got.Repetition != want.Repetition {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !slices.Equal(m.Stop, []int{2, 5}) {
		t.Errorf("got the last tokens %v, want [2 5]", m.Stop)
	}
	m = loaded(t, chatWith(t, map[string]string{"generation_config.json": `{"temperature": 0.7, "eos_token_id": 3}`}))
	if m.Defaults.Temperature != 0 || !slices.Equal(m.Stop, []int{3}) {
		t.Errorf("without do_sample: got %+v, %v, want the best token each time", m.Defaults, m.Stop)
	}
	_, err := Load(t.Context(), chatWith(t, map[string]string{"generation_config.json": `{"do_sample": true, "top_p": 3}`}))
	if err == nil || !strings.Contains(err.Error(), "generation_config.json") || !strings.Contains(err.Error(), "top-p 3") {
		t.Errorf("got %v, want an error of the file about top-p", err)
	}
}

// chatWith copies the folder with other files; an empty one is left out.
func chatWith(t *testing.T, other map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	list, err := os.ReadDir(chatFolder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range list {
		content, err := os.ReadFile(filepath.Join(chatFolder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	maps.Copy(files, other)
	for name, content := range files {
		if content == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Templates stand in one of three files, alone or as a list with names.
func TestTemplatesOfAllForms(t *testing.T) {
	messages := []chat.Message{{Role: "user", Content: "hi"}}
	tools := chat.Options{Tools: []json.RawMessage{json.RawMessage(`{"type": "function"}`)}}
	config := func(template string) string {
		return `{"bos_token": {"content": "<b>", "special": true}, "pad_token": "<p>", "chat_template": ` + template + `}`
	}
	list := config(`[{"name": "default", "template": "one {{ bos_token }}{{ pad_token }}"}, {"name": "tool_use", "template": "tools"}]`)
	for _, c := range []struct {
		name  string
		files map[string]string
		o     chat.Options
		want  string // the text, or a part of the error
	}{
		{"jinja", map[string]string{"chat_template.jinja": "{{ messages[0].content }}!"}, chat.Options{}, "hi!"},
		{"a string", map[string]string{"tokenizer_config.json": config(`"{{ bos_token }}{{ eos_token is defined }}"`)}, chat.Options{}, "<b>False"},
		{"a list", map[string]string{"tokenizer_config.json": list}, chat.Options{}, "one <b><p>"},
		{"a list, with tools", map[string]string{"tokenizer_config.json": list}, tools, "tools"},
		{"the caller's tokens", map[string]string{"tokenizer_config.json": list}, chat.Options{BOS: "<c>"}, "one <c><p>"},
		{"json", map[string]string{"chat_template.json": `{"chat_template": "json"}`, "tokenizer_config.json": list}, chat.Options{}, "json"},
		{"jinja before all", map[string]string{"chat_template.jinja": "jinja", "tokenizer_config.json": list}, chat.Options{}, "jinja"},
		{"none", nil, chat.Options{}, "got a model without a chat template"},
		{"broken", map[string]string{"chat_template.jinja": "{% if %}"}, chat.Options{}, "chat_template.jinja:1:"},
		{"refused", map[string]string{"chat_template.jinja": "{{ raise_exception('no users') }}"}, chat.Options{}, "no users"},
	} {
		files := map[string]string{"chat_template.jinja": "", "tokenizer_config.json": ""}
		maps.Copy(files, c.files)
		text, err := loaded(t, chatWith(t, files)).ChatText(messages, c.o)
		if text != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %q, %v, want %q", c.name, text, err, c.want)
		}
	}
	for _, text := range []string{`{"chat_template": 3}`, `{"bos_token": []}`, `[`, `{"chat_template": [{"name": 1}]}`} {
		if _, err := Load(t.Context(), chatWith(t, map[string]string{"tokenizer_config.json": text})); err == nil || !strings.Contains(err.Error(), "tokenizer_config.json") {
			t.Errorf("%s: got %v, want an error that names the file", text, err)
		}
	}
}

// Damaged settings of a chat are errors that name the file, at once or when somebody chats, and never panics.
func TestDamagedChat(t *testing.T) {
	m := loaded(t, chatWith(t, map[string]string{"chat_template.json": `{"chat_template": [{"name": "default", "template": "{% for m in messages %}x{% endfor %}"}]}`}))
	whole := maps.Clone(m.files)
	messages := []chat.Message{{Role: "user", Content: "hi"}}
	rng := rand.New(rand.NewPCG(5, 6))
	names := []string{"tokenizer_config.json", "chat_template.json", "chat_template.jinja", "generation_config.json"}
	wrong := 0
	for n := range 600 {
		name := names[n%len(names)]
		text := bytes.Clone(whole[name])
		if n%3 == 0 {
			text = text[:rng.IntN(len(text))]
		} else {
			text[rng.IntN(len(text))] ^= 1 << rng.IntN(8)
		}
		m.files = maps.Clone(whole)
		m.files[name] = text
		if name == "chat_template.json" {
			delete(m.files, "chat_template.jinja")
		}
		m.conversation = conversation{}
		err := m.readSettings("dir")
		if err == nil {
			_, err = m.ChatText(messages, chat.Options{})
		}
		if err != nil {
			wrong++
			if !strings.Contains(err.Error(), "dir/"+name) && !strings.Contains(err.Error(), "without a chat template") {
				t.Errorf("%q: %v does not name %s", text, err, name)
			}
		}
	}
	if wrong < 100 {
		t.Errorf("only %d of 600 are errors", wrong)
	}
}
