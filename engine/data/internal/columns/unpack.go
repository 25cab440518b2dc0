package columns

import (
	"bytes"
	"compress/gzip"
	"fmt"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// A Codec says how bytes are compressed.
type Codec string

// The codecs that are read.
const (
	Plain    Codec = ""
	Snappy   Codec = "snappy"
	Gzip     Codec = "gzip"
	Brotli   Codec = "Brotli"
	Zstd     Codec = "zstd"
	LZ4Block Codec = "LZ4 block" // without a frame around it
	LZ4Frame Codec = "LZ4 frame"
)

// An Unpacker makes plain bytes of compressed ones. The zero Unpacker is ready.
type Unpacker struct {
	zstd *zstd.Decoder
}

// Check says whether compressed bytes may claim to hold size plain ones.
func Check(size, compressed int64) error {
	if size < 0 || size > max(SmallBlock, MostDeflated*compressed) {
		return fmt.Errorf("got a claim of %d bytes in %d", size, compressed)
	}
	return nil
}

// Unpack returns the size bytes that raw holds; the caller has checked the size. Memory is taken for what is
// there, not for what is claimed.
func (u *Unpacker) Unpack(codec Codec, raw []byte, size int64) (b []byte, err error) {
	switch codec {
	case Plain:
		b = raw
	case Snappy:
		if n, failed := snappy.DecodedLen(raw); failed != nil || int64(n) != size {
			return nil, fmt.Errorf("got a claim of %d bytes, and snappy data of %d", size, n)
		}
		b, err = snappy.Decode(nil, raw)
	case Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
			b, err = regular.Full(z, size, int64(len(raw)))
		}
	case Brotli:
		b, err = regular.Full(brotli.NewReader(bytes.NewReader(raw)), size, int64(len(raw)))
	case Zstd:
		if u.zstd == nil {
			if u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true)); err != nil {
				return nil, err
			}
		}
		b, err = u.zstd.DecodeAll(raw, make([]byte, 0, size))
	case LZ4Block:
		b, err = lz4Block(make([]byte, 0, min(size, 4*int64(len(raw)))), raw, size)
	case LZ4Frame:
		b, err = lz4Frame(raw, size)
	default:
		return nil, fmt.Errorf("got compression %s", codec)
	}
	if err != nil {
		return nil, err
	}
	if int64(len(b)) != size {
		return nil, fmt.Errorf("got %d bytes, want %d", len(b), size)
	}
	return b, nil
}
