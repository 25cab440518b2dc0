package magics

import (
	"context"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/display"
)

func runGuard(_ context.Context, c *call) (display.Value, error) {
	state := map[bool]string{true: "on", false: "off"}
	switch words := c.words(); {
	case len(words) == 0:
		return display.Text("nan " + state[c.s.Guard().On()]), nil
	case slices.Equal(words, []string{"nan"}), slices.Equal(words, []string{"nan", "on"}), slices.Equal(words, []string{"nan", "off"}):
		c.s.Guard().Set(words[len(words)-1] != "off")
		return nil, nil
	default:
		return nil, c.errorf("got %q, want nan on or nan off", strings.Join(words, " "))
	}
}
