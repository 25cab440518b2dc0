package maps

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

func TestMaps(t *testing.T) {
	m := map[string]int{"a": 1, "b": 2}
	if got := slices.Sorted(Keys(m)); fmt.Sprint(got) != "[a b]" {
		t.Errorf("Keys: got %v", got)
	}
	if got := slices.Sorted(Values(m)); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("Values: got %v", got)
	}
	if got := Collect(All(m)); !maps.Equal(got, m) || !Equal(got, m) {
		t.Errorf("Collect(All): got %v", got)
	}
	c := Clone(m)
	Copy(c, map[string]int{"c": 3})
	Insert(c, All(map[string]int{"d": 4}))
	DeleteFunc(c, func(_ string, v int) bool { return v == 1 })
	if fmt.Sprint(c) != "map[b:2 c:3 d:4]" || len(m) != 2 {
		t.Errorf("got %v, and %v", c, m)
	}
	if Equal(c, m) || !EqualFunc(m, m, func(a, b int) bool { return a == b }) || Clone(map[int]int(nil)) != nil {
		t.Error("Equal, EqualFunc or Clone")
	}
}
