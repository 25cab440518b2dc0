package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/embed"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/internal/local"
)

// served is the folder of a small model with a tokenizer and a chat template.
const served = "../../engine/llm/testdata/chat"

func load(t testing.TB) *llm.Model {
	t.Helper()
	m, err := llm.Load(context.Background(), served)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// start serves, and returns the address and what stops it.
func start(t testing.TB, o Options) (at string, stop func()) {
	t.Helper()
	if o.Host == "" {
		o.Host = local.Loopback
	}
	if o.Requests == 0 {
		o.Requests = 256
	}
	if o.Tokens == 0 {
		o.Tokens = 200
	}
	o.Log = io.Discard
	ctx, cancel := context.WithCancel(context.Background())
	l, err := local.Listen(local.Loopback, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, done := newServer(ctx, o), make(chan struct{})
	go func() {
		defer close(done)
		if err := s.serve(ctx, l); err != nil {
			t.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return "http://" + l.Addr().String(), stop
}

// A reply is what comes back of generated text or of a list, or an error.
type reply struct {
	Choices []struct {
		Text         string
		Message      said
		Delta        said
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
	Data []struct {
		ID        string
		Embedding []float32
	}
	Error *struct {
		Message, Type string
		Param, Code   any
	}
}

type said struct {
	Role, Content string
	Thought       string `json:"reasoning_content"`
	Calls         []call `json:"tool_calls"`
}

func post(t testing.TB, url, body string) (status int, r reply) {
	t.Helper()
	got, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if err := json.NewDecoder(got.Body).Decode(&r); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return got.StatusCode, r
}

// events are those of a stream, without the last one. When the first has come begun is called.
func events(t testing.TB, url, body string, begun ...func()) (list []reply) {
	t.Helper()
	got, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	lines := bufio.NewScanner(got.Body)
	ended := false
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if ended = text == "[DONE]"; ended || !ok {
			continue
		}
		var r reply
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
		if len(list) == 1 {
			for _, f := range begun {
				f()
			}
		}
	}
	return list
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// TestConcurrent: 32 requests that come at once, of different lengths and settings, streamed or not, of the
// model and its adapter, are answered as each would be alone.
func TestConcurrent(t *testing.T) {
	m := load(t)
	a, err := lora.Inject(m, lora.Config{Rank: 4, Alpha: 64, Init: lora.Random})
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]context.Context{"base": lora.With(t.Context()), "tuned": lora.With(t.Context(), a)}
	type asked struct{ body, want string }
	var list []asked
	for i := range 32 {
		model, prompt := "base", strings.Repeat("a fox ", 1+i%7)
		if i%3 == 0 {
			model = "tuned"
		}
		o := llm.Sampling{Tokens: 1 + i*3%41, Seed: uint64(i + 1)}
		if i%2 == 0 {
			o.Temperature, o.TopP = 0.9, 0.95
		}
		want, err := m.Generate(models[model], prompt, o)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, asked{fmt.Sprintf(`{"model": %q, "prompt": %q, "max_tokens": %d, "seed": %d, "temperature": %v, "top_p": %v, "top_k": 0, "min_p": 0, "repetition_penalty": 1, "stream": %v}`,
			model, prompt, o.Tokens, o.Seed, o.Temperature, o.TopP, i%4 == 1), strings.TrimPrefix(want, prompt)})
	}
	if list[0].want == list[1].want {
		t.Fatal("the adapter changes nothing")
	}
	at, _ := start(t, Options{Name: "base", Model: m, Adapters: []Adapter{{"tuned", a}}, Rows: 5})
	var all sync.WaitGroup
	for i, q := range list {
		all.Go(func() {
			got := ""
			if i%4 == 1 {
				for _, r := range events(t, at+"/v1/completions", q.body) {
					got += r.Choices[0].Text
				}
			} else if status, r := post(t, at+"/v1/completions", q.body); status == http.StatusOK {
				got = r.Choices[0].Text
			} else {
				t.Errorf("%s: %d %+v", q.body, status, r.Error)
			}
			if got != q.want {
				t.Errorf("%s: got %q, want %q", q.body, got, q.want)
			}
		})
	}
	all.Wait()
}

// TestChat: a conversation is answered as m.Chat answers it, in one part or in many, with usage.
func TestChat(t *testing.T) {
	m := load(t)
	want, err := m.Chat(t.Context(), []chat.Message{{Role: "user", Content: "a fox"}}, llm.Sampling{Tokens: 24})
	if err != nil {
		t.Fatal(err)
	}
	at, _ := start(t, Options{Name: "m", Model: m})
	const body = `{"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "a "}, {"type": "text", "text": "fox"}]}], "temperature": 0, "max_completion_tokens": 24`
	status, r := post(t, at+"/v1/chat/completions", body+"}")
	if status != http.StatusOK || r.Choices[0].Message.Content != want || r.Choices[0].Message.Role != "assistant" {
		t.Errorf("got %d %+v, want %q", status, r, want)
	}
	streamed := events(t, at+"/v1/chat/completions", body+`, "stream": true, "stream_options": {"include_usage": true}}`)
	text, last := "", streamed[len(streamed)-1]
	for _, e := range streamed[:len(streamed)-1] {
		text += e.Choices[0].Delta.Content
	}
	if text != want || len(last.Choices) != 0 || last.Usage == nil || *last.Usage != *r.Usage || streamed[0].Choices[0].Delta.Role != "assistant" {
		t.Errorf("streamed: got %q, at last %+v, want %q and usage %+v", text, last, want, r.Usage)
	}
	if end := streamed[len(streamed)-2].Choices[0].FinishReason; end != r.Choices[0].FinishReason || end == "" {
		t.Errorf("got the end %q, want %q", end, r.Choices[0].FinishReason)
	}
}

// TestEmbeddings: vectors are those that the model gives.
func TestEmbeddings(t *testing.T) {
	m, err := embed.Load(t.Context(), "../../engine/embed/testdata/bert")
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.Encode(t.Context(), "a fox", "the sea")
	if err != nil {
		t.Fatal(err)
	}
	at, _ := start(t, Options{EmbedName: "e", Embedder: m})
	status, r := post(t, at+"/v1/embeddings", `{"model": "e", "input": ["a fox", "the sea"]}`)
	if status != http.StatusOK || len(r.Data) != 2 || fmt.Sprint(append(r.Data[0].Embedding, r.Data[1].Embedding...)) != fmt.Sprint(v.Floats()) || r.Usage.Prompt < 4 {
		t.Errorf("got %d %+v, want %v", status, r, v.Floats())
	}
	if status, r := post(t, at+"/v1/completions", `{"model": "e", "prompt": "a"}`); status != http.StatusNotFound || r.Error.Code != "model_not_found" {
		t.Errorf("text of a model of vectors: got %d %+v", status, r)
	}
}

// TestRefusals: what is wrong with a request is said in OpenAI's form.
func TestRefusals(t *testing.T) {
	at, _ := start(t, Options{Name: "m", Model: load(t), Requests: 3, Tokens: 100})
	for _, c := range []struct {
		route, body string
		status      int
		param, says string
	}{
		{"completions", `{"model": "n", "prompt": "a"}`, 404, "model", `model: got "n", want one of: m`},
		{"completions", `{"model": "m", "prompt": ""}`, 400, "prompt", "empty prompt"},
		{"completions", `{"model": "m", "prompt": 5}`, 400, "prompt", "got no text"},
		{"completions", `{"model": "m", "prompt": [[900]]}`, 400, "<nil>", "got token 900"},
		{"completions", `{"model": "m", "prompt": "a", "max_tokens": 0}`, 400, "max_tokens", "want at least 1"},
		{"completions", `{"model": "m", "prompt": "a", "max_tokens": 101}`, 400, "max_tokens", "want at most the 100 of"},
		{"completions", `{"model": "m", "prompt": "a", "temperature": -1}`, 400, "<nil>", "got temperature -1"},
		{"completions", `{"model": "m", "prompt": "a", "n": 4}`, 429, "<nil>", "try again later"},
		{"completions", `{"model": "m", "prompt": "a", "n": 0}`, 400, "n", "want 1 to 128"},
		{"completions", `{"model": "m", "prompt": "a", "logprobs": 21}`, 400, "logprobs", "want 0 to 20"},
		{"completions", `{"model": "m", "prompt": "a", "suffix": "b"}`, 400, "suffix", "not known"},
		{"completions", `{"model": "m", "prompt": "a", "max_tokens": "x"}`, 400, "max_tokens", "got a string"},
		{"completions", `{"model": "m", "prompt": "a", "stop": 3}`, 400, "stop", "want a text or a list"},
		{"completions", `{"model": "m"`, 400, "<nil>", "unexpected EOF"},
		{"completions", `{"model": "m", "prompt": ` + quoted(strings.Repeat("fox ", 400)) + `}`, 400, "max_tokens", "context is 256 tokens"},
		{"chat/completions", `{"model": "m", "messages": []}`, 400, "messages", "got none"},
		{"chat/completions", `{"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`, 400, "messages[0].content", "image_url"},
		{"chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "a"}], "response_format": {"type": "xml"}}`, 400, "response_format", "want text, json_object"},
		{"chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "a"}], "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"not": {}}}}}`, 400, "response_format", `schema at #: got the keyword "not"`},
		{"chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "a"}], "response_format": {"type": "json_schema"}}`, 400, "response_format", "no json_schema"},
		{"chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "a"}], "top_logprobs": 2}`, 400, "top_logprobs", "without logprobs"},
		{"embeddings", `{"model": "m", "input": "a"}`, 404, "model", "want one of"},
		{"audio/speech", `{}`, 404, "<nil>", "not served"},
	} {
		status, r := post(t, at+"/v1/"+c.route, c.body)
		if status != c.status || r.Error == nil || !strings.Contains(r.Error.Message, c.says) || fmt.Sprint(r.Error.Param) != c.param {
			t.Errorf("%.90s: got %d %+v, want %d, param %s, %q", c.body, status, r.Error, c.status, c.param, c.says)
		}
	}
	if status, r := post(t, at+"/v1/completions", `{"model": "m", "prompt": "a"}`); status != http.StatusOK {
		t.Errorf("after the refusals: got %d %+v", status, r.Error)
	}
}

// TestGuard: who may ask.
func TestGuard(t *testing.T) {
	m := load(t)
	open, _ := start(t, Options{Name: "m", Model: m})
	closed, _ := start(t, Options{Name: "m", Model: m, Token: "secret"})
	elsewhere := newServer(t.Context(), Options{Host: "0.0.0.0"})
	if elsewhere.open || len(elsewhere.o.Token) < 20 {
		t.Errorf("off the loopback address: got open %v, token %q, want a random one", elsewhere.open, elsewhere.o.Token)
	}
	for _, c := range []struct {
		at, host, origin, key string
		status                int
	}{
		{open, "", "", "", 200}, {open, "localhost:1", "", "", 200}, {open, "evil.example", "", "", 421}, {open, "", "http://evil.example", "", 403},
		{closed, "", "", "", 401}, {closed, "", "", "Bearer wrong", 401}, {closed, "evil.example", "", "Bearer secret", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.at+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		for name, value := range map[string]string{"Origin": c.origin, "Authorization": c.key} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != c.status {
			t.Errorf("%+v: got %d", c, got.StatusCode)
		}
	}
}

// slow is a model whose answers take long.
func slow() *llm.Model {
	m := llm.New(llm.Config{Vocab: 256, Layers: 4, Width: 128, Heads: 4, KVHeads: 2, Hidden: 256, Context: 1 << 20})
	nn.Freeze(m)
	return m
}

// TestLeaving: a client that leaves frees its place, a server that ends says so to those who wait, and so
// does one whose limit of time has passed.
func TestLeaving(t *testing.T) {
	o := Options{Name: "m", Model: slow(), Rows: 1, Requests: 1, Tokens: 1 << 19}
	at, stop := start(t, o)
	const long = `{"model": "m", "prompt": "a", "max_tokens": 500000, "stream": true}`
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/v1/completions", strings.NewReader(long))
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := got.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if status, _ := post(t, at+"/v1/completions", `{"model": "m", "prompt": "a", "max_tokens": 1}`); status != http.StatusTooManyRequests {
		t.Errorf("while it grows: got %d, want 429", status)
	}
	leave()
	got.Body.Close()
	free := false
	for range 200 {
		if status, _ := post(t, at+"/v1/completions", `{"model": "m", "prompt": "a", "max_tokens": 1}`); status == http.StatusOK {
			free = true
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !free {
		t.Error("the place of a client that has left is not free")
	}
	list := events(t, at+"/v1/completions", long, func() { go stop() })
	if last := list[len(list)-1]; last.Error == nil || last.Error.Code != "stopped" {
		t.Errorf("the server ends: got %+v at last", last)
	}
	o.Timeout = 200 * time.Millisecond
	at, _ = start(t, o)
	if status, r := post(t, at+"/v1/completions", strings.Replace(long, "true", "false", 1)); status != http.StatusGatewayTimeout || r.Error.Code != "timeout" {
		t.Errorf("a limit of time: got %d %+v", status, r.Error)
	}
}

// BenchmarkServe asks for texts of 64 tokens, so many at once. One after the other is what alone says.
func BenchmarkServe(b *testing.B) {
	m := llm.New(llm.Config{Vocab: 256, Layers: 4, Width: 512, Heads: 8, KVHeads: 2, Hidden: 1408})
	nn.Freeze(m)
	at, _ := start(b, Options{Name: "m", Model: m})
	ask := func(n int) {
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				if status, r := post(b, at+"/v1/completions", `{"model": "m", "prompt": "once upon a time", "max_tokens": 64, "temperature": 0}`); status != http.StatusOK {
					b.Errorf("got %d %+v", status, r.Error)
				}
			})
		}
		all.Wait()
	}
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ask(n)
			for b.Loop() {
				ask(n)
			}
			b.ReportMetric(float64(64*n*b.N)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}
