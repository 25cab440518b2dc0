package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Limits of a schema.
const (
	mostNodes = 1 << 18
	mostDepth = 200
)

// A compiler makes nodes of a schema. What makes a part of a text takes the node that comes next and returns
// the one at which the part begins, so nodes are made from the end of a text to its beginning.
type compiler struct {
	root  schema
	nodes []node
	done  map[string]int32 // by place: what is called for the schema there
	depth int

	char, any int32 // of strings, and of all values; 0: not made
}

// A schema is JSON with the members of an object in their order.
type schema struct {
	place   string
	text    json.RawMessage
	members []member // nil of what is no object
	base    *schema  // the document in which its references lead: the root, or the nearest around with $id
}

type member struct {
	name  string
	value json.RawMessage
}

// ended is the node that ends what was called.
const ended int32 = 1

func newCompiler(text []byte) (*compiler, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	var raw json.RawMessage
	err := d.Decode(&raw)
	if err == nil {
		if _, after := d.Token(); after != io.EOF {
			err = fmt.Errorf("got more behind it, want its end")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("grammar: schema: %w", err)
	}
	c := &compiler{nodes: make([]node, 2), done: map[string]int32{}} // node 0 is none
	c.nodes[ended].end = true
	c.root, err = read("#", raw)
	c.root.base = &c.root
	return c, err
}

// grammar is that of the whole schema.
func (c *compiler) grammar(name string) (g *Grammar, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			g, err = nil, e
		default:
			panic(e)
		}
	}()
	start := c.schema(c.root)
	g = &Grammar{nodes: c.nodes, start: start, name: name}
	c.checkLoops()
	var every [256]bool
	for i := range every {
		every[i] = true
	}
	if !g.alive(&every)[start] {
		c.fail(c.root, "no text is valid")
	}
	return g, nil
}

func (c *compiler) fail(s schema, format string, args ...any) {
	panic(&Error{s.place, fmt.Sprintf(format, args...)})
}

// read reads the members of a schema.
func read(place string, text json.RawMessage) (s schema, err error) {
	s = schema{place: place, text: bytes.TrimSpace(text)}
	if s.text[0] != '{' {
		return s, nil
	}
	d := json.NewDecoder(bytes.NewReader(s.text))
	_, err = d.Token()
	s.members = []member{}
	for err == nil && d.More() {
		var m member
		name, failed := d.Token()
		if err = failed; err == nil {
			m.name, err = name.(string), d.Decode(&m.value)
		}
		s.members = append(s.members, m)
	}
	return s, err
}

// get is what a schema has under a name; ok says whether it has it.
func (c *compiler) get(s schema, name string) (sub schema, ok bool) {
	for i := len(s.members) - 1; i >= 0; i-- {
		if m := s.members[i]; m.name == name {
			sub, err := read(s.place+"/"+escaped.Replace(name), m.value)
			if err != nil {
				c.fail(s, "%v", err)
			}
			return sub.within(s), true
		}
	}
	return schema{}, false
}

// within is a schema that is a part of another one.
func (s schema) within(outer schema) schema {
	s.base = outer.base
	if slices.ContainsFunc(s.members, func(m member) bool { return m.name == "$id" }) {
		own := s
		s.base = &own
		own.base = &own
	}
	return s
}

// escaped are names as a JSON pointer has them.
var escaped = strings.NewReplacer("~", "~0", "/", "~1")

// into reads what a schema has under a name, if it has it; want says what it should be.
func (c *compiler) into(s schema, name string, v any, want string) bool {
	sub, ok := c.get(s, name)
	if ok && json.Unmarshal(sub.text, v) != nil {
		c.fail(sub, "got %.40s, want %s", sub.text, want)
	}
	return ok
}

// list are the parts of what a schema has under a name.
func (c *compiler) list(s schema, name string) (list []schema, ok bool) {
	sub, ok := c.get(s, name)
	var texts []json.RawMessage
	if ok && json.Unmarshal(sub.text, &texts) != nil {
		c.fail(sub, "got %.40s, want a list", sub.text)
	}
	for i, text := range texts {
		item, err := read(fmt.Sprintf("%s/%d", sub.place, i), text)
		if err != nil {
			c.fail(sub, "%v", err)
		}
		list = append(list, item.within(s))
	}
	return list, ok
}

// count is a length; missing where there is none.
func (c *compiler) count(s schema, name string, missing int) int {
	n := float64(missing)
	if c.into(s, name, &n, "a number") && (n < 0 || n != float64(int(n))) {
		c.fail(s, "got %s %v, want a number from 0", name, n)
	}
	return int(n)
}

