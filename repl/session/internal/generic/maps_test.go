package generic

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	ourmaps "github.com/mcs-notebook/mcs/repl/session/internal/generic/maps"
)

func TestMaps(t *testing.T) {
	m := map[string]int{"a": 1, "b": 2}
	if got := slices.Sorted(ourmaps.Keys(m)); fmt.Sprint(got) != "[a b]" {
		t.Errorf("Keys: got %v", got)
	}
	if got := slices.Sorted(ourmaps.Values(m)); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("Values: got %v", got)
	}
	if got := ourmaps.Collect(ourmaps.All(m)); !maps.Equal(got, m) || !ourmaps.Equal(got, m) {
		t.Errorf("Collect(All): got %v", got)
	}
	c := ourmaps.Clone(m)
	ourmaps.Copy(c, map[string]int{"c": 3})
	ourmaps.Insert(c, ourmaps.All(map[string]int{"d": 4}))
	ourmaps.DeleteFunc(c, func(_ string, v int) bool { return v == 1 })
	if fmt.Sprint(c) != "map[b:2 c:3 d:4]" || len(m) != 2 {
		t.Errorf("got %v, and %v", c, m)
	}
	if ourmaps.Equal(c, m) || !ourmaps.EqualFunc(m, m, func(a, b int) bool { return a == b }) || ourmaps.Clone(map[int]int(nil)) != nil {
		t.Error("Equal, EqualFunc or Clone")
	}
}
