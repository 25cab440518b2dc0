// Package gomod finds the module in which a folder lies.
package gomod

import (
	"path/filepath"

	"golang.org/x/mod/modfile"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// Above returns the folder of the go.mod nearest to a folder, in it or above, and the path of the module that
// it declares. Both are empty where there is none.
func Above(dir string) (root, path string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", ""
	}
	for {
		if text, err := regular.Read(filepath.Join(dir, "go.mod"), regular.MaxSource); err == nil {
			return dir, modfile.ModulePath(text)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ""
		}
		dir = up
	}
}
