package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// A Lock is held by one process at a time, and by one caller in it. It ends with the process, however the
// process ends.
type Lock struct{ f *os.File }

// HeldError is the error of a lock that another process holds.
type HeldError struct {
	Path   string // the lock's file
	Holder string // "process 4711 (mcs) since 10:04:05"; empty if the holder did not say
}

func (e *HeldError) Error() string {
	holder := e.Holder
	if strings.HasPrefix(holder, processWord()) {
		holder = "this process already"
	} else if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("%s is in use by %s", filepath.Dir(e.Path), holder)
}

// errLocked is the error of tryLock for a file that is locked.
var errLocked = errors.New("locked")

// TryLock takes the lock whose file is path. It makes the file if needed. The file stays: if it were
// removed, one process could lock the removed file and another a new one. On a file system without locks
// it locks nothing and returns no error.
func TryLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|regular.OpenNonblock, 0o666)
	if err != nil {
		return nil, err
	}
	if stat, err := f.Stat(); err == nil && !stat.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is a %s, want a regular file", path, regular.Kind(stat.Mode()))
	}
	if errors.Is(tryLock(f), errLocked) {
		text := make([]byte, 1000)
		n, _ := f.ReadAt(text, 0)
		f.Close()
		return nil, &HeldError{Path: path, Holder: printable(string(text[:n]))}
	}
	f.Truncate(0)
	fmt.Fprintf(f, "%s(%s) since %s", processWord(), filepath.Base(os.Args[0]), time.Now().Format("15:04:05"))
	return &Lock{f}, nil
}

// WaitLock calls TryLock again and again until patience has passed, or ctx ends, whose error it returns then.
func WaitLock(ctx context.Context, path string, patience time.Duration) (*Lock, error) {
	var held *HeldError
	for until := time.Now().Add(patience); ; {
		l, err := TryLock(path)
		if !errors.As(err, &held) || time.Now().After(until) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Unlock releases the lock. On a nil Lock it does nothing.
func (l *Lock) Unlock() {
	if l != nil {
		l.f.Truncate(0)
		l.f.Close()
	}
}

// processWord begins what this process writes into a lock's file.
func processWord() string { return fmt.Sprintf("process %d ", os.Getpid()) }

// printable removes unprintable characters from the text of a lock's file.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			return -1
		}
		return r
	}, s)
}
