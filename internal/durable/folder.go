package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// oldMark is part of the name of a folder that was complete and is being replaced, where a system cannot swap
// two folders in one step.
const oldMark = ".replaced-"

// A Folder is a folder that is being written. Commit gives it its name.
type Folder struct {
	sys        system
	path, temp string
	done       bool
	end        func()
}

// NewFolder starts the folder that will be called path.
func NewFolder(path string) (*Folder, error) { return Writer{}.NewFolder(path) }

// NewFolder starts the folder that will be called path. Its parent must exist. If path exists, it must be
// a folder. The caller must call Commit or Drop.
func (w Writer) NewFolder(path string) (*Folder, error) {
	if stat, err := os.Lstat(path); err == nil && !stat.IsDir() {
		return nil, fmt.Errorf("%s is a %s, want a folder", path, regular.Kind(stat.Mode()))
	}
	temp := tempName(path)
	sys := w.system()
	if err := sys.mkdir(temp); err != nil {
		return nil, named(err, temp, path)
	}
	return &Folder{sys: sys, path: path, temp: temp, end: Begin(path)}, nil
}

// Path returns the path of a file of the folder before Commit.
func (f *Folder) Path(name string) string { return filepath.Join(f.temp, name) }

// WriteFile adds a synced file to the folder.
func (f *Folder) WriteFile(name string, write func(io.Writer) error) error {
	err := writeSynced(f.sys, f.Path(name), 0o666, nil, write)
	if err != nil {
		return named(err, f.Path(name), filepath.Join(f.path, name))
	}
	return nil
}

// Commit gives the folder its name. It replaces a folder with that name in one step, or, on systems
// without such a step, in two; Tidy repairs an interruption between them. After an error the old folder
// has its name again.
func (f *Folder) Commit() error {
	if f.done {
		return fmt.Errorf("%s: the folder was committed or dropped before", f.path)
	}
	f.done = true
	defer f.end()
	err := f.sys.syncDir(f.temp)
	old := ""
	if err == nil {
		old, err = f.replace()
	}
	if err != nil {
		f.sys.removeAll(f.temp)
		return named(err, f.temp, f.path)
	}
	if err := f.sys.syncDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	if old != "" {
		return f.sys.removeAll(old)
	}
	return nil
}

// replace renames the folder and returns the new path of the replaced folder, if there was one.
func (f *Folder) replace() (old string, err error) {
	if _, err := os.Lstat(f.path); errors.Is(err, fs.ErrNotExist) {
		return "", f.sys.rename(f.temp, f.path)
	}
	if err := f.sys.swap(f.temp, f.path); !errors.Is(err, errors.ErrUnsupported) {
		return f.temp, err
	}
	old = markedName(f.path, oldMark)
	if err := f.sys.rename(f.path, old); err != nil {
		return "", err
	}
	if err := f.sys.rename(f.temp, f.path); err != nil {
		return "", errors.Join(err, f.sys.rename(old, f.path))
	}
	return old, nil
}

// Drop removes the written files, unless the folder was committed. It is meant for defer.
func (f *Folder) Drop() {
	if !f.done {
		f.done = true
		f.sys.removeAll(f.temp)
		f.end()
	}
}

// RemoveFolder removes a folder with its contents. A crash leaves the whole folder, or remains that Tidy
// removes.
func RemoveFolder(path string) error {
	defer Begin(path)()
	temp := tempName(path)
	if err := os.Rename(path, temp); err != nil {
		return named(err, temp, path)
	}
	return os.RemoveAll(temp)
}

// Tidy removes from dir the remains of interrupted writes of those files and folders for which ours
// returns true. A folder whose replacement was interrupted gets its name back. No other process may write
// there meanwhile: see TryLock.
func Tidy(dir string, ours func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var failed []error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if of, ok := leftover(e.Name(), TempMark); ok && ours(of) {
			failed = append(failed, os.RemoveAll(path))
		}
		of, ok := leftover(e.Name(), oldMark)
		if !ok || !ours(of) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, of)); errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, os.Rename(path, filepath.Join(dir, of)))
		} else {
			failed = append(failed, os.RemoveAll(path))
		}
	}
	return errors.Join(failed...)
}
