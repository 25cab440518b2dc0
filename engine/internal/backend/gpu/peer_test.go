package gpu_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// twoDevices are two devices of a fake, and a value of four floats on the first.
func twoDevices(t *testing.T, peers bool) (d *fake.Driver, from, to *backend.Device, value *ir.Data) {
	t.Helper()
	d = &fake.Driver{Infos: []gpu.Info{fake.Info(), fake.Info()}, Peers: peers}
	from, to = backend.NewDevice("fake:0", must(gpu.Open(d, 0, "fake:0"))(t)), backend.NewDevice("fake:1", must(gpu.Open(d, 1, "fake:1"))(t))
	block := must(from.Alloc(16))(t)
	if err := from.Upload(block, 0, floats(1, 2, 3, 4)); err != nil {
		t.Fatal(err)
	}
	return d, from, to, block.Data(new(ir.Contiguous([]int{4})), nil)
}

// A value goes from one device to another by one copy, and by way of the host where they do not reach each
// other.
func TestCopyBetweenDevices(t *testing.T) {
	for _, peers := range []bool{true, false} {
		d, _, to, value := twoDevices(t, peers)
		ctx, dst := context.Background(), must(to.Alloc(8))(t)
		d.Log()
		if err := backend.Copy(ctx, dst, value, 4, 8); err != nil {
			t.Fatal(err)
		}
		if log := strings.Join(d.Log(), "\n"); strings.Contains(log, "copy from 8") != peers || strings.Contains(log, "copy 8") == peers {
			t.Errorf("peers %v: got\n%s", peers, log)
		}
		got := make([]byte, 8)
		if err := to.Download(ctx, got, dst.Data(new(ir.Contiguous([]int{2})), nil), 0); err != nil || !slices.Equal(got, floats(2, 3)) {
			t.Errorf("peers %v: got %v, %v, want 2 and 3", peers, got, err)
		}
	}
}

// A copy waits for what writes its source, and stops waiting with its context. What goes wrong on a device
// loses that one, and no other.
func TestCopyBetweenDevicesFails(t *testing.T) {
	d, _, to, value := twoDevices(t, true)
	dst := must(to.Alloc(16))(t)
	d.Hold()
	if err := value.Buf.(*backend.Block).Device().Upload(value.Buf, 0, floats(5, 6, 7, 8)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	cancel(enough)
	if err := backend.Copy(ctx, dst, value, 0, 16); !errors.Is(err, enough) {
		t.Errorf("got %v, want the context's cause", err)
	}
	done := make(chan error)
	go func() { done <- backend.Copy(context.Background(), dst, value, 0, 16) }()
	d.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	got := make([]byte, 16)
	if err := to.Download(context.Background(), got, dst.Data(new(ir.Contiguous([]int{4})), nil), 0); err != nil || !slices.Equal(got, floats(5, 6, 7, 8)) {
		t.Errorf("got %v, %v, want what was written last", got, err)
	}
	d.Fail("run", 0, &gpu.Error{Code: gpu.KernelFault, Text: "a fault"})
	if err := backend.Copy(context.Background(), dst, value, 0, 16); !errors.Is(err, backend.ErrLost) {
		t.Errorf("got %v, want that the device is lost", err)
	}
	if from := value.Buf.(*backend.Block).Device(); from.Err() != nil || to.Err() == nil {
		t.Errorf("lost are %v and %v, want the second", from.Err(), to.Err())
	}
}
