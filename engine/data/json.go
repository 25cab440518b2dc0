package data

import (
	"bytes"
	"encoding/json"
)

// The functions here cut JSON that is known to be valid. encoding/json looks at each byte several times, and
// once more for each level.

// each calls f with the fields of an object, whose keys stand in quotes, or the items of a list, without
// keys.
func each(text []byte, f func(key, value []byte) error) error {
	list := text[0] == '['
	for at := 1; ; {
		at = solid(text, at)
		if text[at] == ',' {
			at = solid(text, at+1)
		}
		if text[at] == ']' || text[at] == '}' {
			return nil
		}
		var key []byte
		if !list {
			end := valueEnd(text, at)
			key = text[at:end]
			at = solid(text, solid(text, end)+1) // after the colon
		}
		end := valueEnd(text, at)
		if err := f(key, text[at:end:end]); err != nil {
			return err
		}
		at = end
	}
}

// solid is the place of the next byte that is no blank.
func solid(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r' {
		at++
	}
	return at
}

// valueEnd is where the value that begins at a place ends.
func valueEnd(text []byte, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			at = quoteEnd(text, at)
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of what is around a number
				return at
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}

// quoteEnd is the place of the quote that ends the text that begins with the quote at a place.
func quoteEnd(text []byte, at int) int {
	for {
		at += 1 + bytes.IndexByte(text[at+1:], '"')
		escapes := 0
		for text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
}

// unquote returns the text of a JSON string.
func unquote(value []byte) (s string, err error) {
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), nil
	}
	err = json.Unmarshal(value, &s)
	return s, err
}
