package magics

import (
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/internal/near"
)

// unknown returns the error for a command that does not exist, with a suggestion.
func (t Table) unknown(name, args string) error {
	if name == "" && args != "" { // % time x
		return fmt.Errorf("%%: a command stands right behind the sign; write %%%s", args)
	}
	if name == "" {
		return fmt.Errorf("%%: got no command; %%help lists them")
	}
	if instead, ok := said().Instead[name]; ok {
		return fmt.Errorf("%%%s: no such command; %s", name, fillIn(instead, args))
	}
	var names []string
	for _, m := range t.rows() {
		if isLetter(m.Name[0]) {
			names = append(names, m.Name)
		}
	}
	if best := near.Name(name, names); best != "" {
		return fmt.Errorf("%%%s: no such command; did you mean %%%s?", name, best)
	}
	return fmt.Errorf("%%%s: no such command; %%help lists them", name)
}

// fillIn puts the arguments of a command into the text of a suggestion.
func fillIn(text, args string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "$args", args))
}
