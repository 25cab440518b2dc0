package grammar

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// single is a vocabulary of the 256 bytes.
var single = NewVocabulary(256, func(id int) []byte { return []byte{byte(id)} })

// pieces is one with longer tokens, which begin and end in the middle of characters and of JSON.
var pieces = NewVocabulary(256+12, func(id int) []byte {
	if id < 256 {
		return []byte{byte(id)}
	}
	return []byte([]string{`{"`, `": `, `, "`, `"}`, `true`, `null`, "a\xe2", "\x82\xac", `]}`, `12`, `"a": `, `é`}[id-256])
})

// takes says whether a grammar takes a text.
func takes(t testing.TB, g *Grammar, v *Vocabulary, text string) bool {
	t.Helper()
	m, err := g.Over(v)
	if err != nil {
		t.Fatal(err)
	}
	s := m.Start()
	for i := 0; i < len(text) && s != nil; i++ {
		s = s.Next(int(text[i]))
	}
	return s != nil && s.Accepts()
}

// TestTexts: what schemas allow, and what not.
func TestTexts(t *testing.T) {
	const list = `{"$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}, "required": ["v", "next"]}}, "$ref": "#/$defs/n"}`
	for _, c := range []struct {
		schema    string
		good, bad []string
	}{
		{`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}, "required": ["a"]}`,
			[]string{`{"a":1}`, `{"a": -10, "b": true}`, `{"a":0,"b": false}`}, []string{`{}`, `{"b":true}`, `{"b":true,"a":1}`, `{"a":1,}`, `{"a":1.5}`, `{"a":01}`, `{"a":1,"c":1}`, `{"a":1`, `{"a":  1}`, ` {"a":1}`}},
		{`{"type": "object", "properties": {"a": {}, "b": {}, "c": {}}}`, []string{`{}`, `{"b":[]}`, `{"a":1,"c":{}}`}, []string{`{,"b":1}`, `{"c":1,"a":1}`}},
		{`{"properties": {"ab": {"type": "null"}, "é": {"type": "null"}}, "additionalProperties": {"type": "integer"}}`,
			[]string{`{"ab":null,"a":1}`, `{"abc":1,"b":2}`, `{"":1}`, `{"é":null,"è":1}`}, []string{`{"ab":1}`, `{"b":null}`, `{"b":1,"ab":null}`, `{"b":1,"é":2}`, `{"\u0061b":1}`}},
		{`{"type": "object", "required": ["x"]}`, []string{`{"x":[1]}`, `{"x":1,"y":{}}`}, []string{`{}`, `{"y":1}`, `[]`}},
		{`{"type": "array", "items": {"type": "null"}, "minItems": 1, "maxItems": 3}`, []string{`[null]`, `[null, null,null]`}, []string{`[]`, `[null,null,null,null]`, `[null,]`}},
		{`{"type": "array", "minItems": 2, "items": {"enum": [1, "x"]}}`, []string{`[1,"x"]`, `[1,1,1,1]`}, []string{`[1]`, `[2,1]`}},
		{`{"prefixItems": [{"const": 1}, {"const": 2}], "items": false}`, []string{`[]`, `[1]`, `[1,2]`}, []string{`[1,2,3]`, `[2]`}},
		{`{"prefixItems": [{"const": 1}], "items": {"type": "string"}}`, []string{`[]`, `[1,"a","b"]`}, []string{`["a"]`, `[1,1]`}},
		{`{"type": "string", "minLength": 2, "maxLength": 3}`, []string{`"ab"`, `"a\n€"`, `"\u00e9\ud83d\uDE00"`, `"😀é\""`}, []string{`"a"`, `"abcd"`, `"a` + "\n" + `"`, `"a\x"`, `"\ud83dab"`, "\"\xc0\x80a\"", "\"\xed\xa0\x80a\"", "\"a\xe2\x82\"", "\"\xf4\x90\x80\x80a\""}},
		{`{"type": "string"}`, []string{`""`, "\"\u007f\uffff\U0010ffff\u0800\u07ff\ud7ff\ue000\""}, []string{`"`, "\"\x80\""}},
		{`{"enum": ["a\"b", 1.5, null, {"k": [1, 2]}, "<é>"]}`, []string{`"a\"b"`, `1.5`, `null`, `{"k":[1,2]}`, `"<é>"`}, []string{`1`, `"a"`, `"\u003cé>"`}},
		{`{"type": "string", "enum": ["a", 1]}`, []string{`"a"`}, []string{`1`}},
		{`{"type": ["integer", "null"]}`, []string{`12`, `null`, `-0`}, []string{`1.0`, `"a"`, `1e3`, `1234567890123456789`}},
		{`{"type": "number"}`, []string{`-1.50e+10`, `0.1`, `1E9`}, []string{`.5`, `1.`, `+1`, `1e`, `1e999`, `00`}},
		{`{"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"]}, {"type": "integer"}]}`,
			[]string{`{"k":"a"}`, `{"k":"b"}`, `7`}, []string{`{"k":"c"}`, `{}`}},
		{list, []string{`{"v":1,"next":null}`, `{"v":1,"next":{"v":2,"next":{"v":3,"next":null}}}`}, []string{`{"v":1}`, `{"v":1,"next":{"v":2,"next":null}`}},
		{`true`, []string{`[{"a":[]},null,"x",-1e5,true]`, `{"a":{"b":{}}}`}, []string{``, `[1,]`, `{"a"}`}},
		{`{"allOf": [{"$ref": "#/definitions/a~1b"}], "description": "x", "definitions": {"a/b": {"type": "boolean"}}}`, []string{`true`}, []string{`1`}},
		{`{"type": "array", "items": {"$ref": "#"}}`, []string{`[]`, `[[],[[]]]`}, []string{`[1]`}},
		{`{"prefixItems": [{"type": "integer"}, {"$ref": "#/prefixItems/0"}], "items": false, "minItems": 2}`, []string{`[1,2]`}, []string{`[1,"a"]`}},
		{`{"anyOf": [{"$id": "x", "$defs": {"n": {"const": 1}}, "type": "array", "items": {"$ref": "#/$defs/n"}}]}`, []string{`[1]`}, []string{`[2]`}},
		{`{"type": "integer", "minimum": -12, "maximum": 105}`, []string{`-12`, `-3`, `0`, `7`, `99`, `100`, `105`}, []string{`-13`, `-20`, `-0`, `106`, `110`, `1000`, `1.0`}},
		{`{"type": "integer", "exclusiveMinimum": 2.5, "exclusiveMaximum": 20}`, []string{`3`, `19`}, []string{`2`, `20`, `0`, `-3`}},
		{`{"minimum": 0.25, "exclusiveMaximum": 1e1}`, []string{`0.25`, `0.250`, `0.3`, `1`, `9.99`}, []string{`0.249`, `0`, `0.2`, `10`, `10.0`, `1e0`, `-1`, `11`}},
		{`{"type": "number", "maximum": -1.5}`, []string{`-1.5`, `-1.50`, `-2`, `-123.4`}, []string{`-1.49`, `-1`, `1`, `0`}},
		{`{"type": "number", "minimum": 3, "exclusiveMinimum": 3}`, []string{`3.1`, `3.001`, `4`}, []string{`3`, `3.0`, `2.9`}},
		{`{"type": "integer", "multipleOf": 7}`, []string{`0`, `7`, `-14`, `100002`, `-7`}, []string{`1`, `-8`, `100003`, `7.0`, `07`}},
		{`{"multipleOf": 0.25, "minimum": 1, "exclusiveMaximum": 20}`, []string{`1`, `1.25`, `1.5`, `1.50`, `19.75`, `3.0`}, []string{`0.75`, `1.2`, `1.26`, `20`, `1.250`, `-1.5`}},
		{`{"type": "integer", "multipleOf": 1.5}`, []string{`0`, `3`, `-30`}, []string{`1`, `2`, `1.5`}},
		{`{"type": "number", "multipleOf": 100, "maximum": -150}`, []string{`-200`, `-1000`}, []string{`-100`, `0`, `200`, `-250`}},
		{`{"type": "number", "multipleOf": 0.01}`, []string{`19.99`, `0.1`, `5`}, []string{`19.999`, `1e2`}},
		{`{"type": "string", "pattern": "^[a-c]+$", "minLength": 2, "maxLength": 3}`, []string{`"ab"`, `"abc"`}, []string{`"a"`, `"abca"`, `"ad"`, `""`}},
		{`{"type": "string", "pattern": "[0-9]", "maxLength": 3}`, []string{`"1"`, `"é1😀"`, `"\n1\""`}, []string{`"abc"`, `"1abc"`, `"ab\n1"`}},
		{`{"type": "string", "pattern": "^(ab|\\d)*$", "minLength": 3}`, []string{`"ab1"`, `"123456"`, `"abab"`}, []string{`"ab"`, `"1"`, `"aba"`}},
		{`{"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}`, []string{`"AB-1"`, `"ZZ-007"`}, []string{`"AB-"`, `"aB-1"`, `"AB-1 "`, `""`}},
		{`{"type": "string", "pattern": "b"}`, []string{`"b"`, `"abc"`, `"\n\"b\\"`}, []string{`""`, `"ac"`, `"\u0062"`}},
		{`{"type": "string", "pattern": "^a|\"$"}`, []string{`"a"`, `"ax"`, `"x\""`}, []string{`"xa"`, `"\"x"`}},
		{`{"type": "string", "pattern": "^(a?b*)*(x|)+$"}`, []string{`""`, `"abba"`, `"bx"`, `"xx"`}, []string{`"xa"`, `"c"`}},
		{`{"type": "string", "pattern": "^(?i:Straße).$"}`, []string{`"STRAßE!"`, `"ſtraßeé"`, `"straẞe\""`}, []string{`"strase!"`, `"straße\n"`, `"straße"`}},
		{`{"type": "object", "properties": {"a": false, "b": {"type": "null"}}}`, []string{`{}`, `{"b":null}`}, []string{`{"a":1}`}},
	} {
		g, err := Compile([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		for i, text := range append(c.good, c.bad...) {
			for _, v := range []*Vocabulary{single, pieces} {
				if got := takes(t, g, v, text); got != (i < len(c.good)) {
					t.Errorf("%s: %s: got %v", c.schema, text, got)
				}
			}
		}
	}
}

// TestRefusals: what cannot be used is named with its place.
func TestRefusals(t *testing.T) {
	for schema, want := range map[string]string{
		`{`: "unexpected EOF", `{} {}`: "got more behind it", `3`: "at #: got 3", `{"type": "text"}`: `at #/type: got "text", want one of`,
		`{"type": "object", "properties": {"a": {"contains": 2}}}`:                  `at #/properties/a: got the keyword "contains"`,
		`{"type": "integer", "multipleOf": 0}`:                                      "got multipleOf 0, want a number above 0",
		`{"type": "number", "multipleOf": 12.345}`:                                  "got multipleOf 12.345, want a number above 0 with few digits",
		`{"type": "integer", "multipleOf": 7, "minimum": 15, "maximum": 20}`:        "no text is valid",
		`{"type": "string", "pattern": "^ab$", "minLength": 3}`:                     "no text is valid",
		`{"type": "string", "pattern": "(?=a)"}`:                                    "invalid or unsupported Perl syntax",
		`{"type": "string", "pattern": "a$b"}`:                                      "want ^ and $ at the ends",
		`{"type": "array", "items": {"type": "integer", "contains": 3}}`:            `at #/items: got the keyword "contains"`,
		`{"type": "integer", "minimum": "3"}`:                                       `at #/minimum: got "3"`,
		`{"type": "integer", "minimum": 3.2, "maximum": 3.8}`:                       "no text is valid",
		`{"type": "number", "minimum": 0.1234567890123456789}`:                      "more than 17 digits",
		`{"$ref": "http://x/y"}`:                                                    "want a place in the schema",
		`{"$ref": "#/$defs/a"}`:                                                     `has no "$defs"`,
		`{"$ref": "#"}`:                                                             "a part of itself",
		`{"anyOf": [{"type": "null"}, {"$ref": "#"}]}`:                              "a part of itself",
		`{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}`: "no text is valid",
		`false`: "no text is valid", `{"minItems": 3, "maxItems": 2}`: "no text is valid", `{"enum": []}`: "no text is valid",
		`{"oneOf": [{"type": "integer"}, {"type": "number"}]}`: "numbers 0 and 1 of oneOf",
		`{"anyOf": [{}], "type": "object"}`:                    "got type beside anyOf",
		`{"enum": [1], "minLength": 2}`:                        "want enum or const beside",
		`{"allOf": [{}, {}]}`:                                  "allOf of 2",
		`{"minLength": -1}`:                                    "minLength -1", `{"minLength": "a"}`: `at #/minLength: got "a"`,
		`{"maxLength": 3000000}`: "nodes", `{"uniqueItems": true}`: "uniqueItems",
		`{"enum": [1` + strings.Repeat(`, 1`, mostPositions) + `]}`:           "an enum of 8193 values, want at most 8192",
		strings.Repeat(`{"items": `, 300) + "true" + strings.Repeat("}", 300): "deep",
	} {
		if _, err := Compile([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %q", schema, err, want)
		}
	}
	letters := NewVocabulary(26, func(id int) []byte { return []byte{byte('a' + id)} })
	if _, err := JSON().Over(letters); err == nil || !strings.Contains(err.Error(), "a token for each byte") {
		t.Errorf("a vocabulary of letters: got %v", err)
	}
}

// TestMasks: a mask has the tokens that a state takes, whatever way they begin.
func TestMasks(t *testing.T) {
	walk(t, JSON(), pieces, rand.New(rand.NewPCG(1, 1)), 300, func(s *State) {
		for id := range len(pieces.texts) {
			if masked := s.Mask()[id/64]>>(id%64)&1 == 1; masked != (s.Next(id) != nil) {
				t.Fatalf("token %q: got %v in the mask", pieces.texts[id], masked)
			}
		}
	})
}

// walk goes on by tokens at random to an end, and after some of them to the end that is next.
func walk(t *testing.T, g *Grammar, v *Vocabulary, rng *rand.Rand, most int, each func(s *State)) (text string) {
	t.Helper()
	m, err := g.Over(v)
	if err != nil {
		t.Fatal(err)
	}
	s := m.Start()
	for n := 0; ; n++ {
		if each != nil {
			each(s)
		}
		if s.Ends() || s.Accepts() && (n > most || rng.IntN(4) == 0) {
			return text
		}
		var list []int
		for i, word := range s.Mask() {
			for ; word != 0; word &= word - 1 {
				list = append(list, 64*i+bits.TrailingZeros64(word))
			}
		}
		if len(list) == 0 {
			t.Fatalf("nothing may follow %q", text)
		}
		id := list[rng.IntN(len(list))]
		for _, c := range `"]}` { // what closes, where it can
			if n > most && s.Next(int(c)) != nil {
				id = int(c)
				if s.Next('z') != nil { // in a string
					break
				}
			}
		}
		text += v.texts[id]
		if s = s.Next(id); s == nil {
			t.Fatalf("token %q behind %q: in the mask, and not taken", v.texts[id], text)
		}
	}
}

// TestWalks: what tokens at random make is JSON that the schema allows.
func TestWalks(t *testing.T) {
	for schema, valid := range map[string]func(v any) bool{
		`{"type": "object"}`: func(v any) bool { _, ok := v.(map[string]any); return ok },
		`{"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"type": "array", "items": {"type": ["number", "null"]}, "maxItems": 4}}, "required": ["b"], "additionalProperties": {"type": "boolean"}}`: func(v any) bool {
			o, ok := v.(map[string]any)
			for k, x := range o {
				switch x := x.(type) {
				case string:
					ok = ok && k == "a" && utf8.RuneCountInString(x) <= 3
				case []any:
					ok = ok && k == "b" && len(x) <= 4
				case bool:
					ok = ok && k != "a" && k != "b"
				default:
					ok = false
				}
			}
			return ok && o["b"] != nil
		},
		`{"$defs": {"t": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/t"}, {"enum": ["x", 2]}]}, "maxItems": 2}}, "$ref": "#/$defs/t"}`: func(v any) bool {
			var ok func(v any) bool
			ok = func(v any) bool {
				l, is := v.([]any)
				for _, x := range l {
					is = is && (x == "x" || x == 2.0 || ok(x))
				}
				return is && len(l) <= 2
			}
			return ok(v)
		},
	} {
		g, err := Compile([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(2, 3))
		for range 150 {
			text := walk(t, g, pieces, rng, 60, nil)
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil || !valid(v) || !utf8.ValidString(text) {
				t.Fatalf("%s: got %q, %v", schema, text, err)
			}
		}
	}
}

// TestForgets: texts go on where a machine has forgotten how they began.
func TestForgets(t *testing.T) {
	g, err := Compile([]byte(fmt.Sprintf(`{"type": "string", "minLength": %d}`, 2*mostStates)))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if text := `"` + strings.Repeat("é", 2*mostStates) + `"`; !takes(t, g, single, text) {
			t.Error("a long text is refused")
		}
	}
	m, _ := g.Over(single)
	if len(m.states) > mostStates {
		t.Errorf("got %d states, want at most %d", len(m.states), mostStates)
	}
}

// TestAmbiguous: a schema that doubles the ways to read a text at each level takes few levels, and no more
// time.
func TestAmbiguous(t *testing.T) {
	g, err := Compile([]byte(`{"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "array", "items": {"$ref": "#"}, "maxItems": 9}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for depth, want := range map[int]bool{6: true, 60: false} {
		if got := takes(t, g, single, strings.Repeat("[", depth)+strings.Repeat("]", depth)); got != want {
			t.Errorf("%d levels: got %v", depth, got)
		}
	}
}

// BenchmarkMask makes the masks of a text anew over 128 thousand tokens.
func BenchmarkMask(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 5))
	v := NewVocabulary(128_000, func(id int) []byte {
		if id < 256 {
			return []byte{byte(id)}
		}
		text := make([]byte, 2+rng.IntN(7))
		for i := range text {
			text[i] = "abcdefghijklmnopqrst eaion{}\":,1"[rng.IntN(32)]
		}
		return text
	})
	for b.Loop() {
		g, _ := Compile([]byte(`{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a", "b"]}`))
		m, _ := g.Over(v)
		s, n := m.Start(), 0
		for _, c := range []byte(`{"a": "xyz", "b": 12}`) {
			s.Mask()
			s, n = s.Next(int(c)), n+1
		}
		b.ReportMetric(float64(m.masks), "masks/op")
	}
}
