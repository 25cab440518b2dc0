package tensor_test

import (
	"reflect"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/tensor/methods"
)

// Every method is in exactly one group: a new one has to be put where people will look for it.
func TestEveryMethodHasAGroup(t *testing.T) {
	groups := map[string][]string{}
	for _, g := range methods.Groups {
		for _, name := range g.Names {
			groups[name] = append(groups[name], g.Title)
		}
	}
	typ := reflect.TypeFor[tensor.Tensor]()
	for m := range typ.Methods() {
		if in := groups[m.Name]; len(in) != 1 {
			t.Errorf("%s is in the groups %q, want one: add it to Groups", m.Name, in)
		}
		delete(groups, m.Name)
	}
	for name := range groups {
		t.Errorf("%s is no method of a tensor", name)
	}
}
