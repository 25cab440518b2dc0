package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	tests "github.com/mcs-notebook/mcs/internal/testing/long"
)

var tested = flag.String("device", "cpu", "the device that is held against ref")

// The test binary is the program itself when this variable is set.
const beProgram = "MCS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(beProgram) == "" {
		debug.SetGCPercent(400) // what the reference computes is soon garbage
		os.Exit(m.Run())
	}
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError) // without the flags of tests
	main()
}

// on does the work on a device and returns samples of its results, and its profile: of two runs, as the
// driver asks for several.
func on(t *testing.T, name string, w work) (answer, *record) {
	t.Helper()
	a, run := prepared(t, name, w)
	if run == nil {
		t.Fatalf("%s: got no work: %s", name, a.Absent)
	}
	p := profiled(run, 2)
	if p.Profile == nil {
		t.Fatalf("%s: got no profile: %s", name, p.Absent)
	}
	return a, p.Profile
}

func prepared(t *testing.T, name string, w work) (answer, func() []tensor.Tensor) {
	t.Helper()
	if err := device.Use(name); err != nil {
		t.Fatal(err)
	}
	tensor.Seed(1)
	return prepare(&w)
}

// small has rows enough for an overwrite to mark those that stay.
func small(f family) work { return work{Kind: "family", Family: f.name, M: 192, N: 160} }

// Every family has the same results as on the reference, and launches something. With -device it is another
// device that is held against the reference: a GPU, perhaps under compute-sanitizer, or the emulated one.
// Without CI=1 the processor has a quarter of them.
func TestFamilies(t *testing.T) {
	before := device.Default().String()
	defer device.Use(before)
	if strings.HasPrefix(*tested, "emulated") {
		devicetest.Emulated(t)
		_, wanted, _ := strings.Cut(flag.Lookup("test.run").Value.String(), "/")
		for _, f := range families() { // what the emulated device is to compile
			if chosen, err := regexp.MatchString(wanted, strings.ReplaceAll(f.name, " ", "_")); err == nil && chosen {
				prepared(t, "rehearsal", small(f))
			}
		}
	}
	for i, f := range families() {
		if i%4 > 0 && *tested == "cpu" && !tests.CI() {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			got, profile := on(t, *tested, small(f))
			want, _ := prepared(t, "ref", small(f))
			if err := differ(got.Result, want.Result, map[string]float64{"f32": 2e-4, "f16": 1e-2, "bf16": 3e-2}[f.peak]); err != nil {
				t.Error(err)
			}
			if profile.Launches < 1 || len(profile.Kernels) == 0 {
				t.Errorf("got %v launches of %d kernels, want at least one", profile.Launches, len(profile.Kernels))
			}
		})
	}
}

// The families launch every op that a backend computes; record/cpu.txt lists them. Ops that only change how
// data is seen are in no launch, and an adapter becomes a product, the loss of a linear layer products and
// losses.
func TestFamiliesHaveEveryOp(t *testing.T) {
	record, err := os.ReadFile("../../../engine/internal/testing/backendtest/record/cpu.txt")
	if err != nil {
		t.Fatal(err)
	}
	before := device.Default().String()
	defer device.Use(before)
	missing := map[string]bool{}
	for line := range strings.Lines(string(record)) {
		op, _, _ := strings.Cut(line, ":")
		missing[op] = true
	}
	for _, op := range []string{"reshape", "permute", "expand", "slice", "flip", "again", "bitcast", "lora_linear", "linear_cross_entropy", "linear_cross_entropy_grad"} {
		delete(missing, op)
	}
	for _, f := range families() {
		_, run := prepared(t, "cpu", small(f))
		r := profile.RecordTraced(t.Context(), func(context.Context) { repeat(run, 1) })
		for i := range r.Trace.Launches {
			for _, op := range r.Trace.Launches[i].Ops {
				delete(missing, op.Name)
			}
		}
	}
	for op := range missing {
		t.Errorf("no family has the op %s", op)
	}
}

// The families launch every kind of kernel that the ops' cases launch on a GPU of ten processors.
// Small sizes have them all, so that the emulated device and sanitizers see what large sizes run.
func TestFamiliesHaveEveryKernel(t *testing.T) {
	tests.InCI(t, "prepares all families")
	before := device.Default().String()
	defer device.Use(before)
	devicetest.Register("rehearsal")
	for _, f := range families() {
		prepared(t, "rehearsal", small(f))
	}
	found := devicetest.Kernels(t)
	for kind := range devicetest.AllKernels(t) {
		if !found[kind] {
			t.Errorf("no family launches %s", kind)
		}
	}
}

// docs/metal.md has a row for each family, with what was measured of it, and says how many there are.
func TestFamiliesHaveRows(t *testing.T) {
	page, err := os.ReadFile("../../../docs/metal.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			rows[strings.TrimSpace(cells[1])] = true
		}
	}
	for _, f := range families() {
		if !rows[f.name] {
			t.Errorf("docs/metal.md has no row for %s", f.name)
		}
	}
	if want := fmt.Sprintf("has %d kinds of work", len(families())); !strings.Contains(string(page), want) {
		t.Errorf("docs/metal.md does not say that families.go %s", want)
	}
}

