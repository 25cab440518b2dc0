package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/machine"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// slowMachine has ceilings that are easy to count with.
var slowMachine = Ceilings{
	Arithmetic: map[string]float64{"f32": 60e9, "bf16": 240e9},
	Memory:     []Level{{"L1", 16 << 10, 5e9, 32 << 10}, {"L2", 1 << 20, 100e9, 2 << 20}, {"memory", 64 << 20, 10e9, 0}},
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
		{"a near level is not slower than a far one", slowMachine.Read(16 << 10), 100e9},
		{"as much as L1 and L2 hold", slowMachine.Read(32<<10 + 2<<20), 100e9},
		{"twice as much: half may come from there", slowMachine.Read(64<<10 + 4<<20), 2 / (1/100e9 + 1/10e9)},
		{"more than any", slowMachine.Read(1 << 60), 10e9},
		{"nothing is known", Ceilings{}.Read(1), 0},
		{"behind the caches", slowMachine.Behind(), 10e9},
	} {
		if math.Abs(tt.got-tt.want) > 1e-6*tt.want {
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
		{"from a cache", slowMachine, Tally{Bytes: 1e6}, 1e6 / 90e9, ""},
		{"a little above: within what measuring can tell", slowMachine, Tally{Bytes: 1e6}, 1e6 / 104e9, ""},
		{"faster than the cache", slowMachine, Tally{Bytes: 1e6}, 1e6 / 180e9, "180 GB/s would be 1.80 times as much as L2 gives"},
		{"from memory, at the speed of a cache", slowMachine, Tally{Bytes: 1e9}, 1e9 / 90e9, "90.0 GB/s would be 8.98 times as much as memory gives"},
		{"as many bytes, in launches that a cache holds", slowMachine, Tally{Bytes: 1e9, Working: map[int64]int{1e6: 1000}}, 1e9 / 90e9, ""},
		{"the large launch among them counts", slowMachine, Tally{Bytes: 1e9, Working: map[int64]int{1e6: 500, 5e8: 1}}, 1e9 / 90e9, "90.0 GB/s would be 4.93 times as much as memory gives"},
		{"beside a busy machine's ceiling", doubtful, Tally{Bytes: 1e9}, 1e9 / 90e9, ""},
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
		{"data that stayed near", slowMachine, Tally{Bytes: 9e9}, 0.1, "90.0 GB/s, 9.00 times as much as memory was seen to give"},
		{"a ceiling that is too low", doubtful, Tally{Flops: 90e9, DType: dtype.F32}, 1, "90.0 GFLOP/s, a share of an unknown peak: it was measured while the machine was not quiet"},
		{"a part of the arithmetic", slowMachine, Tally{Flops: 48e9, Bytes: 1e9, Uncounted: true, DType: dtype.F32}, 1, "1.00 GB/s = 10 % of what memory gives"},
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
		measure: func(context.Context, device.Device) (Ceilings, error) { return measure() }, quiet: func(context.Context) bool { return false }}
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
	expect("another process has the best", tooNew, 40, 4)
}

// A busy machine's ceilings are kept, with their doubt, so that not each process measures them. They are
// measured again as soon as the machine is quiet, or when something beats them; the best of all counts.
func TestDoubtfulCeilingsAreMeasuredAgain(t *testing.T) {
	dir, measurements, quiet := t.TempDir(), 0, false
	found := arithmetic(5, "busy")
	var k *keeper
	process := func() { // another one
		k = testKeeper(dir, func() (Ceilings, error) {
			measurements++
			found.Measured = time.Now()
			return found, nil
		})
		k.quiet = func(context.Context) bool { return quiet }
	}
	age := func() { // a minute passes
		key := ceilingKey(device.Default())
		c := k.of[key]
		c.Measured = c.Measured.Add(-2 * recent)
		k.of[key], k.asked = c, time.Time{}
		k.save(key, c)
	}
	expect := func(what string, since time.Duration, rate float64, doubt string, want int) {
		t.Helper()
		c, err := k.get(t.Context(), device.Default(), since)
		if err != nil || c.Arithmetic["f32"] != rate || c.Doubt != doubt || measurements != want {
			t.Errorf("%s: got %v (%s), %v after %d measurements, want %v (%s) after %d", what, c.Arithmetic, c.Doubt, err, measurements, rate, doubt, want)
		}
	}
	process()
	expect("the first time", tooNew, 5, "busy", 1)
	process()
	expect("the next process", tooNew, 5, "busy", 1)
	expect("something beats them at once", recent, 5, "busy", 1)
	age()
	expect("a minute later the machine is busy still", tooNew, 5, "busy", 1)
	found.Arithmetic = map[string]float64{"f32": 8}
	expect("something beats them", recent, 8, "busy", 2)
	found.Arithmetic = map[string]float64{"f32": 6}
	age()
	expect("and again: the best stays", recent, 8, "busy", 3)
	age()
	quiet, found = true, arithmetic(50, "")
	expect("the machine is quiet", tooNew, 50, "", 4)
	process()
	expect("and stays known", tooNew, 50, "", 4)
}

