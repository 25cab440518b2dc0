package session

import (
	"fmt"
	"strings"
)

// The places of expressions: statements of all kinds.

// block writes statements, and shows variables at its end.
func (g *writer) block(statements, depth int) {
	outer := len(g.scope)
	for range statements {
		g.statement(depth)
	}
	g.showSome()
	g.scope = g.scope[:outer]
}

func (g *writer) showSome() {
	var shown []string
	for range min(3, len(g.scope)) {
		shown = append(shown, g.scope[g.IntN(len(g.scope))].name)
	}
	if len(shown) > 0 {
		g.line("show(%s)", strings.Join(shown, ", "))
	}
}

// define declares a variable.
func (g *writer) define(t *wtype) string {
	x := g.name("x")
	switch g.IntN(4) {
	case 0:
		g.line("var %s %s = %s", x, t.name, g.expr(t, 2))
	case 1:
		g.line("var %s %s", x, t.name)
	case 2:
		y := g.name("y")
		g.line("%s, %s := pair(%s, %s); _ = %s", x, y, g.typed(t, 2), g.expr(g.pickType(0), 1), y)
	default:
		g.line("%s := %s", x, g.typed(t, 2))
	}
	g.line("_ = %s", x)
	g.scope = append(g.scope, wvar{x, t})
	return x
}

// typed is an expression that has the type without a context, too.
func (g *writer) typed(t *wtype, depth int) string {
	return fmt.Sprintf("(%s)(%s)", t.name, g.expr(t, depth))
}

// place writes a variable or a part of one, and its type; some have effects.
func (g *writer) place() (string, *wtype) {
	if len(g.scope) == 0 {
		g.define(g.pickType(2))
	}
	x := g.scope[g.IntN(len(g.scope))]
	return g.part(x.name, x.typ)
}

func (g *writer) part(s string, t *wtype) (string, *wtype) {
	if g.IntN(3) == 0 {
		return s, t
	}
	switch t.kind {
	case genStruct:
		i := g.IntN(len(t.fields))
		return g.part(fmt.Sprintf("%s.%c", s, 'A'+i), t.fields[i])
	case genArray:
		i := g.IntN(t.length)
		return g.part(fmt.Sprintf("%s[%s]", s, g.one(fmt.Sprint(i), fmt.Sprintf("v(%d)", i), fmt.Sprintf("eff(%d, %d)", g.next(), i))), t.elem)
	}
	return s, t
}

func (g *writer) statement(depth int) {
	if depth <= 0 {
		switch g.IntN(3) {
		case 0:
			g.define(g.pickType(2))
		default:
			g.assign()
		}
		return
	}
	statements := []func(int){
		func(int) { g.define(g.pickType(2)) },
		func(int) { g.assign() }, func(int) { g.assign() }, func(int) { g.tuple() }, func(int) { g.tuple() }, func(int) { g.operate() },
		g.ifs, g.ifs, g.loops, g.loops, g.labelled, g.switches, g.switches, g.typeSwitch, g.selects,
		g.function, g.function, g.recovers, g.deferred, g.captures, g.goroutine, g.methods, g.interfaces, g.generics, g.indirect, g.faults, g.wraps, g.constants, g.copies,
	}
	statements[g.IntN(len(statements))](depth)
}

func (g *writer) assign() {
	p, t := g.place()
	g.line("%s = %s", p, g.expr(t, 3))
}

// tuple assigns to several places, also to a whole and a part of it.
func (g *writer) tuple() {
	p, t := g.place()
	q, u := g.place()
	if p == q {
		g.line("%s, _ = pair(%s, %s)", p, g.typed(t, 1), g.typed(u, 1))
		return
	}
	switch g.IntN(3) {
	case 0:
		g.line("%s, %s = pair(%s, %s)", p, q, g.typed(t, 1), g.typed(u, 1))
	case 1:
		if t.name == u.name {
			g.line("%s, %s = %s, %s", p, q, q, p)
			return
		}
		fallthrough
	default:
		g.line("%s, %s = %s, %s", p, q, g.expr(t, 2), g.expr(u, 2))
	}
}

