package plan

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// maxKernels bounds the kernels kept for groups that come again in other plans.
const maxKernels = 4096

// A compiled is a kernel that plans share. It is closed when the collector finds that no plan has it.
type compiled struct {
	backend.Kernel
	err   error
	ready chan struct{} // closed when one of the two is there
}

// compile returns the kernels of groups, some perhaps from other plans. New ones are compiled outside of any
// lock, as many at a time as the device hints. A context that is done ends the wait, not the compilation:
// what comes out of it is there for the next plan.
func (all *plans) compile(ctx context.Context, dev *backend.Device, groups []*backend.Group) ([]*compiled, error) {
	list := make([]*compiled, len(groups))
	var fresh []func()
	for i, g := range groups {
		key := groupKey(g)
		c, found := all.kernel(key)
		if list[i] = c; !found {
			fresh = append(fresh, func() { all.makeOne(dev, key, g, c) })
		}
	}
	inParallel(fresh, dev.Hints().Compilers)
	for i, c := range list {
		select {
		case <-c.ready:
		case <-ctx.Done():
			return nil, backend.Interrupted(ctx)
		}
		if c.err != nil {
			return nil, fmt.Errorf("compile %s: %w", groups[i].Name, c.err)
		}
	}
	return list, nil
}

// kernel returns the kernel that is kept under key, or a place for a new one.
func (all *plans) kernel(key string) (c *compiled, found bool) {
	cache.Lock()
	defer cache.Unlock()
	if c := all.kernels[key]; c != nil {
		return c, true
	}
	if len(all.kernels) >= maxKernels {
		clear(all.kernels)
	}
	c = &compiled{ready: make(chan struct{})}
	all.kernels[key] = c
	return c, false
}

// makeOne compiles a group. One that fails is not kept.
func (all *plans) makeOne(dev *backend.Device, key string, g *backend.Group, c *compiled) {
	defer close(c.ready)
	func() {
		defer caught(&c.err)
		c.Kernel, c.err = dev.Backend().Compile(g)
		dev.Seen(c.err)
	}()
	if c.err == nil {
		runtime.AddCleanup(c, backend.Kernel.Close, c.Kernel)
		return
	}
	cache.Lock()
	defer cache.Unlock()
	if all.kernels[key] == c {
		delete(all.kernels, key)
	}
}

// inParallel calls functions, so many at a time. With one it calls them itself; else it returns at once.
func inParallel(list []func(), width int) {
	if width <= 1 || len(list) <= 1 {
		for _, f := range list {
			f()
		}
		return
	}
	next := new(atomic.Int64)
	for range min(width, len(list)) {
		go func() {
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				list[i]()
			}
		}()
	}
}

// groupKey is equal for groups that are the same work.
func groupKey(g *backend.Group) string {
	b := append([]byte(g.Name), 0, byte(g.Kind))
	b = appendInts(b, []int{len(g.Inputs), len(g.Insts), len(g.Outputs)})
	for _, in := range g.Inputs {
		b = append(b, byte(in.DType))
		b = appendInts(b, in.Layout.Shape)
		b = appendInts(b, in.Layout.Stride)
		b = appendInts(b, []int{in.Layout.Offset, in.Buf, in.Scalar})
		var flags byte
		if in.Weight {
			flags = 1
		}
		if in.Room {
			flags |= 2
		}
		b = append(b, flags)
	}
	for _, in := range g.Insts {
		b = append(b, byte(in.Op), byte(in.DType), byte(in.Attr.DType))
		b = appendInts(b, in.Shape)
		for _, a := range in.Args {
			b = appendInts(b, []int{a.Index, a.Result})
		}
		for _, o := range in.Outs {
			b = appendInts(append(b, byte(o.DType)), o.Shape)
		}
		b = appendInts(b, in.Attr.Axes)
		b = appendInts(b, in.Attr.Ints)
		b = appendInts(b, in.Attr.Shape)
		b = appendInts(b, []int{in.Attr.Axis, in.Attr.Index, int(in.Attr.Flags), len(in.Args), len(in.Outs)})
		b = appendFloats(b, append([]float64{in.Attr.Float}, in.Attr.Rates...))
		if in.Attr.Kernel != nil {
			b = append(b, in.Attr.Kernel.Key...)
		}
	}
	for _, o := range g.Outputs {
		b = append(b, byte(o.DType))
		b = appendInts(b, o.Shape)
		b = appendInts(b, o.Stride)
		b = appendInts(b, []int{o.Value.Index, o.Value.Result, o.Buf, o.Offset})
		if o.Final {
			b = append(b, 1)
		}
	}
	if g.TF32 {
		b = append(b, 1)
	}
	return string(b)
}
