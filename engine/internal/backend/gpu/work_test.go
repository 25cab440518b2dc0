package gpu_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// A bench is a backend on package fake with a program of two launches: y = 2x, z = 2y.
type bench struct {
	d       *fake.Driver
	b       *gpu.Backend
	group   *backend.Group
	live    []ir.Buffer
	program *backend.Program
	loaded  backend.Loaded
	stopped []bool // of each dispatch that ran: its program's word stop said that nothing may be written over
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, fake.Info())
}

// both runs a test on memory of the device's own, and on unified memory.
func both(t *testing.T, f func(t *testing.T, m *bench)) {
	for _, unified := range []bool{false, true} {
		t.Run(fmt.Sprintf("unified %v", unified), func(t *testing.T) {
			info := fake.Info()
			info.Unified = unified
			f(t, newBenchOn(t, info))
		})
	}
}

func newBenchOn(t *testing.T, info gpu.Info) *bench {
	t.Helper()
	m := &bench{d: &fake.Driver{Infos: []gpu.Info{info}}}
	g := double(t, m.d, &m.live)
	for name, kernel := range m.d.Kernels {
		m.d.Kernels[name] = func(d *gpu.Dispatch) {
			m.stopped = append(m.stopped, slices.Equal(d.Args[0].Buffer.Host()[:4], make([]byte, 4)))
			kernel(d)
		}
	}
	m.group = g
	m.open(t)
	return m
}

// open opens the device and loads the program, perhaps again.
func (m *bench) open(t *testing.T) {
	t.Helper()
	m.b = must(gpu.Open(m.d, 0, "fake"))(t)
	k := must(m.b.Compile(m.group))(t)
	m.program = &backend.Program{Bufs: 3, Commit: 2, Launches: []backend.Launch{
		{Kernel: k, Bufs: []backend.Place{{Index: 0}, {Index: 1}}}, {Kernel: k, Bufs: []backend.Place{{Index: 1}, {Index: 2}}},
	}}
	m.loaded = must(m.b.Load(m.program))(t)
}

// buffers returns memory for x, which has 1, 2, 3, 4, y and z.
func (m *bench) buffers(t *testing.T) []ir.Buffer {
	t.Helper()
	var list []ir.Buffer
	for range 3 {
		list = append(list, must(m.b.Alloc(16))(t))
	}
	m.live = append(m.live, list...)
	if err := m.b.Upload(list[0], 0, floats(1, 2, 3, 4)); err != nil {
		t.Fatal(err)
	}
	return list
}

// run runs the program and returns its error, whenever it is found.
func (m *bench) run(list []ir.Buffer) error {
	table := &backend.Table{Bufs: list}
	if err := m.b.Run(context.Background(), m.loaded, table, nil); err != nil {
		return err
	}
	if err := m.b.Sync(context.Background()); err != nil {
		return err
	}
	return table.Outcome().Err()
}

// right reports whether z is 4x.
func (m *bench) right(t *testing.T, list []ir.Buffer) {
	t.Helper()
	got := make([]byte, 16)
	if err := m.b.Download(t.Context(), got, list[2], 0); err != nil || !slices.Equal(got, floats(4, 8, 12, 16)) {
		t.Errorf("got %v, %v, want 4 to 16", got, err)
	}
}

