package data

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/mcs-notebook/mcs/internal/visible"
)

// A yamlValue is a text, a list or pairs. Line is where it begins, 0 if it is not there.
type yamlValue struct {
	line  int
	text  string
	list  []yamlValue
	pairs []yamlPair
}

type yamlPair struct {
	key   string
	value yamlValue
}

// get is the value of a key; one with line 0 if there is none.
func (v yamlValue) get(key string) yamlValue {
	for _, p := range v.pairs {
		if p.key == key {
			return p.value
		}
	}
	return yamlValue{}
}

// Limits of what is parsed: lists and pairs in each other, and bytes.
const (
	maxYAML     = 16
	maxYAMLText = 1 << 20
)

// readYAML reads lists, pairs and texts. Anchors, aliases and tags, which cards have no use for, are refused.
func readYAML(text string) (v yamlValue, err error) {
	if len(text) > maxYAMLText {
		return v, fmt.Errorf("1: got %d bytes of YAML, want at most %d", len(text), maxYAMLText)
	}
	line, open := 1, 0 // a text that would nest deep does not reach the parser, which calls itself
	for i := range len(text) {
		switch text[i] {
		case '\n':
			line++
		case '[', '{':
			open++
		case ']', '}':
			open--
		case '-':
			if strings.HasPrefix(text[i:], strings.Repeat("- ", 2*maxYAML)) {
				open = 3 * maxYAML
			}
		}
		if open > 2*maxYAML {
			return v, fmt.Errorf("%d: lists are more than %d deep", line, maxYAML)
		}
	}
	file, err := parser.ParseBytes([]byte(text), 0)
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	switch {
	case errors.As(err, &at):
		return v, fmt.Errorf("%d: %s", at.GetToken().Position.Line, visible.Line(at.GetMessage()))
	case err != nil:
		return v, err
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		return v, nil
	}
	return yamlOf(file.Docs[0].Body, 0)
}

// yamlOf is the value of a node that lies so deep.
func yamlOf(n ast.Node, depth int) (v yamlValue, err error) {
	v.line = n.GetToken().Position.Line
	if depth > maxYAML {
		return v, fmt.Errorf("%d: lists are more than %d deep", v.line, maxYAML)
	}
	switch n := n.(type) {
	case *ast.SequenceNode:
		v.list = []yamlValue{}
		for _, item := range n.Values {
			value, failed := yamlOf(item, depth+1)
			v.list, err = append(v.list, value), cmp.Or(err, failed)
		}
	case *ast.MappingNode:
		for _, pair := range n.Values {
			value, failed := yamlOf(pair.Value, depth+1)
			v.line = min(v.line, pair.Key.GetToken().Position.Line)
			v.pairs, err = append(v.pairs, yamlPair{pair.Key.GetToken().Value, value}), cmp.Or(err, failed)
		}
	case *ast.NullNode:
	case *ast.LiteralNode:
		v.text = n.Value.Value
	case *ast.StringNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		v.text = n.GetToken().Value
	default:
		first, _, _ := strings.Cut(n.String(), "\n")
		err = fmt.Errorf("%d: got %.40q, want a text, a list or pairs", v.line, first)
	}
	return v, err
}
