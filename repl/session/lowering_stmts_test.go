package session

import (
	"fmt"
	"strings"
)

// statement writes one random statement.
func (w *randomWriter) statement() {
	if w.depth > 4 {
		w.line("fmt.Println(%s)", w.expr("int", 1))
		return
	}
	list := []func(){w.declare, w.declare, w.assign, w.assign, w.assign, w.opAssign, w.swap, w.ifElse, w.forLoop, w.rangeOver, w.switchOn, w.typeSwitch,
		w.closure, w.deferred, w.channels, w.fields, w.generic, w.print, w.labelled, w.rangeFunc, w.shadow, w.localType, w.goroutines, w.results, w.arrays, w.maps, w.errors, w.more, w.more, w.more, w.more, w.more}
	list[w.IntN(len(list))]()
}

func (w *randomWriter) assign() {
	typ := w.one(randomTypes...)
	if v := w.target(typ); v != "" {
		w.line("%s = %s", v, w.expr(typ, 3))
	}
}

func (w *randomWriter) opAssign() {
	if v := w.target("int"); v != "" {
		w.line("%s %s %s", v, w.one("+=", "-=", "*=", "&=", "|=", "^=", "&^="), w.expr("int", 2))
		w.line("%s %s %s & 7", v, w.one("<<=", ">>="), w.expr("int", 1))
	}
	if v := w.target("string"); v != "" {
		w.line("%s = cut(%s, 40)", v, v)
		w.line("%s += %s", v, w.expr("string", 1))
	}
	if v := w.target("uint8"); v != "" {
		w.line("%s%s", v, w.one("++", "--"))
	}
	if v := w.target("map[string]int"); v != "" {
		w.line("%s[%s] += %s", v, w.expr("string", 1), w.expr("int", 1))
	}
}

func (w *randomWriter) swap() {
	a, b := w.target("int"), w.target("int")
	xs := w.target("[]int")
	switch {
	case xs != "" && a != "":
		w.line("if n := len(%s); n > 0 {\n%s[at(%s, n)], %s, %s[at(%s, n)] = %s, %s, %s\n}", xs, xs, a, a, xs, w.expr("int", 1), w.expr("int", 2), w.expr("int", 1), w.expr("int", 2))
	case a != "" && b != "" && a != b:
		w.line("%s, %s = %s, %s", a, b, w.expr("int", 2), w.expr("int", 2))
	}
	if s, n := w.target("*S"), w.target("int"); s != "" && n != "" {
		w.line("%s.A, %s, %s.L = %s, %s.A, append(%s.L, %s)", s, n, s, n, s, s, n)
	}
	if x, y := w.target("any"), w.target("I"); x != "" && y != "" {
		w.line("%s, %s = %s, %s", x, y, y, w.expr("I", 1))
	}
}

func (w *randomWriter) ifElse() {
	init := ""
	name := w.name("c")
	if w.IntN(2) == 0 {
		init = name + " := " + w.expr("int", 2) + "; "
	}
	w.line("if %s%s {", init, w.expr("bool", 3))
	w.block(func() {
		if init != "" {
			w.know(name, "int")
			w.line("_ = %s", name)
		}
	}, w.few())
	switch w.IntN(3) {
	case 0:
		w.line("} else if %s {", w.expr("bool", 1))
		w.block(nil, w.few())
		fallthrough
	case 1:
		w.line("} else {")
		w.block(nil, w.few())
	}
	w.line("}")
}

func (w *randomWriter) forLoop() {
	i := w.name("i")
	w.line("for %s := 0; %s < %d; %s++ {", i, i, 1+w.IntN(4), i)
	w.block(func() {
		w.knowLoop(i)
		if w.IntN(3) == 0 {
			w.line("if %s { %s }", w.expr("bool", 1), w.one("break", "continue"))
		}
		if f := w.target("[]func(int) int"); f != "" && w.IntN(2) == 0 {
			w.line("if len(%s) < 9 { %s = append(%s, func(x int) int { return x + %s }) }", f, f, f, i)
		}
	}, w.few())
	w.line("}")
}

