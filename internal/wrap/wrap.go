// Package wrap says of an error in which operation it happened.
package wrap

import "fmt"

// Error puts the name of an operation before its error, if there is one. A function defers it, for all errors
// that it returns: defer wrap.Error(&err, "data: read csv").
func Error(err *error, operation string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", operation, *err)
	}
}
