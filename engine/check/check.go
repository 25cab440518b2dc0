// Package check finds out whether work is right and says in words what is wrong with it: the checks of a
// lesson's exercises are Go that calls it.
//
//	t := check.New()
//	check.Close(t, dot(x, y), 32)
//	check.Launches(t, func() { dot(x, y) }, 1)
//	err := t.Done()
//
// A check that fails is kept in the [T] and the next one goes on, so a learner sees all that is wrong at
// once. What is wrong is said by a shape, a place, two numbers and a reason; never by all of the expected
// answer.
//
// Reading order: check.go, close.go (what is compared), value.go (what can be), cost.go (launches and times).
package check

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A T collects what the checks of one answer have found. It is for one goroutine.
type T struct {
	label        string
	failed, more []string
	notes        []string
}

// most is how many failures are said; a check in a loop would fail a thousand times.
const most = 10

// New is a T that has found nothing yet.
func New() *T { return new(T) }

// Done is an error with all that failed, a line for each; nil if nothing did.
func (t *T) Done() error {
	lines := t.failed
	if n := len(t.more); n > 0 {
		lines = append(lines[:len(lines):len(lines)], fmt.Sprintf("… and %d more", n))
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Notes are remarks on checks that did not fail: that a time could not be told from the teacher's.
func (t *T) Notes() []string { return t.notes }

// Label says what the checks that follow are of; an empty text ends that.
//
//	for _, x := range cases {
//		check.Label(t, "x = "+x.OneLine())
//		check.Close(t, norm(x), x.Norm())
//	}
func Label(t *T, text string) { t.label = text }

// That fails with the text, a statement of what is wrong, unless ok.
func That(t *T, ok bool, text string) {
	if !ok {
		t.fail("%s", text)
	}
}

// Equal fails unless got is want: numbers and tensors as for [Close] with no tolerance, other values as
// reflect.DeepEqual has it.
func Equal(t *T, got, want any) {
	if isNumbers(got) && isNumbers(want) {
		compare(t, got, want, 0)
		return
	}
	if a, b := reflect.TypeOf(got), reflect.TypeOf(want); a != b {
		t.fail("got %s, want %s", typeName(got), typeName(want))
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.fail("got %s, want %s", brief(got), brief(want))
	}
}

// fail keeps what a check has found.
func (t *T) fail(format string, args ...any) {
	text := t.labelled(format, args...)
	if len(t.failed) < most {
		t.failed = append(t.failed, text)
		return
	}
	t.more = append(t.more, text)
}

func (t *T) labelled(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if t.label != "" {
		text = t.label + ": " + text
	}
	return text
}

// try runs a check. An answer whose evaluation fails has failed it.
func (t *T) try(f func()) {
	if err := tensor.Try(f); err != nil {
		t.fail("%v", err)
	}
}

func typeName(v any) string {
	if v == nil {
		return "nil"
	}
	return fmt.Sprintf("%T", v)
}

// brief is a value in one short line.
func brief(v any) string {
	const longest = 60
	text := fmt.Sprintf("%v", v)
	if s, ok := v.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	text = strings.ReplaceAll(text, "\n", " ")
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return text
}