// What another process has found on a quiet machine takes the place of what this one has in doubt.
func TestCeilingsOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	mine := testKeeper(dir, func() (Ceilings, error) { return arithmetic(5, "busy"), nil })
	other := testKeeper(dir, func() (Ceilings, error) { return arithmetic(50, ""), nil })
	for _, each := range []struct {
		keeper *keeper
		age    time.Duration
		rate   float64
	}{{mine, tooNew, 5}, {other, 0, 50}, {mine, tooNew, 50}} {
		if c, err := each.keeper.get(t.Context(), device.Default(), each.age); err != nil || c.Arithmetic["f32"] != each.rate {
			t.Errorf("got %v, %v, want %v", c.Arithmetic, err, each.rate)
		}
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
	const kb, mb = 1 << 10, 1 << 20
	own := func(sizes ...int64) (list []machine.Cache) {
		for _, n := range sizes {
			list = append(list, machine.Cache{Size: n, Sharing: runtime.NumCPU()})
		}
		return list
	}
	for _, tt := range []struct {
		caches []machine.Cache
		want   string
	}{
		{own(48*kb, 2*mb, 32*mb), "L1 holds 48, L2 holds 2048, L3 holds 32768, memory holds 0"},
		{own(48*kb, 2*mb, 260*mb), "L1 holds 48, L2 holds 2048, memory holds 0"},
		{[]machine.Cache{{Size: 48 * kb, Sharing: 1}}, fmt.Sprintf("L1 holds %d, memory holds 0", 48*runtime.NumCPU())},
		{nil, fmt.Sprintf("L1 holds %d, L2 holds %d, memory holds 0", 32*runtime.NumCPU(), 512*runtime.NumCPU())},
	} {
		var names []string
		for _, l := range levels(tt.caches) {
			names = append(names, fmt.Sprintf("%s holds %d", l.Name, l.Holds/kb))
		}
		if got := strings.Join(names, ", "); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.caches, got, tt.want)
		}
	}
}

func TestMeasureCeilings(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a second")
	}
	long.InCI(t, "measures for seconds")
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
	if _, err := ratesOf(ctx, 64, ceilingTime, func(int) (func(), float64) { return func() {}, 1 }); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}

// TestInsist: what beats the ceilings by a little has them measured again, however new they are, and a busy
// machine cannot refuse it; what beats them by far is refused as it is.
func TestInsist(t *testing.T) {
	product := Tally{Launches: 1, Flops: 1e9, DType: dtype.F32}
	for _, tt := range []struct {
		name     string
		again    Ceilings // what is measured then
		rate     float64  // of the work
		refused  bool
		measures int
	}{
		{"slower when first measured", arithmetic(130e9, ""), 120e9, false, 1},
		{"as slow as before", arithmetic(100e9, ""), 120e9, true, 1},
		{"busy", arithmetic(90e9, "busy"), 120e9, false, 1},
		{"far above", arithmetic(500e9, ""), 300e9, true, 0},
	} {
		measured := 0
		k := testKeeper(t.TempDir(), func() (Ceilings, error) {
			measured++
			return tt.again, nil
		})
		c := arithmetic(100e9, "")
		k.of[ceilingKey(device.Default())] = c
		for range 2 { // the second time it is known
			refused, err := k.insist(t.Context(), product, 1e9/tt.rate, c)
			if err != nil || (refused != "") != tt.refused || measured != tt.measures {
				t.Errorf("%s: got %q, %v after %d measurements", tt.name, refused, err, measured)
			}
			if known, ok := k.of[ceilingKey(device.Default())]; ok {
				c = known
			}
		}
	}
}
