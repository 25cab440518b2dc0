package backendtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// A checked backend runs every launch on the reference too, on the same inputs, and compares the results. So
// it names the kernel that is wrong. The results of a long graph would only show that some kernel is.
type checked struct {
	backend.Backend
	exact backend.Backend
}

type checkedKernel struct {
	backend.Kernel
	exact backend.Kernel
	group *backend.Group
}

func newChecked(b backend.Backend) (*checked, error) {
	exact, err := ref.Open()
	return &checked{b, exact}, err
}

func (c *checked) Compile(g *backend.Group) (backend.Kernel, error) {
	k, err := c.Backend.Compile(g)
	if err != nil {
		return nil, err
	}
	e, err := c.exact.Compile(g)
	return &checkedKernel{k, e, g}, err
}

// A checkedProgram is run launch by launch.
type checkedProgram struct{ *backend.Program }

func (checkedProgram) Close() {}

func (c *checked) Load(p *backend.Program) (backend.Loaded, error) { return checkedProgram{p}, nil }

func (c *checked) Run(ctx context.Context, p backend.Loaded, t *backend.Table, _ []time.Duration) error {
	for _, l := range p.(checkedProgram).Launches {
		cmd := submit.Cmd{Kernel: l.Kernel}
		for _, place := range l.Bufs {
			cmd.Bufs = append(cmd.Bufs, t.At(place))
		}
		for _, n := range l.Scalars {
			cmd.Scalars = append(cmd.Scalars, t.Scalar(n))
		}
		if err := c.run(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}

func (c *checked) run(ctx context.Context, cmd submit.Cmd) error {
	k := cmd.Kernel.(*checkedKernel)
	mirror, err := c.mirror(cmd)
	if err != nil {
		return err
	}
	mirror.Kernel, cmd.Kernel = k.exact, k.Kernel
	if err := submit.Run(ctx, c.exact, []submit.Cmd{mirror}, nil); err != nil {
		return err
	}
	spread := make([]spread, len(k.group.Outputs))
	for i, o := range k.group.Outputs {
		if spread[i].want, err = output(c.exact, mirror, o); err != nil {
			return err
		}
	}
	for seed := range disturbances {
		if err := c.disturbed(ctx, seed, mirror, k.group, spread); err != nil {
			return err
		}
	}
	if err := submit.Run(ctx, c.Backend, []submit.Cmd{cmd}, nil); err != nil {
		return err
	}
	for i, o := range k.group.Outputs {
		got, err := output(c.Backend, cmd, o)
		if err != nil {
			return err
		}
		if err := spread[i].allows(&got); err != nil {
			return fmt.Errorf("output %d: %v\n%s", i, err, describe(k.group))
		}
	}
	return nil
}

// disturbed runs a command on the disturbed reference, and adds the results to the spreads of its outputs.
func (c *checked) disturbed(ctx context.Context, seed int, mirror submit.Cmd, g *backend.Group, all []spread) error {
	if err := submit.Run(ref.Disturbed(ctx, uint64(seed)), c.exact, []submit.Cmd{mirror}, nil); err != nil {
		return err
	}
	for i, o := range g.Outputs {
		v, err := output(c.exact, mirror, o)
		if err != nil {
			return err
		}
		all[i].add(&v)
	}
	return nil
}

// mirror copies a command's memory to the reference.
func (c *checked) mirror(cmd submit.Cmd) (submit.Cmd, error) {
	m := submit.Cmd{Scalars: cmd.Scalars}
	for _, s := range cmd.Bufs {
		host := make([]byte, s.Buf.Bytes()-s.Offset)
		if err := c.Backend.Download(context.Background(), host, s.Buf, s.Offset); err != nil {
			return m, err
		}
		buf, err := c.exact.Alloc(len(host))
		if err != nil {
			return m, err
		}
		if err := c.exact.Upload(buf, 0, host); err != nil {
			return m, err
		}
		m.Bufs = append(m.Bufs, backend.Slice{Buf: buf})
	}
	return m, nil
}

func output(b backend.Backend, cmd submit.Cmd, o backend.Output) (Values, error) {
	s := cmd.Bufs[o.Buf]
	v := Values{DType: o.DType, Shape: o.Shape}
	host := make([]byte, s.Buf.Bytes()-s.Offset)
	if err := b.Download(context.Background(), host, s.Buf, s.Offset); err != nil {
		return v, err
	}
	v.gather(host, o.Layout(), 0, o.Offset)
	return v, nil
}

// describe prints a group for a person that looks for a mistake in it.
func describe(g *backend.Group) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s\n", g.Kind, g.Name)
	for i, in := range g.Inputs {
		fmt.Fprintf(&b, "  in%d  = %v%v stride %v offset %d buffer %d scalar %d\n",
			i, in.DType, in.Layout.Shape, in.Layout.Stride, in.Layout.Offset, in.Buf, in.Scalar)
	}
	name := func(r backend.Ref) string {
		if i, ok := r.Input(); ok {
			return fmt.Sprintf("in%d", i)
		}
		if r.Result > 0 {
			return fmt.Sprintf("v%d.%d", r.Index, r.Result)
		}
		return fmt.Sprintf("v%d", r.Index)
	}
	for i, in := range g.Insts {
		fmt.Fprintf(&b, "  v%d   = %v%v %v", i, in.DType, in.Shape, in.Op)
		for _, a := range in.Args {
			b.WriteString(" " + name(a))
		}
		if in.Attr.Axes != nil {
			fmt.Fprintf(&b, " axes %v", in.Attr.Axes)
		}
		b.WriteString("\n")
	}
	for _, o := range g.Outputs {
		fmt.Fprintf(&b, "  out  = %v%v %s buffer %d\n", o.DType, o.Shape, name(o.Value), o.Buf)
	}
	return b.String()
}
