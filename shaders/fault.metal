// fault.metal: how a kernel says that an index is out of range.
//
// A command has one record. It keeps the least position, so that the report does not depend on the order of threads.
// The value at that position is in one of eight slots. Another bad position may have taken the slot: the tag tells, and
// then the value is not known.
//
// A kernel without a bad index pays a comparison for each: 8 bytes were read for it, so memory is the limit. A report is
// five atomic operations on one record, and takes as long as there are bad indices.
struct fault_record {
	atomic_uint least;       // position, 0xffffffff if there is none
	atomic_uint slots[8][3]; // position, and the two halves of the value
};

// report also clears the program's word stop: kernels that write over their own operands then write nothing.
inline void report(device fault_record* f, device atomic_uint* stop, uint position, long value) {
	atomic_store_explicit(stop, 0, memory_order_relaxed);
	atomic_fetch_min_explicit(&f->least, position, memory_order_relaxed);
	const uint slot = position % 8;
	atomic_store_explicit(&f->slots[slot][1], uint(ulong(value)), memory_order_relaxed);
	atomic_store_explicit(&f->slots[slot][2], uint(ulong(value) >> 32), memory_order_relaxed);
	atomic_store_explicit(&f->slots[slot][0], position, memory_order_relaxed);
}
