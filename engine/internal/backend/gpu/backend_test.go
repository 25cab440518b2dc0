package gpu_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// double is y = x + x of four floats, as a group, and as what its kernel does on package fake: the struct of
// its arguments begins with the addresses of x and of y.
func double(t *testing.T, d *fake.Driver, live *[]ir.Buffer) *backend.Group {
	t.Helper()
	shape := []int{4}
	g := &backend.Group{
		Name: "double", Kind: backend.Map, Inputs: []backend.Input{{DType: dtype.F32, Layout: ir.Contiguous(shape), Buf: 0}},
		Insts:   []backend.Inst{{Op: ir.Add, DType: dtype.F32, Shape: shape, Args: []backend.Ref{backend.In(0), backend.In(0)}}},
		Outputs: []backend.Output{{Buf: 1, DType: dtype.F32, Shape: shape}},
	}
	k, err := kernel.Render(g, kernel.Limits{Threads: 256, SIMDWidth: 32})
	if err != nil {
		t.Fatal(err)
	}
	d.Kernels = map[string]fake.Kernel{k.Dispatches[0].Function: func(d *gpu.Dispatch) {
		args := d.Args[0].Bytes
		if in := d.Args[0].Buffer; in != nil {
			args = in.Host()[d.Args[0].Offset:]
		}
		memory := func(address uint64) []byte {
			for _, b := range *live {
				if m := b.(gpu.Buffer); m.Address() == address {
					return m.Host()
				}
			}
			panic("an address of no buffer that lives")
		}
		x, y := memory(binary.LittleEndian.Uint64(args)), memory(binary.LittleEndian.Uint64(args[8:]))
		for i := 0; i < 16; i += 4 {
			v := math.Float32frombits(binary.LittleEndian.Uint32(x[i:]))
			binary.LittleEndian.PutUint32(y[i:], math.Float32bits(v+v))
		}
	}}
	return g
}

func floats(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestReplay: a program that runs again is recorded once and then replayed, with other memory each time, of
// which it learns by a copy, or by other arguments of a launch that carries them; the device gets nothing for
// one with the memory of the run before. Where a driver cannot give a graph other arguments the run does
// without it, and the next one records.
func TestReplay(t *testing.T) {
	for _, c := range []struct {
		name                            string
		language                        gpu.Language
		refused                         bool
		records, replays, copies, binds string // the runs, of 012345: those of 3 and 5 have the memory of the run before
	}{
		{"structs in memory", gpu.Metal, false, "1", "12345", "0124", ""},
		{"launches carry structs", gpu.CUDA, false, "1", "12345", "", "24"},
		{"a driver that binds nothing", gpu.CUDA, true, "13", "1345", "", "24"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := replays(t, c.language, c.refused)
			if want := [4]string{c.records, c.replays, c.copies, c.binds}; got != want {
				t.Errorf("records, replays, copies, binds: got %q, want %q", got, want)
			}
		})
	}
}

// replays returns which runs did what.
func replays(t *testing.T, language gpu.Language, refused bool) (did [4]string) {
	info := fake.Info()
	info.Language = language
	d := &fake.Driver{Infos: []gpu.Info{info}}
	if refused {
		d.Fail("bind", 0, &gpu.Error{Code: gpu.Unsupported})
	}
	var live []ir.Buffer
	g := double(t, d, &live)
	b := must(gpu.Open(d, 0, "fake"))(t)
	k := must(b.Compile(g))(t)
	p := &backend.Program{Launches: []backend.Launch{{Kernel: k, Bufs: []backend.Place{{Index: 0}, {Index: 1}}}}, Bufs: 2, Commit: 1}
	loaded := must(b.Load(p))(t)
	ctx := context.Background()
	var x, y ir.Buffer
	for run := range 6 {
		again := run == 3 || run == 5
		if !again {
			x, y = must(b.Alloc(16))(t), must(b.Alloc(16))(t)
		}
		live = []ir.Buffer{x, y}
		n := float32(run)
		if err := b.Upload(x, 0, floats(n, 1, 2, 3)); err != nil {
			t.Fatal(err)
		}
		d.Log()
		if err := b.Run(ctx, loaded, &backend.Table{Bufs: []ir.Buffer{x, y}}, nil); err != nil {
			t.Fatal(err)
		}
		log := strings.Join(d.Log(), "\n")
		for i, what := range []string{"record", "replay", "copy", "bind"} {
			if strings.Contains(log, what) {
				did[i] += fmt.Sprint(run)
			}
		}
		result := make([]byte, 16)
		if err := b.Download(ctx, result, y, 0); err != nil {
			t.Fatal(err)
		}
		if want := floats(2*n, 2, 4, 6); !slices.Equal(result, want) {
			t.Errorf("run %d: got %v, want %v", run, result, want)
		}
		if run != 2 && run != 4 {
			b.Free(x)
			b.Free(y)
		}
	}
	loaded.Close()
	k.Close()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return did
}

// TestInfoOf: how many logits there are at once is a small part of a device's memory, but on a small device.
func TestInfoOf(t *testing.T) {
	for memory, want := range map[int64]int64{1 << 20: 256 << 20, 8 << 30: 256 << 20, 80 << 30: 640 << 20} {
		if got := gpu.InfoOf("some", gpu.Info{Memory: memory}).Hints.Logits; got != want {
			t.Errorf("a device of %d MiB: got %d MiB of logits at once, want %d", memory>>20, got>>20, want>>20)
		}
	}
}
