// runtime.h: what a kernel that is compiled for checking (check.h) asks of the runtime (fibers.cpp), which
// runs each of its threads as a fiber.
#pragma once

namespace check {

// A Site is a line of a kernel that makes threads wait for each other.
struct Site {
	const char* file;
	int line;
};

// A Position is one of a thread, or a size of a grid.
struct Position {
	unsigned x, y, z;
};

enum Kind : unsigned char { no_kind, is_buffer, is_constant, is_threadgroup, is_attribute };

// An Argument is one of a kernel: for an attribute, what is one of those below, for the others the index.
struct Argument {
	Kind kind;
	int what;
	const char* name;
};

enum {
	thread_position_in_grid,
	threads_per_grid,
	threadgroup_position_in_grid,
	threadgroups_per_grid,
	thread_position_in_threadgroup,
	threads_per_threadgroup,
	thread_index_in_threadgroup,
	thread_index_in_simdgroup,
	simdgroup_index_in_threadgroup,
	simdgroups_per_threadgroup,
	threads_per_simdgroup,
};

// An Entry is a kernel that can be launched. Sizes and aligns are, by argument, those of what a pointer or
// a reference leads to, and 0 for an attribute.
struct Entry {
	const char* name;
	void (*body)();
	const Argument* arguments;
	const unsigned* sizes;
	const unsigned* aligns;
	int count;
	int most_threads;
};

constexpr unsigned simd_width = 32;
constexpr unsigned slot_bytes = 64; // of what a thread shows others
constexpr unsigned most_indexes = 31;
constexpr unsigned most_threadgroup_bytes = 32768;  // of Apple's GPUs
constexpr unsigned more_threadgroup_bytes = 232448; // of those that have warpgroups

// A Launch is a grid of threads that run a kernel.
struct Launch {
	Position groups, threads;
	unsigned seed;                          // of the order in which threads run; 0 is the order of their numbers
	const void* buffers[most_indexes];      // addresses, those of constants included
	unsigned threadgroup_bytes[most_indexes];
	const void* constants[most_indexes];    // values of function constants
};

// The state that a running thread sees.
struct Thread {
	const Launch* launch;
	Position group, at;
	unsigned index; // in its threadgroup
	unsigned members; // threads of its simdgroup
	const char* published; // see publish
};
extern Thread self;

// What happens where threads wait: their memory is ordered, too, unless it is none.
enum Order { no_order, orders_memory };

// wait_group returns when all threads of the threadgroup are at the same place, wait_simd those of the
// simdgroup.
void wait_group(const char* what, Site at, Order order);
void wait_simd(const char* what, Site at, Order order);

// publish shows the other threads of the simdgroup a value of at most slot_bytes, and returns when all have
// done so. Then self.published has the values of all lanes, slot_bytes apart, until the thread publishes once
// more.
void publish(const char* what, Site at, const void* value, unsigned size);

// threadgroup_memory is where a declaration's memory lies in this threadgroup, key being its name.
// threadgroup_argument is that of an argument.
void* threadgroup_memory(const void* key, unsigned size, unsigned align);
void* threadgroup_argument(int index);

// run launches a kernel. It returns nullptr, or what went wrong.
const char* run(const Entry& entry, const Launch& launch);

} // namespace check
