package access_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// plainDigest is the definition: a hash of the hashes of a matrix' tiles of 256×256 elements in C order, or,
// of what has no large matrices, of each 65536 elements.
func plainDigest(data []byte, size int, shape []int) [sha256.Size]byte {
	rows, columns, high := len(data)/size, 1, 256*256
	if n := len(shape); n > 1 && shape[n-1]*shape[n-2] > 256*256 {
		rows, columns, high = shape[n-2], shape[n-1], 256
	}
	var sums []byte
	for ; len(data) > 0; data = data[rows*columns*size:] {
		for y := 0; y < rows; y += high {
			for x := 0; x < columns; x += 256 {
				hash := sha256.New()
				for row := y; row < min(y+high, rows); row++ {
					hash.Write(data[(row*columns+x)*size : (row*columns+min(x+256, columns))*size])
				}
				sums = hash.Sum(sums)
			}
		}
	}
	return sha256.Sum256(sums)
}

// The digest is the one that is defined, wherever the elements lie, and no other once a bit is another.
func TestDigest(t *testing.T) {
	for _, shape := range [][]int{{}, {0}, {5}, {70_000}, {3, 4}, {256, 256}, {257, 256}, {513, 300}, {40, 2000}, {3, 300, 257}, {2, 2, 1, 70_000}, {900, 3, 2}, {0, 300, 300}} {
		for _, dt := range []dtype.Type{dtype.U8, dtype.BF16, dtype.F32, dtype.I64} {
			if dt != dtype.BF16 && len(shape) > 2 {
				continue
			}
			count := dt.Size()
			for _, n := range shape {
				count *= n
			}
			data := make([]byte, count)
			for i := range data {
				data[i] = byte(i * i >> 5)
			}
			x := tensor.FromBytes(dt, data, shape...)
			want := plainDigest(data, dt.Size(), shape)
			lies := map[string]tensor.Tensor{"in C order": x, "behind others": tensor.Stack([]tensor.Tensor{x, x}, 0).Eval().Select(0, 1)}
			if len(shape) > 1 {
				lies["turned"] = x.Transpose().Reshape(-1).Eval().Reshape(x.Transpose().Shape()...).Transpose()
			}
			if len(shape) > 2 {
				axes := []int{1, 0, 2, 3}[:len(shape)]
				lies["elsewhere"] = x.Permute(axes...).Reshape(-1).Eval().Reshape(x.Permute(axes...).Shape()...).Permute(axes...)
			}
			for name, y := range lies {
				if got := access.Digest(y); got != want {
					t.Errorf("%v%v, %s: got %x, want %x", dt, shape, name, got, want)
				}
			}
			if count == 0 {
				continue
			}
			data[count/2] ^= 1
			if got := access.Digest(tensor.FromBytes(dt, data, shape...)); got == want {
				t.Errorf("%v%v: a bit more is the same", dt, shape)
			}
		}
	}
}

// BenchmarkDigest hashes the weight of a layer as it lies in files.
func BenchmarkDigest(b *testing.B) {
	for _, turned := range []bool{false, true} {
		b.Run(fmt.Sprintf("turned=%v", turned), func(b *testing.B) {
			w := tensor.Zeros(4096, 4096).Cast(dtype.BF16).Eval()
			if turned {
				w = w.Transpose()
			}
			b.SetBytes(int64(w.Size() * 2))
			for b.Loop() {
				access.Digest(w)
			}
		})
	}
	device.Sync()
}
