package profile

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/events"
)

// run reports launches as the engine does.
func run(times []time.Duration, reused bool, launches ...events.Launch) {
	if listened, wantTimes := events.Launching(len(launches)); listened {
		if !wantTimes {
			times = nil
		}
		events.Launched(launches, times, reused)
	}
}

var (
	lora = events.Launch{Kernel: "lora_linear_rows", Bytes: 4509715, Flops: 8_500_000}
	mul  = events.Launch{Kernel: "map_mul", Bytes: 2048, Flops: 256}
)

func TestRecording(t *testing.T) {
	before := Total()
	run(nil, false, lora)
	r := Start()
	run(nil, true, lora)
	events.Copied(1024)
	if got := r.Stop(); got != r {
		t.Error("Stop returned another recording")
	}
	run(nil, true, lora, mul)
	events.Copied(1)
	const want = "kernel            calls    bytes  flops\n" +
		"lora_linear_rows      1  4.3 MiB  8.5 M\n" +
		"1 launch · 1 copy of 1.0 KiB · plan cached"
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := Total() - before; n != 4 {
		t.Errorf("Total grew by %d, want 4", n)
	}
	wall := r.Wall
	if r.Stop(); r.Wall != wall || r.Launches != 1 {
		t.Error("a second Stop changed the recording")
	}
}

func TestOverlappingRecordings(t *testing.T) {
	outer := Start()
	run(nil, false, mul)
	inner := StartTimed()
	run([]time.Duration{time.Millisecond}, true, mul)
	inner.Stop()
	run(nil, true, mul)
	outer.Stop()
	if outer.Launches != 3 || inner.Launches != 1 {
		t.Errorf("got %d and %d launches, want 3 and 1", outer.Launches, inner.Launches)
	}
	if inner.DeviceTime() != time.Millisecond || outer.DeviceTime() != 0 {
		t.Errorf("got times %v and %v, want them in the timed recording only", inner.DeviceTime(), outer.DeviceTime())
	}
	if outer.Bytes() != 3*mul.Bytes || outer.Flops() != 3*mul.Flops {
		t.Errorf("got %d bytes, %d flops, want the sums", outer.Bytes(), outer.Flops())
	}
}

func TestTimedText(t *testing.T) {
	r := StartTimed()
	run([]time.Duration{time.Millisecond, 3 * time.Millisecond}, true, mul, lora)
	r.Stop()
	r.Wall = 5 * time.Millisecond
	const want = "kernel            calls     time   share     each  GB/s  GFLOP/s\n" +
		"lora_linear_rows      1  3.00 ms  75.0 %  3.00 ms  1.50     2.83\n" +
		"map_mul               1  1.00 ms  25.0 %  1.00 ms  0.00     0.00\n" +
		"2 launches · 0 copies · plan cached\n" +
		"4.00 ms of 5.00 ms on the device, one kernel at a time"
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSummary(t *testing.T) {
	for _, tt := range []struct {
		r    Recording
		want string
	}{
		{Recording{}, "0 launches · 0 copies"},
		{Recording{Launches: 1, PlansBuilt: 1}, "1 launch · 0 copies · plan built"},
		{Recording{Launches: 9, Copies: 2, PlansBuilt: 1, PlansReused: 3}, "9 launches · 2 copies · 1 plan built, 3 cached"},
	} {
		if got := tt.r.Summary(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestDiff(t *testing.T) {
	record := func(launches ...events.Launch) *Recording {
		r := Start()
		run(nil, true, launches...)
		return r.Stop()
	}
	d := Diff(record(mul, mul, mul), record(lora, mul))
	const want = "kernel            calls  →  calls    bytes  →    bytes\n" +
		"map_mul               3  →      1  6.0 KiB  →  2.0 KiB\n" +
		"lora_linear_rows      –  →      1        –  →  4.3 MiB\n" +
		"3 launches → 2 · 6.0 KiB → 4.3 MiB"
	if got := d.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if js, err := d.JSON(); err != nil || !strings.Contains(string(js), `"lora_linear_rows"`) {
		t.Errorf("JSON: got %s, %v", js, err)
	}
}

func TestRecordingsFromManyGoroutines(t *testing.T) {
	outer := Start()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				r := Start()
				run(nil, true, mul)
				r.Stop()
			}
		})
	}
	group.Wait()
	if outer.Stop(); outer.Launches != 800 {
		t.Errorf("got %d launches, want 800", outer.Launches)
	}
}

// When nobody listens, counting is all that a launch costs.
func TestNoCostWithoutRecording(t *testing.T) {
	launches := []events.Launch{mul} // a plan's
	if n := testing.AllocsPerRun(100, func() { run(nil, true, launches...); events.Copied(8) }); n != 0 {
		t.Errorf("got %v allocations a launch, want 0", n)
	}
}
