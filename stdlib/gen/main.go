// Command gen writes the data of package stdlib. For each package of the standard library that a cell can
// import, and for each public package of the engine, it writes the interpreter's symbol table (Go source),
// the types (export data without positions, the same bytes on every machine) and the documentation.
//
// Run it with `go generate ./stdlib` after any change of an exported engine name or its comment. It needs the
// Go toolchain and no network. The standard library's part is rewritten only by the toolchain that wrote it,
// or with -std, so that a colleague's other patch release changes nothing.
//
// With -with FOLDER it writes a package that adds the packages of its arguments, as go list takes them, to
// those that cells can import: mcs build compiles it in.
//
// Reading order: load.go, symbols.go, typedata.go, docs.go, output.go.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
)

func main() {
	std := flag.Bool("std", false, "rewrite the standard library's part even if another toolchain wrote it")
	dir := flag.String("dir", ".", "folder of package stdlib")
	with := flag.String("with", "", "write a package for the `FOLDER` that adds the packages of the arguments")
	flag.Parse()
	err := error(nil)
	if *with != "" {
		err = writeAdded(*with, flag.Args())
	} else {
		err = run(*dir, *std)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string, forceStd bool) error {
	if err := generate(dir, enginePart); err != nil {
		return err
	}
	old, err := readArchive(archivePath(dir, stdPart))
	if err == nil && !forceStd && string(old[versionEntry]) != runtime.Version() {
		fmt.Printf("standard library: kept as %s wrote it (this is %s; -std rewrites it)\n", old[versionEntry], runtime.Version())
		return nil
	}
	return generate(dir, stdPart)
}

func generate(dir string, p part) error {
	out, err := build(dir, p)
	if err != nil {
		return err
	}
	return out.write(dir, p)
}

// build makes all generated files of one part, in memory.
func build(dir string, p part) (*output, error) {
	pkgs, err := load(dir, p)
	if err != nil {
		return nil, err
	}
	out := &output{sources: map[string][]byte{}, entries: map[string][]byte{}}
	if p.name == stdPart.name {
		out.entries[versionEntry] = []byte(runtime.Version())
	}
	for _, pkg := range pkgs {
		src, err := symbolSource(p, pkg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pkg.Path, err)
		}
		if p.added && pkg.empty {
			continue
		}
		out.sources[fileName(p, pkg.Path)] = src
		data, err := typeData(pkg.Types)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pkg.Path, err)
		}
		out.entries["types/"+pkg.Path] = data
		docs, err := packageDocs(p, pkg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pkg.Path, err)
		}
		out.entries["doc/"+pkg.Path] = docs
	}
	if p.added {
		pkgs = leaveOut(pkgs)
	}
	if out.sources["packages.go"], err = packageTable(p, pkgs); err == nil && p.added {
		out.sources["add.go"], err = addition(p, pkgs)
	}
	return out, err
}
