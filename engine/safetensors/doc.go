// Package safetensors reads and writes the safetensors file format, strictly.
//
// A file is the header's length (8 bytes, little endian), the header (JSON), and the tensors' bytes:
//
//	{"__metadata__": {"format": "pt"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
//
// A file is accepted only if it is exactly that: no duplicate names, nothing but UTF-8, every byte of the
// data in exactly one tensor. A refusal is a [FormatError], which says what is wrong, in which tensor and at
// which byte. A length that a file gives is compared with the file's size before memory is allocated for it:
// that of the header, and that of each tensor. A header of more than 4 MiB must describe at least as many
// bytes of data. Reading a header takes a few times its length of memory.
//
// Files are read with ReadAt, never mapped into memory: a mapped file that another program truncates
// kills the process.
//
// The format is described at https://github.com/huggingface/safetensors. Reading order: file.go, header.go
// (the JSON), write.go, tensors.go (to and from package tensor).
package safetensors

import (
	"fmt"
	"strconv"

	"github.com/mcs-notebook/mcs/internal/visible"
)

// maxHeader is the longest header that the format allows, in bytes.
const maxHeader = 100_000_000

// A FormatError says why a file is no safetensors file.
type FormatError struct {
	File   string
	Tensor string // the tensor at fault; empty when it is the file as a whole
	Offset int64  // of the first byte at fault, counted from the start of the file
	Msg    string
}

func (e *FormatError) Error() string {
	where := fmt.Sprintf("safetensors: %s: byte %d", visible.Line(e.File), e.Offset)
	if e.Tensor != "" {
		where += ": tensor " + visible.Clip(strconv.Quote(e.Tensor))
	}
	return where + ": " + visible.Clip(e.Msg)
}

// typeBits holds the size of an element for every type name of the format, in bits.
var typeBits = map[string]int{
	"BOOL": 8, "U8": 8, "I8": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32, "I64": 64, "U64": 64,
	"F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
	"F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}
