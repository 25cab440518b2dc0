//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package term

import (
	"os"

	xterm "golang.org/x/term"
)

func makeRaw(fd int) (restore func() error, err error) {
	before, err := xterm.MakeRaw(fd)
	return func() error { return xterm.Restore(fd, before) }, err
}

// openConsole speaks the escape sequences of xterm in both directions; those of Windows have since Windows
// 10. A new size is seen with the next key.
func openConsole() console {
	enableSequences()
	return &tty{File: os.Stdout}
}

func (t *tty) Reflows() bool { return true }

// Ahead is nothing: consoles tell line feeds from Return at all times.
func (t *tty) Ahead() int { return 0 }

// Suspend does nothing: there is no shell that would continue the process.
func (t *tty) Suspend() {}

func windowPixels() (columns, rows, width, height int) { return 0, 0, 0, 0 }
