package grade

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/notebook"
)

// A Hand is what a learner has handed in.
type Hand struct {
	Learner string
	Path    string // of the file; "" if there is none
	Err     error  // why there is none
}

// Hands are the learners' files of a folder, by name, for the lesson at path: NAME.mcs and NAME.ipynb, and
// folders NAME with a file named as the lesson is, or with one file only.
func Hands(dir, path string) ([]Hand, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	own, _ := os.Stat(path)
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	var list []Hand
	for _, e := range entries {
		h := Hand{Learner: e.Name(), Path: filepath.Join(dir, e.Name())}
		info, err := os.Stat(h.Path)
		switch {
		case strings.HasPrefix(e.Name(), "."), err == nil && os.SameFile(info, own):
			continue
		case err == nil && info.IsDir():
			h.Path, h.Err = within(h.Path, base)
		case isCells(e.Name()):
			h.Learner = strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		default:
			continue
		}
		if slices.ContainsFunc(list, func(o Hand) bool { return o.Learner == h.Learner }) {
			h.Learner = e.Name()
		}
		list = append(list, h)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: got no files of learners, want NAME.mcs, NAME.ipynb or folders NAME with %s.mcs", visible.Line(dir), visible.Line(base))
	}
	slices.SortStableFunc(list, func(a, b Hand) int { return strings.Compare(a.Learner, b.Learner) })
	return list, nil
}

// isCells says whether a file has a learner's cells.
func isCells(name string) bool {
	return strings.HasSuffix(name, ".mcs") && !strings.HasSuffix(name, ".key.mcs") || strings.HasSuffix(name, notebook.Extension)
}

// within is the file of a learner's folder.
func within(dir, base string) (path string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() || !isCells(e.Name()) {
			continue
		}
		names = append(names, e.Name())
		if strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())) == base {
			return filepath.Join(dir, e.Name()), nil
		}
	}
	switch len(names) {
	case 0:
		return "", errors.New("nothing was handed in")
	case 1:
		return filepath.Join(dir, names[0]), nil
	}
	return "", fmt.Errorf("got %s, want %s.mcs or one file only", visible.Line(strings.Join(names, ", ")), visible.Line(base))
}
