package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A writer writes Go programs from Go's grammar with types: forms of expressions, types, and places for
// them, which are statements. A program is a list of probes, functions that print what they compute. Which
// functions it calls, and when, shows in the output, too: eff prints a number and returns its argument.
// Programs keep to orders of evaluation that Go's specification or its compiler decides.
type writer struct {
	*rand.Rand
	out     strings.Builder
	program int // number of the program, a part of the names of its declarations
	serial  int // of the last name or effect
	types   []*wtype
	scope   []wvar
}

// A wtype is a type of a generated program. All its values can be printed.
type wtype struct {
	name   string
	kind   wkind
	elem   *wtype   // of an array, a slice or a map with strings as keys
	fields []*wtype // of a struct, whose names are A, B, …
	length int
	bits   int // of an integer; negative: with a sign
}

type wkind int

const (
	genInt wkind = iota
	genFloat
	genComplex
	genText
	genBool
	genAny
	genArray
	genSlice
	genMap
	genStruct
)

type wvar struct {
	name string
	typ  *wtype
}

// genPrelude is what all generated programs share.
const genPrelude = `package main

import "fmt"

func v[T any](x T) T { return x }
func eff[T any](n int, x T) T { fmt.Print("·", n, " "); return x }
func ptr[T any](x T) *T { return &x }
func pair[A, B any](a A, b B) (A, B) { return a, b }
func pick[T any](c bool, a, b T) T { if c { return a }; return b }
func cut[T ~string](s T) T { return s[:min(len(s), 60)] }
func cap6[S ~[]E, E any](s S) S { return s[:min(len(s), 6)] }
func sent[T any](x T) chan T { c := make(chan T, 1); c <- x; return c }
func each[T any](xs ...T) func(func(int, T) bool) {
	return func(yield func(int, T) bool) {
		defer fmt.Print("done ")
		for i, x := range xs { if !yield(i, x) { return } }
	}
}
func show(xs ...any) { for _, x := range xs { fmt.Printf("%#v; ", x) }; fmt.Println() }
func probe(f func()) { defer func() { if p := recover(); p != nil { fmt.Println("panic:", p) } }(); f() }

type box[T any] struct { X T }
func (b box[T]) Get() T { return b.X }
func (b *box[T]) Set(x T) *box[T] { b.X = x; return b }
type outer[T any] struct { box[T]; N int }
type getter[T any] interface { Get() T }
`

var wbasics = func() (all []*wtype) {
	for _, bits := range []int{8, 16, 32, 64} {
		all = append(all, &wtype{name: fmt.Sprint("int", bits), bits: -bits}, &wtype{name: fmt.Sprint("uint", bits), bits: bits})
	}
	for _, t := range []wtype{{name: "int", bits: -64}, {name: "uint", bits: 64}, {name: "float64", kind: genFloat}, {name: "float32", kind: genFloat}, {name: "complex128", kind: genComplex},
		{name: "string", kind: genText}, {name: "bool", kind: genBool}, {name: "any", kind: genAny}} {
		all = append(all, &t)
	}
	return all
}()

func basicType(name string) *wtype {
	for _, t := range wbasics {
		if t.name == name {
			return t
		}
	}
	panic(name)
}

// generate returns the text of a program's file, whose function program_N is to be called.
func generate(seed uint64, program int) string {
	g := &writer{Rand: rand.New(rand.NewPCG(seed, uint64(program))), program: program}
	g.line("package main\nimport \"fmt\"\nvar _ = fmt.Sprint")
	g.declare()
	probes := 1 + g.IntN(3)
	for i := range probes {
		g.scope = nil
		g.line("func probe%d_%d() {", i, program)
		g.block(3+g.IntN(3), 2)
		g.line("}")
	}
	g.line("func program_%d() {", program)
	for i := range probes {
		g.line("probe(probe%d_%d)", i, program)
	}
	g.line("}")
	return g.out.String()
}