func (g *writer) operate() {
	p, t := g.place()
	switch t.kind {
	case genInt:
		switch g.IntN(3) {
		case 0:
			g.line("%s%s", p, g.one("++", "--"))
		case 1:
			g.line("%s %s= %s & 15", p, g.one("<<", ">>"), g.expr(basicType("uint8"), 2))
		default:
			g.line("%s %s= %s", p, g.one("+", "-", "*", "&", "|", "^", "&^"), g.expr(t, 2))
		}
	case genFloat, genComplex:
		g.line("%s %s= %s", p, g.one("+", "-"), g.expr(t, 2))
	case genText:
		g.line("if len(%s) < 40 { %s += %s }", p, p, g.expr(t, 1))
	default:
		g.line("%s = %s", p, g.expr(t, 2))
	}
}

func (g *writer) ifs(depth int) {
	if g.IntN(3) == 0 {
		t := g.pickType(1)
		x := g.name("x")
		g.line("if %s := (%s); (%s) || len(fmt.Sprint(%s)) > 1 {", x, g.typed(t, 2), g.condition(2), x)
		g.scope = append(g.scope, wvar{x, t})
		defer func() { g.scope = g.scope[:len(g.scope)-1] }()
	} else {
		g.line("if (%s) {", g.condition(3))
	}
	g.block(2, depth-1)
	if g.IntN(2) == 0 {
		g.line("} else if (%s) {", g.expr(basicType("bool"), 2))
		g.block(1, depth-1)
	}
	if g.IntN(2) == 0 {
		g.line("} else {")
		g.block(1, depth-1)
	}
	g.line("}")
}

// head writes the head of a loop, and returns the variables of it.
func (g *writer) head() []wvar {
	i, x := g.name("i"), g.name("x")
	number, t := basicType("int"), g.pickType(1)
	switch g.IntN(8) {
	case 0:
		g.line("for %s := 0; %[1]s < %d && (%s); %[1]s++ {", i, 2+g.IntN(3), g.one("true", "v(true)", g.condition(2)))
	case 1:
		of := wbasics[g.IntN(10)]
		g.line("for %s := range v(%s(%d)) {", i, of.name, g.IntN(5))
		return []wvar{{i, of}}
	case 2:
		g.line("for %s, %s := range ([]%s{%s, %s}) {", i, x, t.name, g.expr(t, 2), g.expr(t, 2))
		return []wvar{{i, number}, {x, t}}
	case 3:
		g.line("for %s, %s := range ([...]%s{%s, %s}) {", i, x, t.name, g.expr(t, 2), g.expr(t, 2))
		return []wvar{{i, number}, {x, t}}
	case 4:
		g.line("for %s, %s := range ([]rune(%s)) {", i, x, g.expr(basicType("string"), 2))
		return []wvar{{i, number}, {x, basicType("int32")}}
	case 5:
		g.line("for %s, %s := range each(%s, %s, %s) {", i, x, g.typed(t, 2), g.expr(t, 2), g.expr(t, 1))
		return []wvar{{i, number}, {x, t}}
	case 6:
		g.line("for %s, %s := range (map[string]%s{\"k\": %s}) {", i, x, t.name, g.expr(t, 2))
		return []wvar{{i, basicType("string")}, {x, t}}
	default:
		c := g.name("c")
		g.line("%s := sent(%s); close(%[1]s)\nfor %[3]s := range %[1]s {", c, g.typed(t, 2), x)
		return []wvar{{x, t}}
	}
	return []wvar{{i, nil}} // assigning to it could make the loop endless
}

