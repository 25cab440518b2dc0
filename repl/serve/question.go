package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/grammar"
	"github.com/mcs-notebook/mcs/engine/llm"
)

// A question is what a client asks of a model that generates text: what both routes have, what they have
// alone, what mcs has beside OpenAI's, and what says nothing about the answer.
type question struct {
	Model         string          `json:"model"`
	Stream        bool            `json:"stream"`
	StreamOptions *streaming      `json:"stream_options"`
	MaxTokens     *int            `json:"max_tokens"`
	N             *int            `json:"n"`
	Stop          json.RawMessage `json:"stop"`
	Seed          *int64          `json:"seed"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	Presence      *float64        `json:"presence_penalty"`
	Frequency     *float64        `json:"frequency_penalty"`
	LogitBias     map[int]float64 `json:"logit_bias"`
	LogProbs      json.RawMessage `json:"logprobs"` // a bool of chats, a number of completions

	Messages            []chat.Message `json:"messages"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	TopLogProbs         *int           `json:"top_logprobs"`
	ResponseFormat      *format        `json:"response_format"`

	Tools             []json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls any               `json:"parallel_tool_calls"`

	Effort any            `json:"reasoning_effort"`     // for the template
	Extra  map[string]any `json:"chat_template_kwargs"` // further variables of it

	Prompt json.RawMessage `json:"prompt"`
	Echo   bool            `json:"echo"`
	BestOf *int            `json:"best_of"`

	TopK       *int     `json:"top_k"`
	MinP       *float64 `json:"min_p"`
	Repetition *float64 `json:"repetition_penalty"`

	User             any `json:"user"`
	Store            any `json:"store"`
	Metadata         any `json:"metadata"`
	ServiceTier      any `json:"service_tier"`
	SafetyIdentifier any `json:"safety_identifier"`
	PromptCacheKey   any `json:"prompt_cache_key"`

	chat    bool
	scored  bool // tokens have log-probabilities
	top     int  // and so many of the best
	prompts []asked
	grammar *grammar.Grammar // of the answer; nil: any text
	form    *chat.Form       // of the answers of chats
	calls   bool             // it has calls
	tools   []chat.Tool
	forced  bool   // the answer is a call
	begin   string // what stands before it
	ends    string // of the prompt of a chat
}

type streaming struct {
	IncludeUsage       bool `json:"include_usage"`
	IncludeObfuscation any  `json:"include_obfuscation"`
}

// Asked is a prompt: its tokens, and its text where it is known.
type asked struct {
	ids  []int
	text string
}

// Limits of OpenAI's.
const (
	mostChoices = 128
	mostTop     = 20
	fewTokens   = 16 // of a completion that does not say how many
)

// understand reads what the raw parts mean, and refuses what means nothing.
func (q *question) understand(s *server) (err error) {
	if at := slices.Index(s.talkers(), q.Model); at < 0 {
		return noModel(q.Model, s.talkers())
	}
	n := q.choices()
	switch {
	case n < 1 || n > mostChoices:
		return wrong("n", "got %d, want 1 to %d", n, mostChoices)
	case q.BestOf != nil && *q.BestOf != n:
		return wrong("best_of", "got %d, want n", *q.BestOf)
	case !q.chat && q.Tools != nil:
		return wrong("tools", "they belong to /v1/chat/completions")
	case !q.chat && q.ResponseFormat != nil:
		return wrong("response_format", "it belongs to /v1/chat/completions")
	case q.chat && (q.Prompt != nil || q.Echo):
		return wrong("prompt", "it belongs to /v1/completions")
	case !q.chat && q.Messages != nil:
		return wrong("messages", "they belong to /v1/chat/completions")
	}
	if err := q.readLogProbs(); err != nil {
		return err
	}
	if q.grammar, err = q.ResponseFormat.grammar(s); err != nil {
		return err
	}
	if q.chat {
		q.form, q.calls = s.o.Model.AnswerForm()
	}
	if err := q.readTools(s); err != nil {
		return err
	}
	if q.chat {
		return q.readMessages(s.o.Model)
	}
	return q.readPrompts(s.o.Model)
}

func (q *question) choices() int {
	if q.N == nil {
		return 1
	}
	return *q.N
}

