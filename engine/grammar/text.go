package grammar

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Digits of numbers, so that each ends: what an int64 and a float64 hold.
const (
	wholeDigits    = 18
	fractionDigits = 17
	exponentDigits = 2
)

func (c *compiler) node(n node) int32 {
	if len(c.nodes) >= mostNodes {
		c.fail(c.root, "it takes more than %d nodes, want lower counts", mostNodes)
	}
	c.nodes = append(c.nodes, n)
	return int32(len(c.nodes) - 1)
}

func (c *compiler) ways(list ...int32) int32 { return c.node(node{ways: list}) }

func (c *compiler) called(at, next int32) int32 { return c.node(node{call: at, after: next}) }

func (c *compiler) edges(list ...edge) int32 { return c.node(node{edges: list}) }

// literal is a text.
func (c *compiler) literal(text string, next int32) int32 {
	for i := len(text) - 1; i >= 0; i-- {
		next = c.edges(edge{text[i], text[i], next})
	}
	return next
}

// blank is a text, and perhaps a blank.
func (c *compiler) blank(text string, next int32) int32 {
	return c.literal(text, c.ways(next, c.literal(" ", next)))
}

// literals are the constants of a schema that are of these types.
func (c *compiler) literals(s schema, says, of []string) (ways []int32) {
	rest := slices.DeleteFunc(slices.Clone(says), func(k string) bool { return k == "type" })
	if len(rest) > 1 {
		c.fail(s, "got %s, want enum or const beside no more than type", strings.Join(rest, " and "))
	}
	constants := c.constants(s)
	if len(constants) > mostPositions {
		c.fail(s, "got an enum of %d values, want at most %d", len(constants), mostPositions)
	}
	for _, text := range constants {
		if slices.Contains(of, typeOf(text)) || typeOf(text) == "integer" && slices.Contains(of, "number") {
			ways = append(ways, c.literal(text, ended))
		}
	}
	return ways
}

// constants are the texts of enum or const; nil where a schema has none.
func (c *compiler) constants(s schema) (list []string) {
	values, ok := c.list(s, "enum")
	if one, is := c.get(s, "const"); is {
		values, ok = []schema{one}, true
	}
	if ok {
		list = []string{}
	}
	for _, v := range values {
		list = append(list, compact(v.text))
	}
	return list
}

// compact is a value without blanks, and the text of a string without escapes that it does not need.
func compact(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return quoted(text)
	}
	var b bytes.Buffer
	_ = json.Compact(&b, value) // it was read before
	return b.String()
}

// quoted is a string as JSON.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be written
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// begins has the types of values by their first bytes, without numbers.
var begins = map[byte]string{'{': "object", '[': "array", '"': "string", 't': "boolean", 'f': "boolean", 'n': "null"}

// typeOf is the type of a value.
func typeOf(text string) string {
	if t := begins[text[0]]; t != "" {
		return t
	} else if strings.ContainsAny(text, ".eE") {
		return "number"
	}
	return "integer"
}

// text is a string of so many characters; most −1: any number.
func (c *compiler) text(least, most int) int32 {
	char, quote := c.character(), c.literal(`"`, ended)
	at := quote
	if most < 0 {
		at = c.node(node{})
		c.nodes[at].ways = []int32{quote, c.called(char, at)}
		most = least
	}
	for n := most - 1; n >= 0; n-- {
		more := c.called(char, at)
		if at = more; n >= least {
			at = c.ways(quote, more)
		}
	}
	if most < least {
		return c.ways()
	}
	return c.literal(`"`, at)
}

