//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package term

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/chzyer/readline"
	"github.com/mcs-notebook/mcs/internal/unread"
	"golang.org/x/sys/unix"
)

// makeRaw is that of chzyer/readline, which leaves the processing of output on: output of other goroutines
// and of crashes keeps its lines.
func makeRaw(fd int) (restore func() error, err error) {
	before, err := readline.MakeRaw(fd)
	return func() error { return readline.Restore(fd, before) }, err
}

func openConsole() console {
	t := &tty{File: os.Stdout, changes: make(chan os.Signal, 1)}
	signal.Notify(t.changes, syscall.SIGWINCH, syscall.SIGCONT)
	return t
}

// Reflows is true for all terminals but the few that are known to cut lines or leave them: asking the
// terminal where the cursor is could hang.
func (t *tty) Reflows() bool {
	if os.Getenv("TMUX") != "" {
		return true
	}
	return os.Getenv("XTERM_VERSION") == "" && os.Getenv("STY") == "" && os.Getenv("TERM") != "linux"
}

func (t *tty) Ahead() int { return unread.Bytes(os.Stdin.Fd()) }

// Suspend stops the whole group of processes, as the terminal does when it is not raw. It returns when the
// shell has continued it, or at once, if no shell could.
func (t *tty) Suspend() {
	if err := syscall.Kill(0, syscall.SIGTSTP); err == nil {
		time.Sleep(20 * time.Millisecond) // the signal may reach another thread first
	}
}

// windowPixels is the terminal's size in characters and in pixels, which is 0×0 where the terminal does not
// say.
func windowPixels() (columns, rows, width, height int) {
	w, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, 0, 0
	}
	return int(w.Col), int(w.Row), int(w.Xpixel), int(w.Ypixel)
}
