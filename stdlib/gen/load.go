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

// A part is the standard library or the engine: a folder of symbol tables, and an archive of types and
// docs.
type part struct {
	name     string   // folder under internal, archive under data
	patterns []string // arguments of `go list`
	prefix   string   // cut from import paths to make file names
	fullDocs bool     // whole doc comments instead of the first sentence
	added    bool     // other people's: read as this machine compiles them, with what they show of other modules
}

var (
	stdPart    = part{name: "std", patterns: stdPackages}
	enginePart = part{name: "engine", patterns: []string{"../engine/..."}, prefix: modulePath + "/engine/", fullDocs: true}
)

const modulePath = "github.com/mcs-notebook/mcs"

// notForCells are packages of the engine that code of cells has no use for: the source of the others, and a
// table for help.
var notForCells = []string{modulePath + "/engine", modulePath + "/engine/tensor/methods"}

// stdPackages are the packages of the standard library that a cell can import: all but those that
// stdlib/leftout.go lists with a reason.
var stdPackages = strings.Fields(`
	archive/tar archive/zip bufio bytes cmp compress/bzip2 compress/flate compress/gzip compress/lzw compress/zlib
	container/heap container/list container/ring context crypto crypto/aes crypto/cipher crypto/des crypto/dsa
	crypto/ecdh crypto/ecdsa crypto/ed25519 crypto/elliptic crypto/hkdf crypto/hmac crypto/hpke crypto/md5
	crypto/mlkem crypto/pbkdf2 crypto/rand crypto/rc4 crypto/rsa crypto/sha1 crypto/sha256 crypto/sha3 crypto/sha512
	crypto/subtle crypto/tls crypto/x509 crypto/x509/pkix database/sql database/sql/driver
	encoding encoding/ascii85 encoding/asn1 encoding/base32
	encoding/base64 encoding/binary encoding/csv encoding/gob encoding/hex encoding/json encoding/pem encoding/xml
	errors flag fmt go/ast go/build go/build/constraint go/constant go/doc go/doc/comment go/format go/importer
	go/parser go/printer go/scanner go/token go/types go/version hash hash/adler32 hash/crc32 hash/crc64 hash/fnv
	hash/maphash html html/template image image/color image/color/palette image/draw image/gif image/jpeg image/png
	index/suffixarray io io/fs io/ioutil iter log log/slog maps math math/big math/bits math/cmplx math/rand
	math/rand/v2 mime mime/multipart mime/quotedprintable net net/http net/http/cookiejar net/http/httptest
	net/http/httptrace net/http/httputil net/mail net/netip net/smtp net/textproto net/url os os/exec os/user path
	path/filepath reflect regexp regexp/syntax runtime runtime/debug runtime/metrics runtime/pprof runtime/trace
	slices sort strconv strings sync sync/atomic testing testing/fstest testing/iotest testing/quick
	testing/slogtest text/scanner text/tabwriter text/template text/template/parse time unicode unicode/utf16
	unicode/utf8 unique`)

// A sourcePackage is a package as `go list -export` describes it, with its types.
type sourcePackage struct {
	Path    string `json:"ImportPath"`
	Name    string
	Dir     string
	Export  string // file with the compiler's export data
	GoFiles []string
	Error   *struct{ Err string }
	Types   *types.Package `json:"-"`

	CgoFiles []string
	Standard bool
	DepOnly  bool // a package of the patterns imports it
	Module   *struct {
		Path, Version string
		Replace       *struct{ Version string }
	}

	generic []string // exported names without a value
	empty   bool     // no exported name has a value
}

// load lists and imports the packages of a part, sorted by import path. It reads those of mcs and of the
// standard library as linux/amd64 compiles them, on any machine.
func load(dir string, p part) ([]*sourcePackage, error) {
	pkgs, err := list(dir, p)
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
	if p.added {
		pkgs = shown(pkgs)
	}
	return pkgs, nil
}

func list(dir string, p part) ([]*sourcePackage, error) {
	args, env := []string{"list", "-export", "-json=ImportPath,Name,Dir,Export,GoFiles,CgoFiles,Error,Standard,DepOnly,Module"}, []string(nil)
	if p.added {
		args = append(args, "-e", "-deps")
	} else {
		env = []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOEXPERIMENT=", "GOWORK=off"}
	}
	cmd := exec.Command("go", append(args, p.patterns...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
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
		if p.added && (pkg.Standard || strings.HasPrefix(pkg.Path+"/", modulePath+"/")) {
			continue // cells have them
		}
		if p.added && pkg.Name != "" && (pkg.Error != nil || pkg.Export == "") {
			why := "a package that it imports does not compile"
			if pkg.Error != nil {
				why = pkg.Error.Err
			}
			fmt.Printf("%s: left out: %s\n", pkg.Path, why)
			continue
		}
		if pkg.Error != nil {
			return nil, fmt.Errorf("%s: %s", pkg.Path, pkg.Error.Err)
		}
		if pkg.Name == "main" || slices.Contains(strings.Split(pkg.Path, "/"), "internal") || slices.Contains(notForCells, pkg.Path) {
			continue
		}
		if strings.HasPrefix(pkg.Path, enginePart.prefix) && strings.HasSuffix(pkg.Name, "test") {
			continue // for tests of this module
		}
		pkgs = append(pkgs, pkg)
	}
	slices.SortFunc(pkgs, func(a, b *sourcePackage) int { return strings.Compare(a.Path, b.Path) })
	return pkgs, nil
}