// character is one of a string, also as an escape.
func (c *compiler) character() int32 {
	if c.char == 0 {
		hex := func(next int32) int32 {
			return c.edges(edge{'0', '9', next}, edge{'a', 'f', next}, edge{'A', 'F', next})
		}
		hex2 := hex(hex(ended))
		hex3 := hex(hex2)
		low := c.literal(`\u`, c.edges(edge{'d', 'd', c.edges(edge{'c', 'f', hex2}, edge{'C', 'F', hex2})}, edge{'D', 'D', c.edges(edge{'c', 'f', hex2}, edge{'C', 'F', hex2})}))
		high := hex(hex(low))
		d := c.edges(edge{'0', '7', hex2}, edge{'8', '9', high}, edge{'a', 'b', high}, edge{'A', 'B', high})
		code := c.edges(edge{'0', '9', hex3}, edge{'a', 'c', hex3}, edge{'A', 'C', hex3}, edge{'d', 'd', d}, edge{'D', 'D', d}, edge{'e', 'f', hex3}, edge{'E', 'F', hex3})
		list := []edge{{'u', 'u', code}}
		for _, b := range []byte(`"\/bfnrt`) {
			list = append(list, edge{b, b, ended})
		}
		c.char = c.ways(c.edges(edge{'\\', '\\', c.edges(list...)}), c.plain(nil, ended))
	}
	return c.char
}

// plain is a character that needs no escape, and is none of these.
func (c *compiler) plain(but []rune, next int32) int32 {
	but = append([]rune{'"', '\\', 0xD7FF + 1}, but...)
	slices.Sort(but)
	var ways []int32
	from := rune(' ')
	for _, r := range append(but, utf8.MaxRune+1) {
		if from < r {
			ways = append(ways, c.runes(from, r-1, next)...)
		}
		if from = max(from, r+1); r == 0xD7FF+1 {
			from = 0xE000 // behind the surrogates
		}
	}
	return c.ways(ways...)
}

// runes are the ways to write a character from low to high.
func (c *compiler) runes(low, high rune, next int32) (ways []int32) {
	for _, most := range []rune{0x7F, 0x7FF, 0xFFFF, utf8.MaxRune} { // of one byte, two, three, four
		if low > most || low > high {
			continue
		}
		top := min(high, most)
		ways = append(ways, c.units([]byte(string(low)), []byte(string(top)), next)...)
		low = top + 1
	}
	return ways
}

// units are the ways to write bytes from low to high, all but the first of which are 0x80 to 0xBF.
func (c *compiler) units(low, high []byte, next int32) []int32 {
	if len(low) == 1 {
		return []int32{c.edges(edge{low[0], high[0], next})}
	}
	least, most := bytes.Repeat([]byte{0x80}, len(low)-1), bytes.Repeat([]byte{0xBF}, len(low)-1)
	one := func(b byte, from, to []byte) int32 {
		return c.edges(edge{b, b, c.ways(c.units(from, to, next)...)})
	}
	if low[0] == high[0] {
		return []int32{one(low[0], low[1:], high[1:])}
	}
	from, to := low[0], high[0]
	var ways []int32
	if !bytes.Equal(low[1:], least) {
		ways = append(ways, one(from, low[1:], most))
		from++
	}
	if !bytes.Equal(high[1:], most) {
		ways = append(ways, one(to, least, high[1:]))
		to--
	}
	if from <= to {
		ways = append(ways, c.edges(edge{from, to, c.ways(c.units(least, most, next)...)}))
	}
	return ways
}

// anyNumber begins a number, or a whole one.
func (c *compiler) anyNumber(whole bool) int32 {
	end := ended
	if !whole {
		exponent := c.digits(exponentDigits, ended)
		signed := c.ways(exponent, c.edges(edge{'+', '+', exponent}, edge{'-', '-', exponent}))
		power := c.ways(ended, c.edges(edge{'e', 'e', signed}, edge{'E', 'E', signed}))
		end = c.ways(power, c.edges(edge{'.', '.', c.digits(fractionDigits, power)}))
	}
	more := c.ways(end, c.digits(wholeDigits-1, end))
	digits := c.edges(edge{'0', '0', end}, edge{'1', '9', more})
	return c.ways(digits, c.edges(edge{'-', '-', digits}))
}

// digits are 1 to most.
func (c *compiler) digits(most int, next int32) int32 {
	at := c.edges(edge{'0', '9', next})
	for range most - 1 {
		at = c.edges(edge{'0', '9', c.ways(next, at)})
	}
	return at
}
