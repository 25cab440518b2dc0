package grammar

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// everything is the schema of all values.
var everything = schema{place: "true", text: json.RawMessage("true")}

// A property is a member that an object may have.
type property struct {
	name   string
	value  schema
	needed bool
}

// object begins an object: properties in the order of the schema, and then others if it allows them.
func (c *compiler) object(s schema) int32 {
	list, other := c.properties(s)
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.name
	}
	// what may come where there is no member yet, and where there is one
	end := c.literal("}", ended)
	none, some := end, end
	if other != 0 {
		free := c.node(node{}) // a name that differs from all, without escapes, to before the quote behind it
		c.nodes[free].ways = []int32{ended, c.plain(nil, free)}
		key := c.differing(names, free)
		some = c.node(node{})
		member := c.literal(`"`, c.called(key, c.blank(`":`, c.called(other, some))))
		c.nodes[some].ways = []int32{end, c.blank(",", member)}
		none = c.ways(end, member)
	}
	for _, p := range slices.Backward(list) {
		member := c.blank(quoted(p.name)+":", c.called(c.schema(p.value), some))
		first, later := []int32{member}, []int32{c.blank(",", member)}
		if !p.needed {
			first, later = append(first, none), append(later, some)
		}
		none, some = c.ways(first...), c.ways(later...)
	}
	return c.literal("{", none)
}

// properties are those of an object, and what is called for the values of others; 0 where there are none.
func (c *compiler) properties(s schema) (list []property, other int32) {
	var required []string
	c.into(s, "required", &required, "a list of names")
	others, ok := c.get(s, "additionalProperties")
	props, has := c.get(s, "properties")
	if !ok {
		others = everything
	}
	if ok || !has {
		if string(others.text) == "true" {
			other = c.anything()
		} else {
			other = c.schema(others)
		}
	}
	if has && props.members == nil {
		c.fail(props, "got %.40s, want an object", props.text)
	}
	for _, m := range props.members {
		value, _ := c.get(props, m.name)
		list = append(list, property{m.name, value, slices.Contains(required, m.name)})
	}
	for _, name := range required {
		if !slices.ContainsFunc(list, func(p property) bool { return p.name == name }) {
			list = append(list, property{name, others, true})
		}
	}
	return list, other
}

// differing is the rest of a name that is none of these rests; "" may be one of them.
func (c *compiler) differing(names []string, free int32) int32 {
	rests := map[rune][]string{}
	var ways []int32
	if !slices.Contains(names, "") {
		ways = append(ways, ended)
	}
	for _, name := range names {
		if name != "" {
			r, n := utf8.DecodeRuneInString(name)
			rests[r] = append(rests[r], name[n:])
		}
	}
	first := slices.Sorted(maps.Keys(rests))
	ways = append(ways, c.plain(first, free))
	for _, r := range first {
		if r >= ' ' && r != '"' && r != '\\' { // others need an escape, which no name has here
			ways = append(ways, c.literal(string(r), c.differing(rests[r], free)))
		}
	}
	return c.ways(ways...)
}

// array begins an array.
func (c *compiler) array(s schema) int32 {
	prefix, _ := c.list(s, "prefixItems")
	least, most := c.count(s, "minItems", 0), c.count(s, "maxItems", -1)
	items, ok := c.get(s, "items")
	if !ok {
		items = everything
	}
	if string(items.text) == "false" && (most < 0 || most > len(prefix)) {
		most = len(prefix)
	}
	value := func(i int) int32 {
		switch {
		case i < len(prefix):
			return c.schema(prefix[i])
		case string(items.text) == "true":
			return c.anything()
		}
		return c.schema(items)
	}
	if most >= 0 && most < least {
		return c.ways()
	}
	end := c.literal("]", ended)
	if most == 0 {
		return c.literal("[", end)
	}
	// what comes behind item number count
	count := most
	behind := end
	if most < 0 {
		count = max(len(prefix), least, 1)
		behind = c.node(node{})
		c.nodes[behind].ways = []int32{end, c.blank(",", c.called(value(count), behind))}
	}
	for i := count - 1; i > 0; i-- {
		more := c.blank(",", c.called(value(i), behind))
		if behind = more; i >= least {
			behind = c.ways(end, more)
		}
	}
	first := c.called(value(0), behind)
	if least == 0 {
		first = c.ways(end, first)
	}
	return c.literal("[", first)
}