func (w *randomWriter) rangeOver() {
	k, v := w.name("k"), w.name("e")
	if k == v {
		return
	}
	form := w.IntN(6)
	switch form {
	case 0:
		w.line("for %s := range %d {", k, 1+w.IntN(4))
	case 1:
		w.line("for %s, %s := range %s {\n_ = %s", k, v, w.expr("[]int", 2), v)
	case 2:
		w.line("for %s, %s := range cut(%s, 5) {\n_ = %s", k, v, w.expr("string", 2), v)
	case 3:
		w.line("for %s, %s := range %s {\n_ = %s", k, v, w.expr("[3]int", 2), v)
	case 4:
		w.line("for _, %s := range slices.Sorted(slices.Values(%s)) {", k, w.expr("[]int", 1))
	case 5:
		w.line("for %s, %s := range %s {\n_ = %s.Get()", k, v, w.expr("[]S", 1), v)
	}
	w.block(func() {
		w.line("_ = %s", k)
		w.know(k, "int")
		if form == 1 || form == 3 {
			w.know(v, "int")
		}
		if w.IntN(3) == 0 {
			w.line("if %s { %s }", w.expr("bool", 1), w.one("break", "continue"))
		}
	}, w.few())
	w.line("}")
}

func (w *randomWriter) switchOn() {
	if w.IntN(2) == 0 {
		w.line("switch x := %s; at(x, 5) {", w.expr("int", 2))
		for i := range 3 {
			w.line("case %d, %d:", i, 10+i)
			w.block(nil, 1)
			if i < 2 && w.IntN(3) == 0 {
				w.line("\tfallthrough")
			}
		}
	} else {
		w.line("switch {")
		for range 2 {
			w.line("case %s:", w.expr("bool", 2))
			w.block(nil, 1)
		}
	}
	w.line("default:")
	w.block(nil, 1)
	w.line("}")
}

func (w *randomWriter) typeSwitch() {
	v := w.name("t")
	w.line("switch %s := any(%s).(type) {", v, w.expr("any", 2))
	cases := []string{"int", "string", "S", "*S", "N", "[]int", "I", "error", "func(int) int", "map[string]int", "nil", "pair[int, string]", "[3]int"}
	w.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	for i, c := range cases[:5] {
		if i == 3 {
			w.line("case %s, bool, uint16:\n\tfmt.Println(\"several\", %s != nil)", c, v)
			continue
		}
		w.line("case %s:", c)
		w.block(func() {
			w.line("_ = %s", v)
			if c != "nil" {
				w.know(v, c)
			}
			w.line("fmt.Println(%q)", c)
		}, 1)
	}
	w.line("}")
}

func (w *randomWriter) closure() {
	f, x := w.name("f"), w.name("x")
	if w.declared(f) || f == x {
		return
	}
	w.line("%s := func(%s int) int {", f, x)
	w.block(func() { w.know(x, "int") }, w.few())
	w.line("\treturn %s", w.expr("int", 2))
	w.line("}")
	w.line("try(func() { fmt.Println(%s(%s)) })", f, w.expr("int", 1))
	w.know(f, "func(int) int")
}

func (w *randomWriter) deferred() {
	w.line("func() {")
	w.block(func() {
		switch w.IntN(3) {
		case 0:
			w.line("defer func() { if r := recover(); r != nil { fmt.Println(\"recovered\") } }()")
		case 1:
			w.line("defer fmt.Println(\"deferred\", %s)", w.expr("int", 2))
		case 2:
			w.line("for i := range 3 { defer func(n int) { fmt.Println(\"later\", i, n) }(i * 2) }")
		}
	}, w.few())
	if w.IntN(3) == 0 {
		w.line("\tdefer func() { _ = recover() }()\n\tpanic(%s)", w.expr("string", 1))
	}
	w.line("}()")
}