func (q *question) readLogProbs() error {
	if q.TopLogProbs != nil {
		q.top = *q.TopLogProbs
	}
	var err error
	switch given := len(q.LogProbs) > 0 && string(q.LogProbs) != "null"; {
	case !given:
	case q.chat:
		err = json.Unmarshal(q.LogProbs, &q.scored)
	default:
		q.scored = true
		err = json.Unmarshal(q.LogProbs, &q.top)
	}
	switch {
	case err != nil:
		return wrong("logprobs", "got %s, want a bool in chats, and a number for completions", q.LogProbs)
	case q.top < 0 || q.top > mostTop:
		return wrong("logprobs", "got %d best tokens, want 0 to %d", q.top, mostTop)
	case q.top > 0 && !q.scored:
		return wrong("top_logprobs", "got %d without logprobs", q.top)
	}
	return nil
}

func (q *question) readMessages(m *llm.Model) error {
	if len(q.Messages) == 0 {
		return wrong("messages", "got none, want at least one")
	}
	for i := range q.Messages {
		if err := q.flatten(&q.Messages[i]); err != nil {
			return wrong(fmt.Sprintf("messages[%d].content", i), "%v", err)
		}
	}
	o := chat.Options{Tools: q.Tools, Extra: map[string]any{}}
	maps.Copy(o.Extra, q.Extra)
	if q.Effort != nil {
		o.Extra["reasoning_effort"] = q.Effort
	}
	ids, err := m.ChatTokens(q.Messages, o)
	if err != nil {
		return wrong("messages", "%v", err)
	}
	q.ends = tail(m, ids)
	if q.grammar != nil && m.Tokenizer != nil {
		ids = append(ids, m.Tokenizer.Encode(q.form.Answering(q.ends, q.begin), false)...)
	}
	q.prompts = []asked{{ids: ids}}
	return nil
}

// tail is the text of the last tokens, marks and all.
func tail(m *llm.Model, ids []int) string {
	ids = ids[max(0, len(ids)-16):]
	if m.Tokenizer == nil {
		return strings.Join(words{m}.of(ids), "")
	}
	return m.Tokenizer.Decode(ids, true)
}

// reader finds thoughts and calls in an answer; nil: all of it is text.
func (q *question) reader() *chat.Reader {
	switch {
	case q.forced:
		return q.form.NewRequired(q.begin, q.tools)
	case !q.chat || q.grammar != nil:
		return nil
	}
	return q.form.NewReader(q.ends, q.tools)
}

// flatten makes one text of a message's parts, and gives its thought the names that templates have for it.
func (q *question) flatten(m *chat.Message) error {
	if len(m.Fields) == 0 {
		return nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(m.Fields, &fields); err != nil {
		return err
	}
	content := fields["content"]
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("[")) {
		var parts []struct{ Type, Text string }
		if err := json.Unmarshal(content, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			if p.Type != "text" {
				return fmt.Errorf("got a part of type %q, want text", p.Type)
			}
			m.Content += p.Text
		}
		delete(fields, "content")
	}
	if string(content) == "null" { // templates join it to texts
		delete(fields, "content")
	}
	calls, err := openCalls(fields["tool_calls"])
	switch {
	case err != nil:
		return err
	case calls != nil && !q.form.Texts():
		fields["tool_calls"] = calls
	case calls != nil && m.Content == "":
		fields["content"] = json.RawMessage("null")
	}
	thought := ""
	for _, name := range []string{"reasoning", "reasoning_content", "thinking"} {
		_ = json.Unmarshal(fields[name], &thought) // null and what is no text say nothing
	}
	if q.form.Channels() && fields["tool_calls"] != nil && thought != "" && m.Content != "" { // a call has one of them
		thought, m.Content = thought+"\n"+m.Content, ""
	}
	if thought != "" {
		fields["reasoning_content"], _ = json.Marshal(thought)
		fields["thinking"] = fields["reasoning_content"]
	}
	m.Fields = nil
	if len(fields) > 0 {
		m.Fields, _ = json.Marshal(fields)
	}
	return nil
}

// readPrompts reads a prompt, or several: texts or tokens.
func (q *question) readPrompts(m *llm.Model) error {
	var texts []string
	var tokens [][]int
	one, ids := "", []int(nil)
	switch {
	case json.Unmarshal(q.Prompt, &one) == nil && q.Prompt[0] == '"':
		texts = []string{one}
	case json.Unmarshal(q.Prompt, &texts) == nil:
	case json.Unmarshal(q.Prompt, &ids) == nil:
		texts, tokens = nil, [][]int{ids}
	case json.Unmarshal(q.Prompt, &tokens) == nil:
		texts = nil
	default:
		return wrong("prompt", "got no text, no list of texts, no tokens and no lists of tokens")
	}
	for i, text := range texts {
		ids, err := m.Encode(text)
		if err != nil {
			return wrong("prompt", "number %d: %v", i, err)
		}
		q.prompts = append(q.prompts, asked{ids, text})
	}
	for _, ids := range tokens {
		q.prompts = append(q.prompts, asked{ids, strings.Join(words{m}.of(ids), "")})
	}
	if len(q.prompts) == 0 || len(q.prompts)*q.choices() > mostChoices {
		return wrong("prompt", "got %d prompts with n %d, want 1 to %d together", len(q.prompts), q.choices(), mostChoices)
	}
	return nil
}

