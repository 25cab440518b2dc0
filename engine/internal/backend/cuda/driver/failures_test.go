package driver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// The work that failed is named, what follows it is not handed over, and the stream can go on.
func TestWorkThatFails(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x, y := s.alloc(d, gpu.DeviceMemory), s.alloc(d, gpu.DeviceMemory)
	p := s.pipeline(d, "axpy")
	st.Fill(x, 0, 256, 0)
	for range 3 {
		st.Dispatch(axpy(p, x, y, 1))
	}
	st.Free(y) // after the launch that fails: it is freed all the same
	s.fail(cuLaunchKernel, 1, 701)
	_, err := st.Commit()
	var e *gpu.Error
	if !errors.As(err, &e) || e.Index != 2 || e.Op != "cuLaunchKernel" || e.Code != gpu.Misuse || e.Device != "cuda:0" {
		t.Errorf("got %v, want cuLaunchKernel, the work with index 2", err)
	}
	event, err := st.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if err := event.Wait(t.Context(), 0); err != nil {
		t.Error(err)
	}
	x.Free()
	s.clean("after a launch that failed")
	d.Close()
}

// A capture that fails in the middle ends, or the stream would be of no use any more.
func TestCaptureThatFails(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x, y := s.alloc(d, gpu.DeviceMemory), s.alloc(d, gpu.DeviceMemory)
	p := s.pipeline(d, "axpy")
	for _, f := range []function{cuStreamBeginCapture, cuLaunchKernel, cuStreamEndCapture, cuGraphInstantiate} {
		if err := st.Record(); err != nil {
			t.Fatal(err)
		}
		st.Dispatch(axpy(p, x, y, 1))
		st.Dispatch(axpy(p, x, y, 1))
		s.fail(f, 0, 900)
		_, err := st.Finish()
		var e *gpu.Error
		if !errors.As(err, &e) || e.Op != f.String() {
			t.Errorf("%v: got %v", f, err)
		}
		st.Fill(x, 0, 256, 0)
		if _, err := st.Commit(); err != nil {
			t.Errorf("%v: the stream is of no use afterwards: %v", f, err)
		}
	}
	x.Free()
	y.Free()
	s.clean("after captures that failed")
	d.Close()
}

// A fault of a kernel is found after its commit and stays. No context is to be had after it.
func TestFault(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x, y := s.alloc(d, gpu.DeviceMemory), s.alloc(d, gpu.DeviceMemory)
	st.Dispatch(axpy(s.pipeline(d, "fault"), x, y, 1))
	e, err := st.Commit()
	if err == nil {
		err = e.Wait(t.Context(), 0)
	}
	if !errors.Is(err, gpu.KernelFault) || !strings.Contains(err.Error(), "values on the device are lost") {
		t.Errorf("got %v, want a fault and what it means", err)
	}
	if _, err := d.Alloc(4, gpu.DeviceMemory); !errors.Is(err, gpu.KernelFault) {
		t.Errorf("got %v, want the fault again", err)
	}
	x.Free()
	if err := d.Close(); err != nil {
		t.Errorf("a device with a fault does not close: %v", err)
	}
	y.Free() // after the device: it went with it
	if _, err := s.driver.Open(0); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "start it again") {
		t.Errorf("opened after a fault: got %v, want what to do", err)
	}
	s.clean("after a fault")
}

