package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences makes the console obey escape sequences. A console that cannot shows them, which is all
// that an error could say.
func enableSequences() {
	out := windows.Handle(os.Stdout.Fd())
	var mode uint32
	if windows.GetConsoleMode(out, &mode) == nil {
		windows.SetConsoleMode(out, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	}
}