func (w *randomWriter) channels() {
	c := w.name("ch")
	if w.declared(c) {
		return
	}
	w.line("%s := make(chan int, 4)", c)
	for range 1 + w.IntN(3) {
		w.line("%s <- %s", c, w.expr("int", 1))
	}
	switch w.IntN(3) {
	case 0:
		w.line("close(%s)\nfor x := range %s { fmt.Println(x) }", c, c)
	case 1:
		w.line("select {\ncase x, ok := <-%s:\n\tfmt.Println(x, ok)\ndefault:\n\tfmt.Println(\"empty\")\n}", c)
	case 2:
		w.line("select {\ncase %s <- %s:\n\tfmt.Println(len(%s))\ncase x := <-make(chan int):\n\tfmt.Println(x)\n}", c, w.expr("int", 1), c)
	}
}

func (w *randomWriter) fields() {
	if s := w.target("*S"); s != "" {
		w.line("%s.Set(%s).B = %s", s, w.expr("int", 1), w.expr("string", 1))
		w.line("%s.m[at(%s, 2)] %s %s", s, w.expr("int", 1), w.one("=", "+="), w.expr("int", 1))
	}
	if e := w.target("E"); e != "" {
		w.line("%s.A, %s.N2 = %s, N(%s)", e, e, w.expr("int", 1), w.expr("int", 1))
		w.line("%s.Set(%s)\nfmt.Println(%s.Get(), %s.S.Get(), %s.String())", e, w.expr("int", 1), e, e, e)
	}
	if s := w.target("S"); s != "" {
		w.line("{ copied := %s; copied.m[0] = %s; copied.A++; fmt.Println(copied.m, %s.m, copied.A == %s.A) }", s, w.expr("int", 1), s, s)
		w.line("{ p := &%s; p.Set(%s); (*p).L = append([]int(nil), %s...) }", s, w.expr("int", 1), w.expr("[]int", 1))
	}
}

func (w *randomWriter) generic() {
	w.line("fmt.Println(apply(%s, func(x int) int { return x + %s }), choose(%s, %s, %s))", w.expr("int", 1), w.expr("int", 1), w.expr("bool", 1), w.expr("string", 1), w.expr("string", 1))
	w.line("fmt.Println(sum(%s, %s), sum[N](%s), sum(%s, 0.5))", w.expr("int", 1), w.expr("int", 1), w.expr("N", 1), w.expr("float64", 1))
	if p := w.target("pair[int, string]"); p != "" {
		w.line("%s.set(%s, %s).b += \"!\"\n%s.b = cut(%s.b, 9)\nfmt.Println(%s)", p, w.expr("int", 1), w.expr("string", 1), p, p, p)
	}
}

func (w *randomWriter) print() {
	w.line("fmt.Println(%s, %s)", w.expr(w.one("int", "string", "bool", "S", "[]int", "[3]int", "N"), 3), w.expr("int", 2))
}

func (w *randomWriter) labelled() {
	l := fmt.Sprintf("L%d_%d", w.k, w.n)
	w.n++
	w.line("%s:\nfor a := range 3 {\nfor b := 0; b < 3; b++ {", l)
	w.block(func() {
		w.knowLoop("a")
		w.line("if a*b == %d { %s %s }", w.IntN(5), w.one("break", "continue"), l)
		w.line("switch { case a == b: %s; case b == 2: %s %s }", w.one("continue", "break"), w.one("break", "continue"), l)
	}, 1)
	w.line("fmt.Println(a, b)\n}\n}")
}

func (w *randomWriter) rangeFunc() {
	x := w.name("y")
	if w.IntN(2) == 0 {
		w.line("func() (r int) {\ndefer func() { fmt.Println(\"left\", r) }()\nfor %s := range upto(5) {", x)
		w.block(func() {
			w.line("_ = %s", x)
			w.know(x, "int")
			w.line("if %s %%3 == 2 { %s }", x, w.one("return "+x, "continue", "break"))
			w.line("for z := range upto(3) { if z == 1 { %s } }", w.one("break", "continue", "return "+x+"+z"))
		}, 1)
		w.line("}\nreturn -1\n}()")
		return
	}
	w.line("for %s, s := range both(%s, %s) {\n_ = s", x, w.expr("int", 1), w.expr("string", 1))
	w.block(func() { w.line("_ = %s", x); w.know(x, "int") }, 1)
	w.line("}")
}