// A device that hangs hangs no goroutine: not in Wait, not in Close.
func TestHang(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x, y := s.alloc(d, gpu.DeviceMemory), s.alloc(d, gpu.SharedMemory)
	st.Copy(y, 0, x, 0, 256)
	st.Free(y)
	e, err := st.Commit()
	if err != nil {
		t.Fatal(err)
	}
	s.ask("hold", 1)
	if err := e.Wait(t.Context(), 5*time.Millisecond); !errors.Is(err, gpu.Timeout) {
		t.Errorf("got %v, want a timeout", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := e.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	e.Close()
	if live := s.ask("live"); live != 2 {
		t.Errorf("%d buffers are left, want 2: the copy is not over", live)
	}
	s.ask("hold", 0)
	if _, err := st.Commit(); err != nil {
		t.Error(err)
	}
	if live := s.ask("live"); live != 1 {
		t.Errorf("%d buffers are left, want 1: the next commit frees the other", live)
	}
	s.ask("hold", 1)
	x.Free()
	if err := d.Close(); !errors.Is(err, gpu.Timeout) {
		t.Errorf("got %v, want Close to give up", err)
	}
	s.clean("after a hang")
}

// Each of the driver's codes is the kind of error that it means.
func TestCodes(t *testing.T) {
	s := newStub(t)
	d, _ := s.open()
	for code, want := range map[int]gpu.Code{1: gpu.Failed, 2: gpu.OutOfMemory, 46: gpu.LostDevice, 100: gpu.NoDriver, 214: gpu.LostDevice,
		700: gpu.KernelFault, 719: gpu.KernelFault, 801: gpu.Unsupported, 803: gpu.DriverTooOld, 999: gpu.Failed} {
		s.fail(cuStreamCreate, 0, code)
		_, err := d.Stream()
		var e *gpu.Error
		if !errors.As(err, &e) || e.Code != want || e.Native != code || e.Op != "cuStreamCreate" {
			t.Errorf("code %d: got %v, want the kind %v", code, err, want)
		}
	}
	d.Close()
}

// Out of memory: the pool gives back what it keeps, and the error says how much there is.
func TestOutOfMemory(t *testing.T) {
	s := newStub(t)
	d, _ := s.open()
	s.fail(cuMemAllocFromPoolAsync, 0, 2)
	s.calls()
	b := s.alloc(d, gpu.DeviceMemory)
	if calls := s.calls(); !slices.Contains(calls, "cuMemPoolTrimTo") {
		t.Errorf("got %q, want the pool trimmed and a second try", calls)
	}
	_, err := d.Alloc(1<<20, gpu.DeviceMemory)
	var e *gpu.Error
	if !errors.As(err, &e) || e.Code != gpu.OutOfMemory || e.Want != 1<<20 || e.Free != 1<<20-256+4096 {
		t.Errorf("got %+v, want the bytes wanted and free, with what the pool keeps", e)
	}
	b.Free()
	d.Close()
	s.clean("out of memory")
}

// scenario uses everything once, and gives back what it has whatever fails.
func (s *stub) scenario() (err error) {
	opened, err := s.driver.Open(1)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, opened.Close())
	}()
	opened2, err := opened.Stream()
	if err != nil {
		return err
	}
	st := opened2.(gpu.Recorder)
	defer func() {
		err = errors.Join(err, st.Close())
	}()
	l, err := opened.Load("axpy.ptx", []byte(".entry axpy"))
	if err != nil {
		return err
	}
	defer l.Close()
	p, err := l.Pipeline("axpy")
	if err != nil {
		return err
	}
	x, err := opened.Alloc(256, gpu.DeviceMemory)
	if err != nil {
		return err
	}
	defer x.Free()
	y, err := opened.Alloc(256, gpu.SharedMemory)
	if err != nil {
		return err
	}
	defer st.Free(y)
	if err := errors.Join(st.Fill(x, 0, 256, 0), st.Copy(y, 0, x, 0, 256), st.Dispatch(axpy(p, x, y, 1))); err != nil {
		return err
	}
	first, err := st.Stamp()
	if err != nil {
		st.Commit()
		return err
	}
	defer first.Close()
	e, err := st.Commit()
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.Wait(context.Background(), time.Second); err != nil {
		return err
	}
	second, err := st.Stamp()
	if err != nil {
		st.Commit()
		return err
	}
	defer second.Close()
	if err := st.Record(); err != nil {
		return err
	}
	recorded := st.Dispatch(axpy(p, x, y, 1))
	g, err := st.Finish()
	if err = errors.Join(recorded, err); err != nil {
		return err
	}
	defer g.Close()
	if err := errors.Join(st.After(e), g.Replay(st)); err != nil {
		return err
	}
	e2, err := st.Commit()
	if err != nil {
		return err
	}
	defer e2.Close()
	_, err = opened.Usage()
	return err
}

// Each call that a program makes may fail. Then the error names it, nothing is leaked, and nothing is used
// wrongly.
func TestEveryCallMayFail(t *testing.T) {
	s := newStub(t)
	if err := s.scenario(); err != nil {
		t.Fatal(err)
	}
	s.clean("nothing failed")
	// What gives something back cannot be refused; that a kernel's sizes are unknown is no error. To make the
	// context current stands before each of these, too.
	quiet := map[function]bool{cuCtxSetCurrent: true, cuModuleUnload: true, cuMemFreeAsync: true, cuMemFreeHost: true, cuGraphExecDestroy: true,
		cuGraphDestroy: true, cuMemPoolDestroy: true, cuFuncGetParamInfo: true, cuStreamQuery: true}
	tried := 0
	for f, symbol := range symbols {
		for n := 0; ; n++ {
			s.calls()
			s.driver = &Driver{Libraries: s.driver.Libraries}
			s.fail(function(f), n, 998)
			err := s.scenario()
			count := 0
			for _, c := range s.calls() {
				if c == symbol.name {
					count++
				}
			}
			if count <= n { // it was not called so often
				break
			}
			tried++
			var e *gpu.Error
			if !quiet[function(f)] && (!errors.As(err, &e) || e.Native != 998 || e.Op != function(f).String()) {
				t.Errorf("call %d of %v failed: got the error %v", n, function(f), err)
			}
			s.clean(symbol.name)
			s.ask("reset")
			if t.Failed() {
				return
			}
		}
	}
	if tried < 60 {
		t.Errorf("only %d calls failed", tried)
	}
}