// enter makes a loop's variables known.
func (g *writer) enter(vars []wvar) {
	for _, x := range vars {
		g.line("_ = %s", x.name)
		if x.typ != nil {
			g.scope = append(g.scope, x)
		}
	}
}

func (g *writer) loops(depth int) {
	outer := len(g.scope)
	g.line("{")
	g.enter(g.head())
	if g.IntN(3) == 0 {
		g.line("if (%s) { %s }", g.condition(2), g.one("break", "continue"))
	}
	g.block(2, depth-1)
	g.line("}\n}")
	g.scope = g.scope[:outer]
}

// labelled leaves or goes on with an outer loop from inside of other statements.
func (g *writer) labelled(depth int) {
	outer, label := len(g.scope), g.name("L")
	before := g.out.Len()
	first := g.head()
	text := g.out.String()
	head := text[before:]
	g.out.Reset()
	g.out.WriteString(text[:before])
	if c, loop, ok := strings.Cut(head, "\nfor"); ok {
		g.line("%s\n%s:\nfor%s", c, label, loop)
	} else {
		g.line("%s:\n%s", label, head)
	}
	g.enter(first)
	leave := g.one("break ", "continue ") + label
	switch g.IntN(3) {
	case 0:
		g.line("switch { case (%s): show(1); %s; case (%s): show(2); default: show(3) }", g.condition(1), leave, g.condition(1))
	case 1:
		g.line("select { case x := <-sent(%s): show(x); if (%s) { %s }; default: show(4) }", g.expr(basicType("int"), 1), g.condition(1), leave)
	default:
		inner := len(g.scope)
		g.enter(g.head())
		g.line("if (%s) { %s }", g.condition(2), leave)
		g.block(1, depth-1)
		g.line("}")
		g.scope = g.scope[:inner]
	}
	g.block(1, depth-1)
	if g.IntN(2) == 0 {
		g.line("continue %s", label)
	} else {
		g.line("if (%s) { break %s }", g.condition(1), label)
	}
	g.line("}")
	g.scope = g.scope[:outer]
}

func (g *writer) switches(depth int) {
	cases := 2 + g.IntN(3)
	def := g.IntN(cases + 1)
	t := g.pickType(1)
	for !t.comparable() {
		t = g.pickType(1)
	}
	tag, condition := "("+g.typed(t, 2)+")", func() string { return "(" + g.expr(t, 1) + ")" }
	switch g.IntN(3) {
	case 0:
		tag, condition = g.one("", "true", "v(true)"), func() string { return "(" + g.condition(2) + ")" }
	case 1:
		x := g.name("x")
		tag = fmt.Sprintf("%s := %s; %[1]s", x, tag)
	}
	g.line("switch %s {", tag)
	for i := range cases {
		switch {
		case i == def:
			g.line("default:")
		case g.IntN(3) == 0:
			g.line("case %s, %s:", condition(), condition())
		default:
			g.line("case %s:", condition())
		}
		if g.IntN(4) == 0 {
			g.line("if (%s) { break }", g.condition(1))
		}
		g.block(1, depth-1)
		if i < cases-1 && g.IntN(3) == 0 {
			g.line("fallthrough")
		}
	}
	g.line("}")
}

func (g *writer) typeSwitch(depth int) {
	x, seen := g.name("x"), map[string]bool{"any": true}
	t := g.pickType(1)
	g.line("switch %s := any(%s).(type) {", x, g.expr(t, 2))
	for i, of := range []*wtype{g.pickType(1), t, g.pickType(1)} {
		if seen[of.name] {
			continue
		}
		seen[of.name] = true
		g.line("case %s:\n_ = %s", of.name, x)
		g.scope = append(g.scope, wvar{x, of})
		g.block(1, depth-1)
		g.scope = g.scope[:len(g.scope)-1]
		if i == 0 {
			g.line("if (%s) { break }; show(%s)", g.condition(1), x)
		}
	}
	g.line("case nil, getter[int]: show(%s)\ndefault: show(\"other\", %s) }", x, x)
}

