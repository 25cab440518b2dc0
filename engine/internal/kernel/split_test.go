package kernel

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A sketch is a group of one product that grows.
type sketch struct {
	g    *backend.Group
	bufs int
}

func (s *sketch) input(dt dtype.Type, l ir.Layout) backend.Ref {
	s.g.Inputs = append(s.g.Inputs, backend.Input{DType: dt, Layout: l, Buf: s.bufs})
	s.bufs++
	return backend.In(len(s.g.Inputs) - 1)
}

func (s *sketch) inst(op ir.Op, attr ir.Attr, dt dtype.Type, shape []int, args ...backend.Ref) backend.Ref {
	s.g.Insts = append(s.g.Insts, backend.Inst{Op: op, Attr: attr, DType: dt, Shape: shape, Args: args})
	return backend.Ref{Index: len(s.g.Insts) - 1}
}

func (s *sketch) output(v backend.Ref) {
	in := s.g.Insts[v.Index]
	s.g.Outputs = append(s.g.Outputs, backend.Output{Value: v, Buf: s.bufs, DType: in.DType, Shape: in.Shape})
	s.bufs++
}

// matmul is a product of m×k by k×n, and its shape.
func (s *sketch) matmul(dt dtype.Type, m, k, n int) (backend.Ref, []int) {
	shape := []int{m, n}
	return s.inst(ir.MatMul, ir.Attr{}, dt, shape, s.input(dt, ir.Contiguous([]int{m, k})), s.input(dt, ir.Contiguous([]int{k, n}))), shape
}

