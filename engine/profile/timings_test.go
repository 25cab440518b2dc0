package profile_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
)

// machine can do 100 GFLOP/s in f32 and 400 in bf16. Up to 1 MB it moves 100 GB/s, and 10 beyond.
type machine struct{}

func (machine) Flops(t dtype.Type) float64 {
	if t == dtype.BF16 {
		return 400e9
	}
	return 100e9
}

func (machine) Read(bytes int64) float64 {
	if bytes <= 1e6 {
		return 100e9
	}
	return 10e9
}

func value(t dtype.Type, shape ...int) profile.Value { return profile.Value{DType: t, Shape: shape} }

func launched(kernel string, t dtype.Type, bytes, flops int64, took time.Duration) profile.Launch {
	return profile.Launch{Kernel: kernel, Bytes: bytes, Flops: flops, Time: took, Reads: []profile.Value{value(t, 2)}, Writes: []profile.Value{value(t, 2)}}
}

// Each kernel is held against what bounds it: the arithmetic of its own type, memory of the size that it
// works on, or the shortest launch. A figure above that is not cut down to it.
func TestTimings(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name       string
		launches   []profile.Launch
		bound      profile.Bound
		roof       float64
		impossible bool
	}{
		{"arithmetic", []profile.Launch{launched("matmul", dtype.F32, 1000, 1e8, 2000*us)}, profile.Compute, 0.5, false},
		{"arithmetic in half precision", []profile.Launch{launched("matmul", dtype.BF16, 1000, 1e8, 2000*us)}, profile.Compute, 0.125, false},
		{"memory in a cache", []profile.Launch{launched("add", dtype.F32, 1e6, 1000, 20*us)}, profile.Memory, 0.5, false},
		{"memory behind the caches", []profile.Launch{launched("add", dtype.F32, 1e7, 1000, 2000*us)}, profile.Memory, 0.5, false},
		{"a launch", []profile.Launch{launched("add", dtype.F32, 8, 1, 4*us)}, profile.Start, 0.5, false},
		{"most of the time", []profile.Launch{launched("k", dtype.F32, 8, 1, 4*us), launched("k", dtype.F32, 1000, 1e8, 3996*us)}, profile.Compute, 0.2505, false},
		{"faster than the machine", []profile.Launch{launched("matmul", dtype.F32, 1000, 1e8, 500*us)}, profile.Compute, 2, true},
	} {
		trace := profile.Trace{Launches: c.launches}
		got := trace.Timings(map[string]profile.Limit{"": {Roof: machine{}, Start: 2 * us}}, false)
		if len(got) != 1 || got[0].Bound != c.bound || got[0].Roof < c.roof*0.999 || got[0].Roof > c.roof*1.001 || got[0].Impossible(1) != c.impossible {
			t.Errorf("%s: got %+v, want %s at %v", c.name, got, c.bound, c.roof)
		}
	}
}

func TestTimingsStatistics(t *testing.T) {
	const us = time.Microsecond
	trace := profile.Trace{Launches: []profile.Launch{
		launched("a", dtype.F32, 10, 1, 1*us), launched("b", dtype.F32, 10, 1, 70*us), launched("a", dtype.F32, 10, 1, 2*us),
		launched("a", dtype.F32, 10, 1, 3*us), launched("a", dtype.BF16, 10, 1, 24*us),
	}}
	got := trace.Timings(nil, false)
	if len(got) != 2 || got[0].Kernel != "b" || got[1].Calls != 4 {
		t.Fatalf("got %+v, want b and four times a", got)
	}
	a := got[1]
	if a.Total != 30*us || a.Share != 0.3 || a.Mean != 7500*time.Nanosecond || a.Median != 2500*time.Nanosecond || a.Min != 1*us || a.Max != 24*us || a.Bytes != 40 || a.Flops != 4 {
		t.Errorf("got %+v", a)
	}
	shapes := trace.Timings(nil, true)
	var types []string
	for _, x := range shapes {
		types = append(types, x.Kernel+" "+x.Type)
	}
	if want := []string{"b f32[2] → f32[2]", "a bf16[2] → bf16[2]", "a f32[2] → f32[2]"}; !slices.Equal(types, want) {
		t.Errorf("got %q, want %q", types, want)
	}
}

// slow is a tenth of machine.
type slow struct{ machine }

func (s slow) Flops(t dtype.Type) float64 { return s.machine.Flops(t) / 10 }

// A kernel that runs on several devices is held against each one's own limit where it ran on that.
func TestTimingsOfDevices(t *testing.T) {
	const us = time.Microsecond
	on := func(device string, took time.Duration) profile.Launch {
		l := launched("matmul", dtype.F32, 1000, 1e8, took)
		l.Device = device
		return l
	}
	trace := profile.Trace{Launches: []profile.Launch{on("fast", 2000*us), on("slow", 40000*us), on("other", 10*us), on("slow", 40000*us)}}
	got := trace.Timings(map[string]profile.Limit{"fast": {Roof: machine{}}, "slow": {Roof: slow{}}}, false)
	var texts []string
	for _, x := range got {
		texts = append(texts, fmt.Sprintf("%s %d× %.2f %s", x.Device, x.Calls, x.Roof, x.Bound))
	}
	if want := []string{"slow 2× 0.25 comp", "fast 1× 0.50 comp", "other 1× 0.00 "}; !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}

func TestUsage(t *testing.T) {
	const us = time.Microsecond
	r := profile.Recording{Wall: 100 * us, Trace: &profile.Trace{
		Evals: []profile.Eval{
			{Start: 5 * us, Planned: 15 * us, End: 40 * us, Busy: 20 * us},
			{Start: 50 * us, Planned: 51 * us, End: 70 * us, Busy: 17 * us, Reused: true},
		},
		Copies: []profile.Copy{{Start: 70 * us, Time: 2 * us}},
	}}
	want := profile.Usage{Wall: 100 * us, Busy: 37 * us, Gaps: 7 * us, Planning: 11 * us, Copying: 2 * us, Compiled: 1}
	if got := r.Usage(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
