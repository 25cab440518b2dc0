// Package shaders holds the blocks that kernels for GPUs are made of, as text in Metal Shading Language.
// Package kernel writes the kernels. README.md says how to read, change and check both.
package shaders

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
)

// Prelude holds what makes the texts another language: check.h C++ for checking, cuda.h CUDA.
//
//go:embed prelude
var Prelude embed.FS

//go:embed *.metal
var blocks embed.FS

// read is a file of them, which are part of the binary.
func read(files embed.FS, name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic("shaders: " + err.Error())
	}
	return string(b)
}

// Blocks is the text that a rendered group stands after: the functions of one element, the way to memory, the
// folds, sorting, the report of an index that is out of range, random numbers, rotations, quantised weights,
// numbers in 8 bits, products of small matrices, attention. No product and sum become an FMA but where a text
// asks for one: x·y - x·y is 0.
func Blocks() string {
	text := "#include <metal_stdlib>\nusing namespace metal;\n#pragma METAL fp contract(off)\n"
	for _, name := range []string{"scalar", "memory", "fold", "order", "fault", "random", "rope", "quant", "dynamic", "matrix", "attention"} {
		text += numbered(name+".metal", read(blocks, name+".metal"))
	}
	return text + "#line 1 \"kernels.metal\"\n"
}

// numbered is the text of a file, so that messages of compilers name its lines.
func numbered(name, text string) string { return fmt.Sprintf("#line 1 %q\n%s\n", name, text) }

// CUDA is the prelude that makes a text CUDA, in one piece: NVRTC has no files beside the text.
func CUDA() string {
	var text strings.Builder
	include(&text, "cuda.h")
	return text.String()
}

var included = regexp.MustCompile(`^#include "(.*)"$`)

// include writes a file of the prelude, with what it includes in its place.
func include(to *strings.Builder, name string) {
	for line := range strings.Lines(read(Prelude, "prelude/"+name)) {
		switch m := included.FindStringSubmatch(strings.TrimSpace(line)); {
		case m != nil:
			include(to, m[1])
		case strings.TrimSpace(line) != "#pragma once":
			to.WriteString(line)
		}
	}
}