// TestCut: which products of a group are cut along their inner axis, and which need a second dispatch that
// adds the parts up, on a device of 132 processors. Those that fill it together are not, unless one of them
// would take long after the others. Thin ones have tiles of 128 rows, of which 4096 rows are too few.
func TestCut(t *testing.T) {
	const bf16 = dtype.BF16
	type shape struct{ m, k, n int }
	for _, c := range []struct {
		name     string
		products []shape
		want     []string
	}{
		{"alone, and few tiles", []shape{{896, 4096, 128}}, []string{"matmul_part", "matmul_sum"}},
		{"k and v", []shape{{4096, 896, 128}, {4096, 896, 128}}, []string{"matmuls"}},
		{"an inner axis of no elements", []shape{{40, 0, 24}}, []string{"matmul"}},
		{"alone, thin", []shape{{4096, 896, 16}}, []string{"matmul_part"}},
		{"alone, thin and deep", []shape{{4096, 4864, 16}}, []string{"matmul_part"}},
		{"adapters of two inputs", []shape{{4096, 896, 16}, {4096, 896, 16}}, []string{"matmuls"}},
		{"a deep one beside another", []shape{{24, 4096, 896}, {4096, 896, 24}}, []string{"matmuls", "matmul_sum"}},
	} {
		s := &sketch{g: &backend.Group{Name: c.name, Kind: backend.MatMul}}
		for _, p := range c.products {
			y, _ := s.matmul(bf16, p.m, p.k, p.n)
			s.output(y)
		}
		k, err := Render(s.g, Limits{Threads: 1024, SIMDWidth: 32, Processors: 132, Family: NVIDIA, Memory: 227 << 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range k.Dispatches {
			got = append(got, d.Function[:strings.LastIndex(d.Function, "_")])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSplit: what a library computes of a group, and what is left to kernels. A product that is not worth it
// stays whole.
func TestSplit(t *testing.T) {
	const bf16, f32 = dtype.BF16, dtype.F32
	tanh := ir.Attr{Flags: ir.TanhApprox}
	one := func(dt dtype.Type, m, k, n int, end func(s *sketch, y backend.Ref, shape []int) backend.Ref) func(s *sketch) {
		return func(s *sketch) {
			y, shape := s.matmul(dt, m, k, n)
			if end != nil {
				y = end(s, y, shape)
			}
			s.output(y)
		}
	}
	silu := func(s *sketch, y backend.Ref, shape []int) backend.Ref {
		return s.inst(ir.Silu, ir.Attr{}, s.g.Insts[y.Index].DType, shape, y)
	}
	adapted := func(s *sketch, m, k, n, rank int, dt dtype.Type) { // x·W + h·B, with B of another type
		x, w := s.input(bf16, ir.Contiguous([]int{m, k})), s.input(bf16, ir.Contiguous([]int{k, n}))
		h, b := s.input(bf16, ir.Contiguous([]int{m, rank})), s.input(dt, ir.Contiguous([]int{rank, n}))
		s.output(s.inst(ir.MatMul, ir.Attr{}, bf16, []int{m, n}, x, w, h, b))
	}
	adapter := func(s *sketch, m, k, n, rank int) { adapted(s, m, k, n, rank, bf16) }
	row := func(n int, shape []int) ir.Layout { return ir.Contiguous([]int{n}).Expand(shape) }
	codes := func(m, n int) func(s *sketch) { // x·W, with W in codes
		return func(s *sketch) {
			q := ir.Quant{K: n, N: n, Bits: 4, Group: 64, DType: bf16}
			words, scales := q.Shapes()
			w := s.inst(ir.Dequantize, q.Attr(), bf16, q.Shape(), s.input(dtype.U8, ir.Contiguous(words)), s.input(f32, ir.Contiguous(scales)))
			s.output(s.inst(ir.MatMul, ir.Attr{}, bf16, []int{m, n}, s.input(bf16, ir.Contiguous([]int{m, n})), w))
		}
	}
	for _, c := range []struct {
		name  string
		group func(s *sketch)
		want  []string // calls, and the kinds of kernels
	}{
		{"large", one(bf16, 4096, 4096, 4096, nil), []string{"4096×4096 by 4096×4096 of bf16"}},
		{"f32", one(f32, 512, 512, 512, nil), []string{"512×512 by 512×512 of f32"}},
		{"integers", one(dtype.I32, 512, 512, 512, nil), []string{"matmul"}},
		{"few rows", one(bf16, 8, 1024, 4096, nil), []string{"matmul"}},
		{"few rows of a large product", one(bf16, 8, 4096, 4096, nil), []string{"8×4096 by 4096×4096 of bf16"}},
		{"small", one(bf16, 64, 64, 64, nil), []string{"matmul"}},
		{"a residual, a bias, gelu", one(bf16, 512, 512, 512, func(s *sketch, y backend.Ref, shape []int) backend.Ref {
			y = s.inst(ir.Add, ir.Attr{}, bf16, shape, s.input(bf16, ir.Contiguous(shape)), y)
			y = s.inst(ir.Add, ir.Attr{}, bf16, shape, y, s.input(bf16, row(512, shape)))
			return s.inst(ir.Gelu, tanh, bf16, shape, y)
		}), []string{"512×512 by 512×512 of bf16, with a matrix added, with a bias, with gelu"}},
		{"scaled, and a bias", one(bf16, 512, 512, 512, func(s *sketch, y backend.Ref, shape []int) backend.Ref {
			s.g.Inputs = append(s.g.Inputs, backend.Input{DType: bf16, Buf: -1})
			y = s.inst(ir.Mul, ir.Attr{}, bf16, shape, backend.In(len(s.g.Inputs)-1), y)
			return s.inst(ir.Add, ir.Attr{}, bf16, shape, y, s.input(bf16, row(512, shape)))
		}), []string{"512×512 by 512×512 of bf16, scaled, with a bias"}},
		{"a bias of another type", one(bf16, 4096, 4096, 4096, func(s *sketch, y backend.Ref, shape []int) backend.Ref {
			return s.inst(ir.Add, ir.Attr{}, f32, shape, s.inst(ir.Cast, ir.Attr{DType: f32}, f32, shape, y), s.input(bf16, row(4096, shape)))
		}), []string{"4096×4096 by 4096×4096 of bf16", "map"}},
		{"cast", one(bf16, 512, 512, 512, func(s *sketch, y backend.Ref, shape []int) backend.Ref {
			return s.inst(ir.Cast, ir.Attr{DType: f32}, f32, shape, y)
		}), []string{"512×512 by 512×512 of bf16, as f32"}},
		{"silu of a deep product", one(bf16, 4096, 4096, 4096, silu), []string{"4096×4096 by 4096×4096 of bf16", "map"}},
		{"silu of a shallow product", one(bf16, 4096, 64, 4096, silu), []string{"matmul"}},
		{"silu, and the product", func(s *sketch) {
			y, shape := s.matmul(bf16, 4096, 4096, 4096)
			s.output(silu(s, y, shape))
			s.output(y)
		}, []string{"4096×4096 by 4096×4096 of bf16", "map"}},
		{"frozen weights", func(s *sketch) {
			shape := []int{2048, 2048}
			s.output(s.inst(ir.MatMul, ir.Attr{}, f32, shape, s.input(f32, ir.Contiguous(shape)), s.input(bf16, ir.Contiguous(shape))))
		}, []string{"terms", "2048×2048 by 2048×2048 of bf16, as f32", "2048×2048 by 2048×2048 of bf16, as f32, with a matrix added", "2048×2048 by 2048×2048 of bf16, as f32, with a matrix added"}},
		{"frozen weights, and few rows", func(s *sketch) {
			s.output(s.inst(ir.MatMul, ir.Attr{}, f32, []int{64, 2048}, s.input(f32, ir.Contiguous([]int{64, 2048})), s.input(bf16, ir.Contiguous([]int{2048, 2048}))))
		}, []string{"terms", "192×2048 by 2048×2048 of bf16, as f32", "map"}},
		{"few rows of a large weight in codes", codes(24, 4096), []string{"dequantize", "24×4096 by 4096×4096 of bf16"}},
		{"more rows of a large weight in codes", codes(64, 4096), []string{"dequantize", "64×4096 by 4096×4096 of bf16"}},
		{"few rows of a small weight in codes, in parts", codes(24, 1024), []string{"matmul"}},
		{"every second column", func(s *sketch) {
			shape := []int{2048, 2048}
			s.output(s.inst(ir.MatMul, ir.Attr{}, f32, shape, s.input(f32, ir.Layout{Shape: shape, Stride: []int{4096, 2}}), s.input(f32, ir.Contiguous(shape))))
		}, []string{"map", "2048×2048 by 2048×2048 of f32"}},
		{"two pairs", func(s *sketch) {
			a, b := s.input(f32, ir.Contiguous([]int{2048, 16})), s.input(f32, ir.Contiguous([]int{16, 2048}))
			shape := []int{2048, 2048}
			s.output(s.inst(ir.MatMul, ir.Attr{}, f32, shape, s.input(f32, ir.Contiguous(shape)), s.input(f32, ir.Contiguous(shape)), a, b))
		}, []string{"2048×2048 by 2048×2048 of f32", "2048×16 by 16×2048 of f32, with a matrix added"}},
		{"an adapter in bf16, joined", func(s *sketch) {
			adapter(s, 4096, 896, 4864, 16)
		}, []string{"maps", "4096×912 by 912×4864 of bf16"}},
		{"joined pairs would not be aligned", func(s *sketch) {
			adapter(s, 4096, 898, 4864, 16)
		}, []string{"4096×16 by 16×4864 of bf16", "4096×898 by 898×4864 of bf16, with a matrix added"}},
		{"an adapter in bf16, rounded first", func(s *sketch) {
			adapter(s, 4096, 4864, 896, 16)
		}, []string{"4096×16 by 16×896 of bf16", "4096×4864 by 4864×896 of bf16, with a matrix added"}},
		{"an adapter in f32", func(s *sketch) {
			adapted(s, 4096, 4864, 896, 16, f32)
		}, []string{"matmul", "4096×4864 by 4864×896 of bf16, with a matrix added"}},
		{"an adapter in f32, and a residual", func(s *sketch) {
			adapted(s, 4096, 4864, 896, 16, f32)
			s.g.Outputs = nil
			shape := []int{4096, 896}
			s.output(s.inst(ir.Add, ir.Attr{}, bf16, shape, backend.Ref{}, s.input(bf16, ir.Contiguous(shape))))
		}, []string{"matmul", "4096×4864 by 4864×896 of bf16, with a matrix added"}},
		{"two adapters of one input", func(s *sketch) {
			shape, dy, w := []int{4096, 896}, ir.Contiguous([]int{4096, 4864}), ir.Contiguous([]int{4864, 896})
			h, b := ir.Contiguous([]int{4096, 16}), ir.Contiguous([]int{16, 896})
			s.output(s.inst(ir.MatMul, ir.Attr{}, bf16, shape, s.input(bf16, dy), s.input(bf16, w), s.input(bf16, h), s.input(f32, b),
				s.input(bf16, dy), s.input(bf16, w), s.input(bf16, h), s.input(f32, b)))
		}, []string{"matmul", "4096×4864 by 4864×896 of bf16, as f32, with a matrix added", "4096×4864 by 4864×896 of bf16, as f32, with a matrix added", "map"}},
		{"a thin product that fills the device", one(bf16, 4096, 896, 16, nil), []string{"matmul"}},
		{"a thin product of few tiles", one(bf16, 128, 4096, 24, nil), []string{"128×4096 by 4096×24 of bf16"}},
		{"thin products of few tiles", func(s *sketch) {
			for range 2 {
				y, _ := s.matmul(bf16, 128, 4096, 24)
				s.output(y)
			}
		}, []string{"matmuls"}},
		{"two long pairs in bf16, added in f32", func(s *sketch) {
			adapter(s, 4096, 4864, 896, 1024)
		}, []string{"4096×4864 by 4864×896 of bf16, as f32", "4096×1024 by 1024×896 of bf16, as f32, with a matrix added", "map"}},
		{"batches", func(s *sketch) {
			shape := []int{8, 512, 512}
			s.output(s.inst(ir.MatMul, ir.Attr{}, f32, shape, s.input(f32, ir.Contiguous(shape)), s.input(f32, ir.Contiguous(shape))))
		}, []string{"512×512 by 512×512 of f32, in 8 batches"}},
		{"batches of rows", func(s *sketch) {
			shape := []int{8, 512, 256}
			a, b := ir.Contiguous([]int{8, 512, 128}), ir.Contiguous([]int{128, 256}).Expand([]int{8, 128, 256})
			s.output(s.inst(ir.MatMul, ir.Attr{}, f32, shape, s.input(f32, a), s.input(f32, b)))
		}, []string{"4096×128 by 128×256 of f32"}},
		{"a chain", func(s *sketch) {
			y, shape := s.matmul(f32, 512, 512, 512)
			s.output(s.inst(ir.MatMul, ir.Attr{}, f32, shape, y, s.input(f32, ir.Contiguous(shape))))
		}, []string{"512×512 by 512×512 of f32", "512×512 by 512×512 of f32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &sketch{g: &backend.Group{Name: c.name, Kind: backend.MatMul}}
			c.group(s)
			limits := Limits{Threads: 1024, SIMDWidth: 32, Processors: 132, Family: NVIDIA, Library: &Library{Offer: func(Work) (int, bool) { return 1000, true }}}
			k, err := Render(s.g, limits)
			if err != nil {
				t.Fatal(err)
			}
			got := stepsOf(k)
			for _, d := range k.Dispatches {
				if d.Library == nil {
					continue
				}
				if w := d.Library.Workspace; w.Kind != Scratch || w.At%workspaceAlignment != 0 || w.At+1000 > k.Scratch-192 {
					t.Errorf("got the workspace at %d of %d bytes", w.At, k.Scratch)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			limits.Library.Offer = func(Work) (int, bool) { return 0, false }
			if k, err = Render(s.g, limits); err != nil || slices.ContainsFunc(k.Dispatches, func(d Dispatch) bool { return d.Library != nil }) {
				t.Errorf("a library that has nothing is called: %v", err)
			}
		})
	}
}

// stepsOf are a kernel's calls, and the kinds of its texts.
func stepsOf(k *Kernel) (list []string) {
	for _, d := range k.Dispatches {
		if d.Library != nil {
			list = append(list, d.Library.Work.String())
			continue
		}
		kind, _, _ := strings.Cut(d.Function, "_")
		list = append(list, kind)
	}
	return list
}
