package magics

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/repl/display"
)

func shellMagics() []*Magic {
	return []*Magic{{
		Name: "!", Family: "System", Args: "COMMAND", Takes: TakesFiles,
		Summary: "run a command of the system's shell",
		Help:    "Its output appears as it comes. It has no standard input. Ctrl-C ends it.",
		Example: "!ls -l",
		run:     runShell,
	}}
}

func runShell(ctx context.Context, c *call) (display.Value, error) {
	line, err := c.need("command")
	if err != nil {
		return nil, err
	}
	if dir, ok := strings.CutPrefix(line+" ", "cd "); ok && !strings.ContainsAny(dir, ";&|") {
		return nil, fmt.Errorf("!: cd changes the folder of the command alone; %s", fillIn(foreign["cd"], strings.TrimSpace(dir)))
	}
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/C"
	}
	cmd := exec.CommandContext(ctx, shell, flag, line)
	cmd.Dir = c.s.Dir()
	cmd.Stdout, cmd.Stderr = c.s.Stdout(), c.s.Stdout()
	// A child of the shell may keep the pipes open after the shell was killed.
	cmd.WaitDelay = 200 * time.Millisecond
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &exit):
		return nil, fmt.Errorf("!: %s: exit status %d", line, exit.ExitCode())
	case err != nil:
		return nil, fmt.Errorf("!: %w", err)
	}
	return nil, nil
}
