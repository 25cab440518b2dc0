package session

import "fmt"

// moreDecls are the types and functions of a random program that only [randomWriter.more] uses.
const moreDecls = `type List []int

func (l List) Get() int { return len(l) }

func (l *List) Add(xs ...int) *List { *l = append(*l, xs...); return l }

func (l List) All() func(func(int, int) bool) {
	return func(yield func(int, int) bool) {
		for i, x := range l { if !yield(i, x) { return } }
	}
}

type Table map[string]int

func (t Table) Get() int { return t["a"] }

type Fn func(int) int

func (f Fn) Get() int { if f == nil { return -1 }; return f(2) }

type Color uint8

const (
	Red Color = iota + 1
	Green
	Blue = Red | Green<<2
	big = 1 << 70
	third = 1.0 / 3
)

func (c Color) String() string { return [...]string{"none", "red", "green"}[int(c)%3] }

type J interface { I; fmt.Stringer }

type Wrap struct { I; tag string; at [2]Color }

type Ptr struct { *S; n int }

func (p Ptr) Get() int { return p.n + p.S.Get() }

type Grid [2][2]int

func (g Grid) Get() int { return g[0][0] + g[1][1] }

func (g *Grid) Put(i, n int) { g[i][1-i] = n; g[1][1]++ }

type Tree[T any] struct { v T; kids []*Tree[T] }

func (t *Tree[T]) Add(v T) *Tree[T] { k := &Tree[T]{v: v}; t.kids = append(t.kids, k); return k }

func (t *Tree[T]) All() func(func(T) bool) {
	return func(yield func(T) bool) { t.push(yield) }
}

func (t *Tree[T]) push(yield func(T) bool) bool {
	if t == nil { return true }
	for _, k := range t.kids { if !k.push(yield) { return false } }
	return yield(t.v)
}

type Set[K comparable] map[K]struct{}

func (s Set[K]) Has(k K) bool { _, ok := s[k]; return ok }

func setOf[K comparable](ks ...K) Set[K] {
	s := Set[K]{}
	for _, k := range ks { s[k] = struct{}{} }
	return s
}

func mapped[T, U any](xs []T, f func(T) U) (us []U) {
	for _, x := range xs { us = append(us, f(x)) }
	return us
}

func total[T interface{ Get() int }](xs ...T) (n int) {
	for _, x := range xs { n += x.Get() }
	return n
}

func kind[T any](x T) string {
	switch y := any(x).(type) {
	case int, Color: return fmt.Sprint("number ", y)
	case I: return fmt.Sprint("I ", y.Get())
	case []T: return "list"
	case func(T) T: return "func"
	}
	return "other"
}

func order(list *[]string, name string, n int) int { *list = append(*list, name); return n }

func unwind(n int) (s string, err error) {
	defer func() { s += "!" }()
	defer func() {
		if r := recover(); r != nil {
			defer func() { s += fmt.Sprint("(", recover(), ")") }()
			err = Err{n}
			if n%2 == 0 { panic(fmt.Sprint("again ", r)) }
		}
	}()
	for i := range n & 3 { defer func() { s += fmt.Sprint(i) }() }
	if n > 5 { var m map[string]int; m["x"]++ }
	if n < 0 { panic(n) }
	return "ok", nil
}

`

// moreNames has the names that moreDecls declares.
var moreNames = []string{"List", "Table", "Fn", "Color", "Red", "Green", "Blue", "big", "third", "J", "Wrap", "Ptr", "Grid", "Tree", "Set",
	"setOf", "mapped", "total", "kind", "order", "unwind"}

// more writes a statement that uses the types of moreDecls.
func (w *randomWriter) more() {
	list := []func(){w.embedded, w.methodValues, w.literals, w.jumps, w.selects, w.iterators, w.unwinding, w.named, w.arraysByValue,
		w.comparisons, w.returned, w.zeros, w.complexes, w.constants, w.hiding, w.trees, w.ordered, w.anonymous, w.captured, w.conversions, w.interfaceKeys, w.nilValues}
	list[w.IntN(len(list))]()
}

// get is an expression with a method Get.
func (w *randomWriter) get() string {
	i := func() string { return w.expr("int", 1) }
	return w.one("List{"+i()+", 2}", "(&List{}).Add("+i()+", 1)", "Table{\"a\": "+i()+"}", "Fn(func(x int) int { return x * "+i()+" })", "Fn(nil)",
		"Wrap{I: "+w.expr("I", 1)+"}", "&Wrap{"+w.expr("I", 1)+", \"t\", [2]Color{Red}}", "Ptr{"+w.expr("*S", 1)+", "+i()+"}",
		"Grid{{"+i()+"}, {1: 3}}", "&Grid{1: {5, "+i()+"}}", w.expr("S", 1), w.expr("N", 1), w.expr("*S", 1))
}