// TestFailures lets each call of the driver fail, in a run that is the first, one that is recorded, and one
// that is replayed. The run has the error; the next one is right, and nothing is left over at the end.
func TestFailures(t *testing.T) {
	planted := errors.New("planted")
	for before, calls := range []string{"alloc copy barrier dispatch dispatch commit", "record copy barrier dispatch dispatch finish replay commit", "replay commit"} {
		nth := map[string]int{}
		for op := range strings.FieldsSeq(calls) {
			n := nth[op]
			nth[op]++
			t.Run(fmt.Sprintf("run %d, %s %d", before, op, n), func(t *testing.T) {
				m := newBench(t)
				list := m.buffers(t)
				for range before {
					if err := m.run(list); err != nil {
						t.Fatal(err)
					}
				}
				if err := m.b.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				m.d.Fail(op, n, planted)
				if err := m.run(list); !errors.Is(err, planted) {
					t.Errorf("got %v, want the failure", err)
				}
				for range 3 {
					if err := m.run(list); err != nil {
						t.Errorf("afterwards: %v", err)
					}
					m.right(t, list)
				}
				m.loaded.Close()
				if err := m.b.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestHalfStep: of a run that fails while it is encoded, what is on its way to the device writes over
// nothing.
func TestHalfStep(t *testing.T) {
	for i := range 4 {
		info, before := fake.Info(), i%2
		info.Unified = i > 1
		m := newBenchOn(t, info)
		list := m.buffers(t)
		for range before {
			if err := m.run(list); err != nil {
				t.Fatal(err)
			}
		}
		m.stopped = nil
		m.d.Fail("dispatch", 1, errors.New("planted"))
		if err := m.run(list); err == nil {
			t.Fatal("no error")
		}
		if slices.Contains(m.stopped, false) {
			t.Errorf("after %d runs: a launch went on though the next was not encoded", before)
		}
		m.stopped = nil
		if err := m.run(list); err != nil || !slices.Equal(m.stopped, []bool{false, false}) {
			t.Errorf("after %d runs, afterwards: got %v, stopped %v", before, err, m.stopped)
		}
	}
}

// TestHalfStepTimed: so it is where a run is timed and a step has several launches, wherever the driver
// fails.
func TestHalfStepTimed(t *testing.T) {
	planted := errors.New("planted")
	for op, calls := range map[string]int{"stamp": 4, "dispatch": 2, "copy": 2, "commit": 1} {
		for n := range calls {
			m := newBench(t)
			m.program.Commit = 0
			m.loaded = must(m.b.Load(m.program))(t)
			list := m.buffers(t)
			m.d.Fail(op, n, planted)
			times := make([]time.Duration, 2)
			if err := m.b.Run(t.Context(), m.loaded, &backend.Table{Bufs: list}, times); !errors.Is(err, planted) {
				t.Errorf("%s %d: got %v, want the failure", op, n, err)
			}
			if err := m.b.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(m.stopped, false) {
				t.Errorf("%s %d: a launch went on though another was not encoded", op, n)
			}
			m.stopped = nil
			if err := m.b.Run(t.Context(), m.loaded, &backend.Table{Bufs: list}, times); err != nil || !slices.Equal(m.stopped, []bool{false, false}) {
				t.Errorf("%s %d, afterwards: got %v, stopped %v", op, n, err, m.stopped)
			}
			m.right(t, list)
		}
	}
}

// TestFreedBehindWork: memory that runs under way use is freed when they are done, and not before.
func TestFreedBehindWork(t *testing.T) { both(t, freedBehindWork) }

func freedBehindWork(t *testing.T, m *bench) {
	list, others := m.buffers(t), m.buffers(t)
	m.d.Log()
	m.d.Hold()
	frees := func() int {
		n := 0
		for _, line := range m.d.Log() {
			if line == "free 16" {
				n++
			}
		}
		return n
	}
	run := func(list []ir.Buffer) {
		if err := m.b.Run(t.Context(), m.loaded, &backend.Table{Bufs: list}, nil); err != nil {
			t.Fatal(err)
		}
	}
	run(list)
	for _, b := range list {
		m.b.Free(b)
	}
	run(others)
	if n := frees(); n != 0 {
		t.Errorf("%d buffers were freed under work", n)
	}
	m.d.Release()
	if err := m.b.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	if n := frees(); n != 3 {
		t.Errorf("%d buffers were freed behind the work, want 3", n)
	}
	m.right(t, others)
}

// TestOutOfMemory: what was freed is there for the next who asks, whoever that is; then the error says how
// much was wanted and how much is free.
func TestOutOfMemory(t *testing.T) {
	m := newBench(t)
	list := m.buffers(t)
	const half = 1 << 19 // of the device's memory
	for range 3 {
		m.b.Free(must(m.b.Alloc(half))(t))
	}
	for _, p := range []struct {
		name string
		do   func() error
	}{
		{"upload", func() error { return m.b.Upload(list[0], 0, floats(1, 2, 3, 4)) }},
		{"run", func() error { return m.run(list) }},
		{"download", func() error { return m.b.Download(t.Context(), make([]byte, 16), list[2], 0) }},
	} {
		m.d.Fail("alloc", 0, &gpu.Error{Code: gpu.OutOfMemory, Index: -1})
		if err := p.do(); err != nil {
			t.Errorf("%s: got %v, want a second try", p.name, err)
		}
	}
	must(m.b.Alloc(half))(t)
	_, err := m.b.Alloc(half)
	var full *backend.OutOfMemory
	if !errors.As(err, &full) || full.Want != half || full.Free <= 0 || full.Free >= half {
		t.Errorf("got %v, want an error that says how much is free", err)
	}
	if err := m.run(list); err != nil {
		t.Error(err)
	}
	m.right(t, list)
}

// TestLost: a fault of the device is the error of its run and of everything after it, until the device is
// opened again.
func TestLost(t *testing.T) { both(t, lost) }

func lost(t *testing.T, m *bench) {
	list := m.buffers(t)
	m.d.Fail("run", 0, &gpu.Error{Code: gpu.KernelFault, Device: "fake:0", Op: "run", Text: "an address", Index: -1})
	if err := m.run(list); !errors.Is(err, backend.ErrLost) || !strings.Contains(err.Error(), "an address") {
		t.Errorf("got %v, want a lost device and why", err)
	}
	for name, err := range map[string]error{
		"run": m.run(list), "sync": m.b.Sync(t.Context()), "upload": m.b.Upload(list[0], 0, make([]byte, 16)),
		"download": m.b.Download(t.Context(), make([]byte, 16), list[0], 0),
	} {
		if !errors.Is(err, backend.ErrLost) {
			t.Errorf("%s: got %v, want a lost device", name, err)
		}
	}
	m.b.Close()
	m.open(t)
	list = m.buffers(t)
	if err := m.run(list); err != nil {
		t.Errorf("opened again: %v", err)
	}
	m.right(t, list)
}

// TestCancel: who waits for a device that does not come to an end can stop waiting: for a download, and for
// room in a full queue.
func TestCancel(t *testing.T) { both(t, cancel) }

func cancel(t *testing.T, m *bench) {
	list := m.buffers(t)
	m.d.Hold()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var err error
	runs := 0
	for ; err == nil && runs < 1000; runs++ {
		err = m.b.Run(ctx, m.loaded, &backend.Table{Bufs: list}, nil)
	}
	if !errors.Is(err, context.DeadlineExceeded) || runs > 100 {
		t.Errorf("after %d runs: got %v, want the context's end", runs, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	got := make([]byte, 16)
	if err := m.b.Download(ctx, got, list[2], 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("download: got %v, want the context's end", err)
	}
	m.d.Release()
	if err := m.b.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	if !slices.Equal(got, make([]byte, 16)) {
		t.Errorf("the download went on after it had returned: %v", got)
	}
	m.right(t, list)
}

// TestTogether: several goroutines share a backend and a program.
func TestTogether(t *testing.T) { both(t, together) }

func together(t *testing.T, m *bench) {
	var group sync.WaitGroup
	lists := [][]ir.Buffer{m.buffers(t), m.buffers(t), m.buffers(t), m.buffers(t)}
	for n, list := range lists {
		group.Go(func() {
			got := make([]byte, 16)
			for i := range 50 {
				v := float32(100*n + i)
				err := errors.Join(m.b.Upload(list[0], 0, floats(v, v, v, v)), m.b.Run(t.Context(), m.loaded, &backend.Table{Bufs: list}, nil),
					m.b.Download(t.Context(), got, list[2], 0))
				if err != nil || !slices.Equal(got, floats(4*v, 4*v, 4*v, 4*v)) {
					t.Errorf("goroutine %d, run %d: got %v, %v", n, i, got, err)
				}
			}
		})
	}
	group.Wait()
}

// TestTimed: a run with times computes the same, and has a time for each launch.
func TestTimed(t *testing.T) { both(t, timed) }

func timed(t *testing.T, m *bench) {
	list := m.buffers(t)
	for range 3 {
		times := make([]time.Duration, 2)
		if err := m.b.Run(t.Context(), m.loaded, &backend.Table{Bufs: list}, times); err != nil || min(times[0], times[1]) <= 0 {
			t.Errorf("got %v, %v, want two times", times, err)
		}
		m.right(t, list)
		if err := m.run(list); err != nil {
			t.Error(err)
		}
	}
}

// TestCapture: what is asked for between the two ends of a capture is done between them.
func TestCapture(t *testing.T) {
	m := newBench(t)
	list := m.buffers(t)
	run := func() {
		t.Helper()
		if err := m.b.Run(t.Context(), m.loaded, &backend.Table{Bufs: list}, nil); err != nil {
			t.Fatal(err)
		}
	}
	run()
	stop, err := m.b.Capture("a.gputrace")
	if err != nil {
		t.Fatal(err)
	}
	run()
	if err := stop(); err != nil {
		t.Error(err)
	}
	log := m.d.Log()
	begin, end := slices.Index(log, "trace a.gputrace"), slices.Index(log, "traced a.gputrace")
	if begin < 0 || end < 0 || !slices.ContainsFunc(log[begin:end], func(line string) bool { return strings.HasPrefix(line, "commit") }) {
		t.Errorf("got %q, want a commit between the ends of the trace", log)
	}
	planted := errors.New("METAL_CAPTURE_ENABLED is not set")
	m.d.Fail("trace", 0, planted)
	if _, err := m.b.Capture("b.gputrace"); !errors.Is(err, planted) {
		t.Errorf("got %v, want the driver's reason", err)
	}
}
