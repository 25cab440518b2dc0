package msl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a text with kernels. Name is what messages call it. The error of a text that cannot be read
// is a [Problem]: a bracket without its partner, a kernel whose head makes no sense, an instance of an
// unknown kernel.
func Parse(name, text string) (*Source, error) {
	tokens, err := scan(name, text)
	if err != nil {
		return nil, err
	}
	s := &Source{Name: name, Text: text, tokens: tokens, values: map[string]int64{}, edits: map[int]string{}}
	for i, t := range tokens {
		if t.kind != space && !t.directive {
			s.code = append(s.code, i)
		}
	}
	if err := s.pair(); err != nil {
		return nil, err
	}
	s.directives()
	if err := s.declarations(); err != nil {
		return nil, err
	}
	return s, nil
}

// pair finds the partner of each bracket.
func (s *Source) pair() error {
	s.partner = map[int]int{}
	var open []int
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}
	for i := range s.code {
		switch t := s.text(i); t {
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			if len(open) == 0 {
				return Problem{s.pos(i), fmt.Sprintf("%q closes nothing", t)}
			}
			last := open[len(open)-1]
			if closing[s.text(last)] != t {
				return Problem{s.pos(i), fmt.Sprintf("got %q, want %q for the %q in line %d", t, closing[s.text(last)], s.text(last), s.pos(last).Line)}
			}
			s.partner[last], s.partner[i] = i, last
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		return Problem{s.pos(last), fmt.Sprintf("%q is never closed", s.text(last))}
	}
	return nil
}

// directives notes the macros, their values where they are whole numbers, and leaves out the standard
// headers, whose place the preludes take.
func (s *Source) directives() {
	for i := 0; i < len(s.tokens); i++ {
		if !s.tokens[i].directive {
			continue
		}
		var words []int
		for ; i < len(s.tokens) && s.tokens[i].directive; i++ {
			if s.tokens[i].kind != space {
				words = append(words, i)
			}
		}
		if len(words) < 3 {
			continue
		}
		switch s.tokens[words[1]].text {
		case "include":
			if s.tokens[words[2]].text == "<" {
				for _, w := range words {
					s.edits[w] = ""
				}
			}
		case "define":
			s.defined = append(s.defined, s.tokens[words[2]].text)
			if len(words) == 4 {
				if v, ok := parseNumber(s.tokens[words[3]].text); ok {
					s.values[s.tokens[words[2]].text] = v
				}
			}
		}
	}
}

