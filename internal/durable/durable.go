// Package durable writes files so that they are complete, or as they were before.
//
// A file is written under a temporary name in its own folder, synced, and renamed to the final name. Then
// the folder is synced, because a power failure may undo the rename alone. A folder of files is made in
// the same way. A reader never sees half of either. The remains of an interrupted write have the mark
// [TempMark] in their names. The next write of the same file removes them, or [Tidy] does.
//
// A file that is replaced keeps its mode and, where the system allows it, its owner. A link stays a link,
// and the file that it points to is replaced. Other names of the file (hard links) keep the old content. A
// read-only file is not replaced, although its folder would allow it.
//
// Reading order: durable.go, folder.go, set.go, lock.go, saving.go.
package durable

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// TempMark is part of the name of everything that is not yet complete. Twelve hexadecimal digits follow it.
const TempMark = ".partial-"

// system has the calls of the operating system that the package uses. A test replaces it to make each call
// fail in turn.
type system interface {
	create(path string, perm fs.FileMode, old fs.FileInfo) (file, error) // fails if path exists
	mkdir(path string) error                                             // fails if path exists
	rename(from, to string) error
	swap(a, b string) error // both exist; errors.ErrUnsupported where the system cannot
	syncDir(path string) error
	removeAll(path string) error
}

type file interface {
	io.Writer
	Sync() error
	Close() error
}

// A Writer writes durably. The zero Writer uses the operating system's files.
type Writer struct {
	// Perm is the mode of a new file before the umask is applied; 0 means 0o666.
	Perm fs.FileMode

	sys system
}

func (w Writer) system() system {
	if w.sys != nil {
		return w.sys
	}
	return osSystem{}
}

// WriteFile makes or replaces the file at path with the output of write.
func WriteFile(path string, write func(io.Writer) error) error {
	return Writer{}.WriteFile(path, write)
}

// Text returns a function for WriteFile that writes a string.
func Text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// WriteFile makes or replaces the file at path with the output of write. After an error the file is
// unchanged. The error names path, not the temporary file.
func (w Writer) WriteFile(path string, write func(io.Writer) error) error {
	defer Begin(path)()
	real, old, err := destination(path)
	if err != nil {
		return err
	}
	clearLeftovers(real)
	temp := tempName(real)
	perm := cmp.Or(w.Perm, 0o666)
	sys := w.system()
	err = writeSynced(sys, temp, perm, old, write)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (the file is replaced by a new one, which its folder must allow)", named(err, temp, path))
	}
	if err == nil {
		err = sys.rename(temp, real)
	}
	if err != nil {
		sys.removeAll(temp)
		return named(err, temp, path)
	}
	return sys.syncDir(filepath.Dir(real))
}

// maxLinks is how many links a path may go through, as on Linux.
const maxLinks = 40

// destination returns the file that a write to path replaces or makes (old is nil then), if it may.
func destination(path string) (real string, old fs.FileInfo, err error) {
	real, old, err = resolve(path)
	switch {
	case err != nil || old == nil:
		return real, old, err
	case !old.Mode().IsRegular():
		return "", nil, fmt.Errorf("%s is a %s, want a regular file", path, regular.Kind(old.Mode()))
	}
	f, err := os.OpenFile(real, os.O_WRONLY, 0) // fails if it may not be written
	if err == nil {
		err = f.Close()
	}
	return real, old, err
}

// resolve follows the links of path to the file behind it, which need not exist (stat is nil then).
func resolve(path string) (real string, stat fs.FileInfo, err error) {
	real = path
	for range maxLinks {
		stat, err = os.Lstat(real)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return real, nil, nil
		case err != nil:
			return "", nil, err
		case stat.Mode().Type() != fs.ModeSymlink:
			return real, stat, nil
		}
		link, err := os.Readlink(real)
		if err != nil {
			return "", nil, err
		}
		if !filepath.IsAbs(link) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(real))
			if err != nil {
				return "", nil, err
			}
			link = filepath.Join(dir, link)
		}
		real = link
	}
	return "", nil, fmt.Errorf("%s: more than %d links", path, maxLinks)
}

// named makes an error about the temporary file one about path.
func named(err error, temp, path string) error {
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "write", Path: path, Err: link.Err}
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok && p.Path == temp {
		return &fs.PathError{Op: "write", Path: path, Err: p.Err}
	}
	return err
}

// leftoverAge is the age from which a temporary file counts as the remains of a crash. Younger ones may
// have a writer: it locks its file only after it has made it.
const leftoverAge = time.Minute

// clearLeftovers removes the temporary files of path that no process writes any more. A failure does not
// matter of the write that is to come.
func clearLeftovers(path string) {
	dir, base := filepath.Split(path)
	dir = cmp.Or(dir, ".")
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if of, ok := leftover(name, TempMark); !ok || of != base {
			continue
		}
		temp := filepath.Join(dir, name)
		stat, err := os.Lstat(temp)
		if err != nil || !stat.Mode().IsRegular() || time.Since(stat.ModTime()) < leftoverAge {
			continue
		}
		if f, err := os.OpenFile(temp, os.O_WRONLY, 0); err == nil {
			if tryLock(f) == nil {
				os.Remove(temp)
			}
			f.Close()
		}
	}
}

// leftover takes the name of a temporary file apart.
func leftover(name, mark string) (of string, ok bool) {
	i := strings.LastIndex(name, mark)
	if i < 0 {
		return "", false
	}
	digits := name[i+len(mark):]
	b, err := hex.DecodeString(digits)
	return name[:i], err == nil && len(b) == randomBytes && digits == strings.ToLower(digits)
}

func writeSynced(sys system, path string, perm fs.FileMode, old fs.FileInfo, write func(io.Writer) error) (err error) {
	out, err := sys.create(path, perm, old)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
	}()
	buffered := bufio.NewWriterSize(out, 1<<18)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return out.Sync()
}

const randomBytes = 6

func tempName(path string) string { return markedName(path, TempMark) }

func markedName(path, mark string) string {
	var b [randomBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return filepath.Clean(path) + mark + hex.EncodeToString(b[:])
}

// osSystem is the real thing.
type osSystem struct{}

// create makes a file that only its owner may read until it has the mode and the owner of old, which it
// replaces.
func (osSystem) create(path string, perm fs.FileMode, old fs.FileInfo) (file, error) {
	if old != nil {
		perm = 0o600
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	tryLock(f) // tells clearLeftovers that the file is being written; where there are no locks, its age does
	if old != nil {
		keepOwner(f, old)
		err = f.Chmod(old.Mode().Perm())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (osSystem) mkdir(path string) error      { return os.Mkdir(path, 0o777) }
func (osSystem) rename(from, to string) error { return os.Rename(from, to) }
func (osSystem) swap(a, b string) error       { return swap(a, b) }
func (osSystem) removeAll(path string) error  { return os.RemoveAll(path) }

// syncDir makes renames inside a folder durable. Windows cannot open a folder for syncing; NTFS journals its
// renames.
func (osSystem) syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