func (w *randomWriter) shadow() {
	if v := w.target("int"); v != "" {
		w.line("{")
		w.block(func() {
			w.line("%s := fmt.Sprint(%s)\n_ = %s", v, v, v)
			w.know(v, "string")
		}, w.few())
		w.line("}")
	}
}

func (w *randomWriter) localType() {
	t := w.name("T")
	w.line("{")
	w.block(func() {
		w.line("type %s struct { x int; s []string }", t)
		w.line("ts := []%s{{%s, nil}, {x: %s, s: []string{%s}}}", t, w.expr("int", 1), w.expr("int", 1), w.expr("string", 1))
		w.line("m := map[%s]*%s{%s: &ts[0]}\nm[%s].x++\nfmt.Println(ts, len(m))", "string", t, `"k"`, `"k"`)
		w.line("f := func(v %s) %s { v.x *= 2; return v }\nfmt.Println(f(ts[1]), ts[1])", t, t)
		w.line("var a any = ts[0]\n_, ok := a.(%s)\n_, no := a.(S)\nfmt.Println(ok, no)", t)
	}, 0)
	w.line("}")
}

func (w *randomWriter) goroutines() {
	w.line("{\nvar wg sync.WaitGroup\nvar mu sync.Mutex\ntotal := 0\nfor i := range 4 {\nwg.Add(1)\ngo func(n int) {\ndefer wg.Done()\nmu.Lock()\ndefer mu.Unlock()\ntotal += n * i\n}(%s)\n}\nwg.Wait()\nfmt.Println(total)\n}", w.expr("int", 1))
}

func (w *randomWriter) results() {
	a, s := w.target("int"), w.target("string")
	if a != "" && s != "" {
		w.line("%s, %s = twoOf(%s)", a, s, w.expr("int", 2))
	}
	w.line("fmt.Println(twoOf(%s))", w.expr("int", 2))
	w.line("if n, err := fallible(%s); err != nil { fmt.Println(err) } else { fmt.Println(n) }", w.expr("int", 2))
	w.line("fmt.Println(variadic(%s, %s...), variadic(\"\", %s, %s))", w.expr("string", 1), w.expr("[]int", 2), w.expr("int", 1), w.expr("int", 1))
}

func (w *randomWriter) arrays() {
	if a := w.target("[3]int"); a != "" {
		w.line("{ b := %s; b[at(%s, 3)] = %s; p := &%s; p[0]++; fmt.Println(b == %s, len(p), b[1:]) }", a, w.expr("int", 1), w.expr("int", 2), a, a)
		w.line("for i := range %s { %s[i] %s %s }", a, a, w.one("+=", "=", "-="), w.expr("int", 1))
	}
	if xs := w.target("[]int"); xs != "" {
		w.line("if len(%s) > 50 { %s = %s[:3] }", xs, xs, xs)
		w.line("%s = append(%s[:len(%s)/2], %s...)", xs, xs, xs, w.expr("[]int", 2))
	}
	if ss := w.target("[]S"); ss != "" {
		w.line("if len(%s) > 0 { %s[0].A++; s := &%s[0]; s.L = append(s.L, %s); fmt.Println(%s[0].Get()) }", ss, ss, ss, w.expr("int", 1), ss)
	}
}