// declarations reads the text declaration by declaration.
func (s *Source) declarations() error {
	for i := 0; i < len(s.code); {
		if s.text(i) == ";" || s.text(i) == "}" { // the end of a namespace
			i++
			continue
		}
		if s.text(i) == "namespace" || s.text(i) == "extern" {
			if open := s.find(i, "{"); open >= 0 && open-i <= 2 {
				i = open + 1
				continue
			}
		}
		end := s.declarationEnd(i)
		if err := s.declaration(i, end); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// find returns the first place from i on with the text t, or -1.
func (s *Source) find(i int, t string) int {
	for ; i < len(s.code); i++ {
		if s.text(i) == t {
			return i
		}
	}
	return -1
}

// declarationEnd is the place behind the declaration at i: behind its semicolon, or behind the body of a
// function.
func (s *Source) declarationEnd(i int) int {
	function := false
	for ; i < len(s.code); i++ {
		switch s.text(i) {
		case ";":
			return i + 1
		case "=":
			function = false
		case "(", "[":
			function = s.text(i) == "("
			i = s.partner[i]
		case "{":
			i = s.partner[i]
			if function {
				return i + 1
			}
		case "}":
			return i
		}
	}
	return i
}

// declaration reads the declaration from i up to end.
func (s *Source) declaration(i, end int) error {
	var parameters []Parameter
	start := i
	if s.text(i) == "template" {
		if s.text(i+1) != "<" {
			return s.instance(i, end)
		}
		var ok bool
		if parameters, i, ok = s.templateParameters(i + 1); !ok {
			return Problem{s.pos(i), "the list of template parameters has no end"}
		}
	}
	if s.text(i) == "constant" || s.text(i) == "static" || s.text(i) == "constexpr" {
		if s.constantAt(i, end) {
			return nil
		}
	}
	if word := s.text(i); word == "struct" || word == "class" || word == "union" {
		s.structs = append(s.structs, s.text(i+1))
		return nil
	}
	f := s.functionAt(i, end)
	if f == nil {
		if word := s.text(i); word != "using" && word != "typedef" && word != "enum" && word != "static_assert" && s.text(end-1) == ";" {
			s.variables = append(s.variables, [2]int{i, end})
		}
		return nil
	}
	f.template, f.start = parameters, start
	s.functions = append(s.functions, f)
	if word := s.find(i, "kernel"); word >= 0 && word < f.at { // as a word or as an attribute
		return s.kernel(f, start)
	}
	return nil
}

// templateParameters reads <…> at place i and returns the place behind it.
func (s *Source) templateParameters(i int) ([]Parameter, int, bool) {
	end := s.angle(i)
	if end < 0 {
		return nil, i, false
	}
	var list []Parameter
	for _, part := range s.split(i+1, end) {
		var p Parameter
		for n, j := range part {
			if s.text(j) == "=" {
				p.Default = s.join(part[n+1:])
				part = part[:n]
				break
			}
		}
		if len(part) == 0 {
			continue
		}
		p.Name = s.text(part[len(part)-1])
		p.Type = s.join(part[:len(part)-1])
		list = append(list, p)
	}
	return list, end + 1, true
}

// angle returns the place of the ">" that closes the "<" at place i, or -1.
func (s *Source) angle(i int) int {
	depth := 0
	for ; i < len(s.code); i++ {
		switch s.text(i) {
		case "<":
			depth++
		case ">":
			if depth--; depth == 0 {
				return i
			}
		case "(", "[":
			i = s.partner[i]
		case ";", "{", "}", ")", "]":
			return -1
		}
	}
	return -1
}

// split cuts the places from i up to end at their commas, except for those in brackets.
func (s *Source) split(i, end int) [][]int {
	var parts [][]int
	start := i
	for ; i < end; i++ {
		switch t := s.text(i); t {
		case "(", "[", "{":
			i = s.partner[i]
		case "<":
			if j := s.angle(i); j >= 0 && j < end {
				i = j
			}
		case ",":
			parts = append(parts, places(start, i))
			start = i + 1
		}
	}
	if start < end {
		parts = append(parts, places(start, end))
	}
	return parts
}

// functionAt finds the function that the declaration from i up to end defines, or nil.
func (s *Source) functionAt(i, end int) *function {
	for j := i; j < end; j++ {
		switch s.text(j) {
		case "=", "{", ";":
			return nil
		case "struct", "enum", "union", "class":
			if s.find(j, "(") > s.find(j, "{") {
				return nil
			}
		case "[":
			j = s.partner[j]
		case "(":
			if s.kind(j-1) != name || s.text(j-1) == "decltype" {
				j = s.partner[j]
				continue
			}
			body := s.find(s.partner[j], "{")
			if body < 0 || s.partner[body] != end-1 {
				return nil
			}
			return &function{name: s.text(j - 1), at: j - 1, open: j, body: body, end: end - 1, result: places(i, j-1)}
		}
	}
	return nil
}

// instance reads an instantiation of a kernel, and leaves it out of the text: what launches the instance
// replaces it.
func (s *Source) instance(i, end int) error {
	host := s.find(i, "host_name")
	if host < 0 || host >= end || s.text(host+1) != "(" {
		return Problem{s.pos(i), `an instance of a kernel needs [[host_name("…")]]`}
	}
	in := Instance{Name: strings.Trim(s.text(host+2), `"`), Pos: s.pos(i)}
	for j := host; j < end; j++ {
		open := j + 1
		if s.kind(j) != name || s.text(open) != "<" {
			continue
		}
		k := s.kernelNamed(s.text(j))
		if k == nil {
			return Problem{s.pos(j), fmt.Sprintf("there is no kernel %s above", s.text(j))}
		}
		last := s.angle(open)
		if last < 0 {
			return Problem{s.pos(open), "the list of template arguments has no end"}
		}
		for _, part := range s.split(open+1, last) {
			in.Args = append(in.Args, s.join(part))
		}
		for n := len(in.Args); n < len(k.Parameters) && k.Parameters[n].Default != ""; n++ {
			in.Args = append(in.Args, k.Parameters[n].Default)
		}
		if len(in.Args) != len(k.Parameters) {
			return Problem{s.pos(j), fmt.Sprintf("%s: got %d template arguments, want %d", k.Name, len(in.Args), len(k.Parameters))}
		}
		k.Instances = append(k.Instances, in)
		s.leaveOut(i, end)
		return nil
	}
	return Problem{s.pos(i), "an instance of a kernel is written template [[host_name(\"…\")]] kernel decltype(f<…>) f<…>;"}
}

// leaveOut drops the places from i up to end from what is rewritten.
func (s *Source) leaveOut(i, end int) {
	for ; i < end; i++ {
		s.edits[s.code[i]] = ""
	}
}

// kernelNamed returns the kernel with that name in the text, or nil.
func (s *Source) kernelNamed(name string) *Kernel {
	if i := slices.IndexFunc(s.Kernels, func(k *Kernel) bool { return k.Name == name }); i >= 0 {
		return s.Kernels[i]
	}
	return nil
}

// constantAt notes a constant of the text, and says whether the declaration from i up to end is one.
func (s *Source) constantAt(i, end int) bool {
	for j := i; j < end; j++ {
		switch s.text(j) {
		case "(", "{":
			return false
		case "[":
			if s.text(j+2) == "function_constant" && s.text(j+3) == "(" {
				n, err := strconv.Atoi(s.text(j + 4))
				if err != nil {
					return false
				}
				s.Constants = append(s.Constants, FunctionConstant{s.text(j - 1), s.join(places(i+1, j-1)), n, s.pos(j - 1), s.code[j-1]})
				s.leaveOut(i, end)
				return true
			}
			return true // a table
		case "=":
			if v, ok := s.evaluate(places(j+1, end-1), nil); ok {
				s.values[s.text(j-1)] = v
			}
			return true
		}
	}
	return false
}
