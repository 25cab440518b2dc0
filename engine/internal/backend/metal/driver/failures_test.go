package driver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// scenario uses everything once, and gives back what it has whatever fails.
func (s *stub) scenario(cache string) (err error) {
	d, err := s.driver.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	st, err := d.Stream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	l, err := d.Compile(context.Background(), gpu.Source{Name: "axpy.metal", Text: "kernel", Cache: cache})
	if err != nil {
		return err
	}
	defer l.Close()
	p, err := l.Pipeline("axpy")
	if err != nil {
		return err
	}
	defer p.Close()
	x, err := d.Alloc(256, gpu.DeviceMemory)
	if err != nil {
		return err
	}
	defer x.Free()
	defer func() {
		e, failed := st.Commit() // what was encoded before something failed
		if err = errors.Join(err, failed); failed == nil {
			e.Wait(context.Background(), time.Second)
			e.Close()
		}
	}()
	y, err := d.Alloc(256, gpu.DeviceMemory)
	if err != nil {
		return err
	}
	defer st.Free(y)
	if err := errors.Join(st.Fill(x, 1, 3, 0), st.Copy(y, 0, x, 0, 256), st.Dispatch(axpy(p, x, y, 1))); err != nil {
		return err
	}
	stamp, err := st.Stamp()
	if err != nil {
		return err
	}
	defer stamp.Close()
	if err := st.Dispatch(axpy(p, x, y, 1)); err != nil {
		return err
	}
	e, err := st.Commit()
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Wait(context.Background(), time.Second)
}

// What Metal cannot make is nil. Then the error names the message, nothing is leaked, and nothing is sent
// wrongly.
func TestEveryNil(t *testing.T) {
	s := newStub(t)
	s.ask("clocks", 0) // which are tried out in silence: TestNilClocks
	if err := s.scenario(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	s.clean("nothing failed")
	tried := 0
	for m, quiet := range map[selector]bool{
		selNewResidencySet: true, // useResource: serves
		selNewHeap:         true, // buffers have memory of their own
		selNewBuffer:       true, // another heap serves, or none
		selNewArchive:      true, // pipelines are made without one
		selAddFunctions:    true,
		selSerialize:       true,
		selNewQueue:        false, selNewFence: false, selNewSharedEvent: false, selNewLibrary: false, selNewFunction: false,
		selNewPipeline: false, selContents: false, selGPUAddress: false, selCommandBuffer: false,
		selComputeEncoder: false, selBlitEncoder: false,
	} {
		for n := range 20 {
			s.fail(m, n)
			err := s.scenario(t.TempDir())
			if s.ask("failing") != "" { // it was not sent so often
				break
			}
			tried++
			var e *gpu.Error
			// Not to be in the archive is no failure of the first pipeline.
			if !quiet && !errors.As(err, &e) && !(m == selNewPipeline && n == 0) {
				t.Errorf("%s, message %d: got no error", string(m), n)
			}
			if quiet && err != nil {
				t.Errorf("%s, message %d: got %v, want it done without", string(m), n, err)
			}
			s.clean(string(m))
		}
	}
	if tried < 20 {
		t.Errorf("only %d messages failed", tried)
	}
}

// Where counters fail, command buffers serve, or the work has the error; nothing is leaked.
func TestNilClocks(t *testing.T) {
	s := newStub(t)
	failed := 0
	for _, m := range []selector{selCounterSets, selNewSampleBuffer, selComputePass, selBlitPass, selSampleAttachments, selSubscript,
		selComputeEncoderWith, selBlitEncoderWith, selNewQueue, selCommandBuffer, selNewBuffer, selGPUAddress, selResolve, selBytes} {
		for n := range 20 {
			s.fail(m, n)
			var e *gpu.Error
			if err := s.scenario(t.TempDir()); err != nil && !errors.As(err, &e) {
				t.Errorf("%s, message %d: got %v", string(m), n, err)
			}
			if s.ask("failing") != "" {
				break
			}
			failed++
			s.clean(string(m))
		}
	}
	if failed < 20 {
		t.Errorf("only %d messages failed", failed)
	}
}
