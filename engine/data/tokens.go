package data

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/tokenizer"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// A Speaker is a model that knows how it turns text into tokens: *llm.Model.
type Speaker interface {
	// Speaks returns the tokenizer, nil where a token is a byte, and the special tokens.
	Speaks() (*tokenizer.Tokenizer, chat.Options)
	// ChatTemplate is that for conversations, or for those in which tools can be called.
	ChatTemplate(tools bool) (*chat.Template, error)
}

// Tokens says how records become tokens, and which of them a model learns to say.
//
//   - Of a text all tokens count, and EOS follows it.
//   - Of a prompt and its completion the completion's tokens count, and EOS follows. The completion begins
//     where the tokens of both together are others than those of the prompt alone, so that a token that
//     holds characters of both counts. With messages in place of texts the template writes both.
//   - Of a chat the assistant's turns count: what the template marks by {% generation %}, or, for a template
//     without such marks, what a turn adds to the conversation before it with AddGenerationPrompt. Where that
//     ends with what the turn does not begin with, as a thought that it begins, the turn counts from where
//     they part. A turn that the template writes in another way once a further one follows (as thoughts are
//     left out later) does not count, and is counted in Sequences.Rewritten.
//   - Of a preference both answers become a sequence each, as completions of the prompt. Where the record
//     has no prompt, it is what chosen and rejected have in common at their beginning.
//
// Sequences are cut at their end. One in which no token is left that counts is left out, and counted.
type Tokens struct {
	Model Speaker // gives tokenizer, template and special tokens; nil: they are those of the next fields

	Tokenizer *tokenizer.Tokenizer // nil: the model's, or a token is a byte
	Template  *chat.Template       // for messages; nil: the model's
	BOS, EOS  string               // texts of the tokens that begin and end a text; empty: the model's, or none

	Length int // inputs of the longest sequence; 0: 2048
	// Prompts lets all tokens count, those of prompts and of what others say, too.
	Prompts bool
	// Wrap goes on with the rest of a text that is too long in further sequences. Only of texts.
	Wrap bool
	// Chat takes a prompt and its completion as a turn of the user and one of the assistant, for the
	// template.
	Chat bool
	// Cache is a folder in which Of keeps the tokens of records of at least 1 MiB, so that the next call
	// needs no tokenizer; it is made if it is not there. A file serves as long as the records' files have the
	// same bytes, and tokenizer, template, options and program are the same; the four used last are kept.
	// Empty, or with a template that writes the time: nothing is kept.
	Cache string

	tools *chat.Template // for conversations with tools
	extra map[string]any // variables of the template that the model knows
}

// asked fills in what the model says.
func (o Tokens) asked(d *Dataset) (Tokens, error) {
	o.Length = cmp.Or(o.Length, 2048)
	if o.Model == nil {
		return o, nil
	}
	t, special := o.Model.Speaks()
	o.extra = special.Extra
	if o.Tokenizer == nil {
		o.Tokenizer = t
	}
	o.BOS = cmp.Or(o.BOS, special.BOS)
	o.EOS = cmp.Or(o.EOS, special.EOS)
	if o.Template != nil {
		return o, nil
	}
	var err error
	if o.Template, err = o.Model.ChatTemplate(false); err == nil {
		o.tools, err = o.Model.ChatTemplate(true)
	}
	if err != nil && (d.Kind == ChatKind || o.Chat) {
		return o, err
	}
	return o, nil
}

// Of turns a dataset into sequences, with all processors, until ctx is done. It keeps the tokens in memory, 4
// bytes each, and not the texts.
func (o Tokens) Of(ctx context.Context, d *Dataset) (s *Sequences, err error) {
	defer wrap.Error(&err, "data: tokens")
	if o, err = o.asked(d); err != nil {
		return nil, err
	}
	if err := o.check(d); err != nil {
		return nil, err
	}
	if o.Cache != "" && d.bytes >= minKept {
		return o.kept(ctx, d)
	}
	return o.make(ctx, d)
}