func (g *writer) selects(depth int) {
	t, x, ok := g.pickType(1), g.name("x"), g.name("ok")
	p, u := g.place()
	g.line("select {")
	switch g.IntN(4) {
	case 0:
		g.line("case %s, %s := <-sent(%s):\nshow(%s, %s)", x, ok, g.typed(t, 2), x, ok)
	case 1:
		g.line("case %s = <-sent(%s):\nshow(%s)", p, g.typed(u, 2), p)
	case 2:
		g.line("case make(chan %s, 1) <- %s:", t.name, g.expr(t, 2))
	default:
		g.line("case <-(chan %s)(nil):", t.name)
	}
	g.block(1, depth-1)
	if g.IntN(2) == 0 {
		g.line("case (chan %s)(nil) <- %s:", t.name, g.expr(t, 1))
	} else {
		g.line("case _, ok := <-(chan int)(nil): show(ok)")
	}
	g.line("default: show(\"none\") }")
}

// function calls a literal with results, that has defers and several returns.
func (g *writer) function(depth int) {
	outer := g.scope
	t, u := g.pickType(2), g.pickType(1)
	r, s, p := g.name("r"), g.name("s"), g.name("p")
	g.line("show(func(%s %s) any { a, b := func(%[1]s %[2]s) (%[3]s %[4]s, %[5]s %[6]s) {", p, u.name, r, t.name, s, u.name)
	g.scope = append(g.scope, wvar{p, u}, wvar{r, t}, wvar{s, u})
	if g.IntN(3) > 0 {
		g.line("defer func() { %s = %s }()", r, g.expr(t, 2))
	}
	if g.IntN(3) == 0 {
		g.line("defer func() { if e := recover(); e != nil { show(e); %s = %s } }()", s, g.expr(u, 1))
	}
	if g.IntN(3) == 0 {
		g.line("for i := range 2 { defer func(x %s) { show(i, x) }(%s) }", t.name, g.expr(t, 1))
	}
	g.block(2, depth-1)
	g.line("if (%s) { return }", g.condition(1))
	if g.IntN(3) == 0 {
		g.line("if (%s) { panic(%s) }", g.condition(1), g.typed(u, 1))
	}
	if g.IntN(3) == 0 {
		g.line("return pair(%s, %s)", g.typed(t, 2), g.typed(u, 1))
	} else {
		g.line("return %s, %s", g.expr(t, 2), g.expr(u, 2))
	}
	g.scope = outer
	g.line("}(%s); return []any{a, b} }(%s))", p, g.expr(u, 1))
}

// recovers has panics pass through functions.
func (g *writer) recovers(depth int) {
	t := g.pickType(1)
	g.line("func() {\ndefer func() { show(%q, fmt.Sprint(recover())) }()", "recovered")
	g.line("defer func() { if (%s) { panic(fmt.Sprint(\"again \", recover())) } }()", g.condition(1))
	g.block(1, depth-1)
	g.line("if (%s) { panic(%s) }; show(\"no panic\") }()", g.condition(1), g.typed(t, 2))
}

func (g *writer) deferred(depth int) {
	t := g.pickType(1)
	g.line("func() {")
	switch g.IntN(3) {
	case 0:
		g.line("defer show(%s)", g.typed(t, 2))
	case 1:
		g.line("defer func(x %s) { show(x) }(%s)", t.name, g.expr(t, 2))
	default:
		g.line("%s := box[%s]{%s}; defer func() { show(%[1]s) }(); defer %[1]s.Set(%[4]s); %[1]s.X = %[5]s", g.name("b"), t.name, g.expr(t, 1), g.expr(t, 1), g.expr(t, 1))
	}
	g.block(2, depth-1)
	g.line("}()")
}

