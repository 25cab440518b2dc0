package chat

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// The files of testdata are what transformers makes of the templates: tests/peers/chat_templates.py.
type peerCase struct {
	Messages []Message
	Prompt   bool
	Tools    []json.RawMessage
	Extra    map[string]any
	Text     string
	Error    string
}

var now = time.Date(2025, 3, 9, 17, 5, 8, 0, time.UTC)

func (c peerCase) options() Options {
	return Options{AddGenerationPrompt: c.Prompt, BOS: "<s>", EOS: "</s>", Tools: c.Tools, Extra: c.Extra, Now: now}
}

func load(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, c peerCase, got string, err error) {
	t.Helper()
	switch {
	case c.Error != "" && err == nil:
		t.Errorf("got %q, want an error like %s", got, c.Error)
	case c.Error == "" && err != nil:
		t.Errorf("got %v, want %q", err, c.Text)
	case got != c.Text:
		t.Errorf("got  %q\nwant %q", got, c.Text)
	}
	var e *Error
	if errors.As(err, &e) && e.Raised && e.Reason != c.Error {
		t.Errorf("got the error %v, want %s", e, c.Error)
	}
}

type family struct {
	Name, Template string
	Cases          []peerCase
}

func TestFamilies(t *testing.T) {
	var families []family
	load(t, "families.json", &families)
	for _, f := range families {
		tmpl, err := Parse(f.Name, f.Template)
		if err != nil {
			t.Error(err)
			continue
		}
		for i, c := range f.Cases {
			t.Run(fmt.Sprint(f.Name, "/", i), func(t *testing.T) {
				got, err := tmpl.Render(c.Messages, c.options())
				check(t, c, got, err)
			})
		}
	}
}

var realFile = flag.String("real", "testdata/real.json", "what tests/peers/chat_templates.py real FILE wrote")

// Templates as models ship them, word for word: with tools, several calls at once, thoughts, pictures.
func TestReal(t *testing.T) {
	text, err := os.ReadFile(*realFile)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Cases     []peerCase
		Templates []struct {
			Name, Template string
			Made           []peerCase
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Templates) < 15 {
		t.Fatalf("got %d templates", len(all.Templates))
	}
	for _, f := range all.Templates {
		t.Run(f.Name, func(t *testing.T) {
			tmpl, err := Parse(f.Name, f.Template)
			if err != nil {
				t.Fatal(err)
			}
			texts := 0
			for i, c := range all.Cases {
				c.Text, c.Error = f.Made[i].Text, f.Made[i].Error
				if c.Error == "" {
					texts++
				}
				got, err := tmpl.Render(c.Messages, c.options())
				check(t, c, got, err)
			}
			if texts < len(all.Cases)/3 {
				t.Errorf("only %d of %d conversations have a text", texts, len(all.Cases))
			}
		})
	}
}

func TestLanguage(t *testing.T) {
	var pieces []struct {
		Template string
		peerCase
	}
	load(t, "language.json", &pieces)
	for _, p := range pieces {
		t.Run(p.Template, func(t *testing.T) {
			tmpl, err := Parse("piece", p.Template)
			got := ""
			if err == nil {
				got, err = tmpl.Render(nil, Options{Now: now})
			}
			check(t, p.peerCase, got, err)
		})
	}
}

// A template that never ends, or makes something huge, is stopped.
func TestHostile(t *testing.T) {
	million := "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
	for name, template := range map[string]string{
		"loops":       million + "{% endfor %}{% endfor %}{% endfor %}",
		"output":      million + "aaaaaaaaaaaaaaaa{% endfor %}{% endfor %}{% endfor %}",
		"recursion":   "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
		"repetition":  "{{ 'a' * 9223372036854775807 }}",
		"list":        "{{ [[1] * 99999999] * 99999999 }}",
		"doubling":    "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
		"shared":      "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
		"deep":        "{% set n = namespace(x=[1]) %}{% for i in range(9999) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x == n.x|list }}{{ n.x }}",
		"parentheses": "{{ " + strings.Repeat("(", 100000),
		"not":         "{{ " + strings.Repeat("not ", 100000) + "1 }}",
		"sum":         "{{ 1" + strings.Repeat("+1", 100000) + " }}",
		"elif":        "{% if 0 %}" + strings.Repeat("{% elif 0 %}", 50000) + "{% endif %}",
		"blocks":      strings.Repeat("{% if 1 %}", 50000),
		"indent":      "{{ 'a\nb'|indent(9999999999) }}",
		"json":        "{{ [1]|tojson(indent=9999999999) }}",
		"power":       "{{ 10 ** 999999999999 }}",
		"long":        strings.Repeat("a", maxSource+1),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "loops" {
				long.InCI(t, "counts for a second")
			}
			tmpl, err := Parse(name, template)
			if err == nil {
				_, err = tmpl.Render(nil, Options{})
			}
			var e *Error
			if !errors.As(err, &e) || e.Template != name || e.Line == 0 {
				t.Errorf("got %v, want an error with the template's name and line", err)
			}
		})
	}
}

