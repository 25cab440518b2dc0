package nn

import (
	"fmt"
	"path"
	"strings"
)

// AllLinear as a target means every linear layer but the output layer lm_head.
const AllLinear = "all-linear"

// Targeted says whether targets choose the layer with that name: AllLinear, or patterns separated by spaces
// or commas. A pattern is a layer's full name, its last part ("q_proj"), or a path.Match pattern
// ("model.layers.[0-3].*").
func Targeted(targets, name string) (bool, error) {
	last := name[strings.LastIndexByte(name, '.')+1:]
	for _, p := range strings.FieldsFunc(targets, func(r rune) bool { return r == ',' || r == ' ' }) {
		if p == AllLinear {
			if last != "lm_head" {
				return true, nil
			}
			continue
		}
		ok, err := path.Match(p, name)
		if err != nil {
			return false, fmt.Errorf("got target pattern %q: %w", p, err)
		}
		if ok || p == last {
			return true, nil
		}
	}
	return false, nil
}
