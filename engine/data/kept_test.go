package data

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// manyChats writes a file of chats that is worth to be kept; the first one says this.
func manyChats(t *testing.T, path, first string) {
	t.Helper()
	var b strings.Builder
	for n := 0; b.Len() < minKept; n++ {
		fmt.Fprintf(&b, `{"messages": [{"role": "user", "content": "%s %d"}, {"role": "assistant", "content": "%s"}]}`+"\n", first, n, strings.Repeat("long ", 100))
	}
	b.WriteString("{\n")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

func keptFiles(t *testing.T, dir string) (list []string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, keptPrefix+"*"+keptEnding))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Tokens are made once, and made anew when what they depend on changes, and only then.
func TestTokensAreKept(t *testing.T) {
	dir := t.TempDir()
	path, cache := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "kept")
	of := func(r Records, o Tokens) *Sequences {
		t.Helper()
		d, err := r.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		o.Cache = cache
		s, err := o.Of(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	manyChats(t, path, "one")
	skip, plain := Records{SkipBad: true}, Tokens{Template: chatML(t), Length: 300}
	first := of(skip, plain)
	again := of(skip, plain)
	if first.Kept || !again.Kept || len(keptFiles(t, cache)) != 1 {
		t.Fatalf("got kept %v, then %v, in %d files", first.Kept, again.Kept, len(keptFiles(t, cache)))
	}
	if again.Fingerprint() != first.Fingerprint() || again.String() != strings.Replace(first.String(), " · 1 bad", " · tokens made before · 1 bad", 1) || again.Show(0) != first.Show(0) || again.Skipped.First.Error() != first.Skipped.First.Error() {
		t.Errorf("got %v, %v, want %v, %v", again, again.Skipped.First, first, first.Skipped.First)
	}
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
	if s := of(skip, plain); !s.Kept {
		t.Error("a file with the same bytes at another time: its tokens were made anew")
	}
	other, err := chat.Parse("t", "{% for m in messages %}{{ m.content }}!{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	dated, err := chat.Parse("t", "{{ strftime_now('%Y') }}{% for m in messages %}{{ m.content }}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	_, words := readTokenCases(t)
	for name, o := range map[string]Tokens{
		"another length":    {Template: chatML(t), Length: 301},
		"prompts":           {Template: chatML(t), Length: 300, Prompts: true},
		"another template":  {Template: other, Length: 300},
		"another end":       {Template: chatML(t), Length: 300, EOS: "x"},
		"another tokenizer": {Template: chatML(t), Length: 300, Tokenizer: words},
	} {
		if s := of(skip, o); s.Kept {
			t.Errorf("%s: got the tokens of before", name)
		}
		if s := of(skip, o); !s.Kept {
			t.Errorf("%s: the tokens were not kept", name)
		}
	}
	for range 2 {
		if s := of(skip, Tokens{Template: dated}); s.Kept {
			t.Error("a template that writes the time: got the tokens of before")
		}
	}
	if n := len(keptFiles(t, cache)); n != maxKept {
		t.Errorf("got %d files, want the %d used last", n, maxKept)
	}
	of(skip, plain)
	manyChats(t, path, "two")
	if s := of(skip, plain); s.Kept || !strings.Contains(s.Show(0), "two 0") {
		t.Errorf("other bytes of the same number: kept %v, %.40s", s.Kept, s.Show(0))
	}
}

// A damaged file of tokens is made anew.
func TestKeptMutants(t *testing.T) {
	dir := t.TempDir()
	path, cache := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "kept")
	manyChats(t, path, "one")
	d, err := Records{SkipBad: true}.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	o := Tokens{Template: chatML(t), Length: 20, Prompts: true, Cache: cache}
	first, err := o.Of(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(keptFiles(t, cache)[0])
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	n := mutate.Each(1, 60, whole, func(i int, mutant []byte) {
		if err := os.WriteFile(keptFiles(t, cache)[0], mutant, 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := o.Of(t.Context(), d)
		if err != nil || got.Fingerprint() != first.Fingerprint() || strings.Replace(got.String(), " · tokens made before", "", 1) != first.String() {
			t.Errorf("mutant %d: got %v, error %v, want %v", i, got, err, first)
		} else if !got.Kept {
			made++
		}
	})
	if made < n*2/3 {
		t.Errorf("%d of %d damaged files were made anew, want nearly all", made, n)
	}
}

// What cannot be kept is an error before the work, and stops with its context.
func TestKeptRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	manyChats(t, path, "one")
	d, err := Records{SkipBad: true}.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Tokens{Template: chatML(t), Cache: path}).Of(t.Context(), d); err == nil || !strings.Contains(err.Error(), "a.jsonl: not a directory") {
		t.Errorf("a file for a folder: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Tokens{Template: chatML(t), Cache: filepath.Join(dir, "kept")}).Of(ctx, d); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("a context that is done: got %v", err)
	}
}
