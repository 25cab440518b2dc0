package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/llm"
)

type object = map[string]any

// An answer collects the choices of a question, or streams them.
type answer struct {
	q        *question
	words    words
	id       string
	created  int64
	choices  []*choice
	w        http.ResponseWriter
	begun    bool // the stream
	noTokens bool // only the prompt comes back
}

// A choice is one text of an answer.
type choice struct {
	text string
	said []llm.Token
	end  llm.End
	made int // tokens
	at   int // characters of the completion's tokens so far

	thought string
	calls   []chat.Call
	reader  *chat.Reader // nil: all is text
}

// completions answers both routes of generated text.
func (s *server) completions(chat bool) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := &question{chat: chat}
		if err := read(w, r, q); err != nil {
			return err
		}
		if err := q.understand(s); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(r.Context())
		if s.o.Timeout > 0 {
			ctx, cancel = context.WithTimeout(r.Context(), s.o.Timeout)
		}
		defer cancel()
		jobs, err := q.jobs(ctx, s)
		if err != nil {
			return err
		}
		done, err := s.admit(jobs)
		if err != nil {
			return err
		}
		defer done()
		a := newAnswer(q, words{s.o.Model}, jobs, w)
		err = s.follow(ctx, jobs, a.add)
		if !q.Stream {
			if err == nil {
				send(w, http.StatusOK, a.whole())
			}
			return err
		}
		return a.finish(err)
	}
}

func newAnswer(q *question, words words, jobs []*job, w http.ResponseWriter) *answer {
	id := "cmpl-"
	if q.chat {
		id = "chatcmpl-"
	}
	a := &answer{q: q, words: words, id: id + rand.Text(), created: time.Now().Unix(), w: w}
	a.noTokens = q.Echo && q.MaxTokens != nil && *q.MaxTokens == 0
	for range jobs {
		a.choices = append(a.choices, &choice{reader: q.reader()})
	}
	return a
}

// add takes what is new of a text.
func (a *answer) add(j *job, u update) error {
	c := a.choices[j.index]
	var part choice
	if a.q.Echo && c.made == 0 && c.text == "" {
		part.text, part.said = a.q.prompts[j.index/a.q.choices()].text, u.read
	}
	for _, t := range u.fresh {
		if t.ID >= 0 {
			c.made++
		}
		if a.noTokens {
			continue
		}
		part.text += t.Text
		if t.ID >= 0 {
			part.said = append(part.said, t)
		}
	}
	part.end = u.end
	if c.reader != nil {
		said := c.reader.Take(part.text, u.end != "")
		part.text, part.thought, part.calls = said.Text, said.Thought, said.Calls
		if part.calls != nil {
			part.end = "tool_calls"
		}
	}
	c.end, c.calls = part.end, part.calls
	if a.noTokens {
		c.made = 0
	}
	if a.q.Stream {
		return a.stream(j.index, &part)
	}
	c.text += part.text
	c.thought += part.thought
	c.said = append(c.said, part.said...)
	return nil
}

// head is what answers and their parts begin with.
func (a *answer) head(kind string) object {
	return object{"id": a.id, "object": kind, "created": a.created, "model": a.q.Model, "system_fingerprint": nil}
}

// whole is the answer that is not streamed.
func (a *answer) whole() object {
	reply := a.head("text_completion")
	if a.q.chat {
		reply = a.head("chat.completion")
	}
	var list []object
	for i, c := range a.choices {
		o := object{"index": i, "finish_reason": c.end, "logprobs": a.logProbs(c, c.said)}
		if a.q.chat {
			m := object{"role": "assistant", "content": c.text, "refusal": nil}
			if c.thought != "" {
				m["reasoning_content"] = c.thought
			}
			if c.calls != nil {
				m["tool_calls"] = asCalls(c.calls)
				if c.text = strings.TrimSpace(c.text); c.text == "" {
					m["content"] = nil
				}
			}
			o["message"] = m
		} else {
			o["text"] = c.text
		}
		list = append(list, o)
	}
	reply["choices"], reply["usage"] = list, a.usage()
	return reply
}

