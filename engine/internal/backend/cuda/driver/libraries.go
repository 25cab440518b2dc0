package driver

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// found lists the libraries of kernels that are installed, with their versions. None is needed.
func (d *Driver) found() (list []string) {
	for _, l := range []struct {
		name, version string
		files         []string
		// The versions are decimal: 120804 is 12.8.4. cuDNN before 9 counts its major version in thousands.
		major func(v int) int
	}{
		{"cublasLt", "cublasLtGetVersion", d.CublasLt, func(int) int { return 10000 }},
		{"cudnn", "cudnnGetVersion", d.Cudnn, func(v int) int {
			if v < 90000 {
				return 1000
			}
			return 10000
		}},
	} {
		library, err := ccall.Open(d.everywhere(l.files)...)
		if err != nil {
			continue
		}
		version, err := library.Symbol(l.version)
		if err != nil {
			continue
		}
		v := int(version.Call())
		list = append(list, l.name+" "+versionOf(v, l.major(v)))
	}
	return list
}

// pythons are the patterns of folders in which the Pythons of such places keep NVIDIA's packages.
func pythons(places ...string) (list []string) {
	for _, p := range places {
		if filepath.IsAbs(p) {
			list = append(list, filepath.Join(p, "lib/python3*/*-packages/nvidia/*/lib"))
		}
	}
	return list
}

// everywhere adds to the names of a library the files of such names in Python's packages.
func (d *Driver) everywhere(names []string) []string {
	list := slices.Clone(names)
	for _, pattern := range d.Packages {
		for _, name := range names {
			if filepath.Base(name) == name {
				files, _ := filepath.Glob(filepath.Join(pattern, name))
				list = append(list, files...)
			}
		}
	}
	return list
}

// versionOf writes a decimal version, in which a major one counts so much.
func versionOf(v, major int) string { return fmt.Sprintf("%d.%d.%d", v/major, v%major/100, v%100) }
