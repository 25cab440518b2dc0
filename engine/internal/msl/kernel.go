package msl

import (
	"fmt"
	"strconv"
	"strings"
)

// kernel reads the head of a kernel, whose declaration begins at start.
func (s *Source) kernel(f *function, start int) error {
	k := &Kernel{Name: f.name, Pos: s.pos(f.at), Parameters: f.template, function: f}
	f.kernel = k
	if old := s.kernelNamed(k.Name); old != nil {
		return Problem{k.Pos, fmt.Sprintf("there is a kernel %s in line %d already", k.Name, old.Pos.Line)}
	}
	for i := start; i < f.at; i++ {
		if s.text(i) == "max_total_threads_per_threadgroup" && s.text(i+1) == "(" {
			if n, ok := s.evaluate(places(i+2, s.partner[i+1]), nil); ok {
				k.MaxThreads = int(n)
			}
		}
		if s.text(i) == "kernel" {
			s.edits[s.code[i]] = ""
		}
	}
	s.dropAttributes(start, f.body)
	for _, part := range s.split(f.open+1, s.partner[f.open]) {
		if len(part) == 0 {
			return Problem{s.pos(f.open), k.Name + ": got an empty parameter"}
		}
		a, err := s.argument(part)
		if err != nil {
			return err
		}
		k.Arguments = append(k.Arguments, a)
	}
	if len(f.template) == 0 {
		k.Instances = []Instance{{Name: k.Name, Pos: k.Pos}}
	}
	s.Kernels = append(s.Kernels, k)
	return nil
}

// dropAttributes leaves out every [[…]] from i up to end.
func (s *Source) dropAttributes(i, end int) {
	for ; i < end; i++ {
		if s.text(i) == "[" && s.text(i+1) == "[" {
			s.leaveOut(i, s.partner[i]+1)
			i = s.partner[i]
		}
	}
}

// argument reads one parameter of a kernel. What it says is checked by Lint; here it only must be readable.
func (s *Source) argument(part []int) (Argument, error) {
	a := Argument{Index: -1}
	var words []int
	for n := 0; n < len(part); n++ {
		i := part[n]
		if s.text(i) == "[" && s.text(i+1) == "[" {
			a.Attribute = s.text(i + 2)
			if s.text(i+3) == "(" {
				if v, ok := s.evaluate(places(i+4, s.partner[i+3]), nil); ok {
					a.Index = int(v)
				}
			}
			n += s.partner[i] - i
			continue
		}
		words = append(words, i)
	}
	if len(words) < 2 || s.kind(words[len(words)-1]) != name {
		return a, Problem{s.pos(part[0]), fmt.Sprintf("got the parameter %q, want a type, a name and an attribute", s.join(part))}
	}
	last := words[len(words)-1]
	a.Name, a.Pos, a.tokens = s.text(last), s.pos(last), words[:len(words)-1]
	a.Type = s.join(a.tokens)
	a.kind(s)
	return a, nil
}

// kind fills in what follows from the type and the attribute.
func (a *Argument) kind(s *Source) {
	space, pointer, reference, constant := "", false, false, false
	for _, i := range a.tokens {
		switch t := s.text(i); t {
		case "device", "constant", "threadgroup", "thread":
			space = t
		case "*":
			pointer = true
		case "&":
			reference = true
		case "const":
			constant = constant || !pointer
		}
	}
	switch {
	case !pointer && !reference:
		a.Kind = Attribute
		return
	case space == "threadgroup":
		a.Kind = Threadgroup
	case space == "constant" && reference:
		a.Kind = Constant
	default:
		a.Kind = Buffer
	}
	a.Written = a.Kind == Buffer && space == "device" && !constant
	if a.Attribute == "buffer" || a.Attribute == "threadgroup" {
		a.Attribute = ""
	}
}

// evaluate computes a constant expression of whole numbers, with the constants of the text and those of
// env; false for what it does not know.
func (s *Source) evaluate(list []int, env map[string]int64) (int64, bool) {
	e := expression{s: s, list: list, env: env}
	v := e.binary(0)
	return v, !e.failed && e.at == len(e.list)
}

// An expression is evaluated from left to right.
type expression struct {
	s      *Source
	list   []int
	at     int
	env    map[string]int64
	failed bool
}

func (e *expression) peek() string {
	if e.at >= len(e.list) {
		return ""
	}
	return e.s.text(e.list[e.at])
}

var precedence = map[string]int{"*": 3, "/": 3, "%": 3, "+": 2, "-": 2, "<<": 1}

// binary reads operators that bind stronger than level.
func (e *expression) binary(level int) int64 {
	v := e.operand()
	for !e.failed {
		op := e.peek()
		if precedence[op] <= level {
			break
		}
		e.at++
		v = e.apply(op, v, e.binary(precedence[op]))
	}
	return v
}

func (e *expression) apply(op string, a, b int64) int64 {
	switch {
	case op == "*":
		return a * b
	case op == "+":
		return a + b
	case op == "-":
		return a - b
	case op == "<<" && b >= 0 && b < 63:
		return a << b
	case op == "/" && b != 0:
		return a / b
	case op == "%" && b != 0:
		return a % b
	}
	e.failed = true
	return 0
}

func (e *expression) operand() int64 {
	t := e.peek()
	e.at++
	switch {
	case t == "(":
		v := e.binary(0)
		if e.peek() != ")" {
			e.failed = true
		}
		e.at++
		return v
	case t == "-":
		return -e.operand()
	case t == "sizeof" && e.peek() == "(":
		size := sizes[e.s.text(e.list[min(e.at+1, len(e.list)-1)])]
		e.at += 3
		e.failed = e.failed || size == 0 || e.at > len(e.list) || e.s.text(e.list[e.at-1]) != ")"
		return size
	case t != "" && digit(t[0]):
		v, ok := parseNumber(t)
		e.failed = e.failed || !ok
		return v
	}
	if v, ok := e.env[t]; ok {
		return v
	}
	v, ok := e.s.values[t]
	e.failed = e.failed || !ok
	return v
}

// parseNumber reads a whole number as C writes it, with its suffix.
func parseNumber(t string) (int64, bool) {
	v, err := strconv.ParseInt(strings.TrimRight(t, "uUlL"), 0, 64)
	return v, err == nil
}

// sizes of the types that a declaration of threadgroup memory usually has, in bytes.
var sizes = map[string]int64{}

func init() {
	for t, n := range map[string]int64{"bool": 1, "char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "bfloat": 2, "int": 4, "uint": 4,
		"float": 4, "long": 8, "ulong": 8, "atomic_int": 4, "atomic_uint": 4, "size_t": 8, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2,
		"int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8} {
		sizes[t] = n
		sizes[t+"2"], sizes[t+"3"], sizes[t+"4"] = 2*n, 4*n, 4*n
	}
}