// types are those that values have, in the order in which they are tried.
var types = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// keywords are what schemas can have, with the type of values about which they say something; "" is what says
// nothing, and "all" what says something about all.
var keywords = map[string]string{
	"type": "all", "enum": "all", "const": "all", "anyOf": "all", "oneOf": "all", "allOf": "all", "$ref": "all",
	"properties": "object", "required": "object", "additionalProperties": "object",
	"items": "array", "prefixItems": "array", "minItems": "array", "maxItems": "array",
	"minLength": "string", "maxLength": "string", "pattern": "string",
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
	"$defs": "", "definitions": "", "title": "", "description": "", "default": "", "examples": "", "$comment": "", "$schema": "",
	"$id": "", "$anchor": "", "deprecated": "", "readOnly": "", "writeOnly": "", "format": "", "contentEncoding": "", "contentMediaType": "",
}

// schema is what is called for a value that a schema allows.
func (c *compiler) schema(s schema) int32 {
	if at, ok := c.done[s.place]; ok {
		return at
	}
	if c.depth++; c.depth > mostDepth {
		c.fail(s, "it is more than %d deep", mostDepth)
	}
	at := c.node(node{}) // a schema inside may call it
	c.done[s.place] = at
	ways := c.value(s)
	c.nodes[at].ways = ways
	c.depth--
	return at
}

// value are the ways to begin a value.
func (c *compiler) value(s schema) []int32 {
	switch string(s.text) {
	case "true":
		return []int32{c.anything()}
	case "false":
		return nil
	}
	if s.members == nil {
		c.fail(s, "got %.40s, want an object, true or false", s.text)
	}
	says := c.says(s)
	for _, k := range []struct {
		name string
		ways func(s schema) []int32
	}{{"$ref", c.reference}, {"anyOf", c.anyOf}, {"oneOf", c.oneOf}, {"allOf", c.allOf}} {
		if slices.Contains(says, k.name) {
			if len(says) > 1 {
				c.fail(s, "got %s beside %s, want it alone", strings.Join(slices.DeleteFunc(says, func(n string) bool { return n == k.name }), " and "), k.name)
			}
			return k.ways(s)
		}
	}
	list := c.types(s, says)
	if slices.Contains(says, "enum") || slices.Contains(says, "const") {
		return c.literals(s, says, list)
	}
	var ways []int32
	for _, t := range list {
		ways = append(ways, c.typed(s, t))
	}
	return ways
}

// says are the keywords of a schema that say something about values; others that would are refused.
func (c *compiler) says(s schema) (list []string) {
	for _, m := range s.members {
		about, known := keywords[m.name]
		switch {
		case m.name == "uniqueItems" && string(m.value) == "false", m.name == "nullable" && string(m.value) == "false":
		case !known:
			c.fail(s, "got the keyword %q, want one of %s", m.name, strings.Join(telling(), ", "))
		case about != "":
			list = append(list, m.name)
		}
	}
	return list
}

// telling are the keywords that say something.
func telling() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(keywords)), func(k string) bool { return keywords[k] == "" })
}

// types are those that a schema names; else those about which it says something; else all.
func (c *compiler) types(s schema, says []string) []string {
	if sub, ok := c.get(s, "type"); ok {
		var list []string
		one := ""
		if json.Unmarshal(sub.text, &one) == nil {
			list = []string{one}
		} else if json.Unmarshal(sub.text, &list) != nil {
			c.fail(sub, "got %.40s, want a name or a list of names", sub.text)
		}
		for _, t := range list {
			if !slices.Contains(types, t) {
				c.fail(sub, "got %q, want one of %s", t, strings.Join(types, ", "))
			}
		}
		if slices.Contains(list, "number") {
			list = slices.DeleteFunc(list, func(t string) bool { return t == "integer" })
		}
		return list
	}
	var list []string
	for _, k := range says {
		if t := keywords[k]; t != "all" && !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	if list == nil {
		return slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "integer" })
	}
	return list
}

// typed begins a value of a type.
func (c *compiler) typed(s schema, t string) int32 {
	switch t {
	case "object":
		return c.object(s)
	case "array":
		return c.array(s)
	case "string":
		return c.string(s)
	case "number", "integer":
		return c.number(s, t == "integer")
	case "boolean":
		return c.ways(c.literal("true", ended), c.literal("false", ended))
	}
	return c.literal("null", ended)
}

