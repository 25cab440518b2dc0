package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences makes the console obey escape sequences. A console that cannot do so shows them as text,
// so an error would add nothing.
func enableSequences() {
	out := windows.Handle(os.Stdout.Fd())
	var mode uint32
	if windows.GetConsoleMode(out, &mode) == nil {
		windows.SetConsoleMode(out, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	}
}
