// Package gguf reads and writes GGUF, the file format of llama.cpp's models, strictly.
//
// A file is a header, the metadata, a description of every tensor, and the tensors' bytes, little endian:
//
//	"GGUF"  version (2 or 3)  number of tensors  number of metadata
//	key, type, value      …   as general.architecture = "llama", tokenizer.ggml.tokens = [ … ]
//	name, shape, type, offset …
//	zeros up to a multiple of general.alignment (32), and so after every tensor
//
// A file is accepted only if it is that: no key and no name twice, every tensor where the one before ends, no
// bytes after the last. A refusal is a [FormatError], which says what is wrong and at which byte. A length
// that a file gives is compared with the bytes that follow before memory is allocated for it. Opening a file
// keeps its keys and names in memory, but no value: [File.Value] reads that when it is asked for, so the
// 128,000 tokens of a vocabulary cost nothing until then. Files are read with ReadAt, never mapped into
// memory: a mapped file that another program truncates kills the process.
//
// Weights are numbers of a type of package dtype, or quantised in blocks of 32 or 256: Q8_0 is a scale and 32
// integers. [File.Codes] gives quantised weights as codes of package quant, [File.Tensor] as f32, both equal
// bit for bit to what ggml's reference code makes of them. [WriteFile] writes Q8_0, Q4_0, Q5_0,
// Q5_1, Q4_K, Q5_K and Q6_K as ggml's reference code does.
//
// The format is described at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Reading order:
// file.go, header.go (the bytes), value.go (metadata), blocks.go, k.go and iq.go (codes), write.go,
// quantise.go, quantise_k.go, names.go.
package gguf

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// A FormatError says why a file is no GGUF file.
type FormatError struct {
	File   string
	Offset int64 // of the first byte at fault, counted from the start of the file
	Msg    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("gguf: %s: byte %d: %s", visible.Line(e.File), e.Offset, visible.Clip(e.Msg))
}

// A kind is a type of elements: so many of them make a block, a block has so many bytes.
type kind struct {
	name   string
	number uint32 // in files
	block  int
	bytes  int
	codes  quant.Config // of which the blocks are codes, number for number
	decode decoder      // nil for the types of package dtype and unknown ones
	encode encoder      // one block; nil if gguf does not write the type
}

// What codes stand for in quantised types: the middle is 0, or there is a minimum, or a table.
func middle(bits, group int) quant.Config {
	return quant.Config{Bits: bits, Group: group, Scale: dtype.F32}
}

func minimums(bits, group int) quant.Config {
	return quant.Config{Bits: bits, Group: group, Scheme: quant.Minimum, Scale: dtype.F32}
}

func table(name string, group int) quant.Config {
	return quant.Config{Bits: 4, Group: group, Scheme: quant.Table, Scale: dtype.F32, Table: name}
}

// kinds are all types of the format. A tensor of one without group that package dtype lacks, as Q8_1, can be
// read as bytes only.
var kinds = []kind{
	{name: "F32", number: 0, block: 1, bytes: 4},
	{name: "F16", number: 1, block: 1, bytes: 2},
	{name: "Q4_0", number: 2, block: 32, bytes: 18, codes: middle(4, 32), decode: thirtyTwo(2, nibbles), encode: encodeMiddle(4)},
	{name: "Q4_1", number: 3, block: 32, bytes: 20, codes: minimums(4, 32), decode: thirtyTwo(4, nibbles)},
	{name: "Q5_0", number: 6, block: 32, bytes: 22, codes: middle(8, 32), decode: thirtyTwo(2, fives), encode: encodeMiddle(5)},
	{name: "Q5_1", number: 7, block: 32, bytes: 24, codes: minimums(8, 32), decode: thirtyTwo(4, fives), encode: encodeQ5_1},
	{name: "Q8_0", number: 8, block: 32, bytes: 34, codes: middle(8, 32), decode: thirtyTwo(2, eights), encode: encodeQ8_0},
	{name: "Q8_1", number: 9, block: 32, bytes: 40},
	{name: "Q2_K", number: 10, block: 256, bytes: 84, codes: minimums(4, 16), decode: each(groupQ2K)},
	{name: "Q3_K", number: 11, block: 256, bytes: 110, codes: middle(4, 16), decode: each(groupQ3K)},
	{name: "Q4_K", number: 12, block: 256, bytes: 144, codes: minimums(4, 32), decode: decodeQ4K, encode: encodeMinimumsK(4, -1, 21)},
	{name: "Q5_K", number: 13, block: 256, bytes: 176, codes: minimums(8, 32), decode: decodeQ5K, encode: encodeMinimumsK(5, -0.5, 16)},
	{name: "Q6_K", number: 14, block: 256, bytes: 210, codes: middle(8, 16), decode: decodeQ6K, encode: encodeQ6K},
	{name: "Q8_K", number: 15, block: 256, bytes: 292},
	{name: "IQ2_XXS", number: 16, block: 256, bytes: 66, codes: table("iq2", 32), decode: each(groupIQ2XXS)},
	{name: "IQ2_XS", number: 17, block: 256, bytes: 74, codes: table("iq2", 16), decode: each(groupIQ2XS)},
	{name: "IQ3_XXS", number: 18, block: 256, bytes: 98, codes: table("iq3xxs", 32), decode: each(groupIQ3XXS)},
	{name: "IQ1_S", number: 19, block: 256, bytes: 50, codes: table("iq1", 32), decode: each(groupIQ1S)},
	{name: "IQ4_NL", number: 20, block: 32, bytes: 18, codes: table("iq4", 32), decode: thirtyTwo(2, nibbles)},
	{name: "IQ3_S", number: 21, block: 256, bytes: 110, codes: table("iq3s", 32), decode: each(groupIQ3S)},
	{name: "IQ2_S", number: 22, block: 256, bytes: 82, codes: table("iq2", 16), decode: each(groupIQ2S)},
	{name: "IQ4_XS", number: 23, block: 256, bytes: 136, codes: table("iq4", 32), decode: each(groupIQ4XS)},
	{name: "I8", number: 24, block: 1, bytes: 1},
	{name: "I16", number: 25, block: 1, bytes: 2},
	{name: "I32", number: 26, block: 1, bytes: 4},
	{name: "I64", number: 27, block: 1, bytes: 8},
	{name: "F64", number: 28, block: 1, bytes: 8},
	{name: "IQ1_M", number: 29, block: 256, bytes: 56, codes: table("iq1", 16), decode: each(groupIQ1M)},
	{name: "BF16", number: 30, block: 1, bytes: 2},
	{name: "TQ1_0", number: 34, block: 256, bytes: 54, codes: middle(4, 128), decode: each(groupTQ1)},
	{name: "TQ2_0", number: 35, block: 256, bytes: 66, codes: middle(4, 128), decode: each(groupTQ2)},
	{name: "MXFP4", number: 39, block: 32, bytes: 17, codes: table("e2m1", 32), decode: decodeMXFP4},
}

// kindBy finds a type, or returns nil.
func kindBy(found func(kind) bool) *kind {
	for i, k := range kinds {
		if found(k) {
			return &kinds[i]
		}
	}
	return nil
}
