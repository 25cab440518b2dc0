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

var (
	//go:embed scalar.metal
	scalar string
	//go:embed memory.metal
	memory string
	//go:embed fold.metal
	fold string
	//go:embed order.metal
	order string
	//go:embed fault.metal
	fault string
	//go:embed random.metal
	random string
	//go:embed rope.metal
	rope string
	//go:embed quant.metal
	quant string
	//go:embed dynamic.metal
	dynamic string
	//go:embed matrix.metal
	matrix string
	//go:embed attention.metal
	attention string
)

// Blocks is the text that a rendered group stands after: the functions of one element, the way to memory, the
// folds, sorting, the report of an index that is out of range, random numbers, rotations, quantised weights,
// numbers in 8 bits, products of small matrices, attention. No product and sum become an FMA but where a text
// asks for one: x·y - x·y is 0.
func Blocks() string {
	text := "#include <metal_stdlib>\nusing namespace metal;\n#pragma METAL fp contract(off)\n"
	for _, b := range []struct{ name, text string }{
		{"scalar.metal", scalar}, {"memory.metal", memory}, {"fold.metal", fold}, {"order.metal", order},
		{"fault.metal", fault}, {"random.metal", random}, {"rope.metal", rope}, {"quant.metal", quant}, {"dynamic.metal", dynamic},
		{"matrix.metal", matrix}, {"attention.metal", attention},
	} {
		text += numbered(b.name, b.text)
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
	b, err := Prelude.ReadFile("prelude/" + name)
	if err != nil {
		panic("shaders: " + err.Error()) // the files are part of the binary
	}
	for line := range strings.Lines(string(b)) {
		switch m := included.FindStringSubmatch(strings.TrimSpace(line)); {
		case m != nil:
			include(to, m[1])
		case strings.TrimSpace(line) != "#pragma once":
			to.WriteString(line)
		}
	}
}
