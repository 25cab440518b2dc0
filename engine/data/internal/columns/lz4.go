package columns

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errLZ4 = errors.New("the LZ4 data is damaged")

// lz4Block appends to b what a block of LZ4 holds, up to size bytes in all. A block is sequences of literals
// and of copies from what is before them: a byte with both lengths, the longer ones going on in bytes of 255
// (github.com/lz4/lz4, doc/lz4_Block_format.md).
func lz4Block(b, block []byte, size int64) ([]byte, error) {
	length := func(n int) (int, error) {
		if n < 15 {
			return n, nil
		}
		for {
			if len(block) == 0 || int64(n) > size {
				return 0, errLZ4
			}
			c := block[0]
			block = block[1:]
			if n += int(c); c < 255 {
				return n, nil
			}
		}
	}
	for len(block) > 0 {
		token := block[0]
		block = block[1:]
		n, err := length(int(token >> 4))
		if err != nil || n > len(block) || int64(len(b)+n) > size {
			return nil, errLZ4
		}
		b, block = append(b, block[:n]...), block[n:]
		if len(block) == 0 { // the last sequence has literals only
			return b, nil
		}
		if len(block) < 2 {
			return nil, errLZ4
		}
		back := int(binary.LittleEndian.Uint16(block))
		block = block[2:]
		if n, err = length(int(token & 15)); err != nil {
			return nil, err
		}
		n += 4
		if back == 0 || back > len(b) || int64(len(b)+n) > size {
			return nil, errLZ4
		}
		for n > 0 { // a copy may reach into what it writes
			part := min(n, back)
			b = append(b, b[len(b)-back:len(b)-back+part]...)
			n -= part
		}
	}
	return b, nil
}

// lz4Frame returns the size bytes that a frame of LZ4 holds (doc/lz4_Frame_format.md). Its checksums are not
// looked at.
func lz4Frame(raw []byte, size int64) ([]byte, error) {
	if len(raw) < 7 || binary.LittleEndian.Uint32(raw) != 0x184D2204 || raw[4]>>6 != 1 {
		return nil, fmt.Errorf("got the bytes %x, want a frame of LZ4", raw[:min(len(raw), 6)])
	}
	flags, at := raw[4], 7
	if flags&8 != 0 { // the size of what it holds
		at += 8
	}
	if flags&1 != 0 { // a dictionary
		return nil, errors.New("got a frame of LZ4 that needs a dictionary")
	}
	b := make([]byte, 0, min(size, 4*int64(len(raw))))
	for {
		if len(raw) < at+4 {
			return nil, errLZ4
		}
		head := binary.LittleEndian.Uint32(raw[at:])
		if at += 4; head == 0 {
			return b, nil
		}
		n := int(head &^ (1 << 31))
		if n > len(raw)-at {
			return nil, errLZ4
		}
		block := raw[at : at+n]
		if at += n; flags&16 != 0 { // a checksum of the block
			at += 4
		}
		switch {
		case head>>31 == 0: // copies may reach into the blocks before
			var err error
			if b, err = lz4Block(b, block, size); err != nil {
				return nil, err
			}
		case int64(len(b)+n) > size:
			return nil, errLZ4
		default:
			b = append(b, block...)
		}
	}
}
