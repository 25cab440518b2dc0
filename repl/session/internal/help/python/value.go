package python

import (
	"fmt"
	"go/types"
	"strings"
)

// A value is the Go for a Python expression.
type value struct {
	text string
	prec int // precedence of its outermost operator, as in Go; see the constants
	// either is set for `a if c else b`, which is a statement in Go.
	either *either
	items  []value // of a list or tuple literal
	tuple  bool
	// module and name are set for a name in a package that is no variable: torch.nn.Linear.
	module, name string
	member       *member  // of an operand
	pair         []string // the values and their places, where the function of Python returns both
	changes      string   // the variable that the text, a statement, changes
}

// A member is a name behind an operand, as it was typed.
type member struct {
	x    value
	name string
}

// An either is a conditional expression.
type either struct{ condition, yes, no value }

// Precedences of Go's operators; a primary can be called and selected from.
const (
	orPrec = 1 + iota
	andPrec
	comparePrec
	addPrec
	mulPrec
	unaryPrec
	primary
)

func simple(format string, args ...any) value {
	return value{text: fmt.Sprintf(format, args...), prec: primary}
}

// in returns the value's text as an operand of an operator with this precedence.
func (v value) in(prec int) string {
	if v.either != nil {
		giveUp()
	}
	if v.prec < prec {
		return "(" + v.text + ")"
	}
	return v.text
}

// goText returns the value's text for a place where any expression may stand.
func (v value) goText() string { return v.in(0) }

// A family is a group of related types.
type family int

const (
	unknown family = iota
	tensorFamily
	integer
	float
	stringFamily
	slice
	mapFamily
	boolean
)

// IsTensor says whether a type is that of tensors. It may be nil.
func IsTensor(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && strings.HasSuffix(n.String(), "/tensor.Tensor")
}

// familyOf returns the family of a type, and whether the type is that of an untyped constant.
func familyOf(t types.Type) (f family, untyped bool) {
	if t == nil {
		return unknown, false
	}
	if IsTensor(t) {
		return tensorFamily, false
	}
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array:
		return slice, false
	case *types.Map:
		return mapFamily, false
	case *types.Basic:
		untyped = u.Info()&types.IsUntyped != 0
		switch {
		case u.Info()&types.IsInteger != 0:
			return integer, untyped
		case u.Info()&types.IsFloat != 0:
			return float, untyped
		case u.Info()&types.IsString != 0:
			return stringFamily, untyped
		case u.Info()&types.IsBoolean != 0:
			return boolean, untyped
		}
	}
	return unknown, false
}

// family returns the family of a value.
func (p *reader) family(v value) (f family, untyped bool) {
	if v.either != nil {
		return unknown, false
	}
	f, untyped = familyOf(p.typeOf(v.text))
	return f, untyped || strings.Trim(v.text, "-+0123456789.eE_") == "" // the checker has given it a type
}

func (p *reader) is(v value, want family) bool {
	f, _ := p.family(v)
	return f == want
}

// typeText writes a type as cells do.
func typeText(t types.Type) string {
	return types.TypeString(types.Default(t), func(pkg *types.Package) string {
		if pkg.Path() == "mcs" {
			return ""
		}
		return pkg.Name()
	})
}

// element returns the text of the type of a slice's or map's elements, or any.
func (p *reader) element(v value) string {
	switch t := p.typeOf(v.text); u := under(t).(type) {
	case *types.Slice:
		return typeText(u.Elem())
	case *types.Array:
		return typeText(u.Elem())
	case *types.Map:
		return typeText(u.Elem())
	}
	return "any"
}

func under(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// common returns the text of a type that all values have. For integers and floats it is that of floats.
func (p *reader) common(list []value) string {
	found := ""
	for _, v := range list {
		t := p.typeOf(v.goText())
		if t == nil {
			return "any"
		}
		text := typeText(t)
		switch {
		case found == "" || found == text:
			found = text
		case (found == "int" || found == "float64") && (text == "int" || text == "float64"):
			found = "float64"
		default:
			return "any"
		}
	}
	if found == "" || found == "untyped nil" {
		return "any"
	}
	return found
}

// literal writes a slice with these elements.
func (p *reader) literal(list []value) value {
	inner := make([]string, len(list))
	nested := len(list) > 0
	for _, v := range list {
		nested = nested && v.items != nil && !v.tuple
		if v.either != nil {
			giveUp()
		}
	}
	if nested { // [[1, 2], [3.5]] is [][]float64
		var all []value
		for _, v := range list {
			all = append(all, v.items...)
		}
		typ := p.common(all)
		for i, v := range list {
			inner[i] = "{" + texts(v.items) + "}"
		}
		return value{text: "[][]" + typ + "{" + strings.Join(inner, ", ") + "}", prec: primary, items: list}
	}
	if len(list) == 0 {
		return value{text: "[]float64{}", prec: primary, items: []value{}} // for losses, most likely
	}
	return value{text: "[]" + p.common(list) + "{" + texts(list) + "}", prec: primary, items: list}
}

func texts(list []value) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = v.goText()
	}
	return strings.Join(parts, ", ")
}
