package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// versionEntry names the archive entry that holds the toolchain's version.
const versionEntry = "version"

// An output holds the generated files of one part.
type output struct {
	sources map[string][]byte // file under internal/<part> -> Go source
	entries map[string][]byte // archive entry -> content
}

func archivePath(dir string, p part) string { return filepath.Join(dir, "data", p.name+".zip") }

func sourceDir(dir string, p part) string { return filepath.Join(dir, "internal", p.name) }

func fileName(p part, importPath string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(importPath, p.prefix), "/", "_")
	if p.added {
		name += "_" // a name that ends in _windows or _test would be left out
	}
	return name + ".go"
}

// write updates files and leaves current ones alone: an archive with the same entries stays, even if this
// toolchain compresses differently.
func (out *output) write(dir string, p part) error {
	stale, err := out.stale(dir, p)
	if err != nil {
		return err
	}
	for _, name := range stale {
		fmt.Printf("%s: %s\n", p.name, name)
	}
	for _, name := range stale {
		path := filepath.Join(sourceDir(dir, p), name)
		switch src, ok := out.sources[name]; {
		case name == filepath.Base(archivePath(dir, p)):
			err = writeArchive(archivePath(dir, p), out.entries)
		case ok:
			err = os.WriteFile(path, src, 0o644)
		default:
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stale returns the names of generated files that have other content than they should, or should not exist.
func (out *output) stale(dir string, p part) ([]string, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(out.sources)) {
		old, err := os.ReadFile(filepath.Join(sourceDir(dir, p), name))
		if err != nil || !bytes.Equal(old, out.sources[name]) {
			names = append(names, name)
		}
	}
	files, err := filepath.Glob(filepath.Join(sourceDir(dir, p), "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if _, wanted := out.sources[filepath.Base(file)]; !wanted && bytes.HasPrefix(src, []byte(header)) {
			names = append(names, filepath.Base(file))
		}
	}
	old, err := readArchive(archivePath(dir, p))
	if err != nil || !maps.EqualFunc(old, out.entries, bytes.Equal) {
		names = append(names, filepath.Base(archivePath(dir, p)))
	}
	return names, nil
}

func writeArchive(path string, entries map[string][]byte) error {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := w.Write(entries[name]); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func readArchive(path string) (map[string][]byte, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	entries := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, f.Name, err)
		}
		entries[f.Name] = data
	}
	return entries, nil
}
