package library

import (
	"go/types"
	"reflect"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// Satisfies says whether a compiled type has the methods of an interface. Name is how reflection writes a
// type.
func Satisfies(t reflect.Type, i *types.Interface, name func(types.Type) string) bool {
	v := reflect.Zero(t)
	for m := range i.Methods() {
		have := v.MethodByName(m.Name())
		if !have.IsValid() {
			return false
		}
		if full := t.String() + "." + m.Name(); ending[full] {
			panic(rt.RuntimeError(full + " would end the process: it cannot be called through an interface in cells"))
		}
		if have.Type().String() != name(m.Signature()) {
			return false
		}
	}
	return true
}

// ending are the methods that end the process; calls of them by their names are replaced.
var ending = map[string]bool{"*log.Logger.Fatal": true, "*log.Logger.Fatalf": true, "*log.Logger.Fatalln": true}
