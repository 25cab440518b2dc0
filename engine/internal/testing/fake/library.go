package fake

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

type library struct{ device *device }

// Compile makes a library of all of the driver's kernels.
func (d *device) Compile(ctx context.Context, s gpu.Source) (gpu.Library, error) {
	if err := d.driver.did("compile", "%s", s.Name); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &library{d}, nil
}

// Load does the same.
func (d *device) Load(name string, binary []byte) (gpu.Library, error) {
	if err := d.driver.did("load", "%s %d", name, len(binary)); err != nil {
		return nil, err
	}
	return &library{d}, nil
}

// Pipeline finds a kernel.
func (l *library) Pipeline(name string, constants ...gpu.Constant) (gpu.Pipeline, error) {
	if err := l.device.driver.did("pipeline", "%s %v", name, constants); err != nil {
		return nil, err
	}
	kernel := l.device.driver.Kernels[name]
	if kernel == nil {
		return nil, &gpu.Error{Code: gpu.BadKernel, Device: l.device.name(), Op: "pipeline", Index: -1,
			Text: fmt.Sprintf("got %q, want one of %q", name, slices.Sorted(maps.Keys(l.device.driver.Kernels)))}
	}
	return &pipeline{l.device, name, kernel}, nil
}

func (l *library) Close() {}

type pipeline struct {
	device *device
	name   string
	kernel Kernel
}

func (p *pipeline) Name() string { return p.name }
func (p *pipeline) Close()       {}

// Limits are the device's.
func (p *pipeline) Limits() gpu.PipelineLimits {
	l := p.device.info.Limits
	return gpu.PipelineLimits{Threads: l.Threads, Simdgroup: l.Simdgroup}
}
