// Package rows says which texts of a batch the rows of a step are. A step of generation has those texts that
// still grow, and may have one of them twice; a layer that treats texts in different ways asks here.
package rows

import (
	"context"

	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

var key = &scope.Key{Name: "rows"}

// Within calls f, in which row i of what layers get is text of[i] of a batch.
func Within(of []int, f func()) {
	scope.Within(context.WithValue(scope.Context(), key, of), f)
}

// Of returns which texts the rows are; nil: row i is text i.
func Of() []int {
	of, _ := scope.Context().Value(key).([]int)
	return of
}
