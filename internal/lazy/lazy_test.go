package lazy

import "testing"

// An expression is compiled once, and not before it is asked for.
func TestRegexp(t *testing.T) {
	Regexp(`(`) // is no expression, which nothing asks for
	digits := Regexp(`^\d+$`)
	if !digits().MatchString("12") || digits().MatchString("x") {
		t.Error("the expression does not match what it should")
	}
	if first := digits(); digits() != first {
		t.Error("the expression was compiled twice")
	}
}
