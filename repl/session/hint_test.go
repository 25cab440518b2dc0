package session

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/session/internal/help"
)

// hintCells has the declarations for the tests of hints, completion and inspection.
const hintCells = `type Model struct{ Layers int; width int }
func (m *Model) Forward(x int, rest ...string) (y int, err error) { return x, nil }
type Pair[K comparable, V any] struct { Key K; Val V }
func Map[T, U any](list []T, f func(T) U) []U { return nil }
func train(m *Model, steps int) error { return nil }
m := Model{}
table := map[string]int{}`

// In these cells | is the cursor; the active parameter of the hint is in ⟨⟩.
func TestHint(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, hintCells)
	for _, c := range []struct{ cell, want string }{
		// functions, methods, arguments by number
		{"train(|", "train(⟨m *Model⟩, steps int) error"},
		{"train(|)", "train(⟨m *Model⟩, steps int) error"},
		{"train(&m, |", "train(m *Model, ⟨steps int⟩) error"},
		{"train(&m, 3|", "train(m *Model, ⟨steps int⟩) error"},
		{"train(&m, 3 |", "train(m *Model, ⟨steps int⟩) error"},
		{"train(&m|, 3)", "train(⟨m *Model⟩, steps int) error"},
		{"train(\n\t&m,\n\t|", "train(m *Model, ⟨steps int⟩) error"},
		{"train(&m, 3, |", "train(m *Model, steps int) error"},
		{"m.Forward(|", "Forward(⟨x int⟩, rest ...string) (y int, err error)"},
		{"m.Forward(1, \"a\", |", "Forward(x int, ⟨rest ...string⟩) (y int, err error)"},
		{"(*Model).Forward(|", "Forward(⟨m *Model⟩, x int, rest ...string) (y int, err error)"},
		{"strings.Replace(s, |", "strings.Replace(s string, ⟨old string⟩, new string, n int) string"},
		{"strings.NewReader(\"a\").Read(|", "Read(⟨b []byte⟩) (n int, err error)"},
		{"fmt.Printf(\"%d\", |", "fmt.Printf(format string, ⟨a ...any⟩) (n int, err error)"},
		{"tensor.Randn(2, |", "tensor.Randn(⟨shape ...int⟩) tensor.Tensor"},
		// the innermost call counts
		{"train(&m, len(|", "len(⟨v T⟩) int"},
		{"train(&m, len(table)|", "train(m *Model, ⟨steps int⟩) error"},
		{"train(&m, table[|", "train(m *Model, ⟨steps int⟩) error"},
		{"train(&m, (|", "train(m *Model, ⟨steps int⟩) error"},
		{"train(func() *Model { return |", ""},
		{"train(func() *Model { return train(|", "train(⟨m *Model⟩, steps int) error"},
		{"train([]*Model{&m, |", "train(⟨m *Model⟩, steps int) error"},
		// function values, literals, variadics
		{"f := func(a int, b string) {}\nf(1, |", "f(a int, ⟨b string⟩)"},
		{"func(a int) int { return a }(|", "func(⟨a int⟩) int"},
		{"func f(g func(float64, int)) { g(1, |", "g(float64, ⟨int⟩)"},
		{"append([]int{}, 1, 2, |", "append(slice []T, ⟨elems ...T⟩) []T"},
		{"make(|", "make(⟨T type⟩, size ...int) T"},
		{"make([]int, |", "make(T type, ⟨size ...int⟩) T"},
		{"copy(x, |", "copy(dst []T, ⟨src []T⟩) int"},
		{"min(1, |", "min(x T, ⟨y ...T⟩) T"},
		{"recover(|", "recover() any"},
		// generics
		{"Map([]int{1}, |", "Map[T any, U any](list []T, ⟨f func(T) U⟩) []U"},
		{"Map[int, string]([]int{1}, |", "Map(list []int, ⟨f func(int) string⟩) []string"},
		{"Map[|", "Map[⟨T any⟩, U any](list []T, f func(T) U) []U"},
		{"Map[int, |", "Map[T any, ⟨U any⟩](list []T, f func(T) U) []U"},
		{"var p Pair[string, |", "Pair[K comparable, ⟨V any⟩]"},
		{"slices.Contains([]int{1}, |", "slices.Contains[S ~[]E, E comparable](s S, ⟨v E⟩) bool"},
		// conversions
		{"float64(|", "float64(⟨value⟩)"},
		{"[]byte(|", "[]byte(⟨value⟩)"},
		{"time.Duration(|", "time.Duration(⟨value int64⟩)"},
		{"Model(|", "Model(⟨value struct{Layers int; width int}⟩)"},
		// literals of structs
		{"Model{|", "Model{Layers int, width int}"},
		{"Model{Layers: |", "Model{⟨Layers int⟩, width int}"},
		{"Model{Layers: 3, |", "Model{width int}"},
		{"Model{Layers: 3, width: 2 + |", "Model{⟨width int⟩}"},
		{"Model{3, |", "Model{Layers int, ⟨width int⟩}"},
		{"&Model{|", "Model{Layers int, width int}"},
		{"[]Model{{|", "Model{Layers int, width int}"},
		{"map[string]*Model{\"a\": {Layers: |", "Model{⟨Layers int⟩, width int}"},
		{"Pair[int, string]{Val: |", "Pair[int, string]{Key int, ⟨Val string⟩}"},
		{"lora.Config{Rank: |", "lora.Config{⟨Rank int⟩"},
		{"train(&Model{|", "Model{Layers int, width int}"},
		{"train(&Model{Layers: len(|", "len(⟨v T⟩) int"},
		{"struct{ A int }{|", "struct{A int}"},
		{"[]int{|", ""},
		// statements that are not finished
		{"if err := train(|", "train(⟨m *Model⟩, steps int) error"},
		{"if err := train(&m, |); err != nil {", "train(m *Model, ⟨steps int⟩) error"},
		{"for i := 0; i < len(|", "len(⟨v T⟩) int"},
		{"for i := range train(|", "train(⟨m *Model⟩, steps int) error"},
		{"switch train(|", "train(⟨m *Model⟩, steps int) error"},
		{"switch {\ncase train(|", "train(⟨m *Model⟩, steps int) error"},
		{"go train(|", "train(⟨m *Model⟩, steps int) error"},
		{"defer train(&m, |", "train(m *Model, ⟨steps int⟩) error"},
		{"func f(q *Model) error {\n\tif q != nil {\n\t\treturn train(q, |", "train(m *Model, ⟨steps int⟩) error"},
		{"x := = 3\ntrain(|", "train(⟨m *Model⟩, steps int) error"},
		{"func f() {\n\tx := = 3\n\tg := m.Forward\n\tg(|", "g(⟨x int⟩, rest ...string) (y int, err error)"},
		{"n := 2\nfunc double(x int) int { return x }\ndouble(|", "double(⟨x int⟩) int"},
		{"later(|)\nfunc later(x int) {}", "later(⟨x int⟩)"},
		{"import r \"crypto/rand\"\nr.Int(|", "r.Int(⟨rand io.Reader⟩, max *big.Int) (n *big.Int, err error)"},
		// no hint
		{"", ""}, {"|", ""}, {"x|", ""}, {"train|", ""}, {"train(&m, 3)|", ""}, {"// train(|", ""}, {"nosuch(|", ""},
		{"func f(a int, |", ""}, {"(1 + |", ""}, {"table[|", ""}, {"import (|", ""}, {"%time train(|", ""}, {"if (|", ""},
		{"train(&m, \"|", "train(m *Model, ⟨steps int⟩) error"},
	} {
		pos := strings.IndexByte(c.cell, '|')
		cell := strings.Replace(c.cell, "|", "", 1)
		h, ok := s.Hint(cell, pos)
		got := h.Signature
		if h.To > h.From {
			got = got[:h.From] + "⟨" + got[h.From:h.To] + "⟩" + got[h.To:]
		}
		if ok != (c.want != "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("Hint(%q) = %q, want %q", c.cell, got, c.want)
		}
	}
}

// A hint has the first sentence about the called function, also from comments in the session's own cells.
func TestHintDoc(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "// area is that of a circle. It is exact.\nfunc area(r float64) float64 { return 3 * r * r }\ntype Box struct{ W int }\n\n// Grow makes it wider.\nfunc (b *Box) Grow(by int) {}\nb := Box{}")
	for _, c := range []struct{ cell, want string }{
		{"area(", "area is that of a circle."},
		{"b.Grow(", "Grow makes it wider."},
		{"strings.ToUpper(", "ToUpper returns s with all Unicode letters mapped to their upper case."},
		{"len(", help.Language()["len"].Doc},
		{"x := nn.Linear{Weight: ", ""},
	} {
		h, ok := s.Hint(c.cell, len(c.cell))
		if !ok || h.Doc != c.want && c.want != "" {
			t.Errorf("Hint(%q).Doc = %q, want %q", c.cell, h.Doc, c.want)
		}
	}
}
