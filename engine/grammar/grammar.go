// Package grammar tells which tokens may follow where a text has to be JSON that a JSON schema allows.
//
//	g, err := grammar.Compile([]byte(`{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}`))
//	text, err := m.Generate(ctx, prompt, llm.Sampling{Grammar: g})
//
// [Compile] makes nodes of a schema, which take bytes, or call those of another schema ($ref, so schemas can
// recur). A [Machine] runs the nodes over a vocabulary. Its states are made as texts come to them, and each
// keeps what tokens it allows, which takes one pass over the sorted vocabulary: tokens share what the ones
// before them begin with.
//
// Texts are a part of what the schema allows: properties come in the schema's order, one blank may follow a
// comma and a colon, and numbers have at most 18 digits before the point, 17 behind it, and an exponent of
// two, or none where the schema limits them. What a pattern takes is escaped where it must be, and nowhere
// else. Where a schema has properties and no additionalProperties, there are no others. The keyword format
// says nothing about texts, as in JSON Schema 2020-12. A keyword that would, and is not known here, is an
// error.
//
// Reading order: grammar.go; schema.go, object.go, text.go, numbers.go, pattern.go (a schema to nodes);
// machine.go, vocabulary.go.
package grammar

import (
	"fmt"
	"sync"
)

// A Grammar is a set of texts. Many goroutines can use it.
type Grammar struct {
	nodes []node
	start int32
	name  string

	mu   sync.Mutex // guards last
	last *Machine   // of the vocabulary that was asked for last
}

// String says what texts are.
func (g *Grammar) String() string { return "grammar: " + g.name }

// A node is a place in a text: what may come next. It has edges, or ways, or calls another node, or ends what
// was called. None of these is a place that no text comes through.
type node struct {
	edges []edge
	ways  []int32
	call  int32 // 0: none
	after int32 // the call
	end   bool
}

// An edge takes a byte.
type edge struct {
	low, high byte
	to        int32
}

// An Error says what a schema has that cannot be used, and where.
type Error struct {
	Place  string // as #/properties/age
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("grammar: schema at %s: %s", e.Place, e.Reason) }

// Compile makes a grammar of a JSON schema. An error is an [*Error], or says that the text is no JSON.
func Compile(schema []byte) (*Grammar, error) {
	c, err := newCompiler(schema)
	if err != nil {
		return nil, err
	}
	return c.grammar("JSON by a schema")
}

// JSON is all JSON objects.
func JSON() *Grammar {
	g, err := Compile([]byte(`{"type": "object"}`))
	if err != nil {
		panic(err) // of the text above
	}
	g.name = "any JSON object"
	return g
}
