package gguf

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// codesOf are the types whose numbers are codes of package quant, too, number for number.
var codesOf = map[string]quant.Config{
	"Q8_0": {Bits: 8, Group: 32, Scale: dtype.F32},
	"Q4_0": {Bits: 4, Group: 32, Scale: dtype.F32},
}

// HasCodes says whether [File.Codes] can read tensors of the type.
func HasCodes(typ string) bool {
	_, ok := codesOf[typ]
	return ok
}

// Codes reads a matrix of type Q8_0 or Q4_0 without expanding it. A row of the file is an output: the Weight
// is [columns rows]. Output o is the row rows(o), or row o where rows is nil.
func (f *File) Codes(name string, rows func(output int) int) (*quant.Weight, error) {
	info, err := f.Info(name)
	if err != nil {
		return nil, err
	}
	c, ok := codesOf[info.Type]
	if !ok || len(info.Shape) != 2 {
		return nil, fmt.Errorf("gguf: %s: tensor %q is %s%v, want a matrix in Q8_0 or Q4_0", f.name, name, info.Type, info.Shape)
	}
	data, err := f.Bytes(name)
	if err != nil {
		return nil, err
	}
	out, in := info.Shape[0], info.Shape[1]
	k := kindBy(func(k kind) bool { return k.name == info.Type })
	w, err := quant.Pack(in, out, c, func(o, g int, codes []byte) float32 {
		if rows != nil {
			o = rows(o)
		}
		block := data[(o*in/k.block+g)*k.bytes:][:k.bytes]
		for q := block[2:]; len(q) > 0; q, codes = q[8:], codes[8:] {
			eight := binary.LittleEndian.Uint64(q)
			if c.Bits == 8 {
				binary.LittleEndian.PutUint64(codes, eight^0x8080808080808080) // from −128…127 to 0…255
			} else {
				binary.LittleEndian.PutUint64(codes, eight&0x0f0f0f0f0f0f0f0f)
				binary.LittleEndian.PutUint64(codes[16:], eight>>4&0x0f0f0f0f0f0f0f0f)
			}
		}
		return half(block)
	})
	if err != nil {
		return nil, fmt.Errorf("gguf: %s: tensor %q: %w", f.name, name, err)
	}
	return w, nil
}

// TypeOf is the type that holds the codes of w as they are, "" if there is none.
func TypeOf(w *quant.Weight) string {
	for name, c := range codesOf {
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
	w.Unpack(func(o, g int, codes []byte, scale float32) {
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
