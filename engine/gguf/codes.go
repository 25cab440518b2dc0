package gguf

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// HasCodes says whether [File.Codes] can read tensors of the type: whether it is quantised.
func HasCodes(typ string) bool {
	return kindBy(func(k kind) bool { return k.name == typ && k.decode != nil }) != nil
}

// Codes reads a matrix of a quantised type without expanding it: the numbers of all types are codes of
// package quant, with scales in f32. A row of the file is an output: the Weight is [columns rows], of
// matrices above one another one with the rows of all. Output o is the row rows(o), or row o where rows is
// nil.
func (f *File) Codes(name string, rows func(output int) int) (*quant.Weight, error) {
	info, err := f.Info(name)
	if err != nil {
		return nil, err
	}
	k := kindBy(func(k kind) bool { return k.name == info.Type })
	last := len(info.Shape) - 1
	if k.decode == nil || last < 1 {
		return nil, fmt.Errorf("gguf: %s: tensor %q is %s%v, want matrices of a quantised type", f.name, name, info.Type, info.Shape)
	}
	out, in := 1, info.Shape[last]
	for _, n := range info.Shape[:last] {
		out *= n
	}
	row := in / k.block * k.bytes
	read := func(o int, to []byte) error { return f.read(name, to, info.begin+int64(o*row)) }
	if inOrder := read; rows != nil {
		read = func(o int, to []byte) (err error) {
			for ; len(to) > 0 && err == nil; o, to = o+1, to[row:] {
				err = inOrder(rows(o), to[:row])
			}
			return err
		}
	}
	w, err := quant.PackRows(in, out, k.codes, quant.Rows{Bytes: row, Read: read, Groups: func(row []byte, _, first, groups int, codes, scales, minimums quant.Lane) {
		k.decode(k, row[first*k.codes.Group/k.block*k.bytes:], groups, codes, scales, minimums)
	}})
	if err != nil {
		return nil, fmt.Errorf("gguf: %s: tensor %q: %w", f.name, name, err)
	}
	return w, nil
}

// TypeOf is the type that holds the codes of w as they are, "" if there is none.
func TypeOf(w *quant.Weight) string {
	for _, name := range []string{"Q8_0", "Q4_0"} {
		c := kindBy(func(k kind) bool { return k.name == name }).codes
		if w.Config.Bits != c.Bits || w.Config.Group != c.Group || w.Config.Scheme != quant.Symmetric || w.In%c.Group != 0 {
			continue
		}
		exact := func(s float32) bool { return dtype.F16ToFloat32(dtype.Float32ToF16(s)) == s }
		if !slices.ContainsFunc(w.Scales.Cast(dtype.F32).Floats(), func(s float32) bool { return !exact(s) }) {
			return name
		}
	}
	return ""
}

// blocks are the bytes of an entry's codes.
func (e Entry) blocks(k *kind) []byte {
	w := e.Codes
	b := make([]byte, w.Out*w.In/k.block*k.bytes)
	row := make([]int, w.Out) // of the file, by output
	for r := range row {
		o := r
		if e.Rows != nil {
			o = e.Rows(r)
		}
		row[o] = r
	}
	w.Unpack(func(o, g int, codes []byte, scale, _ float32) {
		block := b[(row[o]*w.In/k.block+g)*k.bytes:][:k.bytes]
		binary.LittleEndian.PutUint16(block, dtype.Float32ToF16(scale))
		for i := range block[2:] {
			if w.Config.Bits == 8 {
				block[2+i] = codes[i] ^ 0x80
			} else {
				block[2+i] = codes[i] | codes[i+16]<<4
			}
		}
	})
	return b
}