func TestErrorNamesLine(t *testing.T) {
	for template, want := range map[string]string{
		"a\n\n{{ x.y }}":                    `chat: t:3: got .y of the undefined x, want a value`,
		"a\n{{ raise_exception('no') }}":    `chat: t:2: no`,
		"\n{% frobnicate %}":                `chat: t:2: got the statement frobnicate, want one of those of chat templates`,
		"{% if 1 %}\n":                      `chat: t:1: got the end of the template, want {% endif %}`,
		"{{ 'a'\n|nope }}":                  `chat: t:2: got the filter nope, want one of those of chat templates`,
		"{% for a in 3 %}{% endfor %}":      `chat: t:1: got an int, want something to loop over`,
		"{% set a = 1 %}\n{% set a.b = 2%}": `chat: t:2: got a.b set, want a namespace as a`,
	} {
		tmpl, err := Parse("t", template)
		if err == nil {
			_, err = tmpl.Render(nil, Options{})
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", template, err, want)
		}
	}
}

// A damaged template gives a text or an error, never a panic.
func TestDamaged(t *testing.T) {
	var families []family
	load(t, "families.json", &families)
	for _, f := range families {
		random := rand.New(rand.NewPCG(1, 2))
		for range 500 {
			b := []byte(f.Template)
			for range 1 + random.IntN(3) {
				if len(b) == 0 {
					break
				}
				i := random.IntN(len(b))
				switch n := min(random.IntN(9), len(b)-i); random.IntN(4) {
				case 0:
					b = append(b[:i:i], b[i+n:]...)
				case 1:
					b[i] = "{}%-|()[]'\"., +*~#\n\xff"[random.IntN(20)]
				case 2:
					b = append(b[:i:i], append([]byte(f.Template[:min(n, len(f.Template))]), b[i:]...)...)
				case 3:
					b = b[:max(i, 1)]
				}
			}
			tmpl, err := Parse(f.Name, string(b))
			if err != nil {
				continue
			}
			c := f.Cases[random.IntN(len(f.Cases))]
			tmpl.Render(c.Messages, c.options())
		}
	}
}

// What a template is given as JSON it writes as json.dumps does, integers of any length digit by digit;
// from_json reads what tojson wrote.
func TestJSONStaysWhatItWas(t *testing.T) {
	const arguments = `{"id": 12345678901234567890, "less": -98765432109876543210, "most": 9223372036854775807, "x": [1e+20, 1.5]}`
	var m Message
	if err := json.Unmarshal([]byte(`{"role": "assistant", "content": "", "arguments": `+arguments+`}`), &m); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(m.Fields)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ template, want string }{
		{"{{ messages[0].arguments|tojson }}", arguments},
		{"{{ messages[0].arguments|tojson|from_json|tojson }}", arguments},
		{"{{ messages[0].arguments.id }} {{ messages[0].arguments.id|int|string|length }}", "12345678901234567890 20"},
		{"{{ messages[0].arguments.id is number and messages[0].arguments.id is integer and messages[0].arguments.id == ('12345678901234567890'|from_json) }}", "True"},
		{"{{ messages[0].arguments.id + 1 }}", "error: got an int beyond 64 bits + an int"},
		{"{{ '{'|from_json }}", `error: from_json: got "{"`},
	} {
		tmpl, err := Parse("t", c.template)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Render([]Message{m}, Options{})
		if err != nil {
			got = "error: " + strings.TrimPrefix(err.Error(), "chat: t:1: ")
		}
		if got != c.want && (err == nil || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: got %q, want %q", c.template, got, c.want)
		}
	}
	if !strings.Contains(string(again), "12345678901234567890") {
		t.Errorf("a message became %s", again)
	}
}

// What the assistant said is marked by the template, where its text goes straight into the conversation's.
func TestMarked(t *testing.T) {
	for _, c := range []struct {
		template string
		marks    bool
		want     []string
	}{
		{"{% for m in messages %}{{ m.role }}: {% if m.role == 'assistant' %}{% generation %}{{ m.content }}!{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n{% endfor %}", true, []string{"größer!", "6!"}},
		{"{% for m in messages %}{{ m.content }}{% endfor %}", false, nil},
		{"{% set x %}{% generation %}away{% endgeneration %}{% endset %}text", true, nil},
		{"{% for m in messages if m.role == 'assistant' %}{% generation %}{% if m.content == '6' %}{% break %}{% endif %}{{ m.content }}{% endgeneration %}{% endfor %}", true, []string{"größer", ""}},
	} {
		tmpl, err := Parse("template", c.template)
		if err != nil {
			t.Fatal(err)
		}
		text, said, err := tmpl.RenderMarked([]Message{{Role: "user", Content: "a"}, {Role: "assistant", Content: "größer"}, {Role: "user", Content: "c"}, {Role: "assistant", Content: "6"}}, Options{})
		if err != nil || tmpl.Marks() != c.marks {
			t.Errorf("%s: marks %v, error %v", c.template, tmpl.Marks(), err)
		}
		var got []string
		for _, s := range said {
			got = append(got, text[s.From:s.To])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.template, got, c.want)
		}
	}
}