// captures makes closures over variables of a loop, and calls them after it.
func (g *writer) captures(depth int) {
	outer, fs := len(g.scope), g.name("fs")
	p, t := g.place()
	g.line("var %s []func() any", fs)
	vars := g.head()
	g.enter(vars)
	g.line("%s = append(%[1]s, func() any { %[2]s = %[3]s; return []any{%[4]s, %[2]s} })", fs, p, g.expr(t, 1), vars[0].name)
	g.block(1, depth-1)
	g.line("}\nfor _, f := range %s { show(f()) }", fs)
	g.scope = g.scope[:outer]
	if len(g.scope) == 0 {
		return
	}
	g.showSome()
}

func (g *writer) goroutine(depth int) {
	t, c := g.pickType(1), g.name("c")
	p, u := g.place()
	g.line("%s := make(chan %s, %d)", c, t.name, g.IntN(3))
	around := g.scope
	g.scope = nil // the goroutine shares no variables
	own := g.value(t, 0)
	g.scope = around
	g.line("go func(x %s) { defer close(%s); %[2]s <- x; for i := range 2 { _ = i; %[2]s <- %s } }(%s)", t.name, c, own, g.expr(t, 2))
	g.line("for x := range %s { show(x); %s = %s }", c, p, g.expr(u, 1))
	g.line("if x, ok := <-%s; !ok { show(x, ok) }", c)
}

// methods binds methods to values that change afterwards.
func (g *writer) methods(depth int) {
	t := g.types[g.IntN(len(g.types))]
	x := g.define(t)
	f := g.name("f")
	switch g.IntN(5) {
	case 0:
		g.line("%s := %s.Same", f, x)
	case 1:
		g.line("%s := func() %s { return %s.Swap(%s) }", f, t.name, x, g.expr(t, 1))
	case 2:
		g.line("%s := (&%s).Same", f, x)
	case 3:
		g.line("%s := func() %s { return (*%[2]s).Swap(&%s, %s) }", f, t.name, x, g.expr(t, 1))
	default:
		g.line("e_%s := struct { *%s; N int }{&%s, 1}\n%[1]s := e_%[1]s.Same", f, t.name, x)
	}
	g.line("%s = %s\nshow(%s(), %s)", x, g.expr(t, 2), f, x)
}

func (g *writer) interfaces(depth int) {
	t, i := g.pickType(1), g.name("i")
	g.line("var %s getter[%s] = %s%s", i, t.name, g.one("", "&"), fmt.Sprintf("%s{}", g.one("box", "outer")+"["+t.name+"]"))
	g.line("if b, ok := %s.(*box[%s]); ok { b.X = %s; show(b.Get()) } else if b, ok := %[1]s.(box[%[2]s]); ok { b.X = %[4]s; show(b) }", i, t.name, g.expr(t, 1), g.expr(t, 1))
	g.line("show(%s.Get()); %[1]s = outer[%s]{N: 2}; _, is_%[1]s := any(%[1]s).(interface{ Set(%[2]s) *box[%[2]s] }); show(is_%[1]s, %[1]s)", i, t.name)
	if t.comparable() {
		g.line("show(%s == getter[%s](outer[%[2]s]{N: 2}), any(%s) == any(%s))", i, t.name, g.expr(t, 1), g.expr(t, 1))
	}
}

func (g *writer) generics(depth int) {
	t, o := g.pickType(1), g.name("o")
	g.line("%s := outer[%s]{}; %[1]s.Set(%[3]s).Set(%[4]s); show(%[1]s.Get(), %[1]s); f_%[1]s := %[1]s.Set; %[1]s.X = %[5]s; show(*f_%[1]s(%[6]s), %[1]s)", o, t.name, g.expr(t, 1), g.expr(t, 1), g.expr(t, 2), g.expr(t, 1))
}