// make makes the sequences of a dataset.
func (o Tokens) make(ctx context.Context, d *Dataset) (*Sequences, error) {
	s := &Sequences{Kind: d.Kind, store: &store{}, tokenizer: o.Tokenizer}
	block := make([]Record, 0, 256)
	flush := func() error {
		list := make([]tokenized, len(block))
		spread(len(block), func(i int) { list[i] = o.encode(block[i]) })
		for i, e := range list {
			if e.err == nil {
				s.add(e, block[i])
				continue
			}
			err := fmt.Errorf("%s:%d: %w", block[i].File, block[i].Line, e.err)
			if !d.o.SkipBad {
				return err
			}
			s.Skipped.add(err)
		}
		block = block[:0]
		return nil
	}
	skipped, err := d.Each(ctx, func(r Record) error {
		if block = append(block, r); len(block) < cap(block) {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return nil, err
	}
	if s.Skipped.Count += skipped.Count; skipped.First != nil {
		s.Skipped.First = skipped.First
	}
	if len(s.list) == 0 {
		way := ""
		if s.Rewritten > 0 {
			way = "; with Prompts all tokens count"
		}
		return nil, fmt.Errorf("no record gives a sequence with a token that counts: %s%s", s, way)
	}
	return s, nil
}

func (o Tokens) check(d *Dataset) error {
	switch {
	case o.Length < 0:
		return fmt.Errorf("got length %d, want at least 1, or 0 for 2048", o.Length)
	case o.Wrap && d.Kind != TextKind:
		return fmt.Errorf("got Wrap for %s records, want text", d.Kind)
	case o.Prompts && d.Kind == UnpairedKind:
		return fmt.Errorf("got Prompts for %s records, whose answers are told from prompts by what counts", d.Kind)
	case (d.Kind == ChatKind || o.Chat) && o.Template == nil:
		return fmt.Errorf("%s records need a chat template: set Template", d.Kind)
	case o.EOS != "" && o.Tokenizer != nil && o.Tokenizer.ID(o.EOS) < 0:
		return fmt.Errorf("got EOS %q, which is no token of the tokenizer", o.EOS)
	}
	return nil
}

// tokenized is what a record became: sequences of tokens, of which those that do not count are −1 − token.
type tokenized struct {
	sequences [][]int32
	cut       int // tokens that were too many
	rewritten int // those that the template writes in another way later
	err       error
}

func (o Tokens) encode(r Record) (e tokenized) {
	switch r.Kind {
	case TextKind:
		e.sequences = o.split(o.ended(o.tokens(r.Text, true)))
	case CompletionKind, UnpairedKind:
		ids := o.answer(&e, r, r.Prompt, r.Completion)
		for i := range ids {
			if r.Unwanted && ids[i] >= 0 {
				ids[i] |= Unwanted
			}
		}
		e.sequences = [][]int32{ids}
	case ChatKind:
		e.sequences = [][]int32{o.conversation(&e, r)}
	case PreferenceKind:
		prompt, chosen, rejected := r.Prompt, r.Chosen, r.Rejected
		if prompt.Text == "" && prompt.Messages == nil {
			prompt, chosen, rejected = inCommon(chosen, rejected)
		}
		e.sequences = [][]int32{o.answer(&e, r, prompt, chosen), o.answer(&e, r, prompt, rejected)}
	}
	for i, ids := range e.sequences {
		if more := len(ids) - o.Length - 1; more > 0 {
			e.sequences[i] = ids[:o.Length+1]
			e.cut += more
		}
	}
	return e
}

// split cuts a text's tokens into sequences: the last token of one is the first of the next, so that each is
// a target once.
func (o Tokens) split(ids []int32) (list [][]int32) {
	for o.Wrap && len(ids) > o.Length+1 {
		list = append(list, ids[:o.Length+1])
		ids = ids[o.Length:]
	}
	return append(list, ids)
}

// tokens are those of a text; special puts those around it with which the tokenizer marks a text's ends.
func (o Tokens) tokens(text string, special bool) []int32 {
	if o.Tokenizer == nil {
		ids := make([]int32, len(text))
		for i := range ids {
			ids[i] = int32(text[i])
		}
		return ids
	}
	list := o.Tokenizer.Encode(text, special)
	ids := make([]int32, len(list))
	for i, id := range list {
		ids[i] = int32(id)
	}
	return ids
}

// ended puts EOS behind a text that does not end so.
func (o Tokens) ended(ids []int32) []int32 {
	if o.EOS == "" {
		return ids
	}
	if o.Tokenizer == nil {
		return append(ids, o.tokens(o.EOS, false)...)
	}
	if eos := int32(o.Tokenizer.ID(o.EOS)); len(ids) == 0 || ids[len(ids)-1] != eos {
		ids = append(ids, eos)
	}
	return ids
}

// answer are the tokens of a prompt and an answer to it.
func (o Tokens) answer(e *tokenized, r Record, prompt, answer Passage) []int32 {
	if o.Chat && answer.Messages == nil {
		prompt = Passage{Messages: []chat.Message{{Role: "user", Content: prompt.Text}}}
		answer = Passage{Messages: []chat.Message{{Role: "assistant", Content: answer.Text}}}
	}
	if answer.Messages == nil {
		before := o.tokens(prompt.Text, true)
		ids := o.ended(o.tokens(prompt.Text+answer.Text, true))
		return o.masked(ids, 0, common(before, ids))
	}
	if o.Template == nil {
		e.err = fmt.Errorf("the record has messages: set Template")
		return nil
	}
	before := e.render(o, r, prompt.Messages, true)
	ids := o.tokens(e.render(o, r, slices.Concat(prompt.Messages, answer.Messages), false), false)
	return o.masked(ids, 0, common(o.tokens(before, false), ids))
}

// masked marks tokens as those that do not count, unless all do.
func (o Tokens) masked(ids []int32, from, to int) []int32 {
	if o.Prompts {
		return ids
	}
	for i := from; i < to; i++ {
		ids[i] = -1 - ids[i]
	}
	return ids
}

// render writes messages by the template, with what begins an answer if the last one is not the assistant's.
func (e *tokenized) render(o Tokens, r Record, messages []chat.Message, begin bool) string {
	text, _ := e.renderMarked(o, r, messages, begin)
	return text
}

func (e *tokenized) renderMarked(o Tokens, r Record, messages []chat.Message, begin bool) (text string, said []chat.Span) {
	begin = begin && len(messages) > 0 && messages[len(messages)-1].Role != "assistant"
	extra := maps.Clone(r.Extra)
	for name, v := range o.extra {
		if extra == nil {
			extra = map[string]any{}
		}
		if _, ok := extra[name]; !ok {
			extra[name] = v
		}
	}
	text, said, err := o.template(r).RenderMarked(messages, chat.Options{AddGenerationPrompt: begin, BOS: o.BOS, EOS: o.EOS, Tools: r.Tools, Extra: extra})
	if err != nil && e.err == nil {
		e.err = err
	}
	return text, said
}

func (o Tokens) template(r Record) *chat.Template {
	if o.tools != nil && len(r.Tools) > 0 {
		return o.tools
	}
	return o.Template
}

// conversation are the tokens of a chat.
func (o Tokens) conversation(e *tokenized, r Record) []int32 {
	text, said := e.renderMarked(o, r, r.Messages, false)
	ids := o.tokens(text, false)
	if e.err != nil || o.Prompts {
		return ids
	}
	if !o.template(r).Marks() {
		said = o.turns(e, r, text)
	}
	at := 0 // tokens that are decided
	for i, end := range o.places(text, said, ids) {
		if end = max(at, end); i%2 == 0 {
			ids = o.masked(ids, at, end)
		}
		at = end
	}
	return o.masked(ids, at, len(ids))
}

// places are the tokens at which the spans of a text begin and end, of which ids are the tokens. Mostly the
// spans end with special tokens, and the pieces of the text have the tokens of the whole. Where they have
// others, a place is where the tokens of the text before it are no more those of the whole.
func (o Tokens) places(text string, spans []chat.Span, ids []int32) []int {
	var cuts []int
	for _, s := range spans {
		cuts = append(cuts, s.From, s.To)
	}
	places, n, from := make([]int, len(cuts)), 0, 0
	for i, cut := range append(cuts, len(text)) {
		piece := o.tokens(text[from:cut], false)
		if len(piece) > len(ids)-n || common(piece, ids[n:]) < len(piece) {
			n = -1
			break
		}
		if n, from = n+len(piece), cut; i < len(cuts) {
			places[i] = n
		}
	}
	if n != len(ids) {
		for i, cut := range cuts {
			places[i] = common(o.tokens(text[:cut], false), ids)
		}
	}
	return places
}

// turns are the assistant's parts of a conversation's text, by what each turn adds to the text before it.
func (o Tokens) turns(e *tokenized, r Record, text string) (said []chat.Span) {
	for i, m := range r.Messages {
		if m.Role != "assistant" || i == 0 {
			continue
		}
		before, after := e.render(o, r, r.Messages[:i], true), text
		if i+1 < len(r.Messages) {
			after = e.render(o, r, r.Messages[:i+1], false)
		}
		if e.err != nil {
			return nil
		}
		from := len(before)
		if !strings.HasPrefix(after, before) {
			from = alike(before, after)
			if from < len(e.render(o, r, r.Messages[:i], false)) {
				from = -1
			}
		}
		if from < 0 || !strings.HasPrefix(text, after) {
			e.rewritten++
			continue
		}
		said = append(said, chat.Span{From: from, To: len(after)})
	}
	return said
}

// alike is how many bytes two texts begin with, in whole characters.
func alike(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// common is how many tokens are the same at the beginning of both.
func common(a, b []int32) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// inCommon takes the prompt out of two answers that begin with it. A blank before what differs belongs to the
// answers, as tokens do.
func inCommon(chosen, rejected Passage) (prompt, a, b Passage) {
	if chosen.Messages != nil {
		n := 0
		for n < min(len(chosen.Messages), len(rejected.Messages))-1 && same(chosen.Messages[n], rejected.Messages[n]) {
			n++
		}
		return Passage{Messages: chosen.Messages[:n:n]}, Passage{Messages: chosen.Messages[n:]}, Passage{Messages: rejected.Messages[n:]}
	}
	n := alike(rejected.Text, chosen.Text)
	if n > 0 && chosen.Text[n-1] == ' ' {
		n--
	}
	return Passage{Text: chosen.Text[:n]}, Passage{Text: chosen.Text[n:]}, Passage{Text: rejected.Text[n:]}
}

func same(a, b chat.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && string(a.Fields) == string(b.Fields)
}

// A store has the tokens of sequences, one after the other.
type store struct {
	tokens []int32 // −1 − token: it does not count
	ends   []int   // of each sequence
}

func (s *store) at(i int) []int32 {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.tokens[from:s.ends[i]]
}

// add keeps the sequences of a record, if each has a token that counts.
func (s *Sequences) add(e tokenized, r Record) {
	s.Records++
	s.Rewritten += e.rewritten
	if e.cut > 0 {
		s.Cut++
		s.CutTokens += e.cut
	}
	var whole [][]int32
	for _, ids := range e.sequences {
		if len(ids) > 1 && slices.ContainsFunc(ids[1:], func(id int32) bool { return id >= 0 }) {
			whole = append(whole, ids)
		}
	}
	if len(whole) < len(e.sequences) && (r.Kind == PreferenceKind || len(whole) == 0) {
		s.Empty++
		return
	}
	group := len(whole)
	if r.Kind != PreferenceKind {
		group = 1
	}
	for i, ids := range whole {
		if i%group == 0 {
			s.list = append(s.list, len(s.store.ends))
		}
		s.store.tokens = append(s.store.tokens, ids...)
		s.store.ends = append(s.store.ends, len(s.store.tokens))
	}
}

// note says what became of the records, where it is not what one expects.
func (s *Sequences) note() string {
	var list []string
	say := func(n int, what string) {
		if n > 0 {
			list = append(list, units.Plural(int64(n), what))
		}
	}
	say(s.Skipped.Count, "bad record")
	say(s.Empty, "record")
	if s.Empty > 0 {
		list[len(list)-1] += " without a token that counts"
	}
	say(s.Cut, "sequence")
	if s.Cut > 0 {
		list[len(list)-1] = units.Plural(int64(s.Cut), "record") + " cut by " + units.Plural(int64(s.CutTokens), "token")
	}
	say(s.Rewritten, "answer")
	if s.Rewritten > 0 {
		list[len(list)-1] += " that the template rewrites later"
	}
	return strings.Join(list, ", ")
}

func (s *Sequences) fail(op, format string, args ...any) {
	panic(&tensor.Error{Op: op, Msg: fmt.Sprintf(format, args...)})
}
