package tokenizer

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A piece is a part of a text; first says that it stands at the text's beginning.
type piece struct {
	text  string
	first bool
}

// A cutter cuts a piece into smaller ones.
type cutter func(p piece, emit func(piece))

// behaviour says what becomes of a match that separates.
type behaviour string

const (
	removed      behaviour = "Removed"
	isolated     behaviour = "Isolated"
	withPrevious behaviour = "MergedWithPrevious"
	withNext     behaviour = "MergedWithNext"
	contiguous   behaviour = "Contiguous"
)

// A finder calls found for each match in text, from the left, as a range of bytes.
type finder func(text string, found func(start, end int))

// split cuts at matches; with invert it cuts at what lies between them.
func split(find finder, b behaviour, invert bool) cutter {
	return func(p piece, emit func(piece)) {
		at := 0
		hold, joined := -1, false // where a piece begins that may still grow; whether it ends with a match
		send := func(start, end int) {
			if end > start {
				emit(piece{p.text[start:end], p.first && start == 0})
			}
		}
		part := func(start, end int, match bool) {
			if start == end {
				return
			}
			switch b {
			case removed:
				if !match {
					send(start, end)
				}
			case isolated:
				send(start, end)
			case withPrevious:
				if match && hold >= 0 && !joined {
					send(hold, end)
					hold = -1
					return
				}
				if hold >= 0 {
					send(hold, start)
				}
				hold, joined = start, match
			case withNext, contiguous:
				if hold >= 0 && (b == contiguous && joined != match || b == withNext && (match || !joined)) {
					send(hold, start)
					hold = -1
				}
				if hold < 0 {
					hold = start
				}
				joined = match
			}
		}
		find(p.text, func(start, end int) {
			part(at, start, invert)
			part(start, end, !invert)
			at = end
		})
		part(at, len(p.text), invert)
		if hold >= 0 {
			send(hold, len(p.text))
		}
	}
}

// findPattern finds a pattern's matches that are not empty.
func findPattern(p *pattern) finder {
	return func(text string, found func(start, end int)) {
		m := matcher{p: p, steps: maxSteps * (len(text) + 16)}
		for at := 0; at < len(text); {
			if end := m.match(text, at); end > at {
				found(at, end)
				at = end
				continue
			}
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
		}
	}
}

func findText(want string) finder {
	return func(text string, found func(start, end int)) {
		for at := 0; want != ""; {
			i := strings.Index(text[at:], want)
			if i < 0 {
				return
			}
			found(at+i, at+i+len(want))
			at += i + len(want)
		}
	}
}

func findRunes(want func(rune) bool) finder {
	c := newClass(want)
	return func(text string, found func(start, end int)) {
		for at := 0; at < len(text); {
			if size := c.next(text, at); size > 0 {
				found(at, at+size)
				at += size
				continue
			}
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
		}
	}
}

// prefixed puts text before pieces that want it.
func prefixed(prefix string, wants func(p piece) bool) cutter {
	return func(p piece, emit func(piece)) {
		if wants(p) {
			p.text = prefix + p.text
		}
		emit(p)
	}
}

// punctuation is that of ASCII and Unicode's category P.
func punctuation(r rune) bool {
	return r < 128 && unicode.IsPrint(r) && r != ' ' && !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.IsPunct(r)
}

// Patterns that files do not spell.
const (
	gpt2Pattern       = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	whitespacePattern = `\w+|[^\w\s]+`
)

func mustCompile(text string) *pattern {
	p, err := compile(text)
	if err != nil {
		panic(err)
	}
	return p
}

// cutters builds the cutters of a pre_tokenizer.
func (f *file) cutters(at string, p *part) []cutter {
	switch p.Type {
	case "Sequence":
		var list []cutter
		for i := range p.PreTokenizers {
			list = append(list, f.cutters(at, &p.PreTokenizers[i])...)
		}
		return list
	case "ByteLevel":
		f.byteLevel = true
		var list []cutter
		if p.AddPrefixSpace == nil || *p.AddPrefixSpace {
			list = append(list, prefixed(" ", func(p piece) bool { return !strings.HasPrefix(p.text, " ") }))
		}
		if p.UseRegex == nil || *p.UseRegex {
			list = append(list, split(findPattern(mustCompile(gpt2Pattern)), isolated, false))
		}
		return list
	case "Split":
		return []cutter{split(f.finder(at, p.Pattern), f.behaviour(at, p.Behavior), p.Invert)}
	case "Metaspace":
		return metaspace(p)
	case "Whitespace":
		return []cutter{split(findPattern(mustCompile(whitespacePattern)), removed, true)}
	case "WhitespaceSplit":
		return []cutter{split(findRunes(unicode.IsSpace), removed, false)}
	case "BertPreTokenizer":
		return []cutter{split(findRunes(unicode.IsSpace), removed, false), split(findRunes(punctuation), isolated, false)}
	case "Punctuation":
		return []cutter{split(findRunes(punctuation), f.behaviour(at, p.Behavior), false)}
	case "Digits":
		b := contiguous
		if p.IndividualDigits {
			b = isolated
		}
		return []cutter{split(findRunes(unicode.IsNumber), b, false)}
	case "CharDelimiterSplit":
		return []cutter{split(findText(p.Delimiter), removed, false)}
	}
	f.fail(at, "%q is not known", p.Type)
	return nil
}

// metaspace writes blanks as a rune of their own, and cuts before it.
func metaspace(p *part) []cutter {
	mark := cmp.Or(p.Replacement, "▁")
	list := []cutter{func(p piece, emit func(piece)) {
		emit(piece{strings.ReplaceAll(p.text, " ", mark), p.first})
	}}
	scheme := p.scheme()
	if scheme != "never" {
		list = append(list, prefixed(mark, func(p piece) bool {
			return !strings.HasPrefix(p.text, mark) && (scheme == "always" || p.first)
		}))
	}
	if p.Split == nil || *p.Split {
		list = append(list, split(findText(mark), withNext, false))
	}
	return list
}

// scheme says which pieces get a blank before them.
func (p *part) scheme() string {
	if p.PrependScheme == "" && p.AddPrefixSpace != nil && !*p.AddPrefixSpace {
		return "never"
	}
	return cmp.Or(p.PrependScheme, "always")
}

func (f *file) behaviour(at, name string) behaviour {
	switch b := behaviour(name); b {
	case removed, isolated, withPrevious, withNext, contiguous:
		return b
	case "":
		return isolated
	}
	f.fail(at, "behavior %q is not known", name)
	return isolated
}

func (f *file) finder(at string, p *patternPart) finder {
	switch {
	case p != nil && p.Regex != nil:
		compiled, err := compile(*p.Regex)
		if err != nil {
			f.fail(at, "%v", err)
			return findText("")
		}
		return findPattern(compiled)
	case p != nil && p.String != nil:
		return findText(*p.String)
	}
	f.fail(at, "there is no pattern")
	return findText("")
}