// indirect changes things through pointers to them and to their parts.
func (g *writer) indirect(depth int) {
	p, t := g.place()
	q := g.name("q")
	g.line("%s := &%s\n*%[1]s = %[3]s\nshow(%[2]s)", q, p, g.expr(t, 2))
	if t.kind == genStruct {
		g.line("%s.A, *%[1]s = %s, *%[1]s\nfunc() { %[1]s.A = %[3]s }()\nshow(*%[1]s)", q, g.expr(t.fields[0], 1), g.expr(t.fields[0], 1))
	}
}

// faults ends a function literal by an error of run time.
func (g *writer) faults(depth int) {
	t, f := g.pickType(1), g.name("f")
	g.line("%s := func() { var m map[string]%s; var s []%[2]s; var p *box[%[2]s]; var i any = %[3]s; z := v(0); _, _, _, _, _ = m, s, p, i, z", f, t.name, g.value(t, 1))
	g.line("%s }", g.one(
		fmt.Sprintf("m[eff(1, \"k\")] = %s", g.expr(t, 2)), fmt.Sprintf("s[eff(1, 3)] = %s", g.expr(t, 2)), fmt.Sprintf("p.X = %s", g.expr(t, 2)), "show(p.Get())",
		"show(eff(1, 5) / z)", "show(i.(fmt.Stringer))", "show(i.(chan int))", "show(s[z:][1])", "show([]int{1, 2}[z:][z-1:])", "s = make([]"+t.name+", z-1)", "var c chan int; close(c)",
		"c := sent(1); close(c); close(c)", "show([2]int(make([]int, z)))", "panic(fmt.Errorf(\"%v\", i))", "var e error; show(e.Error())", "show(map[any]int{[]int{}: 1})", "var g func(); g()"))
	g.line("probe(%s)", f)
}

// wraps computes at the ends of integer types.
func (g *writer) wraps(depth int) {
	t, u := wbasics[g.IntN(10)], wbasics[g.IntN(12)]
	x := g.name("x")
	g.line("%s := %s(%s)", x, t.name, g.integer(t))
	g.line("show(%s+1, %[1]s-1, -%[1]s, ^%[1]s, %[1]s*%[1]s, %[1]s<<3, %[1]s>>1, %s(%[1]s), %[3]s(%[2]s(%[1]s)/3), %[1]s/7, %[1]s%%7, %[1]s&^5)", x, u.name, t.name)
}

func (g *writer) constants(depth int) {
	t, k := wbasics[g.IntN(10)], g.name("k")
	g.line("const %s = %s\nconst ( a_%[1]s %[3]s = iota + %[4]d; b_%[1]s; c_%[1]s = b_%[1]s << 2; d_%[1]s = 'x' / 2.0 )", k, g.one("1 << 62", "1.5e3", "'a' + 1", `"text"`, "1 << 3.0", "len([4]int{}) * 2", "true && 1 < 2"), t.name, g.IntN(9))
	g.line("show(%s, a_%[1]s, b_%[1]s, c_%[1]s, d_%[1]s, %s + c_%[1]s)", k, g.expr(t, 1))
}

// copies has a value and its copy change independently, in all ways that copy.
func (g *writer) copies(depth int) {
	t := g.types[g.IntN(len(g.types))]
	x := g.define(t)
	y := g.name("y")
	g.line("%s := %s", y, g.one(x, "v("+x+")", "[]"+t.name+"{"+x+"}[0]", "any("+x+").("+t.name+")", "<-sent("+x+")", "*&"+x, "box["+t.name+"]{"+x+"}.X", "func() "+t.name+" { return "+x+" }()",
		"map[int]"+t.name+"{1: "+x+"}[1]", "(func(a, b "+t.name+") "+t.name+" { a = b; return a })("+x+", "+x+")", "(&outer["+t.name+"]{box: box["+t.name+"]{"+x+"}}).Get()"))
	p, of := g.part(x, t)
	g.line("%s = %s\nshow(%s, %s)", p, g.expr(of, 1), x, y)
	g.scope = append(g.scope, wvar{y, t})
}
