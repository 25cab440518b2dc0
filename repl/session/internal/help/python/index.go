package python

import (
	"fmt"
	"strings"
)

// A subscript is one part of x[a, b:c].
type subscript struct {
	at               value // of an index
	ranged           bool  // a range: low:high:step
	low, high, step  value
	hasLow, hasHigh  bool
	hasStep, newAxis bool // None adds an axis
}

// subscripts reads the contents of the brackets of an index.
func (p *reader) subscripts() (list []subscript) {
	for !p.take("]") {
		var s subscript
		part := func(v *value, has *bool) {
			if !p.at(":") && !p.at("]") && !p.at(",") {
				*v, *has = p.expr(), true
			}
		}
		if p.at("None") {
			s.newAxis = true
			p.i++
		} else if p.take("...") {
			s.at = simple("...")
		} else {
			var given bool
			part(&s.low, &given)
			s.at, s.hasLow = s.low, given
			if s.ranged = p.take(":"); s.ranged {
				part(&s.high, &s.hasHigh)
				if p.take(":") {
					part(&s.step, &s.hasStep)
				}
			} else if !given {
				giveUp()
			}
		}
		list = append(list, s)
		if !p.at("]") {
			p.want(",")
		}
	}
	return list
}

// index is x[…].
func (p *reader) index(x value) value {
	list := p.subscripts()
	if len(list) == 0 {
		giveUp()
	}
	if at := list[0].at.text; len(list) == 1 && x.pair != nil && (at == "0" || at == "1") {
		return p.half(x, at == "1")
	}
	if p.is(x, tensorFamily) {
		return p.tensorIndex(x, list)
	}
	if len(list) > 1 || list[0].newAxis {
		giveUp()
	}
	s := list[0]
	if !s.ranged {
		return simple("%s[%s]", x.in(primary), p.fromEnd(x, s.at))
	}
	if s.hasStep {
		if s.step.text != "-1" || s.hasLow || s.hasHigh {
			giveUp()
		}
		return p.reversed(x)
	}
	low, high := "", ""
	if s.hasLow {
		low = p.fromEnd(x, s.low)
	}
	if s.hasHigh {
		high = p.fromEnd(x, s.high)
	}
	return simple("%s[%s:%s]", x.in(primary), low, high)
}

// fromEnd writes an index of x; a negative one counts from the end.
func (p *reader) fromEnd(x, i value) string {
	if back, ok := strings.CutPrefix(i.text, "-"); ok && !p.is(x, mapFamily) {
		return fmt.Sprintf("len(%s)-%s", x.text, back)
	}
	return i.goText()
}

// reversed is a copy of a slice with its elements in the opposite order.
func (p *reader) reversed(x value) value {
	if p.is(x, stringFamily) {
		runes := p.fresh("runes")
		p.first("%s := []rune(%s)", runes, x.goText())
		p.first("slices.Reverse(%s)", runes)
		return simple("string(%s)", runes)
	}
	name := p.result("reversed")
	p.first("%s := slices.Clone(%s)", name, x.goText())
	p.first("slices.Reverse(%s)", name)
	return simple("%s", name)
}

// result returns a name for a value that needs statements: the name that it is assigned to, if that is
// new.
func (p *reader) result(name string) string {
	if p.target == "" {
		return p.fresh(name)
	}
	name = p.target
	p.target = ""
	return name
}

// tensorIndex is x[…] of a tensor, which cells have as Python does; only None is nil.
func (p *reader) tensorIndex(x value, list []subscript) value {
	parts := make([]string, len(list))
	for i, s := range list {
		switch {
		case s.newAxis:
			parts[i] = "nil"
		case !s.ranged:
			parts[i] = s.at.goText()
		default:
			bound := func(v value, has bool) string {
				if !has {
					return ""
				}
				return v.goText()
			}
			parts[i] = bound(s.low, s.hasLow) + ":" + bound(s.high, s.hasHigh)
			if s.hasStep {
				parts[i] += ":" + s.step.goText()
			}
		}
	}
	return simple("%s[%s]", x.in(primary), strings.Join(parts, ", "))
}
