package driver

import (
	"cmp"
	"errors"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// CopyFrom encodes a copy from another device of the driver.
func (s *stream) CopyFrom(dst gpu.Buffer, dstOffset int, src gpu.Buffer, srcOffset, bytes int) error {
	other, ok := src.(*buffer)
	if !ok || other.device == s.device {
		return s.device.misused(cuMemcpyPeerAsync, "got a buffer of this device or of another driver")
	}
	if err := s.device.reaches(other.device); err != nil {
		return err
	}
	err := gpu.CheckCopy(dst, dstOffset, src, srcOffset, bytes)
	if err = cmp.Or(err, s.device.Owns(dst), other.device.Owns(src)); err != nil {
		return s.device.misused(cuMemcpyPeerAsync, "%v", err)
	}
	if bytes > 0 {
		s.encode(cuMemcpyPeerAsync, uintptr(dst.Address())+uintptr(dstOffset), s.device.context, uintptr(src.Address())+uintptr(srcOffset), other.device.context, uintptr(bytes), s.handle)
	}
	return nil
}

// access is CUmemAccessDesc: that a device reads and writes the memory of a pool.
type access struct{ kind, device, flags int32 }

// reaches lets this device read the other's pool, once, and returns errors.ErrUnsupported where it cannot.
func (d *device) reaches(other *device) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err, known := d.peers[other]; known {
		return err
	}
	err := d.reach(other)
	if d.peers == nil {
		d.peers = map[*device]error{}
	}
	d.peers[other] = err
	return err
}

func (d *device) reach(other *device) error {
	if !d.has(cuDeviceCanAccessPeer, cuMemcpyPeerAsync) || other.pool != 0 && !d.has(cuMemPoolSetAccess) {
		return errors.ErrUnsupported
	}
	can := new(int32)
	if err := d.api.call(cuDeviceCanAccessPeer, uintptr(unsafe.Pointer(can)), uintptr(d.handle), uintptr(other.handle)); err != nil || *can == 0 {
		return errors.ErrUnsupported
	}
	if other.pool == 0 { // the copy maps what it reads
		return nil
	}
	const location, both = 1, 3 // a device; reads and writes
	a := &access{location, int32(d.handle), both}
	if other.do(cuMemPoolSetAccess, other.pool, uintptr(unsafe.Pointer(a)), 1) != nil {
		return errors.ErrUnsupported
	}
	return nil
}
