package emulated

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/gputest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

var (
	family = flag.String("family", "", "whose kernels run: sm_90 for those of NVIDIA's GPUs, or nothing for those of Apple's")
	mode   = flag.String("mode", "plain", "what watches the kernels: plain, or the sanitizer address or undefined")
)

// TestConformance runs the suite of all backends on the GPU's backend, or a part of it without -long or
// -record.
func TestConformance(t *testing.T) { conform(t, &Driver{Family: *family}, backendtest.Part) }

// TestUnifiedConformance runs a part of the suite on a device whose memory the processor sees, as that of
// Macs: the backend then reads and writes it without copies, and waits where it must.
func TestUnifiedConformance(t *testing.T) {
	long.Only(t, "runs a part of the suite a second time")
	conform(t, &Driver{Unified: true}, backendtest.Few)
}

// conform runs a suite on a device of a driver, in the mode of the flag.
func conform(t *testing.T, d *Driver, suite gputest.Suite) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	start := time.Now()
	watch := slices.IndexFunc(check.Modes, func(m check.Mode) bool { return m.String() == *mode })
	if watch < 0 {
		t.Fatalf("got the mode %q, want one of %v", *mode, check.Modes)
	}
	d.Tools, d.Mode = tools, check.Modes[watch]
	infos, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	r := gputest.NewRehearsal(infos[0])
	if d.Library {
		r.Library = &kernel.Library{Always: true, Room: gpu.RoomOf(infos[0]), Offer: func(w kernel.Work) (int, bool) {
			_, convolves := w.(kernel.Convolution)
			return 0, !convolves || !d.Columns
		}}
	}
	d.Prepared = gputest.TextsOf(t, r, suite)
	b, err := gpu.Open(d, 0, "emulated")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d texts compiled in %v", len(d.Prepared), time.Since(start).Round(time.Second))
	suite(t, func() (backend.Backend, error) { return b, nil })
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
