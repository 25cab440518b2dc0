package ir

import (
	"fmt"
	"strings"
)

// An Error says what is wrong with the operands of an op. Its text has the form "op: got X, want Y".
type Error struct {
	Op  string // the row's name
	Msg string
}

func (e *Error) Error() string { return e.Op + ": " + e.Msg }

// String writes a type as people read it: f32[2 3].
func (t Type) String() string { return fmt.Sprintf("%v%v", t.DType, t.Shape) }

// Type returns the node's dtype and shape; a tuple has none.
func (n *Node) Type() Type { return Type{n.DType, n.Shape} }

// String describes the node by its name, if it has one, and its type.
func (n *Node) String() string {
	t := n.Type().String()
	if n.Outs != nil {
		list := make([]string, len(n.Outs))
		for i, o := range n.Outs {
			list[i] = o.String()
		}
		t = "(" + strings.Join(list, ", ") + ")"
	}
	if n.Name != "" {
		return n.Name + " " + t
	}
	return t
}

// got returns an Error that lists the types of n's sources and says what was wanted.
func got(n *Node, want string, args ...any) error {
	list := make([]string, len(n.Src))
	for i, s := range n.Src {
		list[i] = s.Type().String()
	}
	switch k := len(list); {
	case k > 6:
		list = append(list[:6:6], fmt.Sprintf("and %d more", k-6))
	case k > 1:
		list = append(list[:k-2:k-2], list[k-2]+" and "+list[k-1])
	}
	return wrong(n, "got "+strings.Join(list, ", ")+", want "+want, args...)
}

// wrong returns an Error with that message.
func wrong(n *Node, format string, args ...any) error {
	return &Error{Op: n.Op.String(), Msg: fmt.Sprintf(format, args...)}
}
