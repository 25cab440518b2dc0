package driver

import (
	"os"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
)

// Trace captures what the device does into a .gputrace, which Xcode shows. macOS captures for programs that
// were started with METAL_CAPTURE_ENABLED=1, and into files that do not exist; both are checked first,
// because its own errors do not say so.
func (d *device) Trace(path string) (stop func() error, err error) {
	refused := func(format string, args ...any) error {
		return gpu.Errorf(gpu.Unsupported, d.Name, "trace", format, args...)
	}
	if os.Getenv("METAL_CAPTURE_ENABLED") != "1" && os.Getenv("MTL_CAPTURE_ENABLED") != "1" {
		return nil, refused("start mcs with METAL_CAPTURE_ENABLED=1 in its environment")
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, refused("%s exists: name a file that does not", path)
	}
	d.Pool(func() {
		const toFile = 2 // of MTLCaptureDestination
		manager := d.Send(d.Class("MTLCaptureManager"), d.sel("sharedCaptureManager"))
		if !d.Bool(manager, d.sel("supportsDestination:"), toFile) {
			err = refused("this system writes no traces into files")
			return
		}
		descriptor := d.Send(d.Class("MTLCaptureDescriptor"), d.sel(selNew))
		defer d.Release(descriptor)
		d.Send(descriptor, d.sel("setCaptureObject:"), uintptr(d.id))
		d.Send(descriptor, d.sel("setDestination:"), toFile)
		d.Send(descriptor, d.sel("setOutputURL:"), uintptr(d.url(path)))
		failure := new(objc.ID)
		if !d.Bool(manager, d.sel(selStartCapture), uintptr(descriptor), uintptr(unsafe.Pointer(failure))) {
			err = d.failed(selStartCapture, *failure, gpu.Failed)
			return
		}
		stop = func() error {
			d.Send(manager, d.sel("stopCapture"))
			if _, err := os.Stat(path); err != nil {
				return refused("no trace was written: %v", err)
			}
			return nil
		}
	})
	return stop, err
}
