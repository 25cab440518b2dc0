// Package generic has the source of the standard library's generic functions, for cells: a session makes an
// instance for each list of type arguments from it (compiled packages have no generic functions to call). The
// packages below it are ordinary Go, kept simple because they are interpreted; the tests here, of one
// program, compare them with the standard library.
package generic

import "embed"

//go:embed slices/slices.go slices/iter.go slices/sort.go maps/maps.go cmp/cmp.go sync/once.go iter/pull.go
//go:embed sync/atomic/pointer.go unique/handle.go errors/as.go reflect/types.go math/rand/v2/n.go crypto/pbkdf2/key.go crypto/hkdf/hkdf.go
var files embed.FS

// Source returns the files of the generic part of a package of the standard library.
func Source(path string) (texts []string, ok bool) {
	list, err := files.ReadDir(path)
	if err != nil {
		return nil, false
	}
	for _, f := range list {
		if f.IsDir() {
			continue
		}
		b, err := files.ReadFile(path + "/" + f.Name())
		if err != nil {
			return nil, false
		}
		texts = append(texts, string(b))
	}
	return texts, len(texts) > 0
}

// Without are the generic functions and types of the standard library that cells cannot use, with the reason.
var Without = map[string]string{
	"database/sql.Null":            "database/sql finds its methods by reflection, and types of cells have none to find",
	"hash/maphash.Comparable":      "it hashes memory as the compiler lays it out",
	"hash/maphash.WriteComparable": "it hashes memory as the compiler lays it out",
	"iter.Seq":                     "it needs none: a sequence is written as the function that it is",
	"iter.Seq2":                    "it needs none: a sequence is written as the function that it is",
	"runtime.AddCleanup":           "values of cells live as long as the interpreter keeps them",
}
