package term

import (
	"os"

	xterm "golang.org/x/term"
)

// tty is the process's own terminal.
type tty struct {
	*os.File
	restore func() error   // nil: not raw
	changes chan os.Signal // nil: none are told
}

func (t *tty) Raw() error {
	restore, err := makeRaw(int(os.Stdin.Fd()))
	if err == nil && t.restore == nil {
		t.restore = restore
	}
	return err
}

func (t *tty) Cooked() error {
	if t.restore == nil {
		return nil
	}
	err := t.restore()
	t.restore = nil
	return err
}

func (t *tty) Size() (columns, rows int) {
	w, h, err := xterm.GetSize(int(t.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

func (t *tty) Changes() <-chan os.Signal { return t.changes }