func (w *randomWriter) maps() {
	if m := w.target("map[N]S"); m != "" {
		w.line("if x, ok := %s[%s]; ok { x.A = %s; %s[1] = x } else { %s[2] = S{A: 1} }", m, w.expr("N", 1), w.expr("int", 1), m, m)
		w.line("delete(%s, %s)\nfmt.Println(len(%s), %s[1].A)", m, w.expr("N", 1), m, m)
	}
	if m := w.target("map[string]int"); m != "" {
		w.line("%s[%s]++\nif v, ok := %s[%s]; ok { fmt.Println(v) }\ndelete(%s, %s)", m, w.expr("string", 1), m, w.expr("string", 1), m, w.expr("string", 1))
	}
}

func (w *randomWriter) errors() {
	if e := w.target("error"); e != "" {
		w.line("{ var target Err; fmt.Println(errors.As(%s, &target), target.code, errors.Is(%s, Err{%s}), %s == nil) }", e, e, w.expr("int", 1), e)
		w.line("%s = fmt.Errorf(\"wrapped: %%w\", %s)\nif len(fmt.Sprint(%s)) > 80 { %s = nil }", e, w.expr("error", 1), e, e)
	}
}

// expr writes a random expression of a type, nested at most depth deep.
func (w *randomWriter) expr(typ string, depth int) string {
	if v := w.variable(typ); v != "" && (depth <= 0 || w.IntN(3) == 0) {
		return v
	}
	d := depth - 1
	e := func(t string) string { return w.expr(t, d) }
	if depth <= 0 {
		return grouped(w.literal(typ))
	}
	var list []string
	switch typ {
	case "int":
		list = []string{w.literal(typ), w.literal(typ), "(" + e("int") + " " + w.one("+", "-", "*", "&", "|", "^", "&^") + " " + e("int") + ")",
			"(" + e("int") + w.one(" / ", " % ") + "(" + e("int") + "&7 + 1))", "(" + e("int") + w.one(" << ", " >> ") + "(" + e("int") + " & 3))",
			"len(" + e("string") + ")", "len(" + e("[]int") + ")", e("[3]int") + "[at(" + e("int") + ", 3)]", e("map[string]int") + "[" + e("string") + "]", e("S") + ".Get()", e("N") + ".Get()", e("I") + ".Get()",
			"S(" + e("S") + ").A", "int(" + e("uint8") + ")", "int(" + e("N") + ")", "min(" + e("int") + ", " + e("int") + ")", "max(" + e("int") + ", 3, " + e("int") + ")",
			"func() int { if " + e("bool") + " { return " + e("int") + " }; return " + e("int") + " }()", "variadic(" + e("string") + ", " + e("int") + ", " + e("int") + ")", "choose(" + e("bool") + ", " + e("int") + ", " + e("int") + ")",
			"-(" + e("int") + ")", "^" + e("int"), e("E") + ".Get()", "rec(3, func() *S { s := *" + e("*S") + "; return &s }())", "func() int { a := " + e("[3]int") + "; return cap(a[1:]) }()", "pair[int, string](" + e("pair[int, string]") + ").a", "(*" + e("*S") + ").A",
			"apply(" + e("int") + ", " + e("func(int) int") + ")"}
	case "string":
		list = []string{w.literal(typ), w.literal(typ), "(" + e("string") + " + " + e("string") + ")", "fmt.Sprint(" + e("int") + ", " + e("bool") + ")", "cut(" + e("string") + ", 3)", "strings.ToUpper(" + e("string") + ")",
			"string(rune('a' + at(" + e("int") + ", 26)))", "fmt.Sprintf(\"%d|%v\", " + e("int") + ", " + e("[]int") + ")", e("S") + ".B", e("S") + ".String()", e("pair[int, string]") + ".String()", "fmt.Sprint(" + e("S") + ")", "fmt.Sprint((" + e("*S") + ").m)",
			"string([]byte{65, 66 + " + e("uint8") + "%8})", "strings.Join([]string{" + e("string") + ", " + e("string") + "}, \"-\")", "choose(" + e("bool") + ", " + e("string") + ", " + e("string") + ")"}
	case "bool":
		list = []string{w.literal(typ), "(" + e("int") + w.one(" < ", " == ", " != ", " >= ") + e("int") + ")", "(" + e("string") + w.one(" < ", " == ") + e("string") + ")", "(" + e("bool") + w.one(" && ", " || ") + e("bool") + ")", "!" + e("bool"),
			"(" + e("any") + " == nil)", "(any(" + e("int") + ") == any(" + e("int") + "))", "(" + e("[3]int") + " == " + e("[3]int") + ")", "(" + e("N") + " > " + e("N") + ")", "(" + e("error") + " != nil)", "func() bool { _, ok := any(" + e("any") + ").(I); return ok }()", "(" + e("uint8") + " > 3)", "(" + e("float64") + " < 2)"}
	case "float64":
		list = []string{w.literal(typ), "(" + e("float64") + w.one(" + ", " - ", " * ") + e("float64") + ")", "float64(" + e("int") + "%1000)", "float64(" + e("uint8") + ") / 2", "sum(" + e("float64") + ", 1.5)"}
	case "uint8":
		list = []string{w.literal(typ), "(" + e("uint8") + w.one(" + ", " * ", " ^ ") + e("uint8") + ")", "uint8(" + e("int") + ")", "byte(len(" + e("string") + "))", "max(" + e("uint8") + ", 7)"}
	case "[]int":
		list = []string{w.literal(typ), "[]int{" + e("int") + ", " + e("int") + "}", "append([]int{" + e("int") + "}, " + e("int") + ", " + e("int") + ")", "append([]int(nil), " + e("[]int") + "...)", "make([]int, at(" + e("int") + ", 4))", e("S") + ".L", "[]int{2: " + e("int") + ", " + e("int") + "}",
			"slices.Clone(" + e("[]int") + ")", "func() []int { a := " + e("[3]int") + "; return a[1:] }()", "slices.Collect(upto(at(" + e("int") + ", 4)))"}
	case "map[string]int":
		list = []string{"map[string]int{" + `"a": ` + e("int") + `, "b": ` + e("int") + "}", "global", "func() map[string]int { m := map[string]int{}; m[" + e("string") + "] = " + e("int") + "; return m }()"}
	case "[3]int":
		list = []string{w.literal(typ), "[3]int{" + e("int") + ", " + e("int") + "}", "[...]int{1, 2: " + e("int") + "}", "func() [3]int { a := " + e("[3]int") + "; a[1] = " + e("int") + "; return a }()"}
	case "S":
		list = []string{"S{A: " + e("int") + ", B: cut(" + e("string") + ", 5)}", "S{L: " + e("[]int") + "}", "(*" + e("*S") + ")", "func() S { s := " + e("S") + "; s.A = " + e("int") + "; return s }()", e("E") + ".S", "map[N]S{1: " + e("S") + "}[" + e("N") + "]", "choose(" + e("bool") + ", " + e("S") + ", S{})"}
	case "*S":
		list = []string{"(&S{A: " + e("int") + "})", "(&S{}).Set(" + e("int") + ")", "func() *S { s := " + e("S") + "; return &s }()", "new(S)", "func() *S { s := *" + e("*S") + "; return s.Set(" + e("int") + ") }()"}
	case "N":
		list = []string{"N(" + e("int") + ")", "(" + e("N") + " + 2)", "sum(" + e("N") + ", N(1))", "N(len(" + e("string") + "))"}
	case "E":
		list = []string{"E{S: " + e("S") + ", N2: " + e("N") + "}", "E{" + e("S") + ", 1, nil}"}
	case "I":
		list = []string{"I(" + e("S") + ")", "I(" + e("N") + ")", "I(" + e("*S") + ")", "I(&E{})", "I(" + e("E") + ")", "func() I { if " + e("bool") + " { return " + e("N") + " }; return " + e("S") + " }()", "choose[I](" + e("bool") + ", " + e("N") + ", " + e("*S") + ")"}
	case "any":
		list = []string{"any(" + e(w.one("int", "string", "bool", "S", "*S", "N", "[]int", "I", "error", "func(int) int", "[3]int", "pair[int, string]")) + ")", "any(nil)", "[]any{" + e("int") + ", " + e("S") + "}[at(" + e("int") + ", 2)]"}
	case "func(int) int":
		list = []string{"func(x int) int { return x " + w.one("+", "*", "-") + " " + e("int") + " }", "func(x int) int { return " + e("S") + ".Get() + x }", "func() func(int) int { c := " + e("int") + "; return func(x int) int { c += x; return c } }()",
			"func(int) int { return " + e("int") + " }", "func(x int) int { s := S{A: x}; f := s.Get; s.A = 0; return f() }", "choose(" + e("bool") + ", " + e("func(int) int") + ", " + e("func(int) int") + ")"}
	case "error":
		list = []string{"error(nil)", "error(Err{" + e("int") + "})", "errors.New(cut(" + e("string") + ", 9))", "fmt.Errorf(\"e: %w\", error(Err{" + e("int") + "}))", "func() error { _, err := fallible(" + e("int") + "); return err }()"}
	case "[]S":
		list = []string{"[]S{{A: " + e("int") + "}, " + e("S") + "}", "append([]S{}, " + e("S") + ", S{})", "make([]S, 2)"}
	case "map[N]S":
		list = []string{"map[N]S{1: " + e("S") + ", N(5): {}}", "make(map[N]S)"}
	case "chan int":
		list = []string{"make(chan int, 2)", "func() chan int { c := make(chan int, 3); c <- " + e("int") + "; return c }()"}
	case "pair[int, string]":
		list = []string{"pair[int, string]{" + e("int") + ", cut(" + e("string") + ", 4)}", "*new(pair[int, string]).set(" + e("int") + ", \"p\")"}
	case "[]func(int) int":
		list = []string{"[]func(int) int{" + e("func(int) int") + ", func(x int) int { return x }}", "append([]func(int) int{}, " + e("func(int) int") + ")"}
	}
	return grouped(list[w.IntN(len(list))])
}