// anything begins any value.
func (c *compiler) anything() int32 {
	if c.any == 0 {
		c.any = c.node(node{})
		all := schema{place: "true", text: json.RawMessage("{}"), members: []member{}}
		ways := c.value(all)
		c.nodes[c.any].ways = ways
	}
	return c.any
}

func (c *compiler) reference(s schema) []int32 { return []int32{c.schema(c.target(s))} }

// target is the schema to which a reference leads.
func (c *compiler) target(s schema) schema {
	name := ""
	c.into(s, "$ref", &name, "a text")
	path, ok := strings.CutPrefix(name, "#")
	if !ok || path != "" && path[0] != '/' {
		c.fail(s, "got $ref %q, want a place in the schema, as #/$defs/name", name)
	}
	at := *s.base
	for _, part := range strings.Split(path, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		to, found := c.get(at, part)
		if i, err := strconv.Atoi(part); err == nil && at.members == nil {
			holder := schema{place: at.place, members: []member{{"", at.text}}, base: at.base}
			list, _ := c.list(holder, "")
			if found = i >= 0 && i < len(list); found {
				to = list[i]
				to.place = fmt.Sprintf("%s/%d", at.place, i)
			}
		}
		if !found {
			c.fail(s, "got $ref %q, and %s has no %q", name, at.place, part)
		}
		at = to
	}
	return at
}

func (c *compiler) anyOf(s schema) (ways []int32) {
	list, _ := c.list(s, "anyOf")
	for _, sub := range list {
		ways = append(ways, c.schema(sub))
	}
	return ways
}

// allOf is one schema, as programs write it to describe a reference.
func (c *compiler) allOf(s schema) []int32 {
	list, _ := c.list(s, "allOf")
	if len(list) != 1 {
		c.fail(s, "got allOf of %d schemas, want one", len(list))
	}
	return []int32{c.schema(list[0])}
}

// oneOf is anyOf of schemas that no value fits together.
func (c *compiler) oneOf(s schema) (ways []int32) {
	list, _ := c.list(s, "oneOf")
	for i, sub := range list {
		for j := range i {
			if !c.disjoint(list[j], sub, mostDepth) {
				c.fail(s, "a value may fit numbers %d and %d of oneOf both, want anyOf, or types or constants that differ", j, i)
			}
		}
		ways = append(ways, c.schema(sub))
	}
	return ways
}

// disjoint says whether no value fits both of two schemas, as far as their types and constants tell.
func (c *compiler) disjoint(a, b schema, depth int) bool {
	a, b = c.behind(a), c.behind(b)
	if a.members == nil || b.members == nil || depth == 0 {
		return false
	}
	v, w := c.constants(a), c.constants(b)
	if v != nil && w != nil {
		return !slices.ContainsFunc(v, func(x string) bool { return slices.Contains(w, x) })
	}
	kinds := func(s schema) (list []string) {
		if _, ok := c.get(s, "type"); !ok {
			return types
		}
		if list = c.types(s, nil); slices.Contains(list, "number") {
			list = append(list, "integer")
		}
		return list
	}
	both := slices.DeleteFunc(slices.Clone(kinds(a)), func(t string) bool { return !slices.Contains(kinds(b), t) })
	if len(both) == 0 {
		return true
	}
	if len(both) > 1 || both[0] != "object" {
		return false
	}
	var needs, also []string
	c.into(a, "required", &needs, "a list of names")
	c.into(b, "required", &also, "a list of names")
	for _, name := range needs {
		if slices.Contains(also, name) {
			p, _ := c.get(a, "properties")
			q, _ := c.get(b, "properties")
			x, ok := c.get(p, name)
			y, too := c.get(q, name)
			if ok && too && c.disjoint(x, y, depth-1) {
				return true
			}
		}
	}
	return false
}

// behind is a schema, or that to which it refers.
func (c *compiler) behind(s schema) schema {
	for range mostDepth {
		if _, ok := c.get(s, "$ref"); !ok {
			break
		}
		s = c.target(s)
	}
	return s
}

// checkLoops refuses schemas that call themselves before a text has begun.
func (c *compiler) checkLoops() {
	const entered, left = 1, 2
	seen := make([]byte, len(c.nodes))
	var visit func(at int32)
	visit = func(at int32) {
		switch seen[at] {
		case left:
			return
		case entered:
			c.fail(c.root, "a schema is, by references alone, a part of itself")
		}
		seen[at] = entered
		n := c.nodes[at]
		for _, w := range n.ways {
			visit(w)
		}
		if n.call != 0 {
			visit(n.call)
		}
		seen[at] = left
	}
	for at := range c.nodes {
		visit(int32(at))
	}
}
