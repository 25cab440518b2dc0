package stdlib

import (
	"bytes"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/tools/go/gcexportdata"
)

// A typeImporter gives go/types the packages that cells can import. Each is read when it is first asked for.
type typeImporter struct {
	mu       sync.Mutex
	packages map[string]*types.Package
}

// Importer returns the importer of the packages that cells can import. All sessions of the process have it in
// common: each would read the same types again. It is a cache and no state: what it has depends only on the
// paths that were asked for, a package is complete before a session gets it, and reading one adds to others
// only names that no session has found yet, in scopes that it looks into after it has imported them itself.
func Importer() types.Importer { return importer() }

var importer = sync.OnceValue(newImporter)

func newImporter() *typeImporter {
	im := &typeImporter{packages: map[string]*types.Package{"unsafe": types.Unsafe}}
	for _, c := range hostConstants() {
		pkg := im.packages[c.path]
		if pkg == nil {
			name, _ := Name(c.path)
			pkg = types.NewPackage(c.path, name)
			im.packages[c.path] = pkg
		}
		pkg.Scope().Insert(types.NewConst(token.NoPos, pkg, c.name, types.Typ[c.kind], c.value))
	}
	return im
}

// Import returns the types of the package with this path. Its objects have no positions.
func (im *typeImporter) Import(path string) (*types.Package, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if pkg := im.packages[path]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	data, ok := TypeData(path)
	if !ok {
		return nil, fmt.Errorf("import %q: %s", path, WhyNot(path))
	}
	pkg, err := gcexportdata.Read(bytes.NewReader(data), token.NewFileSet(), im.packages, path)
	if err != nil {
		return nil, fmt.Errorf("import %q: %w", path, err)
	}
	return pkg, nil
}

type hostConstant struct {
	path, name string
	kind       types.BasicKind
	value      constant.Value
}

// hostConstants are the constants that this system gives another value than linux/amd64, where the type data
// were made. The reader of export data leaves an object alone that is already in its package's scope.
func hostConstants() []hostConstant {
	list := []hostConstant{
		{"os", "PathSeparator", types.UntypedRune, constant.MakeInt64(os.PathSeparator)},
		{"os", "PathListSeparator", types.UntypedRune, constant.MakeInt64(os.PathListSeparator)},
		{"os", "DevNull", types.UntypedString, constant.MakeString(os.DevNull)},
		{"path/filepath", "Separator", types.UntypedRune, constant.MakeInt64(filepath.Separator)},
		{"path/filepath", "ListSeparator", types.UntypedRune, constant.MakeInt64(filepath.ListSeparator)},
		{"runtime", "GOOS", types.String, constant.MakeString(runtime.GOOS)},
		{"runtime", "GOARCH", types.String, constant.MakeString(runtime.GOARCH)},
	}
	for _, flag := range []struct {
		name  string
		value int
	}{
		{"O_RDONLY", os.O_RDONLY}, {"O_WRONLY", os.O_WRONLY}, {"O_RDWR", os.O_RDWR}, {"O_APPEND", os.O_APPEND},
		{"O_CREATE", os.O_CREATE}, {"O_EXCL", os.O_EXCL}, {"O_SYNC", os.O_SYNC}, {"O_TRUNC", os.O_TRUNC},
	} {
		list = append(list, hostConstant{"os", flag.name, types.Int, constant.MakeInt64(int64(flag.value))})
	}
	return list
}