// grouped is an expression that can stand in the head of a statement, and in front of a dot.
func grouped(x string) string {
	if strings.ContainsAny(x, "{*&") && x[0] != '(' {
		return "(" + x + ")"
	}
	return x
}

// literal is an expression without others in it.
func (w *randomWriter) literal(typ string) string {
	switch typ {
	case "int":
		return fmt.Sprintf("int(%d)", w.IntN(20)-5)
	case "string":
		return w.one(`string("")`, `string("ab")`, `string("hé")`, "string(`raw`)")
	case "bool":
		return w.one("bool(true)", "bool(false)")
	case "float64":
		return w.one("v(0.5)", "v(float64(2))", "v(-1.25)")
	case "uint8":
		return w.one("v(uint8(200))", "v(uint8(1))", "v(byte('x'))")
	case "[]int":
		return w.one("[]int{}", "[]int{1, 2, 3}", "[]int(nil)")
	case "map[string]int":
		return w.one("map[string]int{}", `map[string]int{"x": 1}`)
	case "[3]int":
		return w.one("[3]int{}", "[3]int{1, 2, 3}")
	case "S":
		return w.one("S{}", "S{A: 2, L: []int{4}}")
	case "*S":
		return "(&S{A: 3})"
	case "N":
		return "N(4)"
	case "E":
		return "E{N2: 1}"
	case "I":
		return w.one("I(N(2))", "I(&S{})")
	case "any":
		return w.one("any(1)", "any(nil)", `any("s")`)
	case "func(int) int":
		return "func(x int) int { return x + 1 }"
	case "error":
		return "error(Err{7})"
	case "chan int":
		return "make(chan int, 1)"
	case "[]S":
		return "[]S{{A: 1}}"
	case "map[N]S":
		return "map[N]S{1: {A: 1}}"
	case "pair[int, string]":
		return `pair[int, string]{1, "q"}`
	}
	return "[]func(int) int{func(x int) int { return -x }}"
}
