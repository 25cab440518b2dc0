package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// slowMachine has ceilings that are easy to count with.
var slowMachine = Ceilings{
	Arithmetic: map[string]float64{"f32": 60e9, "bf16": 240e9},
	Memory:     []Level{{"L1", 16 << 10, 5e9}, {"L2", 1 << 20, 100e9}, {"memory", 64 << 20, 10e9}},
}

func TestCeilingsOfTypesAndSizes(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"f32", slowMachine.Flops(dtype.F32), 60e9},
		{"a type that was not measured: the highest", slowMachine.Flops(dtype.I64), 240e9},
		{"no type", slowMachine.Flops(dtype.Invalid), 240e9},
		{"half of L2", slowMachine.Read(512 << 10), 100e9},
		{"more than any", slowMachine.Read(1 << 40), 10e9},
		{"nothing is known", Ceilings{}.Read(1), 0},
		{"behind the caches", slowMachine.Behind(), 10e9},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestRefuse(t *testing.T) {
	doubtful := slowMachine
	doubtful.Doubt = "busy"
	product := func(t dtype.Type) Tally { return Tally{Launches: 1, Flops: 2e9, Bytes: 3e6, DType: t} }
	for _, tt := range []struct {
		name     string
		ceilings Ceilings
		tally    Tally
		seconds  float64
		want     string // nothing: it is believed
	}{
		{"half of the peak", slowMachine, product(dtype.F32), 2e9 / 30e9, ""},
		{"a little above: within what measuring can tell", slowMachine, product(dtype.F32), 2e9 / 62e9, ""},
		{"a memo", slowMachine, product(dtype.F32), 2e9 / 88e12, "88.0 TFLOP/s would be 1467 times as much as this device can do in f32"},
		{"f32 is not held against bf16", slowMachine, product(dtype.F32), 2e9 / 200e9, "200 GFLOP/s would be 3.33 times"},
		{"bf16 is", slowMachine, product(dtype.BF16), 2e9 / 200e9, ""},
		{"a busy machine's ceiling is too low", doubtful, product(dtype.F32), 2e9 / 200e9, ""},
		{"but not by any factor", doubtful, product(dtype.F32), 2e9 / 88e12, "88.0 TFLOP/s would be 1467 times"},
		{"from a cache", slowMachine, Tally{Bytes: 1e9}, 1e9 / 90e9, ""},
		{"from a cache, as its data happen to lie", slowMachine, Tally{Bytes: 1e9}, 1e9 / 180e9, ""},
		{"from nowhere", slowMachine, Tally{Bytes: 1e9}, 1e9 / 900e9, "900 GB/s would be 9.00 times as much as L2 gives"},
		{"nothing is claimed", slowMachine, Tally{}, 1e-9, ""},
		{"no ceilings are known", Ceilings{}, product(dtype.F32), 1e-9, ""},
	} {
		if got := tt.ceilings.Refuse(tt.tally, tt.seconds); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	doubtful := slowMachine
	doubtful.Doubt = "measured while the machine was not quiet"
	for _, tt := range []struct {
		name     string
		ceilings Ceilings
		tally    Tally
		seconds  float64
		want     string
	}{
		{"arithmetic", slowMachine, Tally{Flops: 48e9, Bytes: 1e6, DType: dtype.F32}, 1, "48.0 GFLOP/s = 80 % of what f32 reaches"},
		{"in bf16", slowMachine, Tally{Flops: 48e9, Bytes: 1e6, DType: dtype.BF16}, 1, "48.0 GFLOP/s = 20 % of what bf16 reaches"},
		{"memory", slowMachine, Tally{Flops: 1e9, Bytes: 9e9, DType: dtype.F32}, 1, "9.00 GB/s = 90 % of what memory gives"},
		{"a cache", slowMachine, Tally{Bytes: 1e6}, 1e6 / 50e9, "50.0 GB/s = 50 % of what L2 gives"},
		{"data that stayed near", slowMachine, Tally{Bytes: 9e9}, 0.1, "90.0 GB/s, more than memory was seen to give (10.0 GB/s): its data stayed nearer"},
		{"a ceiling that is too low", doubtful, Tally{Flops: 90e9, DType: dtype.F32}, 1, "90.0 GFLOP/s, a share of an unknown peak: it was measured while the machine was not quiet"},
		{"nothing is known", slowMachine, Tally{}, 1, ""},
	} {
		if got := tt.ceilings.Nearest(tt.tally, tt.seconds); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A keeper with ceilings that a test gives instead of measuring.
func testKeeper(dir string, measure func() (Ceilings, error)) *keeper {
	return &keeper{of: map[string]Ceilings{}, dir: func() (string, error) { return dir, nil },
		measure: func(context.Context, device.Device) (Ceilings, error) { return measure() }}
}

func arithmetic(rate float64, doubt string) Ceilings {
	return Ceilings{Arithmetic: map[string]float64{"f32": rate}, Measured: time.Now(), Doubt: doubt}
}

func TestCeilingsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "made", "yet")
	measurements := 0
	rate, doubt := 50.0, ""
	measure := func() (Ceilings, error) {
		measurements++
		return arithmetic(rate, doubt), nil
	}
	k := testKeeper(dir, measure)
	expect := func(what string, age time.Duration, wantRate float64, wantMeasurements int) {
		t.Helper()
		c, err := k.get(t.Context(), device.Default(), age)
		if err != nil || c.Arithmetic["f32"] != wantRate || measurements != wantMeasurements {
			t.Errorf("%s: got %v, %v after %d measurements, want %v after %d", what, c.Arithmetic, err, measurements, wantRate, wantMeasurements)
		}
	}
	expect("the first time", tooNew, 50, 1)
	expect("the second time", tooNew, 50, 1)
	k = testKeeper(dir, measure)
	expect("another process", tooNew, 50, 1)
	expect("something beats them, just after they were measured", recent, 50, 1)
	age := k.of[ceilingKey(device.Default())]
	age.Measured = time.Now().Add(-time.Hour)
	k.of[ceilingKey(device.Default())] = age
	rate = 40
	expect("something beats them: the best of all stays", recent, 50, 2)
	expect("on demand: as it is now", 0, 40, 3)
	rate, doubt = 10, "busy"
	expect("on demand, but the machine is busy", 0, 40, 4)
	k = testKeeper(dir, measure)
	expect("what a busy machine gave is not kept", tooNew, 40, 4)
}

// A busy machine's ceilings hold for a while only, and never in another process.
func TestDoubtfulCeilingsAreMeasuredAgain(t *testing.T) {
	measurements := 0
	k := testKeeper(t.TempDir(), func() (Ceilings, error) {
		measurements++
		if measurements == 1 {
			return arithmetic(5, "busy"), nil
		}
		return arithmetic(50, ""), nil
	})
	key := ceilingKey(device.Default())
	for range 2 {
		if c, err := k.get(t.Context(), device.Default(), tooNew); err != nil || c.Doubt == "" || measurements != 1 {
			t.Fatalf("got %v, %v after %d measurements", c, err, measurements)
		}
	}
	c := k.of[key]
	c.Measured = c.Measured.Add(-2 * recent)
	k.of[key] = c
	if c, err := k.get(t.Context(), device.Default(), tooNew); err != nil || c.Doubt != "" || c.Arithmetic["f32"] != 50 {
		t.Errorf("a minute later: got %v, %v, want what was measured again", c, err)
	}
}

func TestDamagedCeilingsAreMeasured(t *testing.T) {
	for _, text := range []string{"", "{", `{"Machine": "another"}`, `{"Machine": "KEY"}`, `{"Machine": "KEY", "Arithmetic": {"f32": -1}}`} {
		k := testKeeper(t.TempDir(), func() (Ceilings, error) { return arithmetic(7, ""), nil })
		key := ceilingKey(device.Default())
		path, err := k.file(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "KEY", key)), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := k.get(t.Context(), device.Default(), tooNew); err != nil || c.Arithmetic["f32"] != 7 {
			t.Errorf("%q: got %v, %v, want new ones", text, c, err)
		}
	}
	k := testKeeper("", func() (Ceilings, error) { return arithmetic(7, ""), nil })
	k.dir = func() (string, error) { return "", errors.New("no home") }
	if c, err := k.get(t.Context(), device.Default(), tooNew); err != nil || c.Arithmetic["f32"] != 7 {
		t.Errorf("without a folder: got %v, %v", c, err)
	}
}

