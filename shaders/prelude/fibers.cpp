// fibers.cpp: runs the threads of a kernel as fibers, group after group, and watches how they wait for each
// other.
//
// A thread runs until it waits or ends. Threads that wait take turns in the order of their numbers or, with
// a seed, in one that changes with every turn. A thread that ends leaves its stack to the next, so a kernel
// without barriers needs one.
//
// This file is never compiled with a sanitizer: to one, the runtime is no part of the kernel. It tells the
// thread sanitizer what orders memory: the begin and the end of a launch, and barriers; and nothing else,
// so that groups race with each other.
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <vector>

#ifdef CHECK_THREADS
#include <sanitizer/tsan_interface.h>
#define ORDERED_AFTER(p) __tsan_acquire(p)
#define ORDERED_BEFORE(p) __tsan_release(p)
#else
#define ORDERED_AFTER(p) ((void)(p))
#define ORDERED_BEFORE(p) ((void)(p))
#endif

// check_switch saves the registers that a call keeps, stores the stack pointer, and goes on at another stack.
extern "C" void check_switch(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
.text
.globl check_switch
check_switch:
	push %rbp
	push %rbx
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, (%rdi)
	mov %rsi, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbx
	pop %rbp
	ret
)");
constexpr int return_word = 6, frame_words = 8;
#elif defined(__aarch64__)
asm(R"(
.text
.globl check_switch
.globl _check_switch
check_switch:
_check_switch:
	sub sp, sp, #160
	stp x19, x20, [sp, #0]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mov x2, sp
	str x2, [x0]
	mov sp, x1
	ldp x19, x20, [sp, #0]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #160
	ret
)");
constexpr int return_word = 11, frame_words = 20;
#else
#error "the checking runtime knows x86-64 and arm64"
#endif

namespace check {

Thread self;

namespace {

constexpr size_t stack_bytes = 256 << 10, page = 64 << 10;

// A Meeting is where threads wait for each other: the threads of a threadgroup, or of a simdgroup.
struct Meeting {
	void* order = nullptr; // what the thread sanitizer orders memory by
	unsigned members = 0, arrived = 0, ended = 0, generation = 0;
	unsigned first = 0; // the thread that came first
	const char* what = "";
	Site site = {"", 0};
};

struct Simdgroup {
	Meeting meeting;
	alignas(16) char slots[2][simd_width][slot_bytes];
};

struct Fiber {
	void* stack_pointer;
	char* stack;
	Position at;
	unsigned index;
	bool done, turn; // turn says which of the two slots the thread's last value is in
	Meeting* waits;
	unsigned generation; // of waits, when the thread came
	void* tsan;
};

// A Local is memory of the threadgroup.
struct Local {
	const void* key;
	char* memory;
};

struct Group {
	const Entry* entry;
	Meeting meeting;
	std::vector<Simdgroup> simds;
	std::vector<Fiber> fibers;
	std::vector<Local> locals;
	char* arguments[most_indexes];
	unsigned bytes;
};

Group group;
Fiber* current;
void* scheduler;
#ifdef CHECK_THREADS
void* scheduler_tsan;
std::vector<void*> ended;  // the sanitizer's fibers of threads that have ended
std::vector<char*> chunks; // of memory for threadgroups
constexpr size_t chunk_bytes = 1 << 20;
constexpr unsigned most_watched = 200;
size_t left; // bytes of the last chunk
#endif
std::vector<char*> stacks;
char error[1024];
int launch_begin, launch_end; // what the thread sanitizer orders memory by

// poison fills memory so that who reads it before it is written gets NaN or -1. A loop, because the
// sanitizer would see memset.
void poison(char* p, size_t n) {
	for (volatile char* q = p; n > 0; n--) *q++ = char(0xff);
}

char* new_stack() {
	if (!stacks.empty()) {
		char* s = stacks.back();
		stacks.pop_back();
		return s;
	}
	char* s = (char*)mmap(nullptr, stack_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
	if (s == MAP_FAILED) {
		fprintf(stderr, "no memory for the stack of a thread\n");
		exit(3);
	}
	mprotect(s, page, PROT_NONE);
	ORDERED_BEFORE(&launch_begin); // the sanitizer takes the mapping for a write
	return s;
}

// free_stack keeps a stack for the next thread. The sanitizer would see two threads that use one stack as a
// race, so it gets new ones.
void free_stack(char* s) {
#ifdef CHECK_THREADS
	munmap(s, stack_bytes + page);
#else
	stacks.push_back(s);
#endif
}

void to_scheduler() {
#ifdef CHECK_THREADS
	__tsan_switch_to_fiber(scheduler_tsan, 1);
#endif
	check_switch(&current->stack_pointer, scheduler);
}

[[noreturn]] void stop() {
	for (;;) to_scheduler();
}

template <class... A> [[noreturn]] void fail(const char* format, A... a) {
	snprintf(error, sizeof error, format, a...);
	stop();
}

// leave takes a thread that has ended out of a meeting, where nobody may wait for it.
void leave(Meeting& m, const char* whose) {
	m.ended++;
	if (m.arrived)
		fail("thread %u has ended, but thread %u waits for the whole %s at %s in %s:%d", current->index, m.first, whose, m.what, m.site.file, m.site.line);
}

void thread_main() {
	ORDERED_AFTER(&launch_begin);
	group.entry->body();
	ORDERED_BEFORE(&launch_end);
	leave(group.simds[current->index / simd_width].meeting, "simdgroup");
	leave(group.meeting, "threadgroup");
	current->done = true;
	stop();
}

void start(Fiber& f) {
	f.stack = new_stack();
	void** top = (void**)(f.stack + page + stack_bytes) - frame_words - 2;
	memset(top, 0, frame_words * sizeof *top);
	top[return_word] = (void*)thread_main;
	f.stack_pointer = top;
#ifdef CHECK_THREADS
	f.tsan = __tsan_create_fiber(0);
#endif
}

void retire(Fiber& f) {
	if (!f.stack) return;
	free_stack(f.stack);
	f.stack = nullptr;
#ifdef CHECK_THREADS
	ended.push_back(f.tsan);
#endif
}

void step(Fiber& f) {
	if (!f.stack) start(f);
	current = &f;
	self.at = f.at;
	self.index = f.index;
	const Simdgroup& simd = group.simds[f.index / simd_width];
	self.members = simd.meeting.members;
	self.published = simd.slots[f.turn][0];
#ifdef CHECK_THREADS
	__tsan_switch_to_fiber(f.tsan, 1);
#endif
	check_switch(&scheduler, f.stack_pointer);
	if (f.done) retire(f);
}

void meet(Meeting& m, const char* whose, const char* what, Site at, Order order) {
	if (m.ended) fail("thread %u waits for the whole %s at %s in %s:%d, but %u of its threads have ended", current->index, whose, what, at.file, at.line, m.ended);
	if (m.arrived && (m.what != what && strcmp(m.what, what) || m.site.line != at.line || m.site.file != at.file && strcmp(m.site.file, at.file)))
		fail("threads of one %s wait at different places: thread %u at %s in %s:%d, thread %u at %s in %s:%d", whose, m.first, m.what, m.site.file, m.site.line, current->index, what, at.file, at.line);
	if (m.arrived == 0) {
		m.first = current->index;
		m.what = what;
		m.site = at;
	}
	if (order == orders_memory) ORDERED_BEFORE(m.order);
	if (++m.arrived == m.members) {
		m.arrived = 0;
		m.generation++;
	} else {
		current->waits = &m;
		current->generation = m.generation;
		to_scheduler();
		current->waits = nullptr;
	}
	if (order == orders_memory) ORDERED_AFTER(m.order);
}

// deadlock says who waits where, when nobody can go on.
void deadlock() {
	int n = snprintf(error, sizeof error, "deadlock: no thread can go on");
	auto add = [&](const Meeting& m, const char* whose) {
		if (m.arrived && n < int(sizeof error))
			n += snprintf(error + n, sizeof error - n, "; %u of the %u threads of a %s wait at %s in %s:%d", m.arrived, m.members, whose, m.what, m.site.file, m.site.line);
	};
	for (const Simdgroup& s : group.simds) add(s.meeting, "simdgroup");
	add(group.meeting, "threadgroup");
}

#ifdef CHECK_THREADS
// forget destroys the sanitizer's fibers of threads that have ended, if with n more there were too many.
// The sanitizer remembers what 255 threads did at most, and takes a new one for the thread whose place it
// gets.
void forget(unsigned n) {
	if (ended.size() + n <= most_watched) return;
	for (void* f : ended) __tsan_destroy_fiber(f);
	ended.clear();
}

// reserve makes room for the memory of a group. The scheduler calls it, because the sanitizer takes an
// allocation for a write by the thread that made it.
void reserve() {
	if (left >= 2 * more_threadgroup_bytes) return;
	chunks.push_back((char*)mmap(nullptr, chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0));
	if (chunks.back() == MAP_FAILED) abort();
	left = chunk_bytes;
	ORDERED_BEFORE(&launch_begin);
}

// fresh is memory that no other group of the launch has had, whose use the sanitizer would see as a race.
char* fresh(unsigned size, unsigned align) {
	left = left / align * align - size;
	return chunks.back() + chunk_bytes - left - size;
}
#else
void reserve() {}
void forget(unsigned) {}
#endif

// most_bytes is that of a device that has memory for the launch's arguments.
unsigned most_bytes() {
	for (unsigned n : self.launch->threadgroup_bytes)
		if (n > most_threadgroup_bytes) return more_threadgroup_bytes;
	return most_threadgroup_bytes;
}

char* allocate(unsigned size, unsigned align) {
	if ((group.bytes = (group.bytes + align - 1) / align * align + size) > most_bytes()) fail("got more than %u bytes of threadgroup memory", most_bytes());
	void* p = nullptr;
#ifdef CHECK_THREADS
	p = fresh(size, align);
#else
	if (posix_memalign(&p, align < 16 ? 16 : align, size)) abort();
#endif
	poison((char*)p, size);
	return (char*)p;
}

// release gives the group's memory back.
void release() {
	auto give = [](char* p) {
#ifndef CHECK_THREADS
		free(p);
#endif
	};
	for (Local& l : group.locals) give(l.memory);
	group.locals.clear();
	for (char*& p : group.arguments) {
		if (p) give(p);
		p = nullptr;
	}
}

void begin(Meeting& m, unsigned members) {
	m = Meeting{};
	m.members = members;
#ifdef CHECK_THREADS
	m.order = fresh(16, 16);
#endif
}

void run_group(const Launch& l, unsigned& random) {
	const unsigned n = l.threads.x * l.threads.y * l.threads.z;
	reserve();
	forget(n);
	begin(group.meeting, n);
	group.bytes = 0;
	group.simds.resize((n + simd_width - 1) / simd_width);
	for (unsigned i = 0; i < group.simds.size(); i++) {
		begin(group.simds[i].meeting, n - i * simd_width < simd_width ? n - i * simd_width : simd_width);
	}
	group.fibers.assign(n, Fiber{});
	std::vector<unsigned> order(n);
	for (unsigned i = 0; i < n; i++) {
		group.fibers[i].index = order[i] = i;
		group.fibers[i].at = {i % l.threads.x, i / l.threads.x % l.threads.y, i / (l.threads.x * l.threads.y)};
	}
	for (unsigned live = n; live && !error[0];) {
		for (unsigned i = n - 1; l.seed && i > 0; i--) {
			random = random * 1664525 + 1013904223;
			std::swap(order[i], order[(random >> 8) % (i + 1)]);
		}
		bool moved = false;
		for (unsigned i = 0; i < n && !error[0]; i++) {
			Fiber& f = group.fibers[order[i]];
			if (f.done || f.waits && f.waits->generation == f.generation) continue;
			step(f);
			moved = true;
			live -= f.done;
		}
		if (!moved && !error[0]) deadlock();
	}
	for (Fiber& f : group.fibers) retire(f);
	if (error[0]) stacks.clear(); // they hold frames that never returned, which the address sanitizer remembers
	release();
}

// refuse says what is wrong with a launch before it begins.
bool refuse(const Entry& e, const Launch& l) {
	const unsigned n = l.threads.x * l.threads.y * l.threads.z, most = e.most_threads ? unsigned(e.most_threads) : 1024u;
#ifdef CHECK_THREADS
	if (n > most_watched) {
		snprintf(error, sizeof error, "got %u threads in a threadgroup, want at most %u: the thread sanitizer cannot tell more apart", n, most_watched);
		return true;
	}
#endif
	if (n == 0 || n > most) {
		snprintf(error, sizeof error, "got %u threads in a threadgroup, want 1 to %u", n, most);
		return true;
	}
	for (int i = 0; i < e.count; i++) {
		const Argument& a = e.arguments[i];
		const bool memory = a.kind == is_buffer || a.kind == is_constant;
		if (memory && !l.buffers[a.what]) {
			snprintf(error, sizeof error, "argument %s, buffer %d, is not set", a.name, a.what);
			return true;
		}
		if (memory && (unsigned long)l.buffers[a.what] % e.aligns[i]) {
			snprintf(error, sizeof error, "argument %s, buffer %d, is not aligned to %u bytes", a.name, a.what, e.aligns[i]);
			return true;
		}
		if (a.kind == is_threadgroup && !l.threadgroup_bytes[a.what]) {
			snprintf(error, sizeof error, "argument %s, threadgroup memory %d, has no size", a.name, a.what);
			return true;
		}
	}
	return false;
}

} // namespace

void wait_group(const char* what, Site at, Order order) { meet(group.meeting, "threadgroup", what, at, order); }

void wait_simd(const char* what, Site at, Order order) { meet(group.simds[current->index / simd_width].meeting, "simdgroup", what, at, order); }

void publish(const char* what, Site at, const void* value, unsigned size) {
	// Two slots take turns: a thread that is one exchange ahead does not overwrite what others still read.
	current->turn = !current->turn;
	auto& slots = group.simds[current->index / simd_width].slots[current->turn];
	self.published = slots[0];
	volatile char* to = slots[current->index % simd_width];
	for (unsigned i = 0; i < size; i++) to[i] = ((const volatile char*)value)[i];
	wait_simd(what, at, no_order);
}

void* threadgroup_memory(const void* key, unsigned size, unsigned align) {
	for (const Local& l : group.locals)
		if (l.key == key) return l.memory;
	group.locals.push_back({key, allocate(size, align)});
	return group.locals.back().memory;
}

void* threadgroup_argument(int index) {
	char*& p = group.arguments[index];
	if (!p) p = allocate(self.launch->threadgroup_bytes[index], 1024);
	return p;
}

const char* run(const Entry& entry, const Launch& launch) {
	error[0] = 0;
	if (refuse(entry, launch)) return error;
	group.entry = &entry;
	self.launch = &launch;
	unsigned random = launch.seed * 2654435761u + 1;
#ifdef CHECK_THREADS
	scheduler_tsan = __tsan_get_current_fiber();
#endif
	ORDERED_BEFORE(&launch_begin);
	for (unsigned z = 0; z < launch.groups.z && !error[0]; z++)
		for (unsigned y = 0; y < launch.groups.y && !error[0]; y++)
			for (unsigned x = 0; x < launch.groups.x && !error[0]; x++) {
				self.group = {x, y, z};
				run_group(launch, random);
			}
	ORDERED_AFTER(&launch_end);
#ifdef CHECK_THREADS
	forget(most_watched + 1);
	for (char* p : chunks) munmap(p, chunk_bytes);
	chunks.clear();
	left = 0;
#endif
	return error[0] ? error : nullptr;
}

} // namespace check

// clang rounds a float to a bfloat by calling this. It is declared to return a float, whose lower half the
// caller takes: one that returned a bfloat would be compiled into a call of itself.
#if defined(__x86_64__)
extern "C" float check_to_bfloat(float x) asm("__truncsfbf2");
float check_to_bfloat(float x) {
	unsigned u;
	memcpy(&u, &x, sizeof u);
	u = x != x ? 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16;
	memcpy(&x, &u, sizeof u);
	return x;
}
#endif
