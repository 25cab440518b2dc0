// Package lazy makes rarely used values at their first use, so that the program starts sooner.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function for a regular expression, which its first call compiles. That call panics if
// the text is not a regular expression.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
