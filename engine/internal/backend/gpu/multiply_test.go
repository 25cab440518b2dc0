package gpu_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

// column is a product of 9×1 by 1×1: the left column times a number.
func column() *backend.Group {
	in := func(rows, buf int) backend.Input {
		return backend.Input{DType: dtype.F32, Layout: ir.Contiguous([]int{rows, 1}), Buf: buf}
	}
	shape := []int{9, 1}
	return &backend.Group{
		Name: "matmul", Kind: backend.MatMul, Inputs: []backend.Input{in(9, 0), in(1, 1)},
		Insts:   []backend.Inst{{Op: ir.MatMul, DType: dtype.F32, Shape: shape, Args: []backend.Ref{backend.In(0), backend.In(1)}}},
		Outputs: []backend.Output{{Buf: 2, DType: dtype.F32, Shape: shape}},
	}
}

// A multiplied is a backend whose device has a library, with the program of column.
type multiplied struct {
	d      *fake.Driver
	b      *gpu.Backend
	kernel backend.Kernel
	loaded backend.Loaded
}

func newMultiplied(t *testing.T) *multiplied {
	t.Helper()
	t.Setenv("MCS_LIBRARIES", "always")
	m := &multiplied{d: &fake.Driver{Infos: []gpu.Info{fake.Info()}, Library: &fake.Library{}}}
	m.b = must(gpu.Open(m.d, 0, "fake"))(t)
	m.kernel = must(m.b.Compile(column()))(t)
	m.loaded = must(m.b.Load(&backend.Program{Bufs: 4, Commit: 1, Launches: []backend.Launch{
		{Kernel: m.kernel, Bufs: []backend.Place{{Index: 0}, {Index: 1}, {Index: 2}}, Scratch: backend.Place{Index: 3}},
	}}))(t)
	return m
}

// buffers returns memory for a run: 1 to 9, a factor, the result, and the workspace.
func (m *multiplied) buffers(t *testing.T, factor float32) []ir.Buffer {
	t.Helper()
	var list []ir.Buffer
	for _, bytes := range []int{36, 4, 36, m.kernel.Scratch()} {
		list = append(list, must(m.b.Alloc(bytes))(t))
	}
	for i, data := range [][]byte{floats(1, 2, 3, 4, 5, 6, 7, 8, 9), floats(factor)} {
		if err := m.b.Upload(list[i], 0, data); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// TestLibrarySource: the kernel says which library computes what.
func TestLibrarySource(t *testing.T) {
	m := newMultiplied(t)
	if got, want := m.kernel.(backend.SourceKernel).Source(), "// fake library: 9×1 by 1×1 of f32\n"; got != want || m.kernel.Launches() != 1 {
		t.Errorf("got %d launches, %q, want 1, %q", m.kernel.Launches(), got, want)
	}
	if got := m.kernel.Scratch(); got < fake.Workspace {
		t.Errorf("got %d bytes of scratch, want the library's workspace in it", got)
	}
	t.Setenv("MCS_LIBRARIES", "off")
	d := &fake.Driver{Infos: []gpu.Info{fake.Info()}, Library: &fake.Library{}}
	b := must(gpu.Open(d, 0, "fake"))(t)
	if _, err := b.Compile(column()); err == nil || !strings.Contains(err.Error(), "matmul_") {
		t.Errorf("got %v, want our own kernel to be missing", err)
	}
}

// TestPinned: a library gets the addresses of its matrices, so a graph is replayed for runs that have the
// same ones, and a program may have graphs of several. It reads nothing that a run would have to copy first.
func TestPinned(t *testing.T) {
	m := newMultiplied(t)
	lists := map[rune][]ir.Buffer{}
	for i, name := range "abcdefg" {
		lists[name] = m.buffers(t, float32(i+1))
	}
	// Two sets of addresses in turn are replayed; five are more than there are graphs, so nothing is
	// recorded.
	const (
		runs = "aaaababababcdefgcdefgcdefggggaa"
		want = "pr..p.r....pppppppppppppppr..pr" // encoded plainly, recorded, or replayed (.)
	)
	how := ""
	for _, name := range runs {
		m.d.Log()
		list := lists[name]
		if err := m.b.Run(t.Context(), m.loaded, &backend.Table{Bufs: list}, nil); err != nil {
			t.Fatal(err)
		}
		if err := m.b.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		log := strings.Join(m.d.Log(), "\n")
		switch {
		case strings.Contains(log, "record"):
			how += "r"
		case strings.Contains(log, "replay"):
			how += "."
		default:
			how += "p"
		}
		if strings.Contains(log, "copy") {
			t.Errorf("%c: got %s, want no copy", name, log)
		}
		factor := float32(name-'a') + 1
		got := make([]byte, 36)
		if err := m.b.Download(t.Context(), got, list[2], 0); err != nil || !slices.Equal(got[32:], floats(9*factor)) {
			t.Errorf("%c: got %v, %v, want 9 times %g at the end", name, got[32:], err, factor)
		}
		clear(got)
		if err := m.b.Upload(list[2], 0, got); err != nil {
			t.Fatal(err)
		}
	}
	if how != want {
		t.Errorf("runs %s\ngot  %s\nwant %s", runs, how, want)
	}
	m.loaded.Close()
	m.kernel.Close()
	for _, list := range lists {
		for _, buf := range list {
			m.b.Free(buf)
		}
	}
	if err := m.b.Close(); err != nil {
		t.Error(err)
	}
}

// TestChosen: of the ways that a library proposes for a product the fastest is chosen, unless nothing is to
// be timed, or the library gets all products, for tests.
func TestChosen(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	if dir, err := os.UserCacheDir(); err != nil || dir != cache {
		t.Skip("this system's folder for caches is elsewhere")
	}
	for setting, want := range map[string][]string{
		"":         {"choose 512×512 by 512×512 of f32, noted in " + filepath.Join(cache, "mcs", "kernels")},
		"always":   nil,
		"untimed":  nil,
		"machines": nil, // of several ranks
	} {
		t.Setenv("MCS_LIBRARIES", strings.TrimSuffix(setting, "machines"))
		d := &fake.Driver{Infos: []gpu.Info{fake.Info()}, Library: &fake.Library{}}
		b := must(gpu.Open(d, 0, "fake"))(t)
		if setting == "machines" {
			b.Untimed()
		}
		g := column()
		square := ir.Contiguous([]int{512, 512})
		g.Inputs[0].Layout, g.Inputs[1].Layout, g.Insts[0].Shape, g.Outputs[0].Shape = square, square, square.Shape, square.Shape
		k := must(b.Compile(g))(t)
		var got []string
		for _, line := range d.Log() {
			if strings.HasPrefix(line, "choose") {
				got = append(got, line)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("MCS_LIBRARIES=%q: got %q, want %q", setting, got, want)
		}
		k.Close()
		b.Close()
	}
}
