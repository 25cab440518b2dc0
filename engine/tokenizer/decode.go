package tokenizer

import (
	"cmp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A decoder changes the texts of tokens on their way back to text.
type decoder func(tokens []string) []string

// Decode returns the text of tokens. Without special, those that mark something are left out, and so are
// numbers that no token has. Bytes that are no UTF-8 become U+FFFD, one for each beginning of a character.
func (t *Tokenizer) Decode(ids []int, special bool) string {
	var list []string
	for _, id := range ids {
		if text := t.Token(id); text != "" && (special || !t.special[id]) {
			list = append(list, text)
		}
	}
	if t.spaced {
		return strings.Join(list, " ")
	}
	for _, d := range t.decoders {
		list = d(list)
	}
	return valid(strings.Join(list, ""))
}

// Bytes returns what a token adds to a text in which others stand before it: perhaps a part of a character.
// It is nil for a token that marks something, and for a number that no token has.
func (t *Tokenizer) Bytes(id int) []byte {
	text := t.Token(id)
	switch {
	case text == "" || t.special[id]:
		return nil
	case t.spaced:
		return []byte(" " + text)
	}
	const before = "a"
	joined := func(list ...string) string {
		for _, d := range t.decoders {
			list = d(list)
		}
		return strings.Join(list, "")
	}
	if n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(text, "<0x"), ">"), 16, 8); err == nil && len(text) == 6 && joined(text) != text {
		return []byte{byte(n)} // which is no UTF-8 alone
	}
	return []byte(strings.TrimPrefix(joined(before, text), joined(before)))
}

// valid puts a U+FFFD in the place of each beginning of a character that is not completed, and of each byte
// that begins none, as Unicode recommends and other libraries do.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		for r == utf8.RuneError && n < len(s) && !utf8.FullRuneInString(s[:n]) && !utf8.FullRuneInString(s[:n+1]) {
			n++
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// A Stream turns tokens into text as they come, and never gives a part of a character.
type Stream struct {
	t       *Tokenizer
	special bool
	ids     []int // whose text is not given yet, and those before that it depends on
	given   int   // of these, whose text was given
	text    string
}

// Stream returns a Stream; special is that of [Tokenizer.Decode].
func (t *Tokenizer) Stream(special bool) *Stream { return &Stream{t: t, special: special} }

// Next returns the text that is complete with the next token, often "".
func (s *Stream) Next(id int) string {
	s.ids = append(s.ids, id)
	text := s.t.Decode(s.ids, s.special)
	if len(text) <= len(s.text) || !strings.HasPrefix(text, s.text) || strings.HasSuffix(text, "\uFFFD") && len(s.ids)-s.given < 8 {
		return "" // a token that only begins a character
	}
	fresh := text[len(s.text):]
	s.ids = s.ids[s.given:] // what was given before these says how they begin, and no more
	s.given = len(s.ids)
	s.text = s.t.Decode(s.ids, s.special)
	return fresh
}

// End returns what is left when no token follows.
func (s *Stream) End() string {
	text := s.t.Decode(s.ids, s.special)
	left := strings.TrimPrefix(text, s.text)
	s.ids, s.given, s.text = nil, 0, ""
	return left
}

// decoder builds the decoders of the file.
func (f *file) decoder(at string, p *part) []decoder {
	each := func(change func(i int, token string) string) []decoder {
		return []decoder{func(tokens []string) []string {
			for i := range tokens {
				tokens[i] = change(i, tokens[i])
			}
			return tokens
		}}
	}
	switch p.Type {
	case "Sequence":
		var list []decoder
		for i := range p.Decoders {
			list = append(list, f.decoder(at, &p.Decoders[i])...)
		}
		return list
	case "ByteLevel":
		return each(func(_ int, token string) string {
			if raw, ok := bytesOfRunes(token); ok {
				return raw
			}
			return token
		})
	case "ByteFallback":
		return []decoder{bytesOfFallback}
	case "Fuse":
		return []decoder{func(tokens []string) []string { return []string{strings.Join(tokens, "")} }}
	case "Replace":
		replace := f.replacer(at, p)
		return each(func(_ int, token string) string { return replace(token) })
	case "Strip":
		return each(func(_ int, token string) string {
			for i := 0; i < p.Start && strings.HasPrefix(token, p.Content); i++ {
				token = token[len(p.Content):]
			}
			for i := 0; i < p.Stop && strings.HasSuffix(token, p.Content); i++ {
				token = token[:len(token)-len(p.Content)]
			}
			return token
		})
	case "Metaspace":
		mark := cmp.Or(p.Replacement, "▁")
		return each(func(i int, token string) string {
			if i == 0 && p.scheme() != "never" {
				token = strings.TrimPrefix(token, mark)
			}
			return strings.ReplaceAll(token, mark, " ")
		})
	case "WordPiece":
		prefix := p.Prefix
		return each(func(i int, token string) string {
			if inner, ok := strings.CutPrefix(token, prefix); ok && i > 0 && prefix != "" {
				token = inner
			} else if i > 0 {
				token = " " + token
			}
			if p.Cleanup {
				token = tidier.Replace(token)
			}
			return token
		})
	case "BPEDecoder":
		return []decoder{func(tokens []string) []string {
			for i := range tokens {
				to := " "
				if i == len(tokens)-1 {
					to = ""
				}
				tokens[i] = strings.ReplaceAll(tokens[i], p.Suffix, to)
			}
			return tokens
		}}
	}
	f.fail(at, "%q is not known", p.Type)
	return nil
}

// tidier takes out the blanks that English does not have.
var tidier = strings.NewReplacer(" .", ".", " ?", "?", " !", "!", " ,", ",", " ' ", "'", " n't", "n't", " 'm", "'m", " do not", " don't", " 's", "'s", " 've", "'ve", " 're", "'re")

// bytesOfFallback joins tokens like <0xE2>. Runs of them that are no UTF-8 become a U+FFFD for each.
func bytesOfFallback(tokens []string) []string {
	var list []string
	var raw []byte
	flush := func() {
		if len(raw) == 0 {
			return
		}
		if utf8.Valid(raw) {
			list = append(list, string(raw))
		} else {
			for range raw {
				list = append(list, "\uFFFD")
			}
		}
		raw = nil
	}
	for _, token := range tokens {
		if len(token) == 6 && strings.HasPrefix(token, "<0x") && token[5] == '>' {
			if n, err := strconv.ParseUint(token[3:5], 16, 8); err == nil {
				raw = append(raw, byte(n))
				continue
			}
		}
		flush()
		list = append(list, token)
	}
	flush()
	return list
}

// runeBytes reads GPT-2's alphabet, in which bytes are runes that can be seen: those of Latin 1 that are
// letters or signs stand for themselves, and runes from U+0100 on for the others.
var runeBytes = sync.OnceValue(func() map[rune]byte {
	bytes := map[rune]byte{}
	next := rune(256)
	for b := range rune(256) {
		r := b
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r = next
			next++
		}
		bytes[r] = byte(b)
	}
	return bytes
})

// bytesOfRunes reads such a text; ok says whether it is one.
func bytesOfRunes(token string) (raw string, ok bool) {
	b, bytes := make([]byte, 0, len(token)), runeBytes()
	for _, r := range token {
		c, ok := bytes[r]
		if !ok {
			return "", false
		}
		b = append(b, c)
	}
	return string(b), true
}
