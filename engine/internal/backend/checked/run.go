package checked

import (
	"context"
	"encoding/binary"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// A memory is what a run has in the process.
type memory struct {
	device *check.Device
	taken  []check.Pointer
}

// put takes memory and fills it. Without data its bytes are 0xff, so that floats which nobody writes are NaN.
func (m *memory) put(bytes int, data []byte) (check.Pointer, error) {
	p, err := m.device.Alloc(max(bytes, 1))
	if err != nil {
		return 0, err
	}
	m.taken = append(m.taken, p)
	if len(data) > 0 {
		err = m.device.Write(p, data)
	}
	return p, err
}

func (m *memory) free() {
	for _, p := range m.taken {
		m.device.Free(p) // fails only if the process has ended, and the memory with it
	}
}

// run runs the kernel in a process and returns its results.
func (k *Kernel) run(ctx context.Context, d *check.Device, bufs [][]byte, seed uint32) ([][]byte, error) {
	m := &memory{device: d}
	defer m.free()
	var args []byte
	at := make([]check.Pointer, len(k.results))
	for _, a := range k.own.Args {
		number, size, err := a.Bits, 8, error(nil)
		switch a.Kind {
		case ir.KernelSource:
			o := k.sources[a.Index]
			var p check.Pointer
			p, err = m.put(o.Bytes, bufs[o.Buf][o.Offset:o.Offset+o.Bytes])
			number = uint64(p)
		case ir.KernelResult:
			o := k.results[a.Index]
			var zeros []byte
			if a.Zero {
				zeros = make([]byte, o.Bytes)
			}
			at[a.Index], err = m.put(o.Bytes, zeros)
			number = uint64(at[a.Index])
		case ir.KernelNumber:
			size = a.Size
		}
		if err != nil {
			return nil, err
		}
		args = appendMember(args, size, number)
	}
	p, err := m.put(len(args), args)
	if err == nil {
		err = d.Run(ctx, check.Launch{Kernel: k.own.Function, Groups: k.own.Groups, Threads: k.own.Threads, Seed: seed, Buffers: map[int]check.Pointer{0: p}})
	}
	results := make([][]byte, len(k.results))
	for i, o := range k.results {
		if err == nil {
			results[i] = make([]byte, o.Bytes)
			err = d.Read(results[i], at[i])
		}
	}
	return results, err
}

// appendMember appends a member of the argument struct, aligned to its size.
func appendMember(b []byte, size int, v uint64) []byte {
	for len(b)%size != 0 {
		b = append(b, 0)
	}
	b = binary.LittleEndian.AppendUint64(b, v)
	return b[:len(b)-8+size]
}
