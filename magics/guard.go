package magics

import (
	"context"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/display"
)

func guardMagics() []*Magic {
	return []*Magic{{
		Name: "guard", Family: "Engine", Args: "[nan [on|off]]",
		Summary: "stop at the first launch whose result has a NaN or an infinity",
		Help: "The error names the operation, its shape, the line that it comes from and the ranges of what it read. The guard holds for all\n" +
			"later evaluations of the session. Each launch is then waited for and looked at, so everything takes longer. A step of an\n" +
			"optimizer that has begun is made whole before the error. Without arguments: whether it is on.",
		Example: "%guard nan on\n%guard nan off",
		run:     runGuard,
	}}
}

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
