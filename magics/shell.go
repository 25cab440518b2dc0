package magics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
)

const interpolation = "{x} is the value of the session's variable x, if it is text, a number or a bool, as one word that the shell does not read\n" +
	"again; {{x}} is {x}. $x is that value, too, split into words as the shell does."

func shellMagics() []*Magic {
	return append([]*Magic{{
		Name: "!", Family: "System", Args: "COMMAND", needs: "command", Takes: TakesFiles, Outside: true,
		Summary: "run a command of the system's shell",
		Help: "Its output appears as it comes. It has no standard input. Ctrl-C ends it. What Go can read, with names that the session\n" +
			"knows, is Go: !ok negates ok. A blank behind the sign asks the shell.\n" + interpolation,
		Example: "!ls -l\n!wc -l {file}",
		run: func(ctx context.Context, c *call) (display.Value, error) {
			return nil, c.shell(ctx, c.rest, c.s.Stdout())
		},
	}, {
		Name: ":=!", Family: "System", Args: "NAME := !COMMAND", Takes: TakesFiles, Outside: true,
		Summary: "keep the lines that a command of the shell prints, a []string",
		Help: "An exit status other than 0 is an error, which ends the cell; with a second name it is that variable's value. Errors\n" +
			"that the command prints appear as they come. What Go can read stays Go: x := !done negates done, and is a command only\n" +
			"where the session has no name done, but the system a program. In a .go file that %save writes, os/exec runs the command.\n" +
			interpolation,
		Example: "files := !ls *.safetensors\nlog, err := !git log --oneline -5",
		run:     captureShell,
	}}, folderMagics()...)
}

// captureShell assigns the lines that a command prints.
func captureShell(ctx context.Context, c *call) (display.Value, error) {
	left, line, _ := cell.Capture(c.rest)
	if names, ok := strings.CutSuffix(left, "="); ok && !strings.HasSuffix(names, ":") {
		known := c.variables()
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); name != "_" && !known[name] {
				return nil, fmt.Errorf("undefined: %s; write %s:= !%s", name, names, line)
			}
		}
	}
	return nil, c.s.Assign(ctx, left, func() ([]string, error) {
		var output bytes.Buffer
		err := c.shell(ctx, line, &output)
		text := strings.TrimSuffix(strings.ReplaceAll(output.String(), "\r\n", "\n"), "\n")
		if text == "" {
			return nil, err
		}
		return strings.Split(text, "\n"), err
	})
}

// shell runs a command of the shell, with variables of the session filled in.
func (c *call) shell(ctx context.Context, line string, stdout io.Writer) error {
	if dir, ok := strings.CutPrefix(line+" ", "cd "); ok && !strings.ContainsAny(dir, ";&|") {
		return fmt.Errorf("!: cd changes the folder of the command alone; write %%cd %s", strings.TrimSpace(dir))
	}
	filled, env, err := c.fill(line)
	if err != nil {
		return fmt.Errorf("!: %w", err)
	}
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/C"
	}
	cmd := exec.CommandContext(ctx, shell, flag, filled)
	cmd.Dir = c.s.Dir()
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = stdout, c.s.Stdout()
	// A child of the shell may keep the pipes open after the shell was killed.
	cmd.WaitDelay = 200 * time.Millisecond
	if err = cmd.Run(); err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("!: %s: exit status %d", line, exit.ExitCode())
	}
	return fmt.Errorf("!: %w", err)
}

// fill puts references to variables of the session into a command, and returns their values for its
// environment.
func (c *call) fill(line string) (filled string, env []string, err error) {
	if !strings.ContainsAny(line, "{$") {
		return line, nil, nil
	}
	vars := c.variables()
	filled, mentioned := cell.Fill(line, func(name string) bool { return vars[name] })
	for _, m := range mentioned {
		v := c.variable(m.Name).Value
		value, ok := plainText(v)
		switch {
		case ok && runtime.GOOS == "windows":
			return "", nil, fmt.Errorf("{%s}: variables are filled in by sh, which Windows has not", m.Name)
		case ok:
			env = append(env, m.Name+"="+value)
		case m.Braces:
			return "", nil, fmt.Errorf("{%s}: got %T, want text, a number or a bool; {{%s}} is {%s} for the shell", m.Name, v, m.Name, m.Name)
		}
	}
	return filled, env, nil
}

// variables has the names of the session's variables.
func (c *call) variables() map[string]bool {
	names := map[string]bool{}
	for _, v := range c.s.Vars() {
		if v.Kind == "var" {
			names[v.Name] = true
		}
	}
	return names
}

// plainText is the text of a value of a basic kind.
func plainText(v any) (string, bool) {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		return r.String(), true
	case reflect.Bool, reflect.Float32, reflect.Float64:
		return fmt.Sprint(v), true
	default:
		if r.CanInt() || r.CanUint() {
			return fmt.Sprintf("%d", v), true
		}
	}
	return "", false
}
