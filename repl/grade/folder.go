package grade

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/repl/lesson"
	"github.com/mcs-notebook/mcs/repl/notebook"
)

// shareData copies the lesson's data, which is what lies beside it but lessons, keys and work, into a folder
// that nothing is written to. Links stay links. End removes it.
func (g *grader) shareData() (end func(), err error) {
	if g.data, err = os.MkdirTemp("", "mcs-grade-"); err != nil {
		return nil, err
	}
	if err := copyReadOnly(filepath.Dir(g.path), g.data); err != nil {
		removeAll(g.data)
		return nil, err
	}
	return func() { removeAll(g.data) }, nil
}

// isData says whether what lies beside a lesson is data of it.
func isData(name string) bool {
	return name != lesson.WorkDir && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".mcs") && !strings.HasSuffix(name, ".key") && !strings.HasSuffix(name, notebook.Extension)
}

// copyReadOnly copies the data in a folder, with that in the folders in it.
func copyReadOnly(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch {
		case !isData(d.Name()):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(at, 0o700)
		case d.Type() == fs.ModeSymlink:
			target, err := filepath.EvalSymlinks(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, at)
		case !d.Type().IsRegular():
			return nil
		}
		return copyFile(path, at, 0o400)
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	f, err := regular.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, w.Close())
}

// removeAll removes a folder, also what may not be written to. What links lead to stays as it is.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && (d.IsDir() || d.Type().IsRegular()) {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// folder makes the folder of a process: the learner's file, and links to the lesson's data.
func (p *process) folder() (string, error) {
	dir, err := os.MkdirTemp("", "mcs-grade-")
	if err != nil {
		return "", err
	}
	if err := p.fill(dir); err != nil {
		removeAll(dir)
		return "", err
	}
	return dir, nil
}

func (p *process) fill(dir string) error {
	if err := copyFile(p.file, filepath.Join(dir, filepath.Base(p.file)), 0o600); err != nil {
		return err
	}
	entries, err := os.ReadDir(p.data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if os.Symlink(filepath.Join(p.data, e.Name()), filepath.Join(dir, e.Name())) != nil {
			return copyReadOnly(p.data, dir) // a system whose users may not make links
		}
	}
	return nil
}
