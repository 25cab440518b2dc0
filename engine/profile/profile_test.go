package profile

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// run reports launches as the engine does for a plan that ran within ctx.
func run(ctx context.Context, w *events.Work, times ...time.Duration) {
	events.Of(ctx).Ran(&events.Run{Work: w, Times: times, Reused: true})
}

var (
	lora = &events.Work{Launches: []events.Launch{{Kernel: "lora_linear_rows", Bytes: 4509715, Flops: 8_500_000}}}
	mul  = &events.Work{Launches: []events.Launch{{Kernel: "map_mul", Bytes: 2048, Flops: 256}}}
	both = &events.Work{Launches: append(mul.Launches[:1:1], lora.Launches...)}
)

func TestRecord(t *testing.T) {
	before := Total()
	run(t.Context(), lora)
	r := Record(t.Context(), func(ctx context.Context) {
		run(ctx, lora)
		events.Here().Copying(1024).Done()
	})
	run(t.Context(), both)
	events.Here().Copying(1).Done()
	const want = "kernel            calls    bytes  flops\n" +
		"lora_linear_rows      1  4.3 MiB  8.5 M\n" +
		"1 launch · 1 copy of 1.0 KiB · plan cached"
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := Total() - before; n != 4 {
		t.Errorf("Total grew by %d, want 4", n)
	}
}

// A recording has the launches within its context, of all goroutines, and counts the launches of others.
func TestWhoseLaunchesCount(t *testing.T) {
	other, wait := context.WithCancel(t.Context()) // a context of its own
	defer wait()
	r := Record(t.Context(), func(ctx context.Context) {
		for _, within := range []context.Context{ctx, context.WithValue(ctx, &scope.Key{}, 1), other} {
			done := make(chan bool)
			go scope.Within(within, func() {
				defer close(done)
				run(scope.Context(), mul)
			})
			<-done
		}
		done := make(chan bool)
		go func() { // a goroutine that the function may have started
			defer close(done)
			run(scope.Context(), mul)
		}()
		<-done
	})
	if r.Launches != 3 || r.Others != 1 {
		t.Errorf("got %d launches and %d of others, want 3 and 1", r.Launches, r.Others)
	}
	if text := r.String(); !strings.HasSuffix(text, "\n1 launch meanwhile by others, not counted above") {
		t.Errorf("the others are missing in\n%s", text)
	}
}

func TestNestedRecordings(t *testing.T) {
	var inner *Recording
	outer := Record(t.Context(), func(ctx context.Context) {
		run(ctx, mul)
		inner = RecordTimed(ctx, func(ctx context.Context) { run(ctx, mul, time.Millisecond) })
		run(ctx, mul)
	})
	if outer.Launches != 3 || inner.Launches != 1 {
		t.Errorf("got %d and %d launches, want 3 and 1", outer.Launches, inner.Launches)
	}
	if inner.DeviceTime() != time.Millisecond || outer.DeviceTime() != 0 {
		t.Errorf("got times %v and %v, want them in the timed recording only", inner.DeviceTime(), outer.DeviceTime())
	}
	if one := mul.Launches[0]; outer.Bytes() != 3*one.Bytes || outer.Flops() != 3*one.Flops {
		t.Errorf("got %d bytes, %d flops, want the sums", outer.Bytes(), outer.Flops())
	}
}

func TestTimedText(t *testing.T) {
	r := RecordTimed(t.Context(), func(ctx context.Context) { run(ctx, both, time.Millisecond, 3*time.Millisecond) })
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

// Equal work that the planner has merged is named.
func TestMerged(t *testing.T) {
	twice := &events.Work{Launches: mul.Launches, Merged: []events.Merged{{Op: "mul f32[256]", Times: 1}}}
	r := Record(t.Context(), func(ctx context.Context) {
		run(ctx, twice)
		run(ctx, twice)
	})
	if text := r.String(); !strings.HasSuffix(text, "\nmul f32[256] was asked for 2 times more, and computed once") {
		t.Errorf("what was merged is missing in\n%s", text)
	}
	many := &Recording{Merged: []Merged{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 9}}}
	if notes := many.Notes(); len(notes) != 4 || notes[3] != "so were 2 results of other kinds or shapes" {
		t.Errorf("of five kinds got %q", notes)
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
	record := func(plans ...*events.Work) *Recording {
		return Record(t.Context(), func(ctx context.Context) {
			for _, w := range plans {
				run(ctx, w)
			}
		})
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
	outer := Record(t.Context(), func(ctx context.Context) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 100 {
					Record(ctx, func(ctx context.Context) { run(ctx, mul) })
				}
			})
		}
		group.Wait()
	})
	if outer.Launches != 800 {
		t.Errorf("got %d launches, want 800", outer.Launches)
	}
}

// When nobody listens, counting is all that a launch costs.
func TestNoCostWithoutRecording(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { run(t.Context(), mul); events.Here().Copying(8).Done() }); n != 0 {
		t.Errorf("got %v allocations a launch, want 0", n)
	}
}