func (w *randomWriter) embedded() {
	w.line("{\nq := Wrap{I: I(%s), tag: %s}\nfmt.Println(q.Get(), q.I.Get(), q.tag, len(q.at))", w.get(), w.expr("string", 1))
	w.line("if j, ok := q.I.(J); ok { fmt.Println(j.Get(), len(j.String())) }")
	w.line("q.I = %s\nvar i I = q\nvar k I = &q\n_, same := i.(fmt.Stringer)\nfmt.Println(i.Get(), k.Get(), same)", w.expr("I", 1))
	w.line("p := Ptr{&S{A: %s}, 1}\np.A++\np.Set(%s).A += 2\nr := p\nr.L = append(r.L, %s)\nfmt.Println(p.Get(), r.S.Get(), p.L, p.S == r.S)\n}", w.expr("int", 1), w.expr("int", 1), w.expr("int", 1))
}

func (w *randomWriter) methodValues() {
	w.line("{\nvar i I = %s\nf := i.Get\ni = N(1)\ng := I.Get\nfmt.Println(f(), g(i), S.Get(%s), (*S).Set(&S{}, %s).A)", w.get(), w.expr("S", 1), w.expr("int", 1))
	w.line("l := List{1}\nadd, size := l.Add, l.Get\nadd(%s, 2)\nfmt.Println(l.Get(), size(), List.Get(*(*List).Add(&l, 7)))", w.expr("int", 1))
	w.line("e := E{S: %s}\nset := e.Set\nset(%s).B = \"x\"\nfs := map[string]func() int{\"a\": e.Get, \"b\": e.S.Get, \"c\": (&e).Get}\nfmt.Println(e.A, e.B, fs[\"a\"](), fs[\"b\"](), fs[\"c\"]())", w.expr("S", 1), w.expr("int", 1))
	w.line("var p *S\nh := p.Set\ntry(func() { h(1) })\nvar n I\ntry(func() { h := n.Get; fmt.Println(h()) })\n}")
}

func (w *randomWriter) literals() {
	w.line("{\nn := %s\nops := []struct { name string; f func(int, int) int }{{\"add\", func(a, b int) int { n++; return a + b + n }}, {name: \"none\"}, {f: func(a, _ int) int { return a - n }, name: \"sub\"}}", w.expr("int", 1))
	w.line("for _, op := range ops { if op.f == nil { fmt.Println(op.name); continue }; fmt.Println(op.name, op.f(n, %s)) }", w.expr("int", 1))
	w.line("m := map[string][]func() int{\"x\": {func() int { return n }, N(%s).Get}}\nfor _, f := range m[\"x\"] { fmt.Println(f()) }", w.expr("int", 1))
	w.line("s := &S{f: func(x int) int { return x + n }, next: &S{A: %s, next: &S{B: %s}}}\nfmt.Println(s.f(1), s.next.A, s.next.next.B, [...]*S{s, 3: s.next}[3].A)", w.expr("int", 1), w.expr("string", 1))
	w.line("g := [2]map[N][]S{{1: {%s, {A: n}}}, nil}\nfmt.Println(len(g[0][1]), g[0][1][1].A, g[1][2] == nil, [][]int{{n}, {}, nil, {1, 2: n}})\n}", w.expr("S", 1))
}

func (w *randomWriter) jumps() {
	l := fmt.Sprintf("J%d_%d", w.k, w.n)
	w.n++
	switch w.IntN(3) {
	case 0:
		w.line("func() {\ni := 0\n%s:\nif i < 3 { f := func() int { return i * %s }; i++; fmt.Println(f()); if i == 2 { goto done%s }; goto %s }\ndone%s:\nfmt.Println(\"at\", i)\n}()", l, w.expr("int", 1), l, l, l)
	case 1:
		w.line("%s:\nfor i := range 4 {\nswitch {\ncase i == 1: continue %s\ncase i == 3: break %s\n}\nselect {\ndefault:\nif i == 2 { continue }\n}", l, l, l)
		w.block(func() { w.knowLoop("i") }, 1)
		w.line("fmt.Println(i)\n}")
	case 2:
		w.line("%s:\nswitch x := %s; {\ncase x > 3:\nfor { break %s }\nfmt.Println(\"never\")\ncase x < 0:\nfallthrough\ndefault:\nif x == 0 { break %s }\nfmt.Println(\"small\", x)\n}", l, w.expr("int", 1), l, l)
		w.line("%sb:\n{\nif %s { break %sb }\nfmt.Println(\"block\")\n}", l, w.expr("bool", 1), l)
	}
}

