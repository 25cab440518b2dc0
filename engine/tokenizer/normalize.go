package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/unicode/norm"
)

// normalizer builds a function from a normalizer of the file.
func (f *file) normalizer(at string, p *part) func(string) string {
	form := func(n norm.Form) func(string) string { return n.String }
	switch p.Type {
	case "Sequence":
		var list []func(string) string
		for i := range p.Normalizers {
			list = append(list, f.normalizer(at, &p.Normalizers[i]))
		}
		return func(s string) string {
			for _, n := range list {
				s = n(s)
			}
			return s
		}
	case "NFC":
		return form(norm.NFC)
	case "NFD":
		return form(norm.NFD)
	case "NFKC":
		return form(norm.NFKC)
	case "NFKD":
		return form(norm.NFKD)
	case "Lowercase":
		return lower
	case "StripAccents":
		return without(unicode.M)
	case "Strip":
		return func(s string) string {
			if p.StripLeft {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if p.StripRight {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		}
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return p.Prepend + s
		}
	case "Replace":
		return f.replacer(at, p)
	case "BertNormalizer":
		return bertNormalizer(p)
	case "Precompiled":
		raw, err := base64.StdEncoding.DecodeString(p.CharsMap)
		if err != nil {
			f.fail(at, "precompiled_charsmap: %v", err)
			return nil
		}
		c, err := newCharsMap(raw)
		if err != nil {
			f.fail(at, "%v", err)
			return nil
		}
		return c.graphemes
	case "ByteLevel":
		f.byteLevel = true
		return func(s string) string { return s }
	}
	f.fail(at, "%q is not known", p.Type)
	return func(s string) string { return s }
}

// maxGrowth is how many times as long replacements may make a text, one after the other.
const maxGrowth = 1 << 12

func (f *file) replacer(at string, p *part) func(string) string {
	find := f.finder(at, p.Pattern)
	least := 0 // bytes of what is replaced
	if p.Pattern != nil && p.Pattern.String != nil {
		least = len(*p.Pattern.String)
	}
	f.growth = max(1, f.growth) * max(1, float64(len(p.Content))/float64(max(1, least)))
	if f.growth > maxGrowth {
		f.fail(at, "the replacements make a text up to %.3g times as long, want at most %d times", f.growth, maxGrowth)
	}
	return func(s string) string {
		var b strings.Builder
		end := 0
		find(s, func(from, to int) {
			b.WriteString(s[end:from])
			b.WriteString(p.Content)
			end = to
		})
		if end == 0 && b.Len() == 0 {
			return s
		}
		b.WriteString(s[end:])
		return b.String()
	}
}

// lower is the lower case of each rune by itself: a last sigma is like any other.
func lower(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307"))
}

// without leaves out the runes of a table.
func without(table *unicode.RangeTable) func(string) string {
	return func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.Is(table, r) {
				return -1
			}
			return r
		}, s)
	}
}

// bertNormalizer is that of Google's BERT.
func bertNormalizer(p *part) func(string) string {
	small := p.Lowercase == nil || *p.Lowercase
	accents := small
	if p.StripAccents != nil {
		accents = *p.StripAccents
	}
	return func(s string) string {
		if p.CleanText == nil || *p.CleanText {
			s = strings.Map(cleaned, s)
		}
		if p.ChineseChars == nil || *p.ChineseChars {
			s = apart(s)
		}
		if accents {
			s = without(unicode.Mn)(norm.NFD.String(s))
		}
		if small {
			s = lower(s)
		}
		return s
	}
}

func cleaned(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return ' '
	case r == 0, r == utf8.RuneError, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// apart puts blanks around Chinese characters.
func apart(s string) string {
	var b strings.Builder
	for _, r := range s {
		blank := ""
		if slices.ContainsFunc(chinese, func(block [2]rune) bool { return block[0] <= r && r <= block[1] }) {
			blank = " "
		}
		b.WriteString(blank + string(r) + blank)
	}
	return b.String()
}

var chinese = [][2]rune{{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F}}

// A charsMap is SentencePiece's table of a normal form: a double-array trie (Darts) of what is replaced, and
// the replacements, each with a 0 at its end.
type charsMap struct {
	units []uint32
	to    string
}

func newCharsMap(raw []byte) (*charsMap, error) {
	if len(raw) == 0 {
		return &charsMap{}, nil
	}
	if len(raw) < 4 {
		return nil, fmt.Errorf("precompiled_charsmap: got %d bytes, want at least 4", len(raw))
	}
	size := int64(binary.LittleEndian.Uint32(raw))
	if size%4 != 0 || size > int64(len(raw)-4) {
		return nil, fmt.Errorf("precompiled_charsmap: its trie has %d bytes of %d", size, len(raw)-4)
	}
	c := &charsMap{to: string(raw[4+size:])}
	for i := int64(4); i < 4+size; i += 4 {
		c.units = append(c.units, binary.LittleEndian.Uint32(raw[i:]))
	}
	return c, nil
}

// prefixes calls found with the length and the replacement of each entry that s begins with, the short ones
// first.
func (c *charsMap) prefixes(s string, found func(n int, to string) (more bool)) {
	offset := func(u uint32) uint32 { return (u >> 10) << ((u & (1 << 9)) >> 6) }
	if len(c.units) == 0 {
		return
	}
	at := offset(c.units[0])
	for i := range len(s) {
		b := s[i]
		if at ^= uint32(b); b == 0 || int64(at) >= int64(len(c.units)) {
			return
		}
		u := c.units[at]
		if u&(1<<31|0xff) != uint32(b) {
			return
		}
		at ^= offset(u)
		if u>>8&1 == 0 {
			continue
		}
		if int64(at) >= int64(len(c.units)) {
			return
		}
		from := int64(c.units[at] & (1<<31 - 1))
		if from > int64(len(c.to)) {
			return
		}
		to, _, _ := strings.Cut(c.to[from:], "\x00")
		if !found(i+1, to) {
			return
		}
	}
}

// first returns the replacement of the shortest entry that s begins with, as tokenizers does.
func (c *charsMap) first(s string) (to string, ok bool) {
	c.prefixes(s, func(_ int, t string) bool {
		to, ok = t, true
		return false
	})
	return to, ok
}

// graphemes replaces short clusters, or else their runes, as tokenizers does.
func (c *charsMap) graphemes(s string) string {
	var b strings.Builder
	clusters := graphemes.FromString(s)
	for clusters.Next() {
		cluster := clusters.Value()
		if len(cluster) < 6 {
			if to, ok := c.first(cluster); ok {
				b.WriteString(to)
				continue
			}
		}
		for i, r := range cluster {
			text := cluster[i : i+utf8.RuneLen(max(r, 0))]
			if r == utf8.RuneError {
				text = cluster[i : i+1]
				if strings.HasPrefix(cluster[i:], "\uFFFD") {
					text = "\uFFFD"
				}
			}
			if to, ok := c.first(text); ok {
				b.WriteString(to)
			} else {
				b.WriteString(text)
			}
		}
	}
	return b.String()
}

// longest replaces the longest entries from the left, as SentencePiece does.
func (c *charsMap) longest(s string) string {
	var b strings.Builder
	for at := 0; at < len(s); {
		n, to := 0, ""
		c.prefixes(s[at:], func(length int, t string) bool {
			n, to = length, t
			return true
		})
		if n == 0 {
			r, size := utf8.DecodeRuneInString(s[at:])
			b.WriteRune(r)
			at += size
			continue
		}
		b.WriteString(to)
		at += n
	}
	return b.String()
}
