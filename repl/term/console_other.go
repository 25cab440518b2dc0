//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package term

import (
	"os"

	xterm "golang.org/x/term"
)

// tty is the process's console. It speaks the escape sequences of xterm in both directions; those of Windows
// have since Windows 10.
type tty struct {
	*os.File
	saved *xterm.State // nil: not raw
}

func openConsole() console {
	enableSequences()
	return &tty{File: os.Stdout}
}

func (t *tty) Raw() error {
	before, err := xterm.MakeRaw(int(os.Stdin.Fd()))
	if err == nil && t.saved == nil {
		t.saved = before
	}
	return err
}

func (t *tty) Cooked() error {
	if t.saved == nil {
		return nil
	}
	err := xterm.Restore(int(os.Stdin.Fd()), t.saved)
	t.saved = nil
	return err
}

func (t *tty) Size() (columns, rows int) {
	w, h, err := xterm.GetSize(int(t.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

func (t *tty) Reflows() bool { return true }

// Ahead is nothing: consoles tell line feeds from Return at all times.
func (t *tty) Ahead() int { return 0 }

// Changes never receives: a new size is seen with the next key.
func (t *tty) Changes() <-chan os.Signal { return nil }

// Suspend does nothing: there is no shell that would continue the process.
func (t *tty) Suspend() {}

func windowPixels() (columns, rows, width, height int) { return 0, 0, 0, 0 }
