package modules

import (
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// An Env is the part of the go command's environment that modules need: the variables of the process, then
// those that `go env -w` wrote, then Go's defaults.
type Env struct {
	Proxy    string // GOPROXY: addresses, separated by , or |
	NoProxy  string // GONOPROXY: patterns of modules that come from their repositories
	SumDB    string // GOSUMDB
	NoSumDB  string // GONOSUMDB: patterns of modules that no database knows
	ModCache string // GOMODCACHE
	SumTree  string // folder of what is known of the database's tree, as $GOPATH/pkg/sumdb
	Mod      string // -mod of GOFLAGS: "", mod, readonly or vendor
	Tags     []string
	Writable bool // -modcacherw of GOFLAGS: the folders of modules may be written
}

// ReadEnv reads the environment as the go command does. Getenv is os.Getenv but in tests.
func ReadEnv(getenv func(string) string) (*Env, error) {
	written := writtenEnv(getenv)
	get := func(name, otherwise string) string {
		for _, value := range []string{getenv(name), written[name]} {
			if value != "" {
				return value
			}
		}
		return otherwise
	}
	private := get("GOPRIVATE", "")
	gopath := filepath.SplitList(get("GOPATH", build.Default.GOPATH))
	if len(gopath) == 0 || gopath[0] == "" {
		return nil, fmt.Errorf("modules: there is no folder for them: neither GOMODCACHE, GOPATH nor HOME is set")
	}
	e := &Env{
		Proxy:    get("GOPROXY", "https://proxy.golang.org,direct"),
		NoProxy:  get("GONOPROXY", private),
		SumDB:    get("GOSUMDB", sumGolangOrg),
		NoSumDB:  get("GONOSUMDB", private),
		ModCache: get("GOMODCACHE", filepath.Join(gopath[0], "pkg", "mod")),
		SumTree:  filepath.Join(gopath[0], "pkg", "sumdb"),
	}
	for flag := range strings.FieldsSeq(get("GOFLAGS", "")) {
		name, value, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		switch name {
		case "mod":
			e.Mod = value
		case "modcacherw":
			e.Writable = value != "false"
		case "tags":
			e.Tags = strings.Split(value, ",")
		case "modfile":
			return nil, fmt.Errorf("modules: GOFLAGS has -modfile, which is not heeded: cells follow the go.mod of their folder")
		}
	}
	return e, nil
}

// writtenEnv are the variables in the file of `go env -w`.
func writtenEnv(getenv func(string) string) map[string]string {
	file := getenv("GOENV")
	if file == "" {
		if dir, err := os.UserConfigDir(); err == nil {
			file = filepath.Join(dir, "go", "env")
		}
	}
	values := map[string]string{}
	if text, err := regular.Read(file, 1<<20); err == nil && file != "off" {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
				values[name] = value
			}
		}
	}
	return values
}

// direct says whether a module comes from its repository, whatever GOPROXY says.
func (e *Env) direct(path string) bool { return module.MatchPrefixPatterns(e.NoProxy, path) }

// unchecked says whether no checksum database is asked for a module.
func (e *Env) unchecked(path string) bool {
	return e.SumDB == "off" || module.MatchPrefixPatterns(e.NoSumDB, path)
}
