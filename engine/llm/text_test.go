package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// parts decodes tokens that are parts of a text.
type parts []string

func (p parts) Next(id int) string { return p[id] }
func (p parts) End() string        { return "" }

// Nothing of a stop string is ever given, wherever tokens cut it, and all of the text before it is.
func TestStopStrings(t *testing.T) {
	for _, c := range []struct {
		parts []string
		stop  []string
		want  string // what is given, "|" where a part ends
	}{
		{[]string{"one ", "two ", "three"}, []string{"two"}, "one |"},
		{[]string{"one t", "w", "o three"}, []string{"two"}, "one |"},
		{[]string{"one t", "w", "in"}, []string{"two"}, "one |twin|"},
		{[]string{"one t"}, []string{"two"}, "one |t|"},
		{[]string{"a\n", "\n", "b"}, []string{"\n\n"}, "a|"},
		{[]string{"aab", "aac"}, []string{"aabaac"}, ""},
		{[]string{"aabaab", "aac"}, []string{"aabaac"}, "aab|"},
		{[]string{"xabc"}, []string{"abc", "b"}, "xa|"}, // b is complete first, with tokens of any length
		{[]string{"xa", "b", "c"}, []string{"abc", "b"}, "x|a|"},
		{[]string{"x", "abc"}, []string{"bc", "abc"}, "x|"},
		{[]string{"ends", "."}, []string{"."}, "ends|"},
		{[]string{"日", "本"}, []string{"本"}, "日|"},
		{[]string{"no", "thing"}, nil, "no|thing|"},
	} {
		s, got, over := speech{decoder: parts(c.parts), stop: c.stop}, "", false
		for i := 0; i < len(c.parts) && !over; i++ {
			var text string
			if text, over = s.next(i); text != "" {
				got += text + "|"
			}
		}
		if text := s.end(); text != "" {
			got += text + "|"
		}
		if got != c.want {
			t.Errorf("%q to %q: got %q, want %q", c.parts, c.stop, got, c.want)
		}
	}
}

// A stream gives whole characters only, and together the text that Generate returns.
func TestStream(t *testing.T) {
	m := New(tiny())
	o := Sampling{Tokens: 60, Temperature: 3, Seed: 4} // bytes of all kinds
	want, err := m.Generate(t.Context(), "ab", o)
	if err != nil {
		t.Fatal(err)
	}
	got := "ab"
	for text, err := range m.Stream(t.Context(), "ab", o) {
		if err != nil {
			t.Fatal(err)
		}
		if first, _ := utf8.DecodeRuneInString(text); first == utf8.RuneError && len(got)+len(text) < len(want) && len(text) > 3 {
			t.Errorf("got the part %q", text)
		}
		got += text
	}
	if got != want || len(want) != 62 {
		t.Errorf("got %q, want %q", got, want)
	}
	middle := want[20:23]
	end := 2 + strings.Index(want[2:], middle)
	for _, o.Stop = range [][]string{{middle}, {"never", middle}} {
		if text, err := m.Generate(t.Context(), "ab", o); err != nil || text != want[:end] {
			t.Errorf("to %q: got %q, %v, want %q", middle, text, err, want[:end])
		}
		if ids, err := m.GenerateTokens(t.Context(), []int{'a', 'b'}, o); err != nil || len(ids) != end+3 {
			t.Errorf("to %q: got %d tokens, %v, want %d, those of the stop string, too", middle, len(ids), err, end+3)
		}
	}
}

// Bytes of a character come together, and those of none as they are.
func TestByteDecoder(t *testing.T) {
	d, text := &byteDecoder{}, "aé日\xff🙂\xe6"
	var got []string
	for i := range len(text) {
		if part := d.Next(int(text[i])); part != "" {
			got = append(got, part)
		}
	}
	if want := "a|é|日|\xff|🙂"; strings.Join(got, "|") != want || d.End() != "\xe6" {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What goes wrong comes last; a loop that breaks ends the work.
func TestStreamErrors(t *testing.T) {
	m := New(tiny())
	last := func(ctx context.Context, prompt string, o Sampling, most int) (n int, err error) {
		for _, err = range m.Stream(ctx, prompt, o) {
			if n++; n == most {
				break
			}
		}
		return n, err
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if n, err := last(ctx, "a", Sampling{}, 9); n != 1 || !errors.Is(err, cause) {
		t.Errorf("a ctx that is done: got %d parts, %v", n, err)
	}
	if n, err := last(t.Context(), "", Sampling{}, 9); n != 1 || err == nil {
		t.Errorf("no prompt: got %d parts, %v", n, err)
	}
	if n, err := last(t.Context(), "a", Sampling{TopK: -1}, 9); n != 1 || err == nil {
		t.Errorf("a wrong setting: got %d parts, %v", n, err)
	}
	if n, err := last(t.Context(), "a", Sampling{}, 2); n != 2 || err != nil {
		t.Errorf("a loop that ends: got %d parts, %v", n, err)
	}
	c := tiny()
	c.Vocab = 300
	if _, err := New(c).GenerateTokens(t.Context(), []int{1}, Sampling{Stop: []string{"x"}}); err == nil || !strings.Contains(err.Error(), "stop strings and no tokenizer") {
		t.Errorf("stop strings without text: got %v", err)
	}
}
