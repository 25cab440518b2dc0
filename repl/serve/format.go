package serve

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/grammar"
)

// A format is what an answer has to be.
type format struct {
	Type   string `json:"type"`
	Schema *struct {
		Schema      json.RawMessage `json:"schema"`
		Name        any             `json:"name"`
		Description any             `json:"description"`
		Strict      any             `json:"strict"` // an answer is always what the schema says
	} `json:"json_schema"`
}

// grammar is what the texts of a format are by; nil where any text is one.
func (f *format) grammar(s *server) (*grammar.Grammar, error) {
	schema := json.RawMessage(`{"type": "object"}`)
	switch {
	case f == nil || f.Type == "text":
		return nil, nil
	case f.Type == "json_object":
	case f.Type != "json_schema":
		return nil, wrong("response_format", "got type %q, want text, json_object or json_schema", f.Type)
	case f.Schema == nil || f.Schema.Schema == nil:
		return nil, wrong("response_format", "got no json_schema with a schema")
	default:
		schema = f.Schema.Schema
	}
	g, err := s.compiled.get(schema)
	if err != nil {
		return nil, wrong("response_format", "%v", err)
	}
	return g, nil
}

// mostCompiled is how many grammars are kept, each with what it has found out about tokens.
const mostCompiled = 16

// compiled keeps the grammars that were asked for last.
type compiled struct {
	mu   sync.Mutex // guards list
	list []compiledSchema
}

type compiledSchema struct {
	schema string
	g      *grammar.Grammar
}

func (c *compiled) get(schema json.RawMessage) (*grammar.Grammar, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.list, func(k compiledSchema) bool { return k.schema == string(schema) }); i >= 0 {
		k := c.list[i]
		c.list = append(slices.Delete(c.list, i, i+1), k)
		return k.g, nil
	}
	g, err := grammar.Compile(schema)
	if err != nil {
		return nil, err
	}
	if len(c.list) == mostCompiled {
		c.list = slices.Delete(c.list, 0, 1)
	}
	c.list = append(c.list, compiledSchema{string(schema), g})
	return g, nil
}
