package python

import (
	"fmt"
	"strings"
)

// Class writes a model of PyTorch, a class with __init__ and forward, as Go on one line: a type with its
// layers, the function that makes it, Forward, and Members. It returns "" for another class, and for one
// whose lines it does not understand.
func Class(lines []string, s Session) (goText string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case notUnderstood:
			goText = ""
		default:
			panic(r)
		}
	}()
	head := newReader(strings.TrimSpace(lines[0]), s)
	head.want("class")
	c := class{name: head.name(), s: s}
	bodies := methodsOf(lines[1:])
	if len(bodies["__init__"]) == 0 || len(bodies["forward"]) == 0 {
		return ""
	}
	for _, line := range bodies["__init__"][1:] {
		c.field(line)
	}
	forward := bodies["forward"]
	if len(c.fields) == 0 || !strings.HasPrefix(forward[len(forward)-1], "return ") {
		return ""
	}
	return c.text(forward)
}

// A class is what a translation knows of one.
type class struct {
	name   string
	s      Session
	fields []classField
}

type classField struct{ name, typ, made string }

// methodsOf returns the lines of the methods of a class, each with its line of def.
func methodsOf(lines []string) map[string][]string {
	bodies := map[string][]string{}
	name := ""
	open := ""
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if def, ok := strings.CutPrefix(text, "def "); ok {
			name, _, _ = strings.Cut(def, "(")
		}
		if text == "" || strings.HasPrefix(text, "#") || name == "" {
			continue
		}
		if open += " " + text; strings.Count(open, "(") > strings.Count(open, ")") { // goes on in the next line
			continue
		}
		bodies[name] = append(bodies[name], strings.TrimSpace(open))
		open = ""
	}
	return bodies
}

// field reads a line of __init__: self.fc = nn.Linear(3, 2).
func (c *class) field(line string) {
	if strings.HasPrefix(line, "super(") {
		return
	}
	rest, ok := strings.CutPrefix(line, "self.")
	name, made, assigned := strings.Cut(rest, "=")
	if !ok || !assigned {
		giveUp()
	}
	p := newReader(made, c.s)
	v := p.expr()
	t := p.typeOf(v.text)
	if !p.at(end) || Kind(t) != "Module" {
		giveUp()
	}
	c.fields = append(c.fields, classField{strings.TrimSpace(name), typeText(t), v.text})
}

// receiver is the name of the model in its methods.
const receiver = "net"

// text writes the declarations, with the lines of forward.
func (c *class) text(forward []string) string {
	var fields, made, members []string
	for _, f := range c.fields {
		fields = append(fields, f.name+" "+f.typ)
		made = append(made, f.name+": "+f.made)
		members = append(members, fmt.Sprintf("{Name: %q, Part: %s.%s}", f.name, receiver, f.name))
	}
	def := newReader(forward[0], c.s)
	def.want("def")
	def.want("forward")
	def.want("(")
	def.want("self")
	def.want(",")
	input := def.name()
	opening := fmt.Sprintf("var %s struct { %s }; _ = func(%s tensor.Tensor) {", receiver, strings.Join(fields, "; "), input)
	var body []string
	scope := opening
	for _, line := range forward[1:] {
		line = strings.ReplaceAll(line, "self.", receiver+".")
		result, returns := strings.CutPrefix(line, "return ")
		p := newReader(result, c.s)
		p.scope, p.open = scope+"\n", 1
		text := p.statement()
		if !p.at(end) {
			giveUp()
		}
		if returns {
			text = "return " + text
		} else {
			scope += "\n" + text
		}
		body = append(body, text)
	}
	return fmt.Sprintf("type %[1]s struct { %[2]s }; func New%[1]s() *%[1]s { return &%[1]s{%[3]s} }; "+
		"func (%[4]s *%[1]s) Forward(%[5]s tensor.Tensor) tensor.Tensor { %[6]s }; func (%[4]s *%[1]s) Members() []nn.Member { return []nn.Member{%[7]s} }",
		c.name, strings.Join(fields, "; "), strings.Join(made, ", "), receiver, input, strings.Join(body, "; "), strings.Join(members, ", "))
}