func (a *answer) usage() object {
	prompt, made := 0, 0
	for _, p := range a.q.prompts {
		prompt += len(p.ids)
	}
	for _, c := range a.choices {
		made += c.made
	}
	return object{"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}
}

// stream sends a part of a choice.
func (a *answer) stream(index int, part *choice) error {
	c := a.choices[index]
	o := object{"index": index, "finish_reason": nil, "logprobs": a.logProbs(c, part.said)}
	if part.end != "" {
		o["finish_reason"] = part.end
	}
	if !a.q.chat {
		o["text"] = part.text
		return a.event(a.part(o))
	}
	delta := object{"content": part.text}
	if part.thought != "" {
		delta["reasoning_content"] = part.thought
	}
	if calls := asCalls(part.calls); calls != nil {
		for i := range calls {
			calls[i].Index = &i
		}
		delta["tool_calls"] = calls
	}
	if c.at == 0 {
		c.at = 1
		delta["role"] = "assistant"
	}
	o["delta"] = delta
	return a.event(a.part(o))
}

// part is a part of the stream.
func (a *answer) part(choices ...object) object {
	reply := a.head("text_completion")
	if a.q.chat {
		reply = a.head("chat.completion.chunk")
	}
	if choices == nil {
		choices = []object{}
	}
	reply["choices"] = choices
	if a.q.StreamOptions != nil && a.q.StreamOptions.IncludeUsage {
		reply["usage"] = nil
	}
	return reply
}

// event sends an event of the stream.
func (a *answer) event(o any) error {
	if !a.begun {
		a.begun = true
		h := a.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
	}
	text, err := json.Marshal(o)
	if err == nil {
		_, err = fmt.Fprintf(a.w, "data: %s\n\n", text)
	}
	if err == nil {
		err = http.NewResponseController(a.w).Flush()
	}
	return err
}

// finish ends the stream. An error before its beginning is one of the request.
func (a *answer) finish(err error) error {
	if err != nil {
		if !a.begun {
			return err
		}
		_ = a.event(object{"error": refused(err)}) // a lost connection fails the write
		return nil
	}
	if a.q.StreamOptions != nil && a.q.StreamOptions.IncludeUsage {
		last := a.part()
		last["usage"] = a.usage()
		err = a.event(last)
	}
	if err == nil {
		fmt.Fprint(a.w, "data: [DONE]\n\n")
	}
	return nil
}

// logProbs are the log-probabilities of tokens, as the route has them; nil where none were asked for.
func (a *answer) logProbs(c *choice, said []llm.Token) any {
	switch {
	case !a.q.scored:
		return nil
	case a.q.chat:
		list := []object{}
		for _, t := range said {
			o, top := a.words.likely(t), []object{}
			for _, best := range t.Top {
				top = append(top, a.words.likely(best))
			}
			o["top_logprobs"] = top
			list = append(list, o)
		}
		return object{"content": list, "refusal": nil}
	}
	tokens, probs, tops, offsets := []string{}, []any{}, []any{}, []int{}
	for _, t := range said {
		name := a.words.name(t.ID)
		tokens, offsets = append(tokens, name), append(offsets, c.at)
		c.at += utf8.RuneCountInString(name)
		if t.Top == nil && t.LogProb == 0 { // the first one of a prompt
			probs, tops = append(probs, nil), append(tops, nil)
			continue
		}
		best := object{name: finite(t.LogProb)}
		for _, b := range t.Top {
			if _, has := best[a.words.name(b.ID)]; !has {
				best[a.words.name(b.ID)] = finite(b.LogProb)
			}
		}
		probs, tops = append(probs, finite(t.LogProb)), append(tops, best)
	}
	return object{"tokens": tokens, "token_logprobs": probs, "top_logprobs": tops, "text_offset": offsets}
}

// words are the texts of a model's tokens.
type words struct{ m *llm.Model }

// bytes are those of a token; nil of one that marks something.
func (w words) bytes(id int) []byte {
	if w.m.Tokenizer == nil {
		return []byte{byte(id)}
	}
	return w.m.Tokenizer.Bytes(id)
}

// name is what a token is called: its text, or "bytes:\xe2" where it is part of a character.
func (w words) name(id int) string {
	b := w.bytes(id)
	switch {
	case b == nil && w.m.Tokenizer != nil:
		return w.m.Tokenizer.Token(id)
	case utf8.Valid(b):
		return string(b)
	}
	var s strings.Builder
	s.WriteString("bytes:")
	for _, c := range b {
		fmt.Fprintf(&s, `\x%02x`, c)
	}
	return s.String()
}

// of are the texts of tokens.
func (w words) of(ids []int) (list []string) {
	for _, id := range ids {
		list = append(list, string(w.bytes(id)))
	}
	return list
}

// likely is a token with its log-probability, as chats have it.
func (w words) likely(t llm.Token) object {
	var list []int
	for _, b := range w.bytes(t.ID) {
		list = append(list, int(b))
	}
	return object{"token": w.name(t.ID), "logprob": finite(t.LogProb), "bytes": list}
}

// finite is a log-probability as JSON can say it: that of what cannot be is OpenAI's −9999.
func finite(x float64) float64 {
	if x >= -9999 {
		return x
	}
	return -9999
}