func (w *randomWriter) selects() {
	w.line("{\nc, d, done := make(chan int, 1), make(chan string), make(chan struct{})\ngo func() { defer close(done); for s := range d { fmt.Println(\"got\", s) } }()")
	w.line("for i := 0; i < 3; i++ { select { case c <- i: case x := <-c: fmt.Println(x + %s) } }", w.expr("int", 1))
	w.line("d <- %s\nclose(d)\n<-done\nvar none chan int\nselect { case v, ok := <-none: fmt.Println(v, ok); case _, ok := <-done: fmt.Println(ok) }", w.expr("string", 1))
	w.line("cs := []chan int{make(chan int, 1), c}\nm := map[string]int{}\nselect { case cs[0] <- %s: default: }\nselect { case m[\"v\"] = <-cs[0]: }\nfmt.Println(m, len(cs[0]), cap(c))\n}", w.expr("int", 1))
}

func (w *randomWriter) iterators() {
	w.line("func() (r int) {\ndefer func() { fmt.Println(\"end\", r) }()\nl := List{3, 1, %s}\nfor i, x := range l.All() {", w.expr("int", 1))
	w.line("defer func() { r += i }()\nfor k := range upto(3) { if k == 2 { break }; for j := range upto(2) { if j+k == %d { return x } } }\nif i == 1 { continue }", w.IntN(4))
	w.block(func() { w.know("x", "int") }, 1)
	w.line("}\nreturn %s\n}()", w.expr("int", 1))
	w.line("for range upto(2) { fmt.Print(\".\") }\nfor k := range maps.Keys(map[int]bool{%d: true}) { fmt.Println(k) }", w.IntN(9))
}

func (w *randomWriter) unwinding() {
	w.line("for _, n := range []int{%s & 15, -1, 4, 9} {\nfunc() {\ndefer func() { if r := recover(); r != nil { _, isErr := r.(error); fmt.Println(\"out\", isErr) } }()\nfmt.Println(unwind(n))\n}()\n}", w.expr("int", 1))
	w.line("try(func() {\ndefer fmt.Println(\"last\", %s)\ndefer func() { defer func() { fmt.Println(\"inner\", recover()) }(); panic(\"two\") }()\nvar xs []int\nif %s { xs[len(xs)] = 1 }\npanic(Err{3})\n})", w.expr("int", 1), w.expr("bool", 1))
	w.line("fmt.Println(func() (n int) { defer func(p *int) { *p *= 2; recover() }(&n); n = %s; if n > 2 { panic(n) }; return n + 1 }())", w.expr("int", 1))
}

func (w *randomWriter) named() {
	w.line("{\nl := List(%s)\nxs := []int(l)\nl = append(l, xs...)\nl.Add(%s)\nfmt.Println(len(l), l.Get(), slices.Max(append(l, 1)), l[:1], cap(xs[:0:0]))", w.expr("[]int", 1), w.expr("int", 1))
	w.line("t := Table(%s)\nt[\"a\"]--\nfmt.Println(t.Get(), len(map[string]int(t)))\nvar f Fn = func(x int) int { return x - %s }\nvar g func(int) int = f\nfmt.Println(f.Get(), Fn(g).Get(), apply(3, f, g))", w.expr("map[string]int", 1), w.expr("int", 1))
	w.line("c := Color(%s)\nc++\nc <<= 1\nfmt.Println(c, ^c, -c, c/3, c == Blue, uint8(c)+250, kind(c), kind(%s), kind[any](l))\n}", w.expr("int", 1), w.get())
}

