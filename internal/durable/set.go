package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Set is a set of files in one folder that belong together, such as weights and their configuration. No
// system replaces several files in one step. So WriteSet first sets the old files aside, the key file
// first, and writes the new key file last. While the key file is missing, other programs see that the set
// is incomplete, and Path finds the old files.
type Set struct {
	Dir string
	Key string // the name without which the others mean nothing
}

// A Member is a file of a Set that is to be written.
type Member struct {
	Name  string
	Write func(io.Writer) error
}

// WriteSet makes or replaces the members' files, with the key among them. After an error the files are
// unchanged.
func WriteSet(s Set, members []Member) error { return Writer{}.WriteSet(s, members) }

// WriteSet makes or replaces the members' files, with the key among them. After an error the files are
// unchanged.
func (w Writer) WriteSet(s Set, members []Member) error {
	defer Begin(s.Dir)()
	if err := s.mend(); err != nil {
		return err
	}
	t := &replacement{sys: w.system()}
	err := t.write(s, members)
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		t.undo()
	}
	return err
}

// Path returns the path at which a reader finds the file with this name: the file set aside, if the last
// write was interrupted.
func (s Set) Path(name string) string {
	path := filepath.Join(s.Dir, name)
	keys := asides(filepath.Join(s.Dir, s.Key))
	if _, err := os.Stat(filepath.Join(s.Dir, s.Key)); err == nil || len(keys) == 0 {
		return path
	}
	if old := asides(path); len(old) > 0 {
		return old[0]
	}
	return path // the write ended before it came to this file
}

// mend undoes an interrupted write, or removes the remains of a complete one.
func (s Set) mend() error {
	_, err := os.Stat(filepath.Join(s.Dir, s.Key))
	complete := err == nil
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := leftover(e.Name(), oldMark)
		if !ok || name == s.Key {
			continue
		}
		if err := restore(filepath.Join(s.Dir, name), complete); err != nil {
			return err
		}
	}
	return restore(filepath.Join(s.Dir, s.Key), complete) // last: as long as it is missing, the old files are in force
}

// restore gives the file at path its old content back, or removes that if the set is complete without it.
func restore(path string, complete bool) error {
	for _, old := range asides(path) {
		if complete {
			if err := os.Remove(old); err != nil {
				return err
			}
			continue
		}
		real, _, err := resolve(path)
		if err == nil {
			err = os.Rename(old, real)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// asides lists the files beside path that a Set has set aside.
func asides(path string) []string {
	real, _, err := resolve(path)
	if err != nil {
		return nil
	}
	found, _ := filepath.Glob(strings.NewReplacer(`[`, `[[]`, `*`, `[*]`, `?`, `[?]`).Replace(real) + oldMark + "*")
	var list []string
	for _, f := range found {
		if of, ok := leftover(filepath.Base(f), oldMark); ok && of == filepath.Base(real) {
			list = append(list, f)
		}
	}
	return list
}

// A replacement is one write of a Set: its files, the key last.
type replacement struct {
	sys   system
	files []*replaced
}

// A replaced is one file of a replacement, behind links.
type replaced struct {
	path  string
	temp  string // the new content; empty when it has its name
	aside string // the old content, while it is put aside
}

// write writes the new files under temporary names.
func (t *replacement) write(s Set, members []Member) error {
	members = slices.Clone(members)
	slices.SortStableFunc(members, func(a, b Member) int {
		switch s.Key {
		case a.Name:
			return 1
		case b.Name:
			return -1
		}
		return 0
	})
	for _, m := range members {
		path := filepath.Join(s.Dir, m.Name)
		real, old, err := destination(path)
		if err != nil {
			return err
		}
		clearLeftovers(real)
		temp := tempName(real)
		t.files = append(t.files, &replaced{path: real, temp: temp})
		if err := writeSynced(t.sys, temp, 0o666, old, m.Write); err != nil {
			return named(err, temp, path)
		}
	}
	return nil
}

// commit puts the old files aside, the key first, and gives the new ones their names, the key last.
func (t *replacement) commit() error {
	for _, f := range slices.Backward(t.files) {
		aside := markedName(f.path, oldMark)
		if err := t.sys.rename(f.path, aside); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return named(err, f.path, f.path)
		}
		f.aside = aside
		if err := t.sys.syncDir(filepath.Dir(f.path)); err != nil {
			return err
		}
	}
	for _, f := range t.files {
		if err := t.sys.rename(f.temp, f.path); err != nil {
			return named(err, f.temp, f.path)
		}
		f.temp = ""
		if err := t.sys.syncDir(filepath.Dir(f.path)); err != nil {
			return err
		}
	}
	for _, f := range t.files {
		if f.aside != "" {
			t.sys.removeAll(f.aside) // the next write removes what cannot be removed now
		}
	}
	return nil
}

// undo takes the new files away, the key first, and brings the old ones back, the key last.
func (t *replacement) undo() {
	for _, f := range slices.Backward(t.files) {
		if f.temp != "" {
			t.sys.removeAll(f.temp)
		} else {
			t.sys.removeAll(f.path)
		}
	}
	for _, f := range t.files {
		if f.aside != "" {
			t.sys.rename(f.aside, f.path)
		}
	}
}
