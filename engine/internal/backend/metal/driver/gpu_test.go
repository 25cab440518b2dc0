package driver

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/drivertest"
)

const axpyText = `#include <metal_stdlib>
using namespace metal;

kernel void axpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant float &a [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
	y[i] += a * x[i];
}
`

// onMac returns the driver of an Apple-silicon Mac with a GPU that can be used.
func onMac(t testing.TB) *Driver {
	t.Helper()
	d := New()
	if err := d.Present(); err != nil {
		t.Skip(err)
	}
	device, err := d.Open(0)
	if errors.Is(err, gpu.Unsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := device.Close(); err != nil {
		t.Error(err)
	}
	return d
}

func compileAxpy(t testing.TB, d gpu.Device) gpu.Library {
	t.Helper()
	l, err := d.Compile(t.Context(), gpu.Source{Name: "axpy.metal", Text: axpyText, Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The first thing to run on a Mac: go test ./engine/internal/backend/metal/driver -run OnMac -v -bench OnMac
func TestConformanceOnMac(t *testing.T) {
	d := onMac(t)
	infos, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", infos)
	drivertest.Run(t, drivertest.Config{Driver: d, Usage: true, Library: func(t *testing.T, d gpu.Device) gpu.Library { return compileAxpy(t, d) }})
}

// What a dispatch costs, when it is waited for alone and among others.
func BenchmarkDispatchOnMac(b *testing.B) {
	d, err := onMac(b).Open(0)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	s, err := d.Stream()
	if err != nil {
		b.Fatal(err)
	}
	library := compileAxpy(b, d)
	p, err := library.Pipeline("axpy")
	if err != nil {
		b.Fatal(err)
	}
	x, err := d.Alloc(256, gpu.DeviceMemory)
	if err != nil {
		b.Fatal(err)
	}
	dispatch := axpy(p, x, x, 0)
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("commits of %d, waited for", size), func(b *testing.B) {
			for i := 0; i < b.N; i += size {
				for range size {
					if err := s.Dispatch(dispatch); err != nil {
						b.Fatal(err)
					}
				}
				e, err := s.Commit()
				if err == nil {
					err = e.Wait(b.Context(), 0)
				}
				if err != nil {
					b.Fatal(err)
				}
				e.Close()
			}
		})
	}
}

// Products of Metal Performance Shaders, behind their switch.
func TestProductsOnMac(t *testing.T) {
	driver := onMac(t)
	driver.Products = true
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	testProducts(t, d)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Stamps by the device's clock, which is held against command buffers when it is used first.
func TestClockOnMac(t *testing.T) {
	opened, err := onMac(t).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*device)
	if d.clock() == nil {
		t.Error("stamps end command buffers: the device's clock is missing, or was wrong")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