func (w *randomWriter) arraysByValue() {
	w.line("{\nvar g Grid\ng.Put(1, %s)\nh, p := g, &g\nh.Put(0, 2)\np[0][0] = 9\nrow := g[0]\nrow[1]++\nfor i, r := range g { g[1][0] = 5; fmt.Print(i, r, \" \") }\nfor i := range p { p[i][0] += i }\nfmt.Println(g, h, row, g == h, *p == g, total(g, h))", w.expr("int", 1))
	w.line("m := map[Grid]int{g: 1}\nm[h]++\nf := func(g Grid) Grid { g[0][0]++; return g }\nfmt.Println(m[g], m[f(h)], f(g)[0], g[0])\nss := [2]struct { a [2]int; s []int }{{a: [2]int{%s}}}\ntt := ss\ntt[0].a[1] = 3\nfmt.Println(ss, tt, len(ss[0].s))\n}", w.expr("int", 1))
}

func (w *randomWriter) comparisons() {
	w.line("{\ntype key struct { a int; b string; c [2]bool; i any }\nx := key{%s, %s, [2]bool{%s}, %s}\ny := x\ny.c[1] = !y.c[1]\nfmt.Println(x == x, x == y, x != key{}, map[key]int{x: 1}[x])", w.expr("int", 1), w.expr("string", 1), w.expr("bool", 1), w.expr("int", 1))
	w.line("var a, b any = x, N(1)\nfmt.Println(a == any(x), b == any(1), b == N(1), a != b, I(N(2)) == I(N(%s)), error(Err{1}) == Err{1})", w.expr("int", 1))
	w.line("a = %s\ntry(func() { fmt.Println(a == a) })\ntry(func() { fmt.Println(map[any]int{a: 1}[a]) })\n}", w.one("[]int{1}", "S{}", "1.5", "struct { f func() }{}", "[1]any{[]int{}}", "&x", "Err{2}"))
}

func (w *randomWriter) complexes() {
	w.line("{\nc := complex(%s, v(0.5))\nvar d complex64 = 2i\nd += complex64(c)\nd *= 1 + 1i\nc /= 2i\nfmt.Println(c*c, d, real(c), imag(d), c == complex(1, 2), -c, []complex128{c, 3, 1i})", w.expr("float64", 1))
	w.line("var x any = c\n_, ok := x.(complex128)\nfmt.Println(ok, map[complex128]int{1i: 2}[1i])\n}")
}

// returned writes a function with several results.
func (w *randomWriter) returned() {
	operands := map[string][]string{
		"int":        {"len(xs)", "cap(xs)", "copy(xs, xs)", "-n", "n + 1", "<-c", "xs[0]", "min(n, 3)", "order(new([]string), \"\", n)", "int(real(z))", w.expr("int", 1)},
		"float64":    {"real(z)", "imag(z)", "float64(n)", "x * 2", w.expr("float64", 1)},
		"any":        {"n", "n + 1", "len(xs)", "x < 1", "nil", "complex(x, 1)", "N(n)", w.expr("any", 1)},
		"[]int":      {"append(xs, n)", "make([]int, 2)", "nil", "xs[:1]", w.expr("[]int", 1)},
		"complex128": {"complex(x, x)", "-z", "z * z"},
		"bool":       {"n > 1", "!(n > 1)", "n > 1 && x > 1", w.expr("bool", 1)},
		"I":          {"N(n)", "List(xs)", "nil", w.expr("I", 1)},
		"N":          {"N(n)", "N(n) + 1", "-N(n)"},
		"error":      {"nil", "Err{n}", "errors.New(\"e\")"},
	}
	named, types, values := w.IntN(4) == 0, "", ""
	for i := range 2 + w.IntN(3) {
		t := w.one("int", "float64", "any", "[]int", "complex128", "bool", "I", "N", "error")
		if named {
			types += fmt.Sprint("r", i, " ")
		}
		types += t + ", "
		values += ", " + w.one(operands[t]...)
	}
	w.line("{\nxs, n, x, z, c := []int{1, 2}, %s, %s, 1+2i, make(chan int, 9)\nfor i := range 9 { c <- i }\nf := func() (%s) { return %s }\nfmt.Println(f())\n}", w.expr("int", 1), w.expr("float64", 1), types, values[2:])
}

// zeros passes zeros of both signs.
func (w *randomWriter) zeros() {
	zero := w.one("neg", "-neg", "0", w.expr("float64", 1))
	w.line("{\nneg := -v(0.0)\ntype P struct { x, y float64 }\ng := func(p P, z complex128) (P, complex128) { return v(p), v(z) }\nfmt.Println(v(%s), v(float32(%s)), v([2]float64{neg, %s}), v(pair[float64, P]{%s, P{neg, 0}}), sum(neg, %s))", zero, zero, zero, zero, zero)
	w.line("fmt.Println(g(P{%s, neg}, complex(neg, %s)))\nfmt.Println(1/v(%s), choose(true, neg, 1), apply(neg, v[float64]))\n}", zero, zero, zero)
}

