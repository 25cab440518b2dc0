package msl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Lint reports what Metal refuses, what CUDA would do otherwise, and what the checks of package check need:
// in the order of the text, each with what to write instead.
//
// A return before a barrier or an operation of a simdgroup is right if all threads take it. Then its line
// says so in a comment that begins with "uniform", and the checks hold it to its word.
func Lint(s *Source) []Problem {
	l := linter{Source: s}
	l.words()
	l.directiveLines()
	l.statements()
	for _, d := range s.variables {
		l.variable(d[0], d[1])
	}
	for _, f := range s.functions {
		l.function(f)
	}
	l.recursion()
	hosts := map[string]Pos{}
	for _, k := range s.Kernels {
		l.kernel(k)
		l.instances(k, hosts)
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return l.problems
}

// A linter collects problems.
type linter struct {
	*Source
	problems []Problem
	waits    map[string]bool // the functions of the text in which threads wait for each other
}

// report adds a problem with the token at place i.
func (l *linter) report(i int, format string, args ...any) {
	l.problems = append(l.problems, Problem{l.pos(i), fmt.Sprintf(format, args...)})
}

// refused has the words that no kernel may contain, and what to write instead.
var refused = map[string]string{
	"double":                       "Metal has no double: write float",
	"new":                          "Metal has no memory to allocate: declare an array",
	"delete":                       "Metal has no memory to allocate: declare an array",
	"goto":                         "Metal has no goto: write a loop or an if",
	"try":                          "Metal has no exceptions: write the error to a buffer",
	"catch":                        "Metal has no exceptions: write the error to a buffer",
	"throw":                        "Metal has no exceptions: write the error to a buffer",
	"virtual":                      "Metal has no virtual functions: write a template",
	"dynamic_cast":                 "Metal has no types at run time: write a template",
	"typeid":                       "Metal has no types at run time: write a template",
	"thread_local":                 "Metal has no thread_local: a variable of a function belongs to its thread",
	"register":                     "Metal has no register: leave it out",
	"asm":                          "Metal has no assembly: write it in the language",
	"std":                          "Metal has no std: its library is in namespace metal",
	"sampler":                      "kernels here read buffers only: write a device pointer",
	"atomic_float":                 "adding floats in an order that varies gives other bits each time: write partial sums and add them in order",
	"atomic_ulong":                 "not every GPU has atomics of 64 bits: write atomic_uint",
	"is_function_constant_defined": "give every function constant a value",
}

// words looks at each word by itself.
func (l *linter) words() {
	for i := range l.code {
		t := l.text(i)
		why := refused[t]
		switch {
		case l.kind(i) != name || l.text(i-1) == "." || l.text(i-1) == "->":
			continue
		case why != "":
		case strings.HasPrefix(t, "double") && len(t) == 7:
			why = refused["double"]
		case t == "long" && l.text(i+1) == "long":
			why = "Metal has no long long: write long, which has 64 bits"
		case strings.HasPrefix(t, "texture") && len(t) > 7 || strings.HasPrefix(t, "depth2d") || strings.HasPrefix(t, "depthcube"):
			why = refused["sampler"]
		case strings.HasPrefix(t, "quad_"):
			why = "CUDA has no quadgroups: write the simd_ function"
		case len(t) == 5 && strings.HasPrefix(t, "bool") && t[4] >= '2' && t[4] <= '4':
			why = "the preludes have no vectors of bool: compare element by element"
		}
		if why != "" {
			l.report(i, "got %s: %s", t, why)
		}
	}
}

// directiveLines looks at macros and includes.
func (l *linter) directiveLines() {
	directive := ""
	for i, t := range l.tokens {
		if !t.directive || t.kind == space {
			continue
		}
		if t.text == "#" {
			directive = l.nextWord(i)
			if directive == "include" && l.nextWord(i+2) != "<" {
				l.problems = append(l.problems, Problem{t.pos, "Metal compiles a text without files: put the included text in its place"})
			}
		}
		if directive == "define" && (t.text == "kernel" || t.text == "host_name" || t.text == "buffer") && l.nextWord(i) != "" {
			l.problems = append(l.problems, Problem{t.pos, fmt.Sprintf("got %s in a macro: the head of a kernel stands in the text", t.text)})
		}
	}
}

// nextWord is the next token behind i that is no space.
func (l *linter) nextWord(i int) string {
	for i++; i < len(l.tokens); i++ {
		if l.tokens[i].kind != space {
			return l.tokens[i].text
		}
	}
	return ""
}

// statements looks at small patterns everywhere.
func (l *linter) statements() {
	for i := range l.code {
		switch t := l.text(i); {
		case t == "(" && l.text(i+1) == "*" && l.kind(i+2) == name && l.text(i+3) == ")" && l.text(i+4) == "(":
			l.report(i+1, "Metal has no function pointers: write a template")
		case t == "(" && l.kind(i+1) == name && vectorName(l.text(i+1)) && l.text(i+2) == ")" && (l.kind(i+3) == name || l.kind(i+3) == number || l.text(i+3) == "("):
			l.report(i+1, "got a cast in the style of C: write %s(…)", l.text(i+1))
		case t == "." && l.kind(i+1) == name && len(l.text(i+1)) > 1 && swizzle(l.text(i+1)) && slices.Contains(assignments, l.text(i+2)):
			l.report(i+1, "got an assignment to .%s: assign its elements one by one", l.text(i+1))
		case t == "[" && l.lambda(i):
			l.report(i, "Metal has no lambda expressions: write a struct with an operator()")
		case (t == "*" || t == "&") && l.declares(i):
			l.pointerDeclaration(i)
		}
	}
}

var assignments = []string{"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}

// lambda says whether the bracket at place i opens the captures of one.
func (l *linter) lambda(i int) bool {
	if l.text(i+1) == "[" || l.text(i-1) == "[" {
		return false
	}
	next := l.text(l.partner[i] + 1)
	switch l.text(i - 1) {
	case "=", "(", ",", "return", "{":
		return next == "(" || next == "{"
	}
	return false
}

// declares says whether the * or & at place i stands between a type and the name of a variable of a
// function or a member.
func (l *linter) declares(i int) bool {
	before := l.text(i - 1)
	known := sizes[before] > 0 || before == "void" || before == "const" || slices.Contains(l.structs, before) || l.typeParameter(i-1)
	if !known || l.kind(i+1) != name {
		return false
	}
	next := l.text(i + 2)
	return next == "=" || next == ";" || next == "[" && l.text(i+3) != "["
}

// pointerDeclaration looks at a declaration with a * or & at place i: an address has a space.
func (l *linter) pointerDeclaration(i int) {
	for j := i - 1; j >= 0; j-- {
		switch t := l.text(j); {
		case t == ";" || t == "{" || t == "}" || t == "(":
			l.missingSpace(i)
			return
		case isSpace(t):
			return
		case l.kind(j) != name && t != "<" && t != ">" && t != "::" && t != ",":
			return
		}
	}
}

func (l *linter) missingSpace(i int) {
	what := "pointer"
	if l.text(i) == "&" {
		what = "reference"
	}
	l.report(i, "got a %s without an address space: write device, constant, threadgroup or thread before its type", what)
}

func isSpace(t string) bool {
	return t == "device" || t == "constant" || t == "threadgroup" || t == "thread"
}

// variable looks at the declaration of a variable outside of functions, from i up to end.
func (l *linter) variable(i, end int) {
	for j := i; j < end; j++ {
		switch l.text(j) {
		case "constant", "(", "<", "typedef":
			return
		case "=", ";", "[", "{":
			l.report(j-1, "a variable outside of functions is constant: write constant before its type")
			return
		}
	}
}

// function looks at a function by itself.
func (l *linter) function(f *function) {
	if f.kernel == nil {
		for _, part := range l.split(f.open+1, l.partner[f.open]) {
			l.parameter(part)
		}
	}
	depth := 0
	for i := f.body; i < f.end; i++ {
		switch t := l.text(i); {
		case t == "{":
			depth++
		case t == "}":
			depth--
		case t == "static":
			l.report(i, "Metal has no static variables in functions: write constant constexpr outside of it")
		case l.local(i):
			l.localDeclaration(f, i, depth)
		}
	}
	l.earlyReturn(f)
}

// parameter looks at one of a function that is no kernel.
func (l *linter) parameter(part []int) {
	for _, i := range part {
		if isSpace(l.text(i)) {
			return
		}
		if t := l.text(i); t == "*" || t == "&" {
			l.missingSpace(i)
			return
		}
		if l.text(i) == "=" {
			return
		}
	}
}

// localDeclaration looks at a declaration of threadgroup memory.
func (l *linter) localDeclaration(f *function, i, depth int) {
	switch {
	case f.kernel == nil:
		l.report(i, "threadgroup memory is declared in kernels: give %s a threadgroup pointer", f.name)
	case depth > 1:
		l.report(i, "threadgroup memory is declared in the outermost block of a kernel")
	}
	for j := i; j < f.end && l.text(j) != ";"; j++ {
		switch l.text(j) {
		case "<":
			j = max(j, l.angle(j))
		case "=":
			l.report(j, "threadgroup memory has no initial value: let a thread write it before a barrier")
			return
		case ",":
			l.report(j, "got two names in a declaration of threadgroup memory: write two declarations")
			return
		}
	}
}

// meets says whether a call at place i makes threads wait for each other, given the functions that do.
func (l *linter) meets(i int, functions map[string]bool) bool {
	if l.kind(i) != name || l.text(i+1) != "(" && l.text(i+1) != "<" {
		return false
	}
	t := l.text(i)
	return functions[t] || t == "threadgroup_barrier" || t == "simdgroup_barrier" || t == "simdgroup_load" || t == "simdgroup_store" ||
		strings.HasPrefix(t, "simd_") && t != "simd_is_first" || strings.HasPrefix(t, "simdgroup_multiply")
}

// meeting lists the functions of the text in which threads wait for each other, directly or in what they
// call.
func (l *linter) meeting() map[string]bool {
	list := map[string]bool{}
	for changed := true; changed; {
		changed = false
		for _, f := range l.functions {
			for i := f.body; i < f.end && !list[f.name]; i++ {
				if l.meets(i, list) {
					list[f.name], changed = true, true
				}
			}
		}
	}
	return list
}

// earlyReturn looks for a return behind which threads wait for each other.
func (l *linter) earlyReturn(f *function) {
	if l.waits == nil {
		l.waits = l.meeting()
	}
	last := -1
	for i := f.end; i > f.body; i-- {
		if l.meets(i, l.waits) {
			last = i
			break
		}
	}
	for i := f.body; i < last; i++ {
		if end := l.find(i, ";"); l.text(i) == "return" && end >= 0 && end < last && !l.uniform(i) {
			l.report(i, "got a return before %s in line %d, where all threads meet: let every thread go there, or say why all return in a comment // uniform: …",
				l.text(last), l.pos(last).Line)
		}
	}
}

// uniform says whether the line of place i has a comment that begins with "uniform".
func (l *linter) uniform(i int) bool {
	for j := l.code[i]; j < len(l.tokens) && l.tokens[j].text != "\n"; j++ {
		if t := l.tokens[j]; t.kind == space && strings.HasPrefix(strings.TrimLeft(t.text, "/* "), "uniform") {
			return true
		}
	}
	return false
}

// recursion looks for functions that call themselves. Functions that share a name are left out: they may
// call each other.
func (l *linter) recursion() {
	byName := map[string]*function{}
	for _, f := range l.functions {
		if _, shared := byName[f.name]; shared {
			byName[f.name] = nil
		} else {
			byName[f.name] = f
		}
	}
	for _, f := range l.functions {
		if byName[f.name] == f && l.reaches(f, f, byName, map[*function]bool{}) {
			l.report(f.at, "%s calls itself, which Metal refuses: write a loop", f.name)
		}
	}
}

// reaches says whether from calls to, directly or by others.
func (l *linter) reaches(from, to *function, byName map[string]*function, seen map[*function]bool) bool {
	seen[from] = true
	for i := from.body; i < from.end; i++ {
		if l.kind(i) != name || l.text(i-1) == "." || l.text(i+1) != "(" && l.text(i+1) != "<" {
			continue
		}
		called := byName[l.text(i)]
		if called != nil && (called == to || !seen[called] && l.reaches(called, to, byName, seen)) {
			return true
		}
	}
	return false
}
