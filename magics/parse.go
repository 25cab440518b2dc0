package magics

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parse reads the flags at the beginning of a magic's arguments. They end at the first word that does not
// begin with a minus and a letter, or behind "--", for a statement that does.
func (m *Magic) parse(args string) (flags map[string]any, rest string, err error) {
	flags = map[string]any{}
	for _, f := range m.Flags {
		if flags[f.Name], err = f.value(f.Default); err != nil {
			return nil, "", err
		}
	}
	if len(m.Flags) == 0 {
		return flags, args, nil
	}
	for {
		args = strings.TrimLeft(args, " \t")
		word, after := nextWord(args)
		if word == "--" {
			return flags, strings.TrimLeft(after, " \t"), nil
		}
		if len(word) < 2 || word[0] != '-' || !isLetter(word[1]) {
			return flags, args, nil
		}
		name, text, given := strings.Cut(word[1:], "=")
		f := m.flag(name)
		if f == nil {
			var known []string
			for _, f := range m.Flags {
				known = append(known, "-"+f.Name)
			}
			return nil, "", fmt.Errorf("%s: no flag -%s; it has %s (put -- before a statement that begins with a minus)", m.sign(), name, strings.Join(known, ", "))
		}
		if f.Kind == Text {
			after = strings.TrimLeft(args[1+len(name):], " \t=")
			if text, after, err = quoted(after); err != nil {
				return nil, "", fmt.Errorf("%s: -%s: %w", m.sign(), name, err)
			}
		} else if !given && f.Kind == Switch {
			text = "true"
		} else if !given {
			text, after = nextWord(strings.TrimLeft(after, " \t"))
		}
		if flags[name], err = f.value(text); err != nil {
			return nil, "", fmt.Errorf("%s: -%s: %w", m.sign(), name, err)
		}
		args = after
	}
}

func nextWord(s string) (word, after string) {
	if end := strings.IndexAny(s, " \t\n"); end >= 0 {
		return s[:end], s[end:]
	}
	return s, ""
}

// quoted reads a word, or a text in quotes, in which nothing is escaped.
func quoted(s string) (text, after string, err error) {
	if s == "" || !strings.ContainsRune("'\"`", rune(s[0])) {
		text, after = nextWord(s)
		return text, after, nil
	}
	text, after, ok := strings.Cut(s[1:], s[:1])
	if !ok {
		return "", "", fmt.Errorf("got %s, want a closing %s", s, s[:1])
	}
	return text, after, nil
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func (m *Magic) flag(name string) *Flag {
	for i := range m.Flags {
		if m.Flags[i].Name == name {
			return &m.Flags[i]
		}
	}
	return nil
}

// value reads a flag's value; the empty text is the zero value.
func (f *Flag) value(text string) (v any, err error) {
	want := ""
	switch f.Kind {
	case Text:
		return text, nil
	case Switch:
		v, err = strconv.ParseBool(cmp.Or(text, "false"))
		want = "true or false"
	case Integer:
		v, err = strconv.Atoi(cmp.Or(text, "0"))
		want = "a whole number"
	case Duration:
		d, failed := time.ParseDuration(cmp.Or(text, "0"))
		if v, err = d, failed; d <= 0 && text != "" {
			err = strconv.ErrRange
		}
		want = "a time such as 500ms or 2s"
	default:
		if v = text; text != f.Default && !slices.Contains(f.Choices, text) {
			err = strconv.ErrRange
		}
		want = strings.Join(f.Choices, " or ")
	}
	if err != nil {
		return nil, fmt.Errorf("got %q, want %s", text, want)
	}
	return v, nil
}

func (c *call) on(flag string) bool                { return c.flags[flag].(bool) }
func (c *call) number(flag string) int             { return c.flags[flag].(int) }
func (c *call) duration(flag string) time.Duration { return c.flags[flag].(time.Duration) }
func (c *call) text(flag string) string            { return c.flags[flag].(string) }

// words splits the text after the flags.
func (c *call) words() []string { return strings.Fields(c.rest) }

// errorf is an error that begins with the magic's name.
func (c *call) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", c.magic.sign(), fmt.Errorf(format, args...))
}

// need returns the arguments. Without any, its error names what is missing.
func (c *call) need(what string) (string, error) {
	rest := strings.TrimSpace(c.rest)
	if rest == "" {
		return "", fmt.Errorf("%s: got no %s; usage: %s", c.magic.sign(), what, c.magic.usage())
	}
	return rest, nil
}

// nothing returns an error if a magic without arguments was given some.
func (c *call) nothing() error {
	if rest := strings.TrimSpace(c.rest); rest != "" {
		return fmt.Errorf("%s: got %q, takes no arguments", c.magic.sign(), rest)
	}
	return nil
}

// parseRanges reads "3", "2-5" and lists of them, in order, as cell numbers.
func parseRanges(words []string) (func(n int) bool, error) {
	type span struct{ from, to int }
	var spans []span
	for _, w := range words {
		from, to, isRange := strings.Cut(w, "-")
		if !isRange {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err := errors.Join(err1, err2); err != nil || a < 1 || b < a {
			return nil, fmt.Errorf("got %q, want a cell number or a range such as 2-5", w)
		}
		spans = append(spans, span{a, b})
	}
	return func(n int) bool {
		for _, s := range spans {
			if s.from <= n && n <= s.to {
				return true
			}
		}
		return len(spans) == 0
	}, nil
}
