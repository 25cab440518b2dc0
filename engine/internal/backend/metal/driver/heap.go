package driver

import (
	"math/bits"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A heap is an MTLHeap. Buffers are parts of heaps, because a new one of its own costs the system pages that
// it clears and maps for the GPU, and the residency set a change. A small buffer shares a heap with others; a
// large one has a heap to itself, which stays as a spare when the buffer is freed.
type heap struct {
	id      objc.ID
	bytes   int
	used    int // bytes of its buffers
	buffers int
	freed   uint64 // when it was left without buffers, in the order of all; 0 while it has some
}

const (
	shared, untracked = 0, 1 // of MTLStorageMode and MTLHazardTrackingMode
	resourceOptions   = shared<<4 | untracked<<8
	pageSize          = 16 << 10
)

// small is the size of a heap that buffers share: 16 MiB, or less where there is little memory.
func (d *device) small() int { return int(min(16<<20, d.info.Memory/64)) }

// heapSize is the size of the heap for a buffer: large buffers of about the same size have heaps of one size.
func (d *device) heapSize(bytes int) int {
	if bytes <= d.small()/4 {
		return d.small()
	}
	step := max(pageSize, 1<<max(bits.Len(uint(bytes))-4, 0)) // an eighth of the size, or less
	return (bytes + step - 1) / step * step
}

// part makes a buffer as a part of a heap, of a new one if it must; 0 if the system gives none. d.mu is held.
func (d *device) part(bytes int) (objc.ID, *heap) {
	size := d.heapSize(bytes)
	for _, h := range d.heaps {
		if h.bytes == size && h.used+bytes <= size {
			if id := d.cut(h, bytes); id != 0 {
				return id, h
			}
		}
	}
	if int64(size) > d.free() {
		return 0, nil
	}
	h := &heap{id: d.newHeap(size), bytes: size}
	if h.id == 0 {
		return 0, nil
	}
	d.resident(h.id, selAddAllocation)
	d.heaps = append(d.heaps, h)
	id := d.cut(h, bytes)
	if id == 0 {
		d.dropHeap(h)
		return 0, nil
	}
	return id, h
}

// newHeap asks the system for a heap.
func (d *device) newHeap(bytes int) objc.ID {
	descriptor := d.Send(d.Class("MTLHeapDescriptor"), d.sel(selNew))
	defer d.Release(descriptor)
	d.Send(descriptor, d.sel("setSize:"), uintptr(bytes))
	d.Send(descriptor, d.sel(selSetStorageMode), shared)
	d.Send(descriptor, d.sel("setHazardTrackingMode:"), untracked)
	return d.Send(d.id, d.sel(selNewHeap), uintptr(descriptor))
}

// cut makes a buffer of a part of h, or returns 0 if it is too full.
func (d *device) cut(h *heap, bytes int) objc.ID {
	id := d.Send(h.id, d.sel(selNewBuffer), uintptr(bytes), resourceOptions)
	if id != 0 {
		h.used += bytes
		h.buffers++
		h.freed = 0
	}
	return id
}

// mend gives a part back. A heap without buffers becomes a spare, of which there may be an eighth of the
// memory. d.mu is held.
func (d *device) mend(h *heap, bytes int) {
	h.used -= bytes
	if h.buffers--; h.buffers == 0 {
		d.frees++
		h.freed = d.frees
	}
	d.trim(d.info.Memory / 8)
}

// spare is how many bytes heaps without buffers have. d.mu is held.
func (d *device) spare() (bytes int64) {
	for _, h := range d.heaps {
		if h.freed > 0 {
			bytes += int64(h.bytes)
		}
	}
	return bytes
}

// trim gives spare heaps back, those first that are spare the longest, until they have at most so many bytes.
// It reports whether there were any. d.mu is held.
func (d *device) trim(most int64) (given bool) {
	for spare := d.spare(); spare > most; given = true {
		var oldest *heap
		for _, h := range d.heaps {
			if h.freed > 0 && (oldest == nil || h.freed < oldest.freed) {
				oldest = h
			}
		}
		spare -= int64(oldest.bytes)
		d.dropHeap(oldest)
	}
	return given
}

// dropHeap gives a heap back. d.mu is held.
func (d *device) dropHeap(h *heap) {
	d.heaps = slices.DeleteFunc(d.heaps, func(other *heap) bool { return other == h })
	d.resident(h.id, selRemoveAllocation)
	d.Release(h.id)
}

// free is how much memory the system recommends to take in addition. d.mu is held.
func (d *device) free() int64 {
	return d.info.Memory - int64(d.Send(d.id, d.sel("currentAllocatedSize")))
}

// resident changes the residency set, which the next commit of a stream brings into effect. d.mu is held.
func (d *device) resident(id objc.ID, change selector) {
	if d.residency != 0 {
		d.Send(d.residency, d.sel(change), uintptr(id))
		d.changed = true
	}
}

// settle brings changes of the residency set into effect.
func (d *device) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed {
		d.Send(d.residency, d.sel(selCommit))
		d.changed = false
	}
}

// Alloc makes a buffer, all of which are in shared memory. The system would give more than it recommends, and
// swap.
func (d *device) Alloc(bytes int, _ gpu.Memory) (gpu.Buffer, error) {
	if bytes < 1 {
		return nil, d.misused(selNewBuffer, "got %d bytes, want at least 1", bytes)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id, h := d.find(bytes)
	if id == 0 && d.trim(0) {
		id, h = d.find(bytes)
	}
	if id == 0 {
		return nil, &gpu.Error{Code: gpu.OutOfMemory, Device: d.Name, Op: string(selNewBuffer), Want: int64(bytes), Free: d.free(), Index: -1}
	}
	b := &buffer{gpu.Held{Owner: &d.Owner, Bytes: bytes, At: uint64(d.Send(id, d.sel(selGPUAddress)))}, id, h}
	b.Release = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.release(b)
	}
	d.live[b] = true
	d.Count(int64(bytes))
	contents := uintptr(d.Send(id, d.sel(selContents)))
	if b.At == 0 || contents == 0 {
		d.release(b)
		return nil, d.failed(selContents, 0, gpu.Failed)
	}
	b.Memory = ccall.Bytes(contents, bytes)
	return b, nil
}

// find makes a buffer in a heap or, where the system gives none, one of its own. d.mu is held.
func (d *device) find(bytes int) (objc.ID, *heap) {
	if int64(bytes) > d.info.Limits.Buffer {
		return 0, nil
	}
	if id, h := d.part(bytes); id != 0 {
		return id, h
	}
	if int64(bytes) > d.free() {
		return 0, nil
	}
	id := d.Send(d.id, d.sel(selNewBuffer), uintptr(bytes), resourceOptions)
	if id != 0 {
		d.resident(id, selAddAllocation)
	}
	return id, nil
}

// release gives a buffer's memory back. d.mu is held.
func (d *device) release(b *buffer) {
	delete(d.live, b)
	d.Count(-int64(b.Bytes))
	if b.heap == nil {
		d.resident(b.id, selRemoveAllocation)
	}
	d.Release(b.id)
	if b.heap != nil {
		d.mend(b.heap, b.Bytes)
	}
}
