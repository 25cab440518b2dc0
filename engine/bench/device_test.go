package bench

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// queueing is the reference as a device that is not done when its launches return: a wait for them takes the
// time queued. It has no threads, like an accelerator.
type queueing struct {
	backend.Backend
	busy *atomic.Bool
}

func (q queueing) Run(ctx context.Context, p backend.Loaded, t *backend.Table, times []time.Duration) error {
	q.busy.Store(true)
	return q.Backend.Run(ctx, p, t, times)
}

func (q queueing) Info() backend.Info {
	i := q.Backend.Info()
	i.Name, i.Detail, i.Threads = "queueing", "takes its time", 0
	return i
}

func (q queueing) Sync(ctx context.Context) error {
	if q.busy.Swap(false) {
		time.Sleep(time.Duration(queued.Load()))
	}
	return q.Backend.Sync(ctx)
}

var queued atomic.Int64 // nanoseconds

func init() {
	backend.Register(backend.Driver{Name: "queueing", Number: backend.Index,
		Probe: func() []backend.Found { return []backend.Found{{Name: "queueing:0"}} },
		Open: func(int) (backend.Backend, error) {
			b, err := ref.Open()
			return queueing{b, new(atomic.Bool)}, err
		}})
}

// What works on a device that is not the default one, or on two, is timed until they are done, and is held
// against what they can do.
func TestWorkOnOtherDevices(t *testing.T) {
	other, err := device.Lookup("queueing")
	if err != nil {
		t.Fatal(err)
	}
	const late = 3 * time.Millisecond
	queued.Store(int64(late))
	defer queued.Store(0)
	x := tensor.Ones(8).Add(1).Eval()
	y := x.To(other).Eval()
	for _, c := range []struct {
		name string
		run  func()
		on   []string
	}{
		{"on the other", func() { y.Exp().Eval() }, []string{"queueing:0"}},
		{"on both", func() { tensor.Eval(x.Exp(), y.Exp()) }, []string{device.Default().String(), "queueing:0"}},
		{"on the default, and then there", func() { x.Exp().To(other).Exp().Eval() }, []string{device.Default().String(), "queueing:0"}},
	} {
		clock := newDeviceClock()
		r, err := Measure(t.Context(), func(n int) error {
			for range n {
				c.run()
			}
			return nil
		}, Options{Time: 100 * time.Millisecond, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		if r.Refused == "" && r.Median*float64(r.PerSample) < 0.9*late.Seconds() {
			t.Errorf("%s: a sample took %v s, want the %v for which the device works", c.name, r.Median*float64(r.PerSample), late)
		}
		if !slices.Equal(r.Tally.Devices, c.on) {
			t.Errorf("%s: it was on %v, want %v", c.name, r.Tally.Devices, c.on)
		}
		for _, name := range c.on {
			if !strings.Contains(r.Machine.Device, name+": ") {
				t.Errorf("%s: the machine is %q, want %s in it", c.name, r.Machine.Device, name)
			}
		}
	}
}

// Ceilings are those of the devices that were used, each measured by itself and kept under its name.
func TestCeilingsOfDevices(t *testing.T) {
	var measuredOn []string
	k := testKeeper(t.TempDir(), nil)
	k.measure = func(_ context.Context, d device.Device) (Ceilings, error) {
		measuredOn = append(measuredOn, d.String())
		rate := map[string]float64{"cpu:1": 1e9, "queueing:0": 5e9}[d.String()]
		return Ceilings{Arithmetic: map[string]float64{"f32": rate}, Memory: []Level{{Name: "memory", Size: 1 << 20, Rate: rate / 10}}, Measured: time.Now()}, nil
	}
	for _, c := range []struct {
		on          []string
		flops, read float64
	}{
		{[]string{"cpu:1"}, 1e9, 1e8}, {[]string{"queueing:0"}, 5e9, 5e8}, {[]string{"cpu:1", "queueing:0"}, 6e9, 6e8}, {[]string{"queueing:0", "cpu:1"}, 6e9, 6e8},
	} {
		got, err := k.together(t.Context(), c.on, tooNew)
		if err != nil || got.Flops(dtype.F32) != c.flops || math.Abs(got.Read(1<<30)/c.read-1) > 1e-9 {
			t.Errorf("%v: got %v, %v, want %g FLOP/s and %g B/s", c.on, got, err, c.flops, c.read)
		}
		if refused := got.Refuse(Tally{Flops: 1e9, DType: dtype.F32}, 1e9/(2*c.flops)); refused == "" {
			t.Errorf("%v: twice of what it can do is believed", c.on)
		}
	}
	if !slices.Equal(measuredOn, []string{"cpu:1", "queueing:0"}) {
		t.Errorf("measured on %v, want each once", measuredOn)
	}
	if _, err := k.together(t.Context(), []string{"abacus"}, tooNew); err == nil {
		t.Error("a device that is not there has ceilings")
	}
}

// An accelerator is measured by work that takes it longer than a launch, within its memory.
func TestReach(t *testing.T) {
	h200 := gpu.InfoOf("cuda:0", gpu.Info{Memory: 141 << 30})
	for _, c := range []struct {
		info    device.Info
		product int
		memory  int64
	}{
		{device.Info{Threads: 2, Memory: 1 << 30}, 1024, largestData},
		{device.Info{Threads: h200.Threads, Memory: h200.Memory}, 8192, 2 << 30},
		{device.Info{}, 8192, 2 << 30},
		{device.Info{Memory: 1 << 30}, 8192, 64 << 20},
	} {
		r := reachOf(c.info)
		if last := r.levels[len(r.levels)-1]; r.product != c.product || last.Size != c.memory {
			t.Errorf("%+v: got %+v, want products of %d and %d bytes", c.info, r, c.product, c.memory)
		}
	}
}

// The rate of a device that queues its work is that of the work, not that of queueing it.
func TestRatesWaitForTheDevice(t *testing.T) {
	other, err := device.Lookup("queueing")
	if err != nil {
		t.Fatal(err)
	}
	const late = 5 * time.Millisecond
	queued.Store(int64(late))
	defer queued.Store(0)
	sizes, err := ratesOf(device.On(t.Context(), other), 8, 20*time.Millisecond, func(n int) (func(), float64) {
		x := ramp(n)
		return func() { x.Neg().Eval() }, float64(n)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, rates := range sizes {
		for _, rate := range rates {
			if rate > 8/late.Seconds() {
				t.Errorf("got %g a second, want at most %g: the device takes %v", rate, 8/late.Seconds(), late)
			}
		}
	}
}
