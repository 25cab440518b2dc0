package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A part is one half of what is generated: it has a folder of symbol tables and an archive of types and docs.
type part struct {
	name     string   // folder under internal, archive under data
	patterns []string // what `go list` is asked for
	prefix   string   // cut from import paths to make file names
	fullDocs bool     // whole doc comments instead of the first sentence
}

var (
	stdPart    = part{name: "std", patterns: stdPackages}
	enginePart = part{name: "engine", patterns: []string{"../engine/..."}, prefix: modulePath + "/engine/", fullDocs: true}
)

const modulePath = "github.com/mcs-notebook/mcs"

// stdPackages are the packages of the standard library that a cell can import. Left out on purpose: net and net/http
// (size, start-up), flag and os/signal (they act on the process, which is the notebook's), testing, unsafe, syscall.
var stdPackages = strings.Fields(`
	archive/tar archive/zip bufio bytes cmp compress/bzip2 compress/flate compress/gzip compress/zlib
	container/heap container/list container/ring context crypto crypto/aes crypto/cipher crypto/hmac crypto/md5
	crypto/rand crypto/sha1 crypto/sha256 crypto/sha512 crypto/subtle encoding encoding/base32 encoding/base64
	encoding/binary encoding/csv encoding/gob encoding/hex encoding/json encoding/pem encoding/xml errors fmt
	go/ast go/format go/parser go/scanner go/token hash hash/adler32 hash/crc32 hash/crc64 hash/fnv hash/maphash
	html html/template image image/color image/draw image/gif image/jpeg image/png io io/fs iter log log/slog
	maps math math/big math/bits math/cmplx math/rand math/rand/v2 mime net/netip net/url os os/exec path
	path/filepath reflect regexp runtime runtime/debug slices sort strconv strings sync sync/atomic
	text/scanner text/tabwriter text/template time unicode unicode/utf16 unicode/utf8 unique`)

// A sourcePackage is a package as `go list -export` describes it, with its types.
type sourcePackage struct {
	Path    string `json:"ImportPath"`
	Name    string
	Dir     string
	Export  string // file with the compiler's export data
	GoFiles []string
	Error   *struct{ Err string }
	Types   *types.Package `json:"-"`
}

// load lists and imports the packages of a part, sorted by import path. They are read as linux/amd64 compiles them,
// wherever the generator runs.
func load(dir string, p part) ([]*sourcePackage, error) {
	pkgs, err := list(dir, p.patterns)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, pkg := range pkgs {
		exports[pkg.Path] = pkg.Export
	}
	im := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for _, pkg := range pkgs {
		if pkg.Types, err = im.Import(pkg.Path); err != nil {
			return nil, fmt.Errorf("%s: %w", pkg.Path, err)
		}
	}
	return pkgs, nil
}

func list(dir string, patterns []string) ([]*sourcePackage, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-json=ImportPath,Name,Dir,Export,GoFiles,Error"}, patterns...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOEXPERIMENT=", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	var pkgs []*sourcePackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		pkg := new(sourcePackage)
		if err := dec.Decode(pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if pkg.Error != nil {
			return nil, fmt.Errorf("%s: %s", pkg.Path, pkg.Error.Err)
		}
		if pkg.Name == "main" || slices.Contains(strings.Split(pkg.Path, "/"), "internal") {
			continue
		}
		pkgs = append(pkgs, pkg)
	}
	slices.SortFunc(pkgs, func(a, b *sourcePackage) int { return strings.Compare(a.Path, b.Path) })
	return pkgs, nil
}
