package driver

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// Blit encoders of macOS copy and fill whole words of 4 bytes only. These kernels do the rest.
const bytewiseText = `#include <metal_stdlib>
using namespace metal;

kernel void copy_bytes(device uchar *dst [[buffer(0)]], device const uchar *src [[buffer(1)]], constant uint &n [[buffer(2)]],
                       uint i [[thread_position_in_grid]]) {
	if (i < n) dst[i] = src[i];
}

kernel void fill_bytes(device uchar *dst [[buffer(0)]], constant uchar &value [[buffer(1)]], constant uint &n [[buffer(2)]],
                       uint i [[thread_position_in_grid]]) {
	if (i < n) dst[i] = value;
}
`

// words reports whether all of the numbers are multiples of 4.
func words(numbers ...int) bool {
	return !slices.ContainsFunc(numbers, func(n int) bool { return n%4 != 0 })
}

// bytewise runs one of the kernels over some bytes, in an encoder of its own, because copies have their
// order.
func (s *stream) bytewise(name string, bytes int, to, from gpu.Arg) error {
	p, err := s.device.bytewise(name)
	if err != nil {
		return err
	}
	s.end()
	const threads, most = 256, 1 << 30 // bytes of a dispatch, whose count has 32 bits
	for ; bytes > 0; bytes -= most {
		n := min(bytes, most)
		count := binary.LittleEndian.AppendUint32(nil, uint32(n))
		if err := s.Dispatch(&gpu.Dispatch{Pipeline: p, Groups: gpu.Size{X: (n + threads - 1) / threads, Y: 1, Z: 1},
			Threads: gpu.Size{X: threads, Y: 1, Z: 1}, Args: []gpu.Arg{to, from, {Bytes: count}}}); err != nil {
			return err
		}
		to.Offset += n
		if from.Buffer != nil {
			from.Offset += n
		}
	}
	s.end()
	return nil
}

// bytewise returns one of the kernels, compiled at the first need.
func (d *device) bytewise(name string) (gpu.Pipeline, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.own[name]; p != nil {
		return p, nil
	}
	l, err := d.Compile(context.Background(), gpu.Source{Name: "bytewise.metal", Text: bytewiseText})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	p, err := l.Pipeline(name)
	if err != nil {
		return nil, err
	}
	d.own[name] = p
	return p, nil
}
