// Package lazy makes when it is first used what few runs of the program need, so that the program starts
// sooner.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that gives the regular expression, which the first call compiles. That call
// panics if the text is none.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
