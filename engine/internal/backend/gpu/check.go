package gpu

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// CheckDispatch looks at what every driver must: sizes, limits, arguments. It returns nil or the error's
// text.
func CheckDispatch(d *Dispatch, l Limits) error {
	if d.Pipeline == nil {
		return fmt.Errorf("got no pipeline")
	}
	p := d.Pipeline.Limits()
	for _, c := range []struct {
		what      string
		got, most int
	}{
		{"groups in x", d.Groups.X, l.Groups.X}, {"groups in y", d.Groups.Y, l.Groups.Y}, {"groups in z", d.Groups.Z, l.Groups.Z},
		{"threads in x", d.Threads.X, l.Threads}, {"threads in y", d.Threads.Y, l.Threads}, {"threads in z", d.Threads.Z, min(l.Threads, kernel.MostAlongZ)},
		{"threads of a group", d.Threads.Count(), min(p.Threads, l.Threads)},
	} {
		if c.got < 1 || c.got > c.most {
			return fmt.Errorf("%s: got %d %s, want 1 to %d", d.Pipeline.Name(), c.got, c.what, c.most)
		}
	}
	if len(d.Args) > l.Args {
		return fmt.Errorf("%s: got %d arguments, want at most %d", d.Pipeline.Name(), len(d.Args), l.Args)
	}
	memory := p.ThreadgroupMemory
	for _, n := range d.Threadgroup {
		memory += n
	}
	if memory > l.ThreadgroupMemory {
		return fmt.Errorf("%s: got %d bytes of threadgroup memory, want at most %d", d.Pipeline.Name(), memory, l.ThreadgroupMemory)
	}
	return checkArgs(d, l)
}

func checkArgs(d *Dispatch, l Limits) error {
	inline := 0
	for i, a := range d.Args {
		switch {
		case a.Buffer == nil:
			inline += (len(a.Bytes) + 7) &^ 7
		case a.Bytes != nil:
			return fmt.Errorf("%s: argument %d is both a buffer and bytes", d.Pipeline.Name(), i)
		case a.Offset < 0 || a.Offset >= a.Buffer.Len():
			return fmt.Errorf("%s: argument %d: got offset %d, want less than the buffer's %d bytes",
				d.Pipeline.Name(), i, a.Offset, a.Buffer.Len())
		default:
			inline += 8
		}
	}
	if inline > l.InlineBytes {
		return fmt.Errorf("%s: got %d bytes of arguments, want at most %d: put them into a table",
			d.Pipeline.Name(), inline, l.InlineBytes)
	}
	return nil
}

// CheckRange looks whether bytes from offset on lie within a buffer.
func CheckRange(what string, b Buffer, offset, bytes int) error {
	if b == nil {
		return fmt.Errorf("%s: got no buffer", what)
	}
	if offset < 0 || bytes < 0 || bytes > b.Len()-offset {
		return fmt.Errorf("%s: got %d bytes from offset %d, want them within %d", what, bytes, offset, b.Len())
	}
	return nil
}

// CheckCopy looks at the ranges of a copy.
func CheckCopy(dst Buffer, dstOffset int, src Buffer, srcOffset, bytes int) error {
	if err := CheckRange("destination", dst, dstOffset, bytes); err != nil {
		return err
	}
	if err := CheckRange("source", src, srcOffset, bytes); err != nil {
		return err
	}
	if dst == src && dstOffset < srcOffset+bytes && srcOffset < dstOffset+bytes {
		return fmt.Errorf("got %d bytes from %d to %d of one buffer, want ranges that are apart", bytes, srcOffset, dstOffset)
	}
	return nil
}

// Poll asks done until it is true or an error comes: without a pause at first, because most waits are short,
// then with pauses of a 64th of what it has waited, up to 0.2 ms, so that it is late by little.
// It ends early as Event.Wait does, with timeout() after the limit; 0 is none.
func Poll(ctx context.Context, limit time.Duration, done func() (bool, error), timeout func() error) error {
	const eager, longest, share = 200 * time.Microsecond, 200 * time.Microsecond, 64
	start := time.Now()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		waited := time.Since(start)
		switch {
		case limit > 0 && waited >= limit:
			return timeout()
		case waited < eager:
			runtime.Gosched()
		default:
			pause(min(waited/share, longest))
		}
	}
}
