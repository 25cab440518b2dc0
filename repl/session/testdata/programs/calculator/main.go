package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"
)

type kind int

const (
	number kind = iota
	operator
	paren
)

func (k kind) String() string { return [...]string{"number", "operator", "paren"}[k] }

type token struct {
	kind kind
	text string
}

type node interface {
	eval(env map[string]float64) (float64, error)
}

type (
	num  float64
	name string
	bin  struct {
		op   byte
		l, r node
	}
	neg struct{ x node }
)

func (n num) eval(map[string]float64) (float64, error) { return float64(n), nil }
func (n name) eval(env map[string]float64) (float64, error) {
	if v, ok := env[string(n)]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("unknown name %s", string(n))
}
func (n neg) eval(env map[string]float64) (float64, error) {
	v, err := n.x.eval(env)
	return -v, err
}
func (b *bin) eval(env map[string]float64) (float64, error) {
	l, err := b.l.eval(env)
	if err != nil {
		return 0, err
	}
	r, err := b.r.eval(env)
	if err != nil {
		return 0, err
	}
	switch b.op {
	case '+':
		return l + r, nil
	case '-':
		return l - r, nil
	case '*':
		return l * r, nil
	case '/':
		if r == 0 {
			return 0, fmt.Errorf("division of %g by zero", l)
		}
		return l / r, nil
	}
	panic("unreachable: " + string(b.op))
}

func lex(s string) (list []token, err error) {
	rs := []rune(s)
	for i := 0; i < len(rs); {
		switch r := rs[i]; {
		case unicode.IsSpace(r):
			i++
		case unicode.IsDigit(r) || r == '.':
			j := i
			for j < len(rs) && (unicode.IsDigit(rs[j]) || rs[j] == '.') {
				j++
			}
			list = append(list, token{number, string(rs[i:j])})
			i = j
		case unicode.IsLetter(r):
			j := i
			for j < len(rs) && unicode.IsLetter(rs[j]) {
				j++
			}
			list = append(list, token{number, string(rs[i:j])})
			i = j
		case strings.ContainsRune("+-*/", r):
			list = append(list, token{operator, string(r)})
			i++
		case r == '(' || r == ')':
			list = append(list, token{paren, string(r)})
			i++
		default:
			return nil, fmt.Errorf("bad character %q at %d", r, i)
		}
	}
	return list, nil
}

type parser struct {
	tokens []token
	pos    int
}

func (p *parser) peek() string {
	if p.pos < len(p.tokens) {
		return p.tokens[p.pos].text
	}
	return ""
}

func (p *parser) expr() node {
	x := p.term()
	for op := p.peek(); op == "+" || op == "-"; op = p.peek() {
		p.pos++
		x = &bin{op[0], x, p.term()}
	}
	return x
}

func (p *parser) term() node {
	x := p.factor()
	for op := p.peek(); op == "*" || op == "/"; op = p.peek() {
		p.pos++
		x = &bin{op[0], x, p.factor()}
	}
	return x
}

func (p *parser) factor() node {
	switch t := p.peek(); {
	case t == "-":
		p.pos++
		return neg{p.factor()}
	case t == "(":
		p.pos++
		x := p.expr()
		if p.peek() != ")" {
			panic(fmt.Errorf("missing ) at token %d", p.pos))
		}
		p.pos++
		return x
	case t == "":
		panic(fmt.Errorf("unexpected end"))
	default:
		p.pos++
		if v, err := strconv.ParseFloat(t, 64); err == nil {
			return num(v)
		}
		return name(t)
	}
}

func parse(s string) (n node, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = r
		default:
			panic(r)
		}
	}()
	tokens, err := lex(s)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	n = p.expr()
	if p.pos < len(p.tokens) {
		return nil, fmt.Errorf("left over: %v %q", p.tokens[p.pos].kind, p.peek())
	}
	return n, nil
}

func main() {
	env := map[string]float64{"x": 3, "pi": 3.14159}
	for _, s := range []string{"1+2*3", "(1+2)*3", "-x*-2", "2/(x-3)", "pi*x*x", "1+", "(1", "2 2", "y+1", "1 # 2"} {
		n, err := parse(s)
		if err != nil {
			fmt.Fprintf(os.Stdout, "%-10s error: %v\n", s, err)
			continue
		}
		v, err := n.eval(env)
		fmt.Printf("%-10s = %.4f %v\n", s, v, err)
	}
}
