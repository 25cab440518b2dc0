package edit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// keys are the operations by the names that the tables below use.
var keys = map[string]func(*Buffer){
	"left": (*Buffer).Left, "right": (*Buffer).Right, "up": func(b *Buffer) { b.Up() }, "down": func(b *Buffer) { b.Down() },
	"home": (*Buffer).Home, "end": (*Buffer).End, "start": (*Buffer).Start, "finish": (*Buffer).Finish,
	"wordleft": (*Buffer).WordLeft, "wordright": (*Buffer).WordRight,
	"back": (*Buffer).Backspace, "del": (*Buffer).DeleteRight, "transpose": (*Buffer).Transpose,
	"kill": (*Buffer).KillLine, "killbefore": (*Buffer).KillBefore, "killblank": (*Buffer).KillBlank,
	"killleft": (*Buffer).KillWordLeft, "killright": (*Buffer).KillWordRight, "yank": (*Buffer).Yank, "pop": (*Buffer).YankPop,
	"undo": func(b *Buffer) { b.Undo() }, "redo": func(b *Buffer) { b.Redo() },
	"enter": (*Buffer).NewLine, "outdent": (*Buffer).Outdent,
	"upper": func(b *Buffer) { b.MapWord(strings.ToUpper) }, "capital": func(b *Buffer) { b.MapWord(Capitalize) },
}

// press does what a script says: words are operations, 'text' is typed.
func press(b *Buffer, script string) {
	for script = strings.TrimSpace(script); script != ""; script = strings.TrimSpace(script) {
		if script[0] == '\'' {
			text, rest, _ := strings.Cut(script[1:], "'")
			for _, r := range text {
				b.TypeRune(r)
			}
			script = rest
			continue
		}
		word, rest, _ := strings.Cut(script, " ")
		keys[word](b)
		script = rest
	}
}

// The bar is the cursor, ⏎ a line break and → a tab.
var marks = strings.NewReplacer("⏎", "\n", "→", "\t")

