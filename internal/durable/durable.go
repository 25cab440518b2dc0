// Package durable writes files that are either complete or not there.
//
// A file is written under a temporary name in its own folder, synced, renamed over the final name, and then the folder
// is synced, because a rename alone may be lost with the power. A folder of files is made the same way. Whoever reads
// never sees half of either; what is left of an interrupted write carries the mark [TempMark] in its name.
package durable

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// TempMark is part of the name of everything that is not yet complete.
const TempMark = ".partial-"

// system is what the package asks of the operating system. A test replaces it to fail at each call in turn.
type system interface {
	create(path string) (file, error) // fails if path exists
	mkdir(path string) error          // fails if path exists
	rename(from, to string) error
	syncDir(path string) error
	removeAll(path string) error
	exists(path string) bool
}

type file interface {
	io.Writer
	Sync() error
	Close() error
}

// A Writer writes durably. The zero Writer uses the operating system's files.
type Writer struct {
	sys system
}

func (w Writer) system() system {
	if w.sys != nil {
		return w.sys
	}
	return osSystem{}
}

// WriteFile makes or replaces the file at path with what write produces.
func WriteFile(path string, write func(io.Writer) error) error {
	return Writer{}.WriteFile(path, write)
}

// WriteFile makes or replaces the file at path with what write produces. After an error the file is as it was.
func (w Writer) WriteFile(path string, write func(io.Writer) error) error {
	sys := w.system()
	temp, err := tempName(path)
	if err != nil {
		return err
	}
	if err := writeSynced(sys, temp, write); err != nil {
		sys.removeAll(temp)
		return err
	}
	if err := sys.rename(temp, path); err != nil {
		sys.removeAll(temp)
		return err
	}
	return sys.syncDir(filepath.Dir(path))
}

// A Folder is a folder that is being written. It appears under its name when it is committed.
type Folder struct {
	sys        system
	path, temp string
	done       bool
}

// NewFolder starts the folder that will be called path.
func NewFolder(path string) (*Folder, error) { return Writer{}.NewFolder(path) }

// NewFolder starts the folder that will be called path. Its parent must exist.
func (w Writer) NewFolder(path string) (*Folder, error) {
	temp, err := tempName(path)
	if err != nil {
		return nil, err
	}
	sys := w.system()
	if err := sys.mkdir(temp); err != nil {
		return nil, err
	}
	return &Folder{sys: sys, path: path, temp: temp}, nil
}

// Path is where a file of the folder is until the folder is committed.
func (f *Folder) Path(name string) string { return filepath.Join(f.temp, name) }

// WriteFile adds a synced file to the folder.
func (f *Folder) WriteFile(name string, write func(io.Writer) error) error {
	return writeSynced(f.sys, f.Path(name), write)
}

// Commit gives the folder its name. A folder that had the name is replaced: between its going and the new one's
// coming lies one rename, and after an error it is back.
func (f *Folder) Commit() error {
	if f.done {
		return fmt.Errorf("%s: the folder was committed or dropped before", f.path)
	}
	f.done = true
	if err := f.sys.syncDir(f.temp); err != nil {
		f.sys.removeAll(f.temp)
		return err
	}
	old := ""
	if f.sys.exists(f.path) {
		name, err := tempName(f.path)
		if err == nil {
			err = f.sys.rename(f.path, name)
		}
		if err != nil {
			f.sys.removeAll(f.temp)
			return err
		}
		old = name
	}
	if err := f.sys.rename(f.temp, f.path); err != nil {
		if old != "" {
			f.sys.rename(old, f.path)
		}
		f.sys.removeAll(f.temp)
		return err
	}
	if err := f.sys.syncDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	if old != "" {
		return f.sys.removeAll(old)
	}
	return nil
}

// Drop removes what was written, unless the folder was committed. It is meant for defer.
func (f *Folder) Drop() {
	if !f.done {
		f.done = true
		f.sys.removeAll(f.temp)
	}
}

func writeSynced(sys system, path string, write func(io.Writer) error) (err error) {
	out, err := sys.create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 1<<18)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = out.Sync()
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}

func tempName(path string) (string, error) {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return filepath.Clean(path) + TempMark + hex.EncodeToString(b[:]), nil
}

// osSystem is the real thing.
type osSystem struct{}

func (osSystem) create(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}
func (osSystem) mkdir(path string) error      { return os.Mkdir(path, 0o777) }
func (osSystem) rename(from, to string) error { return os.Rename(from, to) }
func (osSystem) removeAll(path string) error  { return os.RemoveAll(path) }

func (osSystem) exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// syncDir makes renames inside a folder durable. Windows cannot open a folder for syncing; NTFS journals its renames.
func (osSystem) syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}