func (w *randomWriter) constants() {
	w.line("{\nconst k, s, f = %d, \"k\" + \"s\", 2.5\nconst ( a = iota * 10; b; _; d = k + iota )\nvar u uint8 = 255\nvar x float64 = k\nvar r rune = 'a' + 1\nfmt.Println(a, b, d, s[0], f*k, x/4, big>>68, int(third*9), r, string(r), u+k, k<<3|1, len(s))", w.IntN(9))
	w.line("const t time.Duration = 3 * time.Second\nn := %s\nfmt.Println(t/2, 1<<uint(n&7), uint8(1)<<(n&15), -7/2, -7%%3, n&-n == n, x*2+k, ^0, 0x1p-2, 1_000, 'x'-'a', u<<1>>1)\n}", w.expr("int", 1))
}

func (w *randomWriter) hiding() {
	w.line("{\nlen, string, true := %s, \"s\", %s\nnil := func(int int) int { return int + len }\nfmt.Println(len, string, true, nil(2))\nfor new := range 2 { append := []int{new}; fmt.Println(append[0]) }", w.expr("int", 1), w.expr("bool", 1))
	w.line("type int struct { error string }\nx := int{error: string}\nfmt.Println(x.error)\n}")
	w.line("if x := %s; x > 3 { x := \"in\"; fmt.Println(x) } else if y, x := x, 2; y < x { fmt.Println(x, y); { x := x + y; _ = x } } else { fmt.Println(x, y) }", w.expr("int", 1))
	w.line("{\nx, e := 1, error(nil)\nfor x, y := x, 2; x < y; x++ { x, z := x*10, y; fmt.Println(x, z) }\nif x, e := fallible(%s); e == nil { fmt.Println(x) } else { fmt.Println(x, e) }\nx, z := 2, %s\nfmt.Println(x, z, e)\n}", w.expr("int", 1), w.expr("int", 1))
}

func (w *randomWriter) trees() {
	w.line("{\nt := &Tree[string]{v: %s}\nt.Add(\"k\").Add(%s)\nt.Add(\"z\")\nfor x := range t.All() { if x == \"z\" { break }; fmt.Print(x, \" \") }", w.expr("string", 1), w.expr("string", 1))
	w.line("tt := Tree[Tree[int]]{kids: []*Tree[Tree[int]]{{v: Tree[int]{v: %s}}, nil}}\nfmt.Println(tt.kids[0].v.v, tt.v.kids == nil, len(tt.kids))", w.expr("int", 1))
	w.line("s := setOf(N(1), N(%s))\nfmt.Println(s.Has(N(1)), len(s), setOf(%s).Has(\"ab\"), Set[[2]int]{{1, 2}: {}}.Has([2]int{1, 2}))", w.expr("int", 1), w.expr("string", 1))
	w.line("fmt.Println(mapped(%s, func(x int) string { return fmt.Sprint(x) }), mapped([]I{%s, %s}, I.Get), total(%s, 1), total[I](%s, %s), mapped(mapped([]int{1}, func(x int) N { return N(x) }), N.Get))\n}", w.expr("[]int", 1), w.get(), w.get(), w.expr("N", 1), w.get(), w.get())
}

func (w *randomWriter) ordered() {
	w.line("{\nvar log []string\no := func(name string, n int) int { return order(&log, name, n) }\nxs := []int{1, 2, 3, 4}\nxs[o(\"i\", 1)], xs[o(\"j\", 2)] = o(\"x\", %s), o(\"y\", xs[1])", w.expr("int", 1))
	w.line("m := map[int]int{o(\"k\", 1): o(\"v\", 2)}\nm[o(\"a\", 1)] += o(\"b\", 5)\nr := o(\"l\", 1)*o(\"m\", 2) - o(\"n\", 3)\nb := o(\"p\", %s) > 2 && o(\"q\", 1) == 1 || o(\"r\", 0) == 0\ns := S{B: fmt.Sprint(o(\"t\", 1)), A: o(\"u\", 2)}", w.expr("int", 1))
	w.line("fmt.Println(variadic(fmt.Sprint(o(\"c\", 1)), o(\"d\", 2), o(\"e\", 3)), []int{o(\"f\", 1), o(\"g\", 2)}, r, b, s.A, xs, m)\nfmt.Println(log)\n}")
}

