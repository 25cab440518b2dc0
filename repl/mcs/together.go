package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/mcs-notebook/mcs/engine/ranks"
)

// asRanks runs this command as so many processes of this machine, which compute together.
func asRanks(n int) error {
	const most = 256 // no machine has so many devices
	if n < 1 || n > most {
		return fmt.Errorf("got -n %d, want 1 to %d processes, one for each device", n, most)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	commands := make([]*exec.Cmd, n)
	for rank := range commands {
		c := exec.Command(self, os.Args[1:]...)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr // rank 0 knows a terminal as such
		if rank > 0 {
			c.Stderr = &labelled{label: fmt.Sprintf("rank %d: ", rank)}
		}
		commands[rank] = c
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	err = ranks.Start(commands, signals)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0: // the rank has said why
		return exitCode(exit.ExitCode())
	case exit != nil: // a signal has ended it
		fmt.Fprintln(os.Stderr, "mcs:", err)
		return exitCode(exitFailed)
	}
	return err
}

// labelled writes lines to standard error, and says before each of them whose it is, unless it does so
// itself.
type labelled struct {
	label string
	rest  []byte // of a line that has not ended
}

func (l *labelled) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte{'\n'})
		if !ok {
			return len(p), nil
		}
		if !bytes.Contains(line, []byte(l.label)) {
			line = append([]byte(l.label), line...)
		}
		if _, err := fmt.Fprintf(os.Stderr, "%s\n", line); err != nil {
			return 0, err
		}
		l.rest = rest
	}
}
