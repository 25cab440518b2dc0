package gpu

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Code: OutOfMemory, Device: "cuda:0", Op: "cuMemAllocAsync", Want: 100, Free: 7, Native: 2, Index: -1},
			"cuda:0: cuMemAllocAsync: out of memory: wanted 100 bytes, 7 are free (code 2); use smaller batches, a smaller " +
				"type or checkpoints, or end other programs on the device"},
		{&Error{Code: OutOfMemory, Device: "metal", Op: "newBufferWithLength", Want: 100, Free: -1, Index: -1},
			"metal: newBufferWithLength: out of memory: wanted 100 bytes; use smaller batches, a smaller " +
				"type or checkpoints, or end other programs on the device"},
		{&Error{Code: NoDriver, Device: "cuda", Op: "open", Text: "libcuda.so.1 is not found", Index: -1},
			"cuda: open: no driver: libcuda.so.1 is not found; install the vendor's driver, or use -device cpu"},
		{&Error{Code: Failed, Device: "cuda:1", Op: "cuLaunchKernel", Text: "CUDA_ERROR_INVALID_VALUE", Native: 1},
			"cuda:1: cuLaunchKernel: the driver failed: CUDA_ERROR_INVALID_VALUE (code 1)"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		wrapped := fmt.Errorf("run: %w", c.err)
		if !errors.Is(wrapped, c.err.Code) || errors.Is(wrapped, Timeout) {
			t.Errorf("%v: errors.Is does not find its code, or finds another", wrapped)
		}
	}
	for c := Failed; c <= Misuse; c++ {
		if c.Error() == "" || c != Failed && c.Hint() == "" {
			t.Errorf("code %d: want a text, and what to do", c)
		}
		if c.Fatal() != (c == KernelFault || c == LostDevice) {
			t.Errorf("%v: Fatal is %v", c, c.Fatal())
		}
	}
}

func TestPoll(t *testing.T) {
	ctx := context.Background()
	failed, late := errors.New("failed"), errors.New("late")
	asked := 0
	after := func(n int, err error) func() (bool, error) {
		asked = 0
		return func() (bool, error) { asked++; return asked > n && err == nil, errIf(asked > n, err) }
	}
	for _, c := range []struct {
		name  string
		limit time.Duration
		done  func() (bool, error)
		want  error
	}{
		{"at once", 0, after(0, nil), nil},
		{"after a while", 0, after(200, nil), nil},
		{"an error ends it", 0, after(3, failed), failed},
		{"a limit ends it", time.Millisecond, func() (bool, error) { return false, nil }, late},
		{"an end in time", time.Minute, after(100, nil), nil},
	} {
		if err := Poll(ctx, c.limit, c.done, func() error { return late }); err != c.want {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(2*time.Millisecond, cancel)
	if err := Poll(ctx, 0, func() (bool, error) { return false, nil }, nil); err != context.Canceled {
		t.Errorf("got %v, want the end of the context", err)
	}
}

func errIf(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

// A step of an optimizer waits for its kernel, so a wait must not last much longer than the work: a pause of
// a millisecond after work of half of one tripled the time of a step.
func TestPollEndsSoon(t *testing.T) {
	const work = 400 * time.Microsecond
	best := time.Hour
	for range 30 {
		start := time.Now()
		if err := Poll(t.Context(), 0, func() (bool, error) { return time.Since(start) >= work, nil }, nil); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	if best > 2*work {
		t.Errorf("the shortest of 30 waits for %v of work took %v, want less than %v", work, best, 2*work)
	}
}