// sampling is how tokens are chosen: as the request says, else as the model's folder says.
func (q *question) sampling(m *llm.Model) (o llm.Sampling, err error) {
	o = m.Defaults
	o.Grammar, o.Bias = q.grammar, q.LogitBias
	if q.reader() != nil {
		o.Marks = q.form.Marks()
	}
	for id, x := range q.LogitBias {
		if id < 0 || id >= m.Config.Vocab || !(x >= -100 && x <= 100) {
			return o, wrong("logit_bias", "got %v for token %d, want −100 to 100 for one of %d tokens", x, id, m.Config.Vocab)
		}
	}
	for _, f := range []struct{ from, to *float64 }{
		{q.Temperature, &o.Temperature}, {q.TopP, &o.TopP}, {q.MinP, &o.MinP}, {q.Repetition, &o.Repetition},
		{q.Presence, &o.Presence}, {q.Frequency, &o.Frequency},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if q.TopK != nil {
		o.TopK = max(0, *q.TopK) // −1 is all, elsewhere
	}
	if o.Seed = rand.Uint64() | 1; q.Seed != nil {
		o.Seed = uint64(*q.Seed)
	}
	if len(q.Stop) > 0 && string(q.Stop) != "null" {
		one := ""
		if json.Unmarshal(q.Stop, &one) == nil {
			o.Stop = []string{one}
		} else if json.Unmarshal(q.Stop, &o.Stop) != nil {
			return o, wrong("stop", "got %s, want a text or a list of texts", q.Stop)
		}
	}
	return o, nil
}

// tokens is how many tokens an answer to a prompt may have.
func (q *question) tokens(s *server, prompt []int) (int, error) {
	asked, name := q.MaxTokens, "max_tokens"
	if q.MaxCompletionTokens != nil {
		asked, name = q.MaxCompletionTokens, "max_completion_tokens"
	}
	room := cmp.Or(s.o.Model.Config.Context, 1<<30) - len(prompt)
	switch {
	case asked != nil && *asked == 0 && q.Echo:
		return 0, nil
	case asked != nil && *asked < 1:
		return 0, wrong(name, "got %d, want at least 1", *asked)
	case asked != nil && *asked > s.o.Tokens:
		return 0, wrong(name, "got %d, want at most the %d of mcs serve --max-tokens", *asked, s.o.Tokens)
	case room < 1 || asked != nil && *asked > room:
		n := len(prompt)
		if asked != nil {
			n += *asked
		}
		return 0, &refusal{status: 400, Type: invalid, Param: name, Code: "context_length_exceeded",
			Message: fmt.Sprintf("the model's context is %d tokens, and the prompt of %d with the answer takes %d", s.o.Model.Config.Context, len(prompt), max(n, len(prompt)+1))}
	case asked != nil:
		return *asked, nil
	case !q.chat:
		return min(fewTokens, s.o.Tokens, room), nil
	}
	return min(s.o.Tokens, room), nil
}

// jobs are the texts that answer a question: n of each prompt.
func (q *question) jobs(ctx context.Context, s *server) ([]*job, error) {
	o, err := q.sampling(s.o.Model)
	if err != nil {
		return nil, err
	}
	row, wake := slices.Index(s.talkers(), q.Model), make(chan struct{}, 1)
	var list []*job
	for _, p := range q.prompts {
		own := o
		if own.Tokens, err = q.tokens(s, p.ids); err != nil {
			return nil, err
		}
		own.Tokens = max(1, own.Tokens) // a step makes a token: one that nobody asked for is left out
		for k := range q.choices() {
			own.Seed = o.Seed + uint64(k)
			r := llm.Request{Prompt: p.ids, Sampling: own, Row: row, LogProbs: q.scored, Top: q.top, Echo: q.Echo && q.scored}
			list = append(list, &job{ctx: ctx, request: r, index: len(list), wake: wake})
		}
	}
	return list, nil
}
