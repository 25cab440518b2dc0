package stdlib

import (
	"archive/zip"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"sync"
)

// The archives, and those of [Add], hold an entry types/PATH and an entry doc/PATH for each package.
var (
	//go:embed data/std.zip
	stdArchive string
	//go:embed data/engine.zip
	engineArchive string
)

// archiveIndex is where the entries are. Reading the two directories costs some 0.1 ms, once.
var archiveIndex = sync.OnceValue(func() map[string]*zip.File {
	index := map[string]*zip.File{}
	for _, archive := range append([]string{stdArchive, engineArchive}, added.archives...) {
		z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
		if err != nil {
			panic(fmt.Sprintf("stdlib: the archive in this binary is damaged: %v", err))
		}
		for _, f := range z.File {
			index[f.Name] = f
		}
	}
	return index
})

func entry(name string) ([]byte, bool) {
	f, ok := archiveIndex()[name]
	if !ok {
		return nil, false
	}
	r, err := f.Open()
	if err != nil {
		return nil, false
	}
	defer r.Close()
	data := make([]byte, f.UncompressedSize64)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, false
	}
	return data, true
}

// TypeData returns a package's types in the indexed export format of golang.org/x/tools/go/gcexportdata,
// without positions. [Importer] reads it; go/importer cannot. It reports false for a package that cells
// cannot import.
func TypeData(path string) ([]byte, bool) { return entry("types/" + path) }

// docs are the unpacked documentation of packages: path to symbol to text.
var docs = struct {
	sync.Mutex
	packages map[string]map[string]string
}{packages: map[string]map[string]string{}}

// Doc returns the documentation of a symbol of a package: its declaration, and after a blank line its
// comment (the first sentence for the standard library, all of it for the engine). The symbol of a method
// or field is "Type.Name", that of the package itself is "". Doc returns "" for a symbol without
// documentation.
func Doc(path, symbol string) string {
	docs.Lock()
	defer docs.Unlock()
	texts, ok := docs.packages[path]
	if !ok {
		texts = map[string]string{}
		data, _ := entry("doc/" + path)
		fields := strings.Split(string(data), "\x00")
		for i := 0; i+1 < len(fields); i += 2 {
			texts[fields[i]] = fields[i+1]
		}
		docs.packages[path] = texts
	}
	return texts[symbol]
}
