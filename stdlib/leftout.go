package stdlib

import (
	"maps"
	"slices"
	"strings"
)

// leftOut are the packages of the standard library that cells cannot import, each with the reason. The API
// test holds the list against the toolchain.
var leftOut = map[string]string{
	"crypto/fips140":         "it asks how the program was built, which cells cannot change",
	"crypto/mlkem/mlkemtest": "it is for the tests of cryptographic code",
	"debug/buildinfo":        "it reads compiled programs",
	"debug/dwarf":            "it reads compiled programs",
	"debug/elf":              "it reads compiled programs",
	"debug/gosym":            "it reads compiled programs",
	"debug/macho":            "it reads compiled programs",
	"debug/pe":               "it reads compiled programs",
	"debug/plan9obj":         "it reads compiled programs",
	"embed":                  "the compiler embeds files; os.ReadFile and os.DirFS read them",
	"expvar":                 "linking it publishes this process's memory and arguments on each http.DefaultServeMux",
	"log/syslog":             "it is not there on every system",
	"net/http/cgi":           "it is for programs that a web server starts",
	"net/http/fcgi":          "it is for programs that a web server starts",
	"net/http/pprof":         "linking it publishes this process's profiles on each http.DefaultServeMux; %profile and runtime/pprof are there",
	"net/rpc":                "it finds methods by reflection, and types of cells have none to find",
	"net/rpc/jsonrpc":        "it finds methods by reflection, and types of cells have none to find",
	"os/signal":              "signals belong to the notebook; ctx is cancelled by Ctrl-C",
	"plugin":                 "it loads compiled code",
	"runtime/cgo":            "there is no C in this program",
	"runtime/coverage":       "it is for programs that were built with -cover",
	"runtime/race":           "it is for programs that were built with -race",
	"structs":                "its marks are for the compiler",
	"syscall":                "it differs between systems; package os has what is common",
	"testing/cryptotest":     "it is for the tests of cryptographic code",
	"testing/synctest":       "it stops time for compiled goroutines, and the interpreter's would wait for ever",
	"time/tzdata":            "the time zones are the system's",
	"weak":                   "its pointers are the compiler's, one kind for each type",
}

// LeftOut returns the import paths of the packages of the standard library that cells cannot import, sorted.
func LeftOut() []string { return slices.Sorted(maps.Keys(leftOut)) }

// WhyNot says why a cell cannot import a package.
func WhyNot(path string) string {
	if reason, ok := leftOut[path]; ok {
		return "not available in cells: " + reason
	}
	switch first, _, _ := strings.Cut(path, "/"); {
	case strings.Contains(first, "."):
		return "cells import other modules once %get has fetched them"
	case strings.Contains("/"+path+"/", "/internal/"):
		return "an internal package of the standard library"
	}
	return "not in the standard library"
}
