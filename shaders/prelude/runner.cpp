// runner.cpp: a program that has memory and runs kernels in it. It reads requests from its input and
// answers each one on its output, so that a kernel which breaks breaks this program only.
//
// A request is its number (4 bytes), the length of what follows (8 bytes) and that. An answer is 0 or, for
// an error, 1, or 2 for one that ends the program (4 bytes), the length of what follows (8 bytes) and that:
// the result, or the error's text. Numbers are little endian.
#include "runtime.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

namespace {

// What lies around a block and costs addresses only: an index that is wrong by a row or two of a matrix hits
// nothing else. A multiple of every size of page.
constexpr uint64_t guard = 16 << 20;

enum Number : uint32_t { load = 1, allocate, release, write_memory, read_memory, launch };

struct Block {
	uint64_t size;
	char* mapping; // with guard bytes on each side that nobody may touch
	uint64_t mapped;
	mutable bool open, wanted; // who runs may touch it; what runs next wants to

	// permit lets what runs touch the block, or not. Sanitizers watch memory that anybody may touch.
	void permit(bool yes) const {
		if (open == yes) return;
		open = yes;
#ifndef CHECK_SANITIZED
		mprotect(mapping + guard, mapped - 2 * guard, yes ? PROT_READ | PROT_WRITE : PROT_NONE);
#endif
	}
};
std::map<uint64_t, Block> blocks;
std::vector<void*> libraries;
const check::Entry* running;
int answers;

void send(uint32_t status, const void* data, uint64_t size) {
	char head[12];
	memcpy(head, &status, 4);
	memcpy(head + 4, &size, 8);
	std::string all(head, sizeof head);
	all.append((const char*)data, size);
	for (size_t at = 0; at < all.size();) {
		ssize_t n = write(answers, all.data() + at, all.size() - at);
		if (n <= 0) _exit(4);
		at += n;
	}
}
void send_error(const std::string& text) { send(1, text.data(), text.size()); }

// A Request is read from its front to its end.
struct Request {
	std::vector<char> data;
	size_t at = 0;
	template <class T> T take() {
		T t{};
		if (at + sizeof t <= data.size()) memcpy(&t, &data[at], sizeof t);
		at += sizeof t;
		return t;
	}
	std::string text() {
		const uint64_t n = take<uint64_t>();
		if (n > data.size() || at > data.size() - n) return "";
		std::string s(data.data() + at, n);
		at += n;
		return s;
	}
};

uint64_t new_block(uint64_t size) {
	Block b{size, nullptr, 0, true, false};
	char* p;
#ifdef CHECK_SANITIZED
	void* q = nullptr; // of the exact size: the sanitizer sees who goes beyond
	if (posix_memalign(&q, 256, size ? size : 1)) return 0;
	p = (char*)q;
#else
	const uint64_t page = sysconf(_SC_PAGESIZE), room = (size + 16 + page - 1) / page * page;
	b.mapped = room + 2 * guard;
	b.mapping = (char*)mmap(nullptr, b.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
	if (b.mapping == MAP_FAILED) return 0;
	mprotect(b.mapping + guard, room, PROT_READ | PROT_WRITE);
	p = (char*)((uint64_t(b.mapping) + guard + room - size) & ~uint64_t(15)); // its end is the end of the page
#endif
	memset(p, 0xff, size);
	blocks[uint64_t(p)] = b;
	return uint64_t(p);
}

bool free_block(uint64_t address) {
	auto it = blocks.find(address);
	if (it == blocks.end()) return false;
#ifdef CHECK_SANITIZED
	free((void*)address);
#else
	munmap(it->second.mapping, it->second.mapped);
#endif
	blocks.erase(it);
	return true;
}

// holder is the block in which n bytes at an address lie, or nullptr.
const Block* holder(uint64_t address, uint64_t n) {
	auto it = blocks.upper_bound(address);
	if (it == blocks.begin()) return nullptr;
	--it;
	return n <= it->second.size && address - it->first <= it->second.size - n ? &it->second : nullptr;
}

// want lets the next launch touch a block.
void want(const Block* b) {
	if (b) b->wanted = true;
}

// open_wanted lets those blocks be touched that are wanted, and no others. A launch touches those that it names;
// all of them, if it names none because it reaches memory through addresses that it finds. They stay open until
// another launch: most launches touch what the one before did, and a call of the system for each block takes
// longer than they do.
void open_wanted() {
	for (const auto& [start, b] : blocks) {
		b.permit(b.wanted);
		b.wanted = false;
	}
}

const check::Entry* find(const std::string& name) {
	for (auto it = libraries.rbegin(); it != libraries.rend(); ++it)
		if (void* p = dlsym(*it, ("msl_kernel_" + name).c_str())) return (const check::Entry*)p;
	return nullptr;
}

// set gives a launch its arguments: addresses, or bytes of which it keeps aligned copies.
std::string set(Request& r, check::Launch& l, std::vector<void*>& copies) {
	const check::Entry& e = *running;
	for (uint32_t n = r.take<uint32_t>(); n > 0; n--) {
		const uint32_t kind = r.take<uint32_t>(), index = r.take<uint32_t>();
		const uint64_t value = kind == check::is_buffer || kind == check::is_threadgroup ? r.take<uint64_t>() : 0;
		const std::string bytes = kind == check::is_constant || kind == check::no_kind ? r.text() : "";
		if (index >= check::most_indexes) return "got index " + std::to_string(index) + ", want one below " + std::to_string(check::most_indexes);
		if (kind == check::is_threadgroup) {
			l.threadgroup_bytes[index] = uint32_t(value);
		} else if (kind == check::is_buffer) {
			l.buffers[index] = (const void*)value;
		} else {
			void* p = nullptr;
			if (posix_memalign(&p, 16, bytes.size() ? bytes.size() : 1)) return "no memory";
			memcpy(p, bytes.data(), bytes.size());
			copies.push_back(p);
			(kind == check::is_constant ? l.buffers : l.constants)[index] = p;
		}
		for (int i = 0; i < e.count; i++) {
			const check::Argument& a = e.arguments[i];
			if (a.kind == check::is_constant && a.what == int(index) && kind == check::is_constant && bytes.size() != e.sizes[i])
				return "argument " + std::string(a.name) + ": got " + std::to_string(bytes.size()) + " bytes, want " + std::to_string(e.sizes[i]);
		}
	}
	return "";
}

void run(Request& r) {
	const std::string name = r.text();
	if (!(running = find(name))) return send_error("there is no kernel " + name);
	check::Launch l{};
	l.groups = r.take<check::Position>();
	l.threads = r.take<check::Position>();
	l.seed = r.take<uint32_t>();
	std::vector<void*> copies;
	std::string wrong = set(r, l, copies);
	if (wrong.empty()) {
		for (const void* p : l.buffers) want(holder(uint64_t(p), 0));
		if (r.take<uint32_t>() == 0)
			for (const auto& [start, b] : blocks) want(&b);
		for (uint32_t n = r.take<uint32_t>(); n > 0; n--) want(holder(r.take<uint64_t>(), 0));
		open_wanted();
		if (const char* e = check::run(*running, l)) wrong = e;
	}
	for (void* p : copies) free(p);
	running = nullptr;
	if (!wrong.empty()) return send_error(name + ": " + wrong);
	send(0, "", 0);
}

void answer(uint32_t number, Request& r) {
	switch (number) {
	case load: {
		void* h = dlopen(r.text().c_str(), RTLD_NOW | RTLD_LOCAL);
		if (!h) return send_error(dlerror());
		libraries.push_back(h);
		return send(0, "", 0);
	}
	case allocate: {
		const uint64_t p = new_block(r.take<uint64_t>());
		return p ? send(0, &p, sizeof p) : send_error("out of memory");
	}
	case release:
		return free_block(r.take<uint64_t>()) ? send(0, "", 0) : send_error("there is no such block");
	case write_memory: {
		const uint64_t p = r.take<uint64_t>(), n = r.data.size() - r.at;
		const Block* b = holder(p, n);
		if (!b) return send_error("the bytes do not lie in one block");
		b->permit(true);
		memcpy((void*)p, r.data.data() + r.at, n);
		return send(0, "", 0);
	}
	case read_memory: {
		const uint64_t p = r.take<uint64_t>(), n = r.take<uint64_t>();
		const Block* b = holder(p, n);
		if (!b) return send_error("the bytes do not lie in one block");
		b->permit(true);
		return send(0, (const void*)p, n);
	}
	case launch:
		return run(r);
	}
	send_error("there is no request " + std::to_string(number));
}

bool receive(void* to, size_t n) {
	for (char* p = (char*)to; n > 0;) {
		const ssize_t got = read(0, p, n);
		if (got <= 0) return false;
		p += got;
		n -= got;
	}
	return true;
}

#ifndef CHECK_SANITIZED
// crashed answers for a kernel that touched memory which is not there, and ends the program.
void crashed(int, siginfo_t* info, void*) {
	const uint64_t at = uint64_t(info->si_addr);
	// The nearest block, up to a MiB away: beyond the guards there may be the mapping of another one.
	char where[160] = "no block is near";
	uint64_t nearest = 1 << 20;
	for (const auto& [start, b] : blocks) {
		if (at >= start && at - start < b.size) {
			snprintf(where, sizeof where, "it lies in a block of %llu bytes that the launch does not name", (unsigned long long)b.size);
			break;
		}
		const bool behind = at >= start;
		const uint64_t distance = behind ? at - start - b.size : start - at;
		if (distance >= nearest) continue;
		nearest = distance;
		snprintf(where, sizeof where, "%llu bytes %s a block of %llu bytes", (unsigned long long)distance, behind ? "behind the end of" : "before", (unsigned long long)b.size);
	}
	char text[400];
	const int n = snprintf(text, sizeof text, "%s: thread %u of threadgroup %u,%u,%u touched memory that is not its own: %s",
		running ? running->name : "runner", check::self.index, check::self.group.x, check::self.group.y, check::self.group.z, where);
	send(2, text, n);
	_exit(5);
}
#endif

} // namespace

int main() {
	// Whatever prints goes to the error output; the answers have a channel of their own.
	answers = dup(1);
	dup2(2, 1);
#ifndef CHECK_SANITIZED
	static char stack[64 << 10];
	stack_t alternate{};
	alternate.ss_sp = stack;
	alternate.ss_size = sizeof stack;
	sigaltstack(&alternate, nullptr);
	struct sigaction action {};
	action.sa_sigaction = crashed;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(s, &action, nullptr);
#endif
	for (;;) {
		struct { uint32_t number; } head;
		uint64_t size;
		Request r;
		if (!receive(&head, sizeof head) || !receive(&size, sizeof size)) return 0;
		r.data.resize(size);
		if (!receive(r.data.data(), size)) return 0;
		answer(head.number, r);
	}
}