func (g *writer) line(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

func (g *writer) name(prefix string) string {
	g.serial++
	return fmt.Sprint(prefix, g.serial)
}

func (g *writer) one(of ...string) string { return of[g.IntN(len(of))] }

// declare writes the program's types, with methods.
func (g *writer) declare() {
	for range 5 {
		under := g.composite(1)
		if g.IntN(3) == 0 {
			under = wbasics[g.IntN(len(wbasics)-1)]
		}
		named := *under
		named.name = fmt.Sprintf("%s_%d", g.name("T"), g.program)
		g.line("type %s %s", named.name, under.name)
		g.line("func (t %s) Same() %[1]s { return t }", named.name)
		g.line("func (t *%s) Swap(to %[1]s) (was %[1]s) { defer func() { *t = to }(); return *t }", named.name)
		g.types = append(g.types, &named)
	}
}

// pickType chooses a type.
func (g *writer) pickType(depth int) *wtype {
	switch n := g.IntN(10); {
	case n < 4 && len(g.types) > 0:
		return g.types[g.IntN(len(g.types))]
	case n < 7 && depth > 0:
		return g.composite(depth - 1)
	}
	return wbasics[g.IntN(len(wbasics))]
}

// composite makes a type of others; structs and arrays most often.
func (g *writer) composite(depth int) *wtype {
	switch n := g.IntN(8); {
	case n < 3:
		t := &wtype{kind: genStruct}
		var fields []string
		for i := range 1 + g.IntN(3) {
			f := g.pickType(depth)
			t.fields = append(t.fields, f)
			fields = append(fields, fmt.Sprintf("%c %s", 'A'+i, f.name))
		}
		t.name = "struct{ " + strings.Join(fields, "; ") + " }"
		return t
	case n < 5:
		elem, length := g.pickType(depth), 1+g.IntN(3)
		return &wtype{name: fmt.Sprintf("[%d]%s", length, elem.name), kind: genArray, elem: elem, length: length}
	case n < 7:
		elem := g.pickType(depth)
		return &wtype{name: "[]" + elem.name, kind: genSlice, elem: elem}
	}
	elem := g.pickType(depth)
	return &wtype{name: "map[string]" + elem.name, kind: genMap, elem: elem}
}

// comparable says whether == is defined for values of a type.
func (t *wtype) comparable() bool {
	for _, f := range t.fields {
		if !f.comparable() {
			return false
		}
	}
	return t.kind != genSlice && t.kind != genMap && (t.kind != genArray || t.elem.comparable())
}

func (t *wtype) holdsAny() bool {
	for _, f := range t.fields {
		if f.holdsAny() {
			return true
		}
	}
	return t.kind == genAny || t.elem != nil && t.elem.holdsAny()
}

// value writes an operand of a type: a literal, never a constant.
func (g *writer) value(t *wtype, depth int) string {
	switch t.kind {
	case genInt:
		return fmt.Sprintf("v(%s(%s))", t.name, g.integer(t))
	case genFloat:
		return fmt.Sprintf("v(%s(%s))", t.name, g.one("0", "1", "-2.5", "0.1", "1e9", "16777217", "-7"))
	case genComplex:
		return fmt.Sprintf("v(%s(%s))", t.name, g.one("1+2i", "0", "-0.5i", "3"))
	case genText:
		return fmt.Sprintf("v(%s(%q))", t.name, g.one("", "a", "héé", "\xff0", "zz\n", "日本"))
	case genBool:
		return fmt.Sprintf("v(%s(%s))", t.name, g.one("true", "false"))
	case genAny:
		if depth <= 0 || g.IntN(5) == 0 {
			return "any(nil)"
		}
		of := g.pickType(0)
		for of.holdsAny() { // a value could double in each turn of a loop
			of = g.pickType(0)
		}
		return fmt.Sprintf("any(%s)", g.expr(of, depth-1))
	case genStruct:
		return g.structValue(t, depth)
	case genMap:
		var entries []string
		for i := range g.IntN(3) {
			entries = append(entries, fmt.Sprintf(g.one("%q: %s", "v(%q): %s"), string(rune('a'+i)), g.expr(t.elem, depth-1)))
		}
		return t.name + "{" + strings.Join(entries, ", ") + "}"
	}
	if t.kind == genSlice && g.IntN(6) == 0 {
		return "(" + t.name + ")(nil)"
	}
	length := t.length
	if t.kind == genSlice {
		length = 3
	}
	if g.IntN(4) == 0 {
		return fmt.Sprintf("%s{%d: %s}", t.name, g.IntN(length), g.expr(t.elem, depth-1))
	}
	var elems []string
	for range g.IntN(length + 1) {
		elems = append(elems, g.expr(t.elem, depth-1))
	}
	return t.name + "{" + strings.Join(elems, ", ") + "}"
}

func (g *writer) structValue(t *wtype, depth int) string {
	var fields []string
	named := g.IntN(2) == 0
	for i, f := range t.fields {
		if !named {
			fields = append(fields, g.expr(f, depth-1))
		} else if g.IntN(3) > 0 {
			fields = append(fields, fmt.Sprintf("%c: %s", 'A'+i, g.expr(f, depth-1)))
		}
	}
	return t.name + "{" + strings.Join(fields, ", ") + "}"
}

// integer is a constant of an integer type, often at its ends.
func (g *writer) integer(t *wtype) string {
	switch n := g.IntN(4); {
	case n == 0 && t.bits < 0:
		return g.one(fmt.Sprint(int64(-1)<<(-t.bits-1)), fmt.Sprint(uint64(1)<<(-t.bits-1)-1))
	case n == 0:
		return fmt.Sprint(^uint64(0) >> (64 - t.bits))
	case n == 1 && t.bits < 0:
		return fmt.Sprint(-g.IntN(100))
	}
	return fmt.Sprint(g.IntN(100))
}

// expr writes an expression of a type.
func (g *writer) expr(t *wtype, depth int) string {
	var vars []string
	for _, x := range g.scope {
		if x.typ.name == t.name {
			vars = append(vars, x.name)
		}
	}
	if len(vars) > 0 && g.IntN(3) == 0 {
		return g.one(vars...)
	}
	if depth <= 0 {
		return g.value(t, 0)
	}
	if g.IntN(2) == 0 {
		if s := g.operation(t, depth); s != "" {
			return s
		}
	}
	e := func() string { return g.expr(t, depth-1) }
	number := func() string { return g.expr(basicType("int"), depth-1) }
	flag := func() string { return g.expr(basicType("bool"), depth-1) }
	var declared string
	if strings.HasPrefix(t.name, "T") {
		declared = t.name
	}
	switch g.IntN(24) {
	case 0, 1, 2:
		return fmt.Sprintf("eff(%d, %s)", g.next(), e())
	case 3:
		return fmt.Sprintf("func() %s { return %s }()", t.name, e())
	case 4:
		return fmt.Sprintf("func() (r %s) { defer func() { r = %s }(); return %s }()", t.name, e(), e())
	case 5:
		return fmt.Sprintf("func(x %s) %[1]s { return x }(%s)", t.name, e())
	case 6:
		return fmt.Sprintf("struct{ P %s; Q int }{%s, %s}.P", t.name, e(), number())
	case 7:
		return fmt.Sprintf("[]%s{%s, %s}[%s]", t.name, e(), e(), g.one("0", "v(1)", fmt.Sprintf("eff(%d, 1)", g.next())))
	case 8:
		return fmt.Sprintf("[...]%s{%s, %s}[%s]", t.name, e(), e(), g.one("0", "v(1)"))
	case 9:
		return fmt.Sprintf("map[string]%s{\"k\": %s}[%s]", t.name, e(), g.one(`"k"`, `"none"`, `v("k")`))
	case 10:
		return "*ptr(" + e() + ")"
	case 11:
		if t.kind != genAny {
			return fmt.Sprintf("any(%s).(%s)", e(), t.name)
		}
	case 12:
		return "<-sent(" + e() + ")"
	case 13:
		return fmt.Sprintf("pick(%s, %s, %s)", flag(), e(), e())
	case 14:
		return fmt.Sprintf("box[%s]{%s}.Get()", t.name, e())
	case 15:
		return fmt.Sprintf("(&box[%s]{}).Set(%s).X", t.name, e())
	case 16:
		return fmt.Sprintf("outer[%s]{box[%[1]s]{%s}, %s}.%s", t.name, e(), number(), g.one("X", "Get()", "box.X"))
	case 17:
		return fmt.Sprintf("getter[%s](outer[%[1]s]{box: box[%[1]s]{%s}}).Get()", t.name, e())
	case 18:
		return fmt.Sprintf("box[%s]{%s}.Get", t.name, e()) + "()"
	case 19:
		return fmt.Sprintf("v(box[%s]{%s}.Get)()", t.name, e())
	case 20:
		if declared != "" {
			return fmt.Sprintf("%s.Same(%s)", declared, e())
		}
	case 21:
		if declared != "" {
			return fmt.Sprintf("ptr(%s).Swap(%s)", e(), e())
		}
	case 22:
		return fmt.Sprintf("(%s)(%s)", t.name, e())
	}
	return g.value(t, depth)
}

func (g *writer) next() int { g.serial++; return g.serial }

// operation writes an operation whose result has the type, or nothing.
func (g *writer) operation(t *wtype, depth int) string {
	e := func() string { return g.expr(t, depth-1) }
	other := wbasics[g.IntN(10)]
	switch t.kind {
	case genInt:
		switch g.IntN(8) {
		case 0:
			return fmt.Sprintf("(%s %s (%s | 1))", e(), g.one("/", "%"), e())
		case 1:
			return fmt.Sprintf("(%s %s (%s & 31))", e(), g.one("<<", ">>"), g.expr(basicType(g.one("uint8", "uint", "uint32")), depth-1))
		case 2:
			return g.one("-", "^", "+") + "(" + e() + ")"
		case 3:
			return fmt.Sprintf("%s(%s)", t.name, g.expr(other, depth-1))
		case 4:
			return fmt.Sprintf("%s(%s, %s)", g.one("min", "max"), e(), e())
		case 5:
			return fmt.Sprintf("%s(v(len(%s)))", t.name, g.expr(g.oneOf(basicType("string"), g.composite(0)), depth-1))
		}
		return fmt.Sprintf("(%s %s %s)", e(), g.one("+", "-", "*", "&", "|", "^", "&^"), e())
	case genFloat:
		if g.IntN(3) == 0 {
			return fmt.Sprintf("%s(%s)", t.name, g.expr(other, depth-1))
		}
		return fmt.Sprintf("%s(%s %s %s)", t.name, e(), g.one("+", "-", "*", "/"), e())
	case genComplex:
		return fmt.Sprintf("(%s %s %s)", e(), g.one("+", "-"), e())
	case genText:
		switch g.IntN(4) {
		case 0:
			return fmt.Sprintf("%s(cut(fmt.Sprint(%s)))", t.name, g.expr(g.pickType(1), depth-1))
		case 1:
			return fmt.Sprintf("%s([]byte(%s))", t.name, e())
		case 2:
			return fmt.Sprintf("(%s + %s)[%s:]", e(), g.value(&wtype{name: t.name, kind: genText}, 0)+` + "x"`, g.one("0", "1", "v(1)"))
		}
		return fmt.Sprintf("cut(%s + %s)", e(), e())
	case genBool:
		return t.name + "(" + g.condition(depth) + ")"
	case genSlice:
		switch g.IntN(4) {
		case 0:
			return fmt.Sprintf("cap6(append(%s, %s, %s))", e(), g.expr(t.elem, depth-1), g.expr(t.elem, depth-1))
		case 1:
			return fmt.Sprintf("cap6(append(%s, %s...))", e(), e())
		case 2:
			return fmt.Sprintf("append(%s, %s)[%s]", e(), g.expr(t.elem, depth-1), g.one(":1", "0:", "v(1):", ":1:1", ":"))
		}
	}
	return ""
}

// oneOf chooses a type with a length.
func (g *writer) oneOf(a, b *wtype) *wtype {
	if b.kind == genStruct || g.IntN(2) == 0 {
		return a
	}
	return b
}

// condition writes an expression of type bool.
func (g *writer) condition(depth int) string {
	flag := basicType("bool")
	e := func() string { return g.expr(flag, depth-1) }
	switch g.IntN(6) {
	case 0, 1:
		return fmt.Sprintf("%s %s %s", e(), g.one("&&", "||"), e())
	case 2:
		return "!" + e()
	case 3:
		t := wbasics[g.IntN(12)]
		return fmt.Sprintf("%s %s %s", g.expr(t, depth-1), g.one("<", "<=", ">", ">="), g.expr(t, depth-1))
	}
	t := g.pickType(1)
	for !t.comparable() {
		t = g.pickType(1)
	}
	return fmt.Sprintf("(%s) %s (%s)", g.expr(t, depth-1), g.one("==", "!="), g.expr(t, depth-1))
}
