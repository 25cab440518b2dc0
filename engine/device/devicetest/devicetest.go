// Package devicetest has a device for tests, also for those of packages outside of the engine.
package devicetest

import (
	"flag"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/emulated"
	"github.com/mcs-notebook/mcs/engine/internal/testing/gputest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/late"
)

// Register makes a device known.
//
//   - "late" works through what it was asked for after it has returned, and finds errors then, as a GPU does;
//     "late64" has f64, too.
//   - "emulated" is a GPU of which the processor runs the kernels, thread by thread, and watches them. It
//     needs clang. It is slow, and most of that is compiling: code that ran on the device "rehearsal"
//     before, which computes the same on the processor, finds its kernels compiled together when "emulated"
//     is opened. With it come "emulated-library", which computes products, attention and linear algebra as
//     by libraries, and "emulated-address" and "emulated-undefined", where sanitizers watch, too.
func Register(name string) {
	if strings.HasPrefix(name, "emulated") || name == "rehearsal" {
		emulated.Register()
		return
	}
	late.Register(name)
}

// Emulated registers the emulated GPU for a test, which is skipped where there is none.
func Emulated(t testing.TB) {
	t.Helper()
	Register("emulated")
	for _, d := range device.List() {
		if d.Name == "emulated" && d.Missing != "" {
			t.Skip(d.Missing)
		}
	}
}

// Kernels are the kinds of kernels that the device "rehearsal" was asked for so far: "matmul_part",
// "top_k_merge".
func Kernels(t testing.TB) map[string]bool {
	t.Helper()
	r := rehearsal(t)
	kinds := map[string]bool{}
	for function := range r.Texts() {
		kinds[function[:strings.LastIndexByte(function, '_')]] = true // behind it is a hash
	}
	return kinds
}

// AllKernels is Kernels after the cases of each op, in f32 or integers, of the suite of all backends.
func AllKernels(t *testing.T) map[string]bool {
	t.Helper()
	r := rehearsal(t)
	backendtest.Ops(t, func() (backend.Backend, error) { return r, nil }, []dtype.Type{dtype.F32, dtype.I32})
	return Kernels(t)
}

func rehearsal(t testing.TB) *gputest.Rehearsal {
	t.Helper()
	Register("rehearsal")
	d, err := backend.Open("rehearsal")
	if err != nil {
		t.Fatal(err)
	}
	return d.Backend().(*gputest.Rehearsal)
}

// Main runs the tests of a package on the device of the flag -device. Go's collector runs less often than in
// a program: models of tests are small, and it would take a quarter of their time.
func Main(m *testing.M) {
	debug.SetGCPercent(400)
	name := flag.String("device", "", "the device that tests compute on: late64 finds errors late, emulated is a GPU")
	flag.Parse()
	if *name != "" {
		if strings.HasPrefix(*name, "late") || strings.HasPrefix(*name, "emulated") || *name == "rehearsal" {
			Register(*name)
		}
		if err := device.Use(*name); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