// differ says where two lists of samples are farther apart than a share of the largest number.
func differ(got, want [][]float64, most float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("got %d results, want %d", len(got), len(want))
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			return fmt.Errorf("result %d: got %d samples, want %d", i, len(got[i]), len(want[i]))
		}
		largest := 0.0
		for _, x := range want[i] {
			largest = max(largest, math.Abs(x))
		}
		for k, x := range want[i] {
			if !(math.Abs(got[i][k]-x) <= most*largest) {
				return fmt.Errorf("result %d, sample %d: got %v, want %v", i, k, got[i][k], x)
			}
		}
	}
	return nil
}

// A side answers each request with a line, and names what it cannot do.
func TestServe(t *testing.T) {
	decoder := `"vocab":64,"layers":1,"width":32,"heads":4,"kv":2,"hidden":48`
	var requests, wants []string
	for _, c := range []struct{ request, want string }{
		{`{"families":true}`, `"families":[{"name":"scale","peak":"f32"}`},
		{`{"run":1}`, `"absent":"no work was prepared"`},
		{`{"prepare":{"kind":"knitting"}}`, `"absent":"no knitting"`},
		{`{"prepare":{"kind":"family","family":"knitting"}}`, `"absent":"no family knitting"`},
		{`{"prepare":{"kind":"scale","m":2,"n":2}}`, `"ok":true,"result":[[`},
		{`{"run":3}`, `"seconds":`},
		{`{"profile":2}`, `"profile":{"seconds":`},
		{`{"drop":true}`, `"ok":true`},
		{`{"run":1}`, `"absent":"no work was prepared"`},
		{`{"prepare":{"kind":"max_rows","m":8,"n":5}}`, `"ok":true`},
		{`{"prepare":{"kind":"sum","m":8,"n":5}}`, `"ok":true`},
		{`{"prepare":{"kind":"layer_norm","m":8,"n":16,"grad":true}}`, `"ok":true`},
		{`{"prepare":{"kind":"cross_entropy","m":8,"v":16,"grad":true}}`, `"ok":true`},
		{`{"prepare":{"kind":"linear_cross_entropy","m":8,"n":4,"v":16,"dtype":"bf16","grad":true}}`, `"ok":true`},
		{`{"prepare":{"kind":"matmul","n":16,"dtype":"f16"}}`, `"ok":true`},
		{`{"prepare":{"kind":"lora","m":1,"n":32,"r":4,"dtype":"bf16"}}`, `"ok":true`},
		{`{"prepare":{"kind":"attention","batch":2,"heads":4,"kv":2,"t":9,"d":16,"dtype":"bf16","grad":true}}`, `"ok":true`},
		{`{"prepare":{"kind":"conv","image":[1,2,5,5],"out":3,"kernel":3,"stride":2,"padding":1,"grad":true}}`, `"ok":true`},
		{`{"prepare":{"kind":"small","n":4}}`, `"ok":true`},
		{`{"prepare":{"kind":"train","batch":1,"t":8,"r":2,` + decoder + `}}`, `"ok":true`},
		{`{"prepare":{"kind":"train","batch":1,"t":8,"r":2,"dtype":"bf16",` + decoder + `}}`, `"ok":true`},
		{`{"prepare":{"kind":"decode","tokens":3,"prompt":4,"dtype":"bf16",` + decoder + `}}`, `"ok":true`},
	} {
		requests, wants = append(requests, c.request), append(wants, c.want)
	}
	var out bytes.Buffer
	if err := serve(*tested, strings.NewReader(strings.Join(requests, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	answers := slices.Collect(strings.Lines(out.String()))
	if len(answers) != 1+len(requests) {
		t.Fatalf("got %d lines, want a greeting and %d answers", len(answers), len(requests))
	}
	for i, got := range answers[1:] {
		if !strings.Contains(got, wants[i]) || !json.Valid([]byte(got)) {
			t.Errorf("%s: got %s, want %s in it", requests[i], got, wants[i])
		}
	}
}

// A device that is not there is said in the greeting.
func TestNoDevice(t *testing.T) {
	var out bytes.Buffer
	if err := serve("abacus", strings.NewReader(""), &out); err != nil || !strings.Contains(out.String(), `"absent":"device: got \"abacus\"`) {
		t.Errorf("got %v and %s, want an answer that the device is absent", err, out.String())
	}
}

// The driver in Python does its works, asks for its table of kernels and judges them. It needs no package for
// that, when there are no peers.
func TestDriver(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	programs, results := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(programs, "mcs"))
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(python, "../cuda.py", "-device", "cpu", "-threads", "1", "-quick", "-peers", "none", "-steps", "compare,kernels",
		"-only", "^(small|train/tiny bf16|decode/tiny bf16|one row, int4|attention to pages of i8)", "-o", results)
	command.Env = append(os.Environ(), beProgram+"=1", "PEERS_PROGRAMS="+programs, "PYTHONDONTWRITEBYTECODE=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"== compare\n", "train/tiny bf16 2x32 ", " launches a layer, ", "at most 6 launches a layer: decode/.*: ", "small/add 4x4 in at most 25 µs: ",
		"\ncompare      ok: ", "works, all results agree\n", "\nkernels      ok: ", "| one row, int4 | `matmul_int4` | 1 | ",
		"| attention to pages of i8 | `paged_attention` | 1 | ",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got no %q in\n%s", want, out)
		}
	}
	for _, name := range []string{"compare.md", "compare.json", "kernels.md", "kernels.json", "verdicts.txt"} {
		if info, err := os.Stat(filepath.Join(results, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: got %v, want a file that is not empty", name, err)
		}
	}
}
