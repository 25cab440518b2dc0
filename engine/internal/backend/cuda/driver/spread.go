package driver

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// Memory that several processes hold together is made by the part of the driver that takes memory and
// addresses apart: each process makes a part, which another one gets as a file, and maps all parts in a row.
// Kernels read those of other GPUs over what joins them.

// partProperties is CUmemAllocationProp: pinned memory of a device that becomes a file.
type partProperties struct {
	allocation, handles  int32
	locationKind, device int32
	_                    uintptr
	_                    [8]byte
}

const asFile = 1 // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

func (d *device) partProperties() *partProperties {
	return &partProperties{allocation: 1, handles: asFile, locationKind: 1, device: int32(d.handle)}
}

// Spreads asks for the size of which parts are multiples.
func (d *device) Spreads() (grain int, err error) {
	for _, a := range []int{attrVirtualMemory, attrFiles} {
		if can, err := d.attribute(d.handle, a); err != nil || can == 0 {
			return 0, errors.Join(err, fmt.Errorf("%s does not hand memory to other processes: %w", d.Name, errors.ErrUnsupported))
		}
	}
	if !d.has(cuMemGetAllocationGranularity, cuMemCreate, cuMemRelease, cuMemExportToShareableHandle, cuMemImportFromShareableHandle,
		cuMemAddressReserve, cuMemAddressFree, cuMemMap, cuMemUnmap, cuMemSetAccess) {
		return 0, fmt.Errorf("%s: the driver hands no memory to other processes: %w", d.Name, errors.ErrUnsupported)
	}
	size := new(uint64)
	const least = 0
	err = d.do(cuMemGetAllocationGranularity, uintptr(unsafe.Pointer(size)), uintptr(unsafe.Pointer(d.partProperties())), least)
	return int(*size), err
}

// Part makes a part. When there is no memory, the pool gives the system back what it does not use.
func (d *device) Part(bytes int) (*os.File, error) {
	handle, fd := new(uint64), new(int32)
	create := func() error {
		return d.do(cuMemCreate, uintptr(unsafe.Pointer(handle)), uintptr(bytes), uintptr(unsafe.Pointer(d.partProperties())), 0)
	}
	err := create()
	if e, ok := err.(*gpu.Error); ok && e.Code == gpu.OutOfMemory && d.pool != 0 {
		d.do(cuMemPoolTrimTo, d.pool, 0)
		err = create()
	}
	if err != nil {
		return nil, err
	}
	err = d.do(cuMemExportToShareableHandle, uintptr(unsafe.Pointer(fd)), uintptr(*handle), asFile, 0)
	d.do(cuMemRelease, uintptr(*handle)) // the file is a reference, too
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(*fd), "part"), nil
}

// Spread maps parts, of which one is its own. The memory lives as long as it is mapped, wherever.
func (d *device) Spread(bytes int, parts []*os.File, lengths []int, own int) (_ gpu.Buffer, err error) {
	all := 0
	for _, n := range lengths {
		all += n
	}
	address := new(uintptr)
	if err := d.do(cuMemAddressReserve, uintptr(unsafe.Pointer(address)), uintptr(all), 0, 0, 0); err != nil {
		return nil, err
	}
	mapped, next := []int{}, *address
	free := func() {
		at := *address
		for _, n := range mapped { // each by itself, as it was mapped
			d.do(cuMemUnmap, at, uintptr(n))
			at += uintptr(n)
		}
		d.do(cuMemAddressFree, *address, uintptr(all))
	}
	defer func() {
		if err != nil {
			free()
		}
	}()
	for i, n := range lengths {
		if n == 0 {
			continue
		}
		handle := new(uint64)
		if err := d.do(cuMemImportFromShareableHandle, uintptr(unsafe.Pointer(handle)), parts[i].Fd(), asFile); err != nil {
			return nil, err
		}
		err := d.do(cuMemMap, next, uintptr(n), 0, uintptr(*handle), 0)
		d.do(cuMemRelease, uintptr(*handle)) // it stays while it is mapped
		if err != nil {
			return nil, err
		}
		mapped, next = append(mapped, n), next+uintptr(n)
	}
	const location, both = 1, 3 // a device; reads and writes
	a := &access{location, int32(d.handle), both}
	if err := d.do(cuMemSetAccess, *address, uintptr(all), uintptr(unsafe.Pointer(a)), 1); err != nil {
		return nil, fmt.Errorf("%s does not reach the memory of the others: %w", d.Name, err)
	}
	b := d.newBuffer(bytes, true)
	b.At = uint64(*address)
	held := int64(lengths[own])
	b.Release = func() {
		free()
		d.Count(-held)
	}
	d.Count(held)
	return b, nil
}
