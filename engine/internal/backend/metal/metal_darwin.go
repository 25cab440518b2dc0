//go:build arm64

package metal

import (
	"errors"
	"os"
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

// Open returns the backend on the Mac's GPU. Metal Performance Shaders compute products only where
// MCS_LIBRARIES is on or always: nobody has measured them against our kernels yet.
func Open() (backend.Backend, error) {
	d := driver.New()
	switch os.Getenv("MCS_LIBRARIES") {
	case "on", "always":
		d.Products = true
	}
	b, err := gpu.Open(d, 0, "metal")
	if err != nil {
		return nil, err
	}
	return b, nil
}
