package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences makes the console obey escape sequences. A console that cannot shows them, which is all that an error
// could say.
func enableSequences() {
	out := windows.Handle(os.Stdout.Fd())
	var mode uint32
	if windows.GetConsoleMode(out, &mode) == nil {
		windows.SetConsoleMode(out, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	}
}

// lockFile waits until no other process has the file locked and locks it until it is closed.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
}
