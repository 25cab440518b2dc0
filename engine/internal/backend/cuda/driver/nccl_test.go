package driver

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/testing/cctest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// newStubWithNCCL is newStub with NCCL in the same library.
func newStubWithNCCL(t testing.TB) *stub {
	t.Helper()
	if err := ccall.Available(); err != nil {
		t.Skip(err)
	}
	path := cctest.Library(t, "testdata/cuda.c", "testdata/nccl.c")
	library, err := ccall.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{library, t, &Driver{Libraries: []string{path}, NCCL: []string{"libnosuchnccl.so", path}}}
	s.ask("reset")
	s.ask("nccl_version", 22809)
	return s
}

func (s *stub) failBy(name string, n, code int) {
	text := ccall.CString(name)
	s.ask("fail", uintptr(unsafe.Pointer(text)), uintptr(n), uintptr(code))
	runtime.KeepAlive(text)
}

// A traveller is a rank of two, with a device of its own.
type traveller struct {
	device   *device
	stream   *stream
	link     gpu.Link
	src, dst gpu.Buffer
}

const room = 2048

// meet makes both ranks.
func (s *stub) meet() (two [2]*traveller) {
	s.t.Helper()
	var meeting []byte
	for r := range two {
		d, err := s.driver.Open(r)
		if err != nil {
			s.t.Fatal(err)
		}
		st, err := d.Stream()
		if err != nil {
			s.t.Fatal(err)
		}
		x := &traveller{device: d.(*device), stream: st.(*stream)}
		for _, b := range []*gpu.Buffer{&x.src, &x.dst} {
			if *b, err = d.Alloc(room, gpu.SharedMemory); err != nil {
				s.t.Fatal(err)
			}
		}
		two[r] = x
		if r == 0 {
			if meeting, err = x.device.Meet(); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if err := each(two, func(r int, x *traveller) (err error) {
		x.link, err = x.device.Link(meeting, r, len(two))
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return two
}

// each calls f for both ranks at once.
func each(two [2]*traveller, f func(r int, x *traveller) error) error {
	var errs [2]error
	var all sync.WaitGroup
	for r, x := range two {
		all.Go(func() { errs[r] = f(r, x) })
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

func (x *traveller) move(dst, src, bytes, apart int) (gpu.Event, error) {
	if err := x.link.Move(x.stream, gpu.Arg{Buffer: x.dst, Offset: dst}, gpu.Arg{Buffer: x.src, Offset: src}, bytes, apart); err != nil {
		return nil, err
	}
	return x.stream.Commit()
}

func (x *traveller) end() error {
	x.src.Free()
	x.dst.Free()
	return errors.Join(x.link.Close(), x.stream.Close(), x.device.Close())
}

// What is at a byte of a rank's source.
func cargo(rank, at int) byte { return byte(rank*101 + at*7 + at>>8) }

func TestLink(t *testing.T) {
	os.Unsetenv(multicast)
	s := newStubWithNCCL(t)
	two := s.meet()
	if by, err := two[0].device.Links(); by != "NCCL 2.28.9" || err != nil {
		t.Errorf("got %q, %v", by, err)
	}
	if got := int32(s.ask("nccl_multicast")); got != 0 {
		t.Errorf("the library sees %s=%d, want 0", multicast, got)
	}
	for _, c := range []struct{ dst, src, bytes, apart int }{{0, 0, 1, 1}, {64, 128, 4, 8}, {0, 4, 1000, 1000}, {512, 256, 300, 0}} {
		if err := each(two, func(r int, x *traveller) error {
			for i := range x.src.Host() {
				x.src.Host()[i] = cargo(r, i)
			}
			clear(x.dst.Host())
			e, err := x.move(c.dst, c.src, c.bytes, c.apart)
			if err != nil {
				return err
			}
			defer e.Close()
			return e.Wait(t.Context(), time.Second)
		}); err != nil {
			t.Fatal(err)
		}
		for r, x := range two {
			want := make([]byte, room)
			for from := range two {
				for i := range c.bytes {
					want[c.dst+from*c.bytes+i] = cargo(from, c.src+r*c.apart+i)
				}
			}
			if !bytes.Equal(x.dst.Host(), want) {
				t.Errorf("%+v: rank %d has other bytes", c, r)
			}
		}
	}
	for name, wrong := range map[string][4]int{"destination": {room - 7, 0, 4, 4}, "source": {0, room - 11, 4, 8}, "negative": {0, -4, 4, 4}} {
		if _, err := two[0].move(wrong[0], wrong[1], wrong[2], wrong[3]); !errors.Is(err, gpu.Misuse) {
			t.Errorf("%s: got %v, want a misuse", name, err)
		}
	}
	link := two[1].link.(*link)
	if err := link.Err(); err != nil {
		t.Error(err)
	}
	s.ask("nccl_breaks", link.comm, 2)
	if err := link.Err(); err == nil || !strings.Contains(err.Error(), "unhandled system error, socket: it is closed (code 2)") {
		t.Errorf("got %v, want what the library has found", err)
	}
	if err := each(two, func(_ int, x *traveller) error { return x.end() }); err != nil {
		t.Error(err)
	}
	if err := two[0].link.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	s.clean("links")
}

// A move that waits for a process which is gone ends by Abort.
func TestAbort(t *testing.T) {
	long.InCI(t, "waits for seconds")
	s := newStubWithNCCL(t)
	two := s.meet()
	e, err := two[0].move(0, 0, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(t.Context(), 20*time.Millisecond); !errors.Is(err, gpu.Timeout) {
		t.Errorf("alone: got %v, want a timeout", err)
	}
	if err := two[0].link.Abort(); err != nil {
		t.Error(err)
	}
	if err := e.Wait(t.Context(), time.Second); err != nil {
		t.Errorf("aborted: got %v", err)
	}
	if _, err := two[0].move(0, 0, 16, 16); !errors.Is(err, gpu.Misuse) {
		t.Errorf("after it: got %v, want a misuse", err)
	}
	for _, x := range two {
		if err := x.end(); err != nil {
			t.Error(err)
		}
	}
	s.clean("abort")
}

// Each function may fail. The error has its name, and no group stays open.
func TestLinkFailures(t *testing.T) {
	for _, name := range []string{"ncclGroupStart", "ncclSend", "ncclRecv", "ncclGroupEnd"} {
		s := newStubWithNCCL(t)
		two := s.meet()
		s.failBy(name, 0, 2)
		_, err := two[0].move(0, 0, 16, 16)
		if e := (*gpu.Error)(nil); !errors.As(err, &e) || e.Op != name || e.Native != 2 || !strings.Contains(err.Error(), "unhandled system error") {
			t.Errorf("%s: got %v", name, err)
		}
		if groups := s.ask("nccl_groups"); groups != 0 {
			t.Errorf("%s: %d groups are open", name, groups)
		}
		two[0].link.Abort()
		for _, x := range two {
			if err := x.end(); err != nil {
				t.Error(err)
			}
		}
	}
	for name, do := range map[string]func(x *traveller) error{
		"ncclGetUniqueId":          func(x *traveller) error { _, err := x.device.Meet(); return err },
		"ncclCommInitRankScalable": func(x *traveller) error { _, err := x.device.Link(make([]byte, 128), 0, 2); return err },
		"ncclCommGetAsyncError":    func(x *traveller) error { return x.link.Err() },
		"ncclCommAbort":            func(x *traveller) error { return x.link.Abort() },
		"ncclCommDestroy":          func(x *traveller) error { return x.link.Close() },
	} {
		s := newStubWithNCCL(t)
		x := s.meet()[0]
		s.failBy(name, 0, 2)
		if e := (*gpu.Error)(nil); !errors.As(do(x), &e) || e.Op != name {
			t.Errorf("%s: got %v", name, e)
		}
	}
	x := newStubWithNCCL(t).meet()[0]
	if _, err := x.device.Link([]byte("short"), 0, 2); !errors.Is(err, gpu.Misuse) {
		t.Errorf("got %v, want a misuse", err)
	}
}

// A library that is missing or old is said in one line, with what to do.
func TestNoNCCL(t *testing.T) {
	old := newStubWithNCCL(t)
	old.ask("nccl_version", 22203)
	missing := newStub(t)
	missing.driver.NCCL = []string{"libnosuchnccl.so"}
	for s, want := range map[*stub][]string{
		missing: {"libnosuchnccl.so", "nvidia-nccl-cu12"},
		old:     {"is NCCL 2.22.3, want 2.23.4 or later", "nvidia-nccl-cu12"},
	} {
		d, _ := s.open()
		_, err := d.Links()
		if err == nil || slices.ContainsFunc(want, func(text string) bool { return !strings.Contains(err.Error(), text) }) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one line with %q", err, want)
		}
		t.Log(err)
		if _, err := d.Meet(); err == nil {
			t.Error("met without a library")
		}
		if _, err := d.Link(make([]byte, 128), 0, 2); err == nil {
			t.Error("linked without a library")
		}
		d.Close()
	}
	t.Setenv(multicast, "1")
	s := newStubWithNCCL(t)
	s.meet()
	if got := s.ask("nccl_multicast"); got != 1 {
		t.Errorf("the library sees %s=%d, want what the user has set", multicast, got)
	}
}