func (w *randomWriter) anonymous() {
	w.line("{\np := struct { X, Y int; in struct { s string } }{X: %s}\np.in.s = %s\nq := &p\nq.Y = q.X * 2\nvar a any = p\nr, ok := a.(struct { X, Y int; in struct { s string } })\nfmt.Println(p, *q == p, r.in, ok, a == any(*q))", w.expr("int", 1), w.expr("string", 1))
	w.line("type point struct { X, Y int; in struct { s string } }\nt := point(p)\nt.X++\np = t\nfmt.Println(p.X, point(*q).Y, struct{}{} == struct{}{})\nf := func(s ...struct{ n int }) (k int) { for _, s := range s { k += s.n }; return }\nfmt.Println(f(), f(struct{ n int }{%s}, []struct{ n int }{{3}}[0]))\n}", w.expr("int", 1))
}

func (w *randomWriter) captured() {
	w.line("{\nvar fs []func() int\nfor i := 0; i < 3; i++ { fs = append(fs, func() int { i += 10; return i }); if %s { i++ } }\nfor i, x := range []int{5, 6} { p := &x; fs = append(fs, func() int { *p++; return i + x }) }", w.expr("bool", 1))
	w.line("for _, f := range fs { fmt.Print(f(), f(), \" \") }\nvar fib func(int) int\nfib = func(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }\nn := 7\nn, g := fib(n), func() int { return n }\nn++\nfmt.Println(n, g(), func(n *int) int { *n++; return *n }(&n), n)\n}")
}

func (w *randomWriter) conversions() {
	w.line("{\nn := %s\nf := float64(n) / 3\nb := []byte(%s)\nfmt.Println(int8(n), uint16(n), uint32(int32(n)), int(f), uint8(int(f)), float32(f) == float32(f), string(b), []rune(string(b)), len(string(rune(n&0x7ff))))", w.expr("int", 1), w.expr("string", 1))
	w.line("a := [3]int([]int{1, 2, n})\npa := (*[2]int)(a[1:])\npa[0] = n\nfmt.Println(a, *pa, [0]int(nil), any(N(n)) == any(n), I(N(n)).(N), any(I(N(n))).(I).Get())\ntry(func() { _ = [4]int(a[:]) })\ntry(func() { _ = any(n).(N) })\ntry(func() { _ = I(N(1)).(*S) })\n}")
}

func (w *randomWriter) interfaceKeys() {
	w.line("{\nm := map[any]string{1: \"int\", N(1): \"N\", \"1\": \"string\", [1]int{1}: \"array\", Err{1}: \"err\", nil: \"nil\", true: \"bool\", 1.0: \"float\"}\nfor _, k := range []any{1, N(1), [1]int{1}, Err{1}, nil, 1.0, uint(1), %s} { fmt.Print(m[k], \";\") }\ndelete(m, N(1))\nfmt.Println(len(m))", w.expr("string", 1))
	w.line("var i any = %s\nswitch i { case 1: fmt.Println(\"one\"); case \"ab\", N(4): fmt.Println(\"ab or N\"); case nil: fmt.Println(\"nil\"); default: fmt.Println(\"else\") }", w.expr("any", 1))
	w.line("mi := map[I]int{N(2): %s}\nmi[N(2)]++\nmi[Wrap{tag: \"x\"}]--\nfmt.Println(mi[N(2)], mi[Wrap{tag: \"x\"}], len(mi) == 2, slices.Contains([]any{1, \"a\", N(3)}, any(N(3))))\n}", w.expr("int", 1))
}

func (w *randomWriter) nilValues() {
	w.line("{\nvar m map[string][]int\nvar s *S\nvar f func()\nvar e error\nvar i I\nvar l List\nvar c chan int\nfmt.Println(m[\"x\"], len(m), s == nil, f == nil, e == nil, i == nil, l == nil, c == nil, len(l), any(s) == nil, any(s) == any((*S)(nil)))")
	w.line("i = s\nfmt.Println(i == nil, i.(*S) == nil)\nclear(m)\ndelete(m, \"\")\nfor range m { }\nfor range l { }\n%s\nfmt.Println(len(append(l, l...)), min(%s, 3), max(2.5, 1))\n}", w.one("try(func() { m[\"a\"] = nil })", "try(f)", "try(func() { fmt.Println(i.Get()) })", "try(func() { s.A++ })", "try(func() { close(c) })", "try(func() { _ = e.Error() })", "try(func() { fmt.Println(l[0]) })"), w.expr("int", 1))
}
