package library

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
)

// execWaits are the calls that wait for a command. Each starts the command before it waits in another
// goroutine: so the goroutine that interrupts the wait reads Process only after Start has written it.
func (lib *Library) execWaits() map[string]any {
	wait := func(c *exec.Cmd) error {
		return one(lib, func() {
			if c.Process != nil {
				_ = c.Process.Kill() // it may have ended by itself
			}
		}, c.Wait)
	}
	start := func(c *exec.Cmd) error {
		lib.streams.In.lend(c)
		return c.Start()
	}
	run := func(c *exec.Cmd) error {
		if err := start(c); err != nil {
			return err
		}
		return wait(c)
	}
	return map[string]any{
		"Cmd_Start": start,
		"Cmd_Run":   run,
		"Cmd_Wait":  wait,
		"Cmd_Output": func(c *exec.Cmd) ([]byte, error) {
			if c.Stdout != nil {
				return nil, errors.New("exec: Stdout already set")
			}
			var out bytes.Buffer
			c.Stdout = &out
			var said *firstAndLast
			if c.Stderr == nil {
				said = new(firstAndLast)
				c.Stderr = said
			}
			err := run(c)
			if e := (*exec.ExitError)(nil); said != nil && errors.As(err, &e) {
				e.Stderr = said.bytes()
			}
			return out.Bytes(), err
		},
		"Cmd_CombinedOutput": func(c *exec.Cmd) ([]byte, error) {
			if c.Stdout != nil {
				return nil, errors.New("exec: Stdout already set")
			}
			if c.Stderr != nil {
				return nil, errors.New("exec: Stderr already set")
			}
			var out bytes.Buffer
			c.Stdout, c.Stderr = &out, &out
			err := run(c)
			return out.Bytes(), err
		},
	}
}

// firstAndLast keeps the part of the standard error that an ExitError shows, as Cmd.Output does: the first
// and the last 32 KiB.
type firstAndLast struct {
	first, last []byte
	omitted     int
}

// Write never fails.
func (w *firstAndLast) Write(p []byte) (int, error) {
	const most = 32 << 10
	n := len(p)
	k := min(len(p), most-len(w.first))
	w.first = append(w.first, p[:k]...)
	w.last = append(w.last, p[k:]...)
	if over := len(w.last) - most; over > 0 {
		w.omitted += over
		w.last = append(w.last[:0], w.last[over:]...)
	}
	return n, nil
}

func (w *firstAndLast) bytes() []byte {
	b := w.first
	if w.omitted > 0 {
		b = fmt.Appendf(b, "\n... omitting %d bytes ...\n", w.omitted)
	}
	return append(b, w.last...)
}
