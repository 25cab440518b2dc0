//go:build arm64

package metal

import (
	"errors"
	"syscall"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/driver"
)

// probe looks whether the system has Metal, and what chip this is.
func probe() []backend.Found {
	found := backend.Found{Name: "metal", Detail: "the GPU"}
	if chip, err := syscall.Sysctl("machdep.cpu.brand_string"); err == nil {
		found.Detail += " of an " + chip
	}
	var e *gpu.Error
	if err := driver.New().Present(); errors.As(err, &e) {
		found.Missing = e.Text
	}
	return []backend.Found{found}
}

// Open returns the backend on the Mac's GPU.
func Open() (backend.Backend, error) {
	b, err := gpu.Open(driver.New(), 0, "metal")
	if err != nil {
		return nil, err
	}
	return b, nil
}