func TestUnsteady(t *testing.T) {
	for _, tt := range []struct {
		rates []float64
		doubt bool
	}{{[]float64{100, 99, 98, 40, 30}, false}, {[]float64{40, 100, 60, 50}, true}, {[]float64{100, 50}, false}} {
		if got := unsteady("f32", tt.rates); (got != "") != tt.doubt {
			t.Errorf("%v: got %q", tt.rates, got)
		}
	}
}

func TestLevels(t *testing.T) {
	for _, tt := range []struct {
		caches []int64
		want   string
	}{
		{[]int64{48 << 10, 2 << 20, 32 << 20}, "L1 L2 L3 memory"},
		{[]int64{48 << 10, 2 << 20, 260 << 20}, "L1 L2 memory"},
		{nil, "L1 L2 memory"},
	} {
		var names []string
		for _, l := range levels(tt.caches) {
			names = append(names, l.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.caches, got, tt.want)
		}
	}
}

func TestMeasureCeilings(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a second")
	}
	c, err := measureCeilings(t.Context(), device.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c)
	for _, dt := range measured {
		if c.Arithmetic[dt.String()] < 1e7 {
			t.Errorf("%s: got %.3g FLOP/s, want what a computer does", dt, c.Arithmetic[dt.String()])
		}
	}
	for _, l := range c.Memory {
		if l.Rate < 1e8 {
			t.Errorf("%s: got %.3g B/s, want what a computer does", l.Name, l.Rate)
		}
	}
}

func TestInterruptedRateIsNone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ratesOf(ctx, 64, func(int) (func(), float64) { return func() {}, 1 }); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}