func TestEditing(t *testing.T) {
	for _, c := range []struct{ before, keys, after string }{
		// Characters are what people count, not bytes or runes.
		{"日本|", "left", "日|本"},
		{"e\u0301x|", "left left", "|e\u0301x"},
		{"|👩‍👩‍👧x", "right", "👩‍👩‍👧|x"},
		{"a👍🏽|", "back", "a|"},
		{"|e\u0301x", "del", "|x"},
		{"a⏎|b", "left right right", "a⏎b|"},
		{"|\u0301", "'e'", "e\u0301|"}, // the accent joins the letter: the cursor goes behind both
		// Lines.
		{"f {⏎→g|h⏎}", "home", "f {⏎→|gh⏎}"},
		{"f {⏎→|g⏎}", "home", "f {⏎|→g⏎}"},
		{"f {⏎|→g⏎}", "home", "f {⏎→|g⏎}"},
		{"f| {⏎→g⏎}", "end", "f {|⏎→g⏎}"},
		{"abc⏎d⏎efg|", "up up", "abc|⏎d⏎efg"},
		{"ab|c⏎d⏎efg", "down down", "abc⏎d⏎ef|g"},
		{"|abc", "up", "|abc"},
		{"f {⏎→|g", "up", "f {|⏎→g"},
		{"日本|語⏎abcde", "down", "日本語⏎abcd|e"},
		{"abc|⏎日本", "down", "abc⏎日|本"}, // column 3 is in the middle of 本
		{"a|b⏎c", "start finish", "ab⏎c|"},
		// Words.
		{"foo.bar(baz)|", "wordleft", "foo.bar(|baz)"},
		{"foo.bar|(baz)", "wordleft wordleft", "|foo.bar(baz)"},
		{"|foo.bar", "wordright wordright", "foo.bar|"},
		{"été été|", "wordleft", "été |été"},
		// Deleting.
		{"a⏎|b", "back", "a|b"},
		{"a|⏎b", "del", "a|b"},
		{"f {⏎→→|", "back", "f {⏎→|"},
		{"f {⏎      |", "back", "f {⏎    |"},
		{"f {⏎    |", "back", "f {⏎|"},
		{"f {⏎→ x  |", "back", "f {⏎→ x |"},
		{"|", "back del", "|"},
		{"ab|", "transpose", "ba|"},
		{"a|b", "transpose", "ba|"},
		{"|ab", "transpose", "|ab"},
		{"日|本", "transpose", "本日|"},
		{"a⏎|b", "transpose", "a⏎|b"},
		{"|foo bar", "upper capital", "FOO Bar|"},
		// Cutting and pasting.
		{"a|b c⏎d", "kill", "a|⏎d"},
		{"a|⏎d", "kill", "a|d"},
		{"ab|c", "killbefore", "|c"},
		{"foo.bar(1) x|", "killblank", "foo.bar(1) |"},
		{"foo.bar|", "killleft", "foo.|"},
		{"|foo.bar", "killright", "|.bar"},
		{"a b c|", "killblank killblank yank", "a b c|"},
		{"a b|", "killblank left right yank yank", "a bb|"},
		{"a b|", "killblank home kill yank pop", "b|"},
		{"|ab⏎c", "kill kill yank", "ab⏎|c"},
		{"x|", "pop yank", "x|"},
		// Undo.
		{"|", "'one two' undo", "one |"},
		{"|", "'one two' undo undo", "|"},
		{"|", "'one two' undo undo redo redo undo", "one |"},
		{"|", "'ab' left 'c' undo", "a|b"},
		{"a b|", "killblank undo", "a b|"},
		{"|", "'x' undo 'y' redo", "y|"},
		{"|", "undo redo", "|"},
		// Indentation.
		{"f {|", "enter", "f {⏎→|"},
		{"f {|}", "enter", "f {⏎→|⏎}"},
		{"f(a, |)", "enter", "f(a, ⏎|)"},
		{"f {⏎→g()|}", "enter", "f {⏎→g()⏎|}"},
		{"f {⏎→|  x", "enter", "f {⏎→⏎→|x"},
		{"s := `a|  b`", "enter", "s := `a⏎|  b`"},
		{"s := \"a|", "enter", "s := \"a⏎|"},
		{"x|", "enter", "x⏎|"},
		{"f {⏎→|", "enter", "f {⏎⏎→|"},
		{"f {⏎→| ⏎}", "enter", "f {⏎⏎→|⏎}"},
		{"f {⏎→|", "'}'", "f {⏎}|"},
		{"f {⏎→→→|", "'}'", "f {⏎}|"},
		{"f {⏎→g(⏎→→|", "')'", "f {⏎→g(⏎→)|"},
		{"f {⏎→x[|", "']'", "f {⏎→x[]|"},
		{"s := `⏎→→|", "'}'", "s := `⏎→→}|"},
		{"switch x {⏎→|", "'case 1:'", "switch x {⏎case 1:|"},
		{"switch x {⏎case 1:⏎→|", "'default:'", "switch x {⏎case 1:⏎default:|"},
		{"switch x {⏎case 1:|", "enter", "switch x {⏎case 1:⏎→|"},
		{"f {⏎→switch {⏎→→|", "'case a := <-c:'", "f {⏎→switch {⏎→case a := <-c:|"},
		{"x[|", "'case:'", "x[case:|"},
		{"f {⏎→→x|", "outdent", "f {⏎→x|"},
		{"      |x", "outdent", "  |x"},
		{"x|", "outdent", "x|"},
	} {
		before := marks.Replace(c.before)
		head, tail, _ := strings.Cut(before, "|")
		var b Buffer
		b.Set(head+tail, len(head))
		press(&b, c.keys)
		got := b.Text()[:b.Pos()] + "|" + b.Text()[b.Pos():]
		if want := marks.Replace(c.after); got != want {
			t.Errorf("%s, %s: got %q, want %q", c.before, c.keys, got, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		text                                string
		first, last, atEnd, inIndent, inRaw bool
	}{
		{"|f {⏎→g⏎}", true, false, false, true, false},
		{"f {⏎→|g⏎}", false, false, false, true, false},
		{"f {⏎→g|⏎}", false, false, false, false, false},
		{"f {⏎→g⏎}| ⏎", false, false, true, false, false},
		{"|", true, true, true, true, false},
		{"s := `a|⏎`", true, false, false, false, true},
		{"s := \"a|\"", true, true, false, false, false},
	} {
		head, tail, _ := strings.Cut(marks.Replace(c.text), "|")
		var b Buffer
		b.Set(head+tail, len(head))
		got := [...]bool{b.lineStart() == 0, b.lineEnd() == len(b.text), b.AtEnd(), b.InIndent(), b.InRaw()}
		if want := [...]bool{c.first, c.last, c.atEnd, c.inIndent, c.inRaw}; got != want {
			t.Errorf("%s: first line, last line, at the end, in the indentation, in a raw string: got %v, want %v", c.text, got, want)
		}
	}
}

// Typed text that is undone step by step is gone, and redone it is back, whatever was done between.
func TestUndoAll(t *testing.T) {
	var b Buffer
	press(&b, "'func f() {' enter 'x := 1' enter '}' up killblank yank end transpose wordleft killright up 'y'")
	all := b.Text()
	for b.Undo() {
	}
	if b.Text() != "" || b.Pos() != 0 {
		t.Errorf("undone: got %q", b.Text())
	}
	for b.Redo() {
	}
	if b.Text() != all {
		t.Errorf("redone: got %q, want %q", b.Text(), all)
	}
}

// Whatever is pressed, the cursor stays in the text and splits no character, and undo finds the way back.
func FuzzBuffer(f *testing.F) {
	f.Add("日e\u0301👩‍👩‍👧\n\tx", []byte("abcdefghijklmnop"))
	f.Add("s := `\n", []byte{200, 3, 9, 4, 100, 2, 20, 21})
	f.Add("\u0301\u200d\n\u0301", []byte{1, 2, 220, 0, 6, 240})
	names := strings.Fields("left right up down home end start finish wordleft wordright back del transpose kill killbefore killblank " +
		"killleft killright yank pop undo redo enter outdent upper capital")
	runes := []rune("ab .:({[]})\"`/\t0é日\u0301\u200d👩🏽🇩🇪")
	f.Fuzz(func(t *testing.T, text string, script []byte) {
		if !utf8.ValidString(text) || len(text) > 4000 {
			t.Skip("no text comes into a buffer that was not cleaned")
		}
		var b Buffer
		b.Set(text, len(text)/2)
		start := b.Text()
		undone := 0
		for _, c := range script {
			if int(c) < len(names) {
				keys[names[c]](&b)
			} else {
				b.TypeRune(runes[int(c)%len(runes)])
			}
			if b.Pos() < 0 || b.Pos() > len(b.Text()) || !utf8.ValidString(b.Text()) {
				t.Fatalf("cursor %d of %q", b.Pos(), b.Text())
			}
			if line := b.Text()[b.lineStart():b.lineEnd()]; !boundary(line, b.Pos()-b.lineStart()) {
				t.Fatalf("byte %d of %q is inside of a character", b.Pos()-b.lineStart(), line)
			}
			undone++
		}
		for b.Undo() {
		}
		if b.Text() != start {
			t.Fatalf("undone: got %q, want %q", b.Text(), start)
		}
	})
}

// boundary says whether no character of a line has pos inside.
func boundary(line string, pos int) bool {
	at := 0
	for clusters := graphemes.FromString(line); clusters.Next() && at < pos; {
		at += len(clusters.Value())
	}
	return at == pos
}
