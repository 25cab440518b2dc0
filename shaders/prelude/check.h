// check.h: Metal Shading Language as C++ for clang, so that kernels run on a CPU, thread by thread, with
// everything that can be checked being checked. Package msl writes the C++.
//
// Address spaces are types here, as in Metal. Sanitizers ignore memory in other spaces than the usual one,
// so with CHECK_FLAT they are no more than words.
#pragma once

#include "runtime.h"

#define MSL_INLINE inline __attribute__((always_inline))
#define MSL_MEMBER
#define MSL_UNROLL

#ifdef CHECK_FLAT
#define device
#define constant const
#define threadgroup
#else
#define device __attribute__((address_space(1)))
#define constant const __attribute__((address_space(2)))
#define threadgroup __attribute__((address_space(3)))
#endif
#define thread

typedef _Float16 half;
typedef __bf16 bfloat;
template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));

namespace msl {
MSL_INLINE float float_of(unsigned bits) { return __builtin_bit_cast(float, bits); }
MSL_INLINE unsigned bits_of(float x) { return __builtin_bit_cast(unsigned, x); }
MSL_INLINE double double_of(unsigned long long bits) { return __builtin_bit_cast(double, bits); }
MSL_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
MSL_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
MSL_INLINE float rsqrt(float x) { return float(1.0 / __builtin_sqrt(double(x))); }
MSL_INLINE float abs(float x) { return __builtin_fabsf(x); }
MSL_INLINE float floor(float x) { return __builtin_floorf(x); }
MSL_INLINE float ceil(float x) { return __builtin_ceilf(x); }
MSL_INLINE float trunc(float x) { return __builtin_truncf(x); }
MSL_INLINE float rint(float x) { return __builtin_rintf(x); }
MSL_INLINE float power_of_two(float x) { return __builtin_exp2f(x); }
MSL_INLINE float fmod(float x, float y) { return __builtin_fmodf(x, y); }
MSL_INLINE int popcount(unsigned long x) { return __builtin_popcountl(x); }
} // namespace msl

#include "library.h"

#define MSL_VECTORS(T) typedef vec<T, 2> T##2; typedef vec<T, 3> T##3; typedef vec<T, 4> T##4;
MSL_VECTORS(float) MSL_VECTORS(half) MSL_VECTORS(bfloat)
MSL_VECTORS(char) MSL_VECTORS(short) MSL_VECTORS(int) MSL_VECTORS(long)
MSL_VECTORS(uchar) MSL_VECTORS(ushort) MSL_VECTORS(uint) MSL_VECTORS(ulong)

// A packed vector has the alignment of its element. It is read as a whole and written element by element.
template <class T, int N> struct packed {
	T element[N];
	packed() = default;
	T operator[](int i) const { return element[i]; }
	packed(const packed&) = default;
	packed(vec<T, N> v) { for (int i = 0; i < N; i++) element[i] = v[i]; }
#ifndef CHECK_FLAT
	packed(const device packed& v) { for (int i = 0; i < N; i++) element[i] = v.element[i]; }
	packed(constant packed& v) { for (int i = 0; i < N; i++) element[i] = v.element[i]; }
	packed(const threadgroup packed& v) { for (int i = 0; i < N; i++) element[i] = v.element[i]; }
#endif
	operator vec<T, N>() const { vec<T, N> v; for (int i = 0; i < N; i++) v[i] = element[i]; return v; }
};
#define MSL_PACKED(T) typedef packed<T, 2> packed_##T##2; typedef packed<T, 3> packed_##T##3; typedef packed<T, 4> packed_##T##4;
MSL_PACKED(float) MSL_PACKED(half) MSL_PACKED(int) MSL_PACKED(uint) MSL_PACKED(short) MSL_PACKED(ushort) MSL_PACKED(char) MSL_PACKED(uchar)

namespace check {

// Launching.

template <class P> struct target { typedef P value; static constexpr bool address = false; };
template <class T> struct target<T*> { typedef T value; static constexpr bool address = true; };
template <class T> struct target<T&> { typedef T value; static constexpr bool address = true; };
template <class P> constexpr unsigned size_of = target<P>::address ? sizeof(typename target<P>::value) : 0;
template <class P> constexpr unsigned align_of = target<P>::address ? alignof(typename target<P>::value) : 0;

// A Value gives a position in the type that the kernel wants.
template <class P> struct Value { static P of(Position p) { return P(p.x); } };
template <class T> struct Value<vec<T, 2>> { static vec<T, 2> of(Position p) { return vec<T, 2>{T(p.x), T(p.y)}; } };
template <class T> struct Value<vec<T, 3>> { static vec<T, 3> of(Position p) { return vec<T, 3>{T(p.x), T(p.y), T(p.z)}; } };

inline Position attribute(int what) {
	const Position g = self.launch->groups, t = self.launch->threads;
	switch (what) {
	case thread_position_in_grid: return {self.group.x * t.x + self.at.x, self.group.y * t.y + self.at.y, self.group.z * t.z + self.at.z};
	case threads_per_grid: return {g.x * t.x, g.y * t.y, g.z * t.z};
	case threadgroup_position_in_grid: return self.group;
	case threadgroups_per_grid: return g;
	case thread_position_in_threadgroup: return self.at;
	case threads_per_threadgroup: return t;
	case thread_index_in_threadgroup: return {self.index, 0, 0};
	case thread_index_in_simdgroup: return {self.index % simd_width, 0, 0};
	case simdgroup_index_in_threadgroup: return {self.index / simd_width, 0, 0};
	case simdgroups_per_threadgroup: return {(t.x * t.y * t.z + simd_width - 1) / simd_width, 0, 0};
	}
	return {simd_width, 0, 0};
}

template <class P> struct Get { static P from(const Argument& a) { return Value<P>::of(attribute(a.what)); } };
inline const void* address(const Argument& a) {
	return a.kind == is_threadgroup ? threadgroup_argument(a.what) : self.launch->buffers[a.what];
}
template <class T> struct Get<T*> { static T* from(const Argument& a) { return (T*)(__UINTPTR_TYPE__)address(a); } };
template <class T> struct Get<T&> { static T& from(const Argument& a) { return *(T*)(__UINTPTR_TYPE__)address(a); } };

template <class T, T... I> struct Places {};
template <auto F, auto& A> struct Body;
template <class... P, void (*F)(P...), auto& A> struct Body<F, A> {
	static constexpr int count = sizeof...(P);
	static constexpr unsigned sizes[] = {size_of<P>..., 0}, aligns[] = {align_of<P>..., 0};
	template <int... I> static void call(Places<int, I...>) { F(Get<P>::from(A[I])...); }
	static void run() { call(__make_integer_seq<Places, int, count>()); }
};
template <auto F, auto& A> constexpr Entry entry(const char* name, int most_threads) {
	typedef Body<F, A> B;
	return {name, &B::run, A, B::sizes, B::aligns, B::count, most_threads};
}

// A Constant is a function constant.
template <class T, int I> struct Constant {
	operator T() const { return *(const T*)self.launch->constants[I]; }
};

// local is memory of the threadgroup that a function declares. Each instance of a template has its own.
template <class T, int I> struct Key { static constexpr char name = 0; };
template <class T, int I> inline threadgroup T& local() {
	return *(threadgroup T*)(__UINTPTR_TYPE__)threadgroup_memory(&Key<T, I>::name, sizeof(T), alignof(T));
}

MSL_INLINE unsigned lane() { return self.index % simd_width; }

template <class T> MSL_INLINE T from(unsigned lane) {
	T t;
	__builtin_memcpy(&t, self.published + lane * slot_bytes, sizeof t);
	return t;
}

// fold merges the values of a simdgroup's threads, as a tree of neighbours with growing distance.
template <class T, class F> inline T fold(const char* what, Site at, T v, F merge) {
	publish(what, at, &v, sizeof v);
	T all[simd_width];
	const unsigned n = self.members;
	for (unsigned i = 0; i < n; i++) all[i] = from<T>(i);
	for (unsigned d = simd_width / 2; d > 0; d /= 2)
		for (unsigned i = 0; i < d; i++)
			if (i + d < n) all[i] = merge(all[i], all[i + d]);
	return all[0];
}

// scan merges the values of the threads up to this one, or before it.
template <class T, class F> inline T scan(const char* what, Site at, T v, T start, bool inclusive, F merge) {
	publish(what, at, &v, sizeof v);
	T r = start;
	for (unsigned i = 0; i < lane() + inclusive; i++) r = merge(r, from<T>(i));
	return r;
}

// shuffle is the value of another lane; that of one that does not exist is poison.
template <class T> inline T shuffle(const char* what, Site at, T v, unsigned lane) {
	publish(what, at, &v, sizeof v);
	if (lane < self.members) return from<T>(lane);
	T poison;
	__builtin_memset(&poison, 0xff, sizeof poison);
	return poison;
}

} // namespace check

namespace metal {

#define CHECK_SITE check::Site site = {__builtin_FILE(), __builtin_LINE()}

inline void threadgroup_barrier(mem_flags flags, CHECK_SITE) {
	check::wait_group("threadgroup_barrier", site, flags == mem_flags::mem_none ? check::no_order : check::orders_memory);
}
inline void simdgroup_barrier(mem_flags flags, CHECK_SITE) {
	check::wait_simd("simdgroup_barrier", site, flags == mem_flags::mem_none ? check::no_order : check::orders_memory);
}

// Metal's lanes exchange numbers of up to four bytes, and vectors of them.
template <class T> constexpr bool is_exchanged = sizeof(typename shape<T>::element) <= 4 && !is_same_v<typename shape<T>::element, bool> &&
	(is_integral_v<typename shape<T>::element> || is_floating_point_v<typename shape<T>::element>);
#define CHECK_LANES(T) static_assert(is_exchanged<T>, "lanes exchange numbers of up to four bytes: write two operations for a long, and an int for a bool")

#define CHECK_FOLD(NAME, VALUE) template <class T> inline T NAME(T v, CHECK_SITE) { CHECK_LANES(T); return check::fold(#NAME, site, v, [](T a, T b) { return T(VALUE); }); }
CHECK_FOLD(simd_sum, a + b)
CHECK_FOLD(simd_product, a * b)
CHECK_FOLD(simd_max, metal::max(a, b))
CHECK_FOLD(simd_min, metal::min(a, b))
CHECK_FOLD(simd_and, a & b)
CHECK_FOLD(simd_or, a | b)
CHECK_FOLD(simd_xor, a ^ b)
#define CHECK_SCAN(NAME, START, INCLUSIVE, VALUE) template <class T> inline T NAME(T v, CHECK_SITE) { CHECK_LANES(T); return check::scan(#NAME, site, v, T(START), INCLUSIVE, [](T a, T b) { return T(VALUE); }); }
CHECK_SCAN(simd_prefix_inclusive_sum, 0, true, a + b)
CHECK_SCAN(simd_prefix_exclusive_sum, 0, false, a + b)
CHECK_SCAN(simd_prefix_inclusive_product, 1, true, a * b)
CHECK_SCAN(simd_prefix_exclusive_product, 1, false, a * b)
#define CHECK_SHUFFLE(NAME, LANE) template <class T> inline T NAME(T v, ushort n, CHECK_SITE) { CHECK_LANES(T); const unsigned lane = check::lane(); (void)lane; return check::shuffle(#NAME, site, v, LANE); }
CHECK_SHUFFLE(simd_shuffle, n)
CHECK_SHUFFLE(simd_broadcast, n)
CHECK_SHUFFLE(simd_shuffle_xor, lane ^ n)
CHECK_SHUFFLE(simd_shuffle_up, lane - n)
CHECK_SHUFFLE(simd_shuffle_down, lane + n)
CHECK_SHUFFLE(simd_shuffle_rotate_up, (lane - n) % check::simd_width)
CHECK_SHUFFLE(simd_shuffle_rotate_down, (lane + n) % check::simd_width)
template <class T> inline T simd_broadcast_first(T v, CHECK_SITE) { CHECK_LANES(T); return check::shuffle("simd_broadcast_first", site, v, 0); }
template <class T> inline T simd_shuffle_and_fill_up(T v, T other, ushort n, CHECK_SITE) {
	const T r = check::shuffle("simd_shuffle_and_fill_up", site, v, (check::lane() - n) % check::simd_width);
	return check::lane() < n ? simd_shuffle(other, ushort((check::lane() - n) % check::simd_width), site) : (simd_shuffle(other, 0, site), r);
}
template <class T> inline T simd_shuffle_and_fill_down(T v, T other, ushort n, CHECK_SITE) {
	const T r = check::shuffle("simd_shuffle_and_fill_down", site, v, (check::lane() + n) % check::simd_width);
	const T o = check::shuffle("simd_shuffle_and_fill_down", site, other, (check::lane() + n) % check::simd_width);
	return check::lane() + n < check::simd_width ? r : o;
}

struct simd_vote {
	typedef ulong vote_t;
	vote_t bits;
	explicit operator vote_t() const { return bits; }
	bool all() const { return bits == (~0ul >> (64 - check::self.members)); }
	bool any() const { return bits != 0; }
};
inline simd_vote simd_ballot(bool yes, CHECK_SITE) {
	return {check::fold("simd_ballot", site, ulong(yes) << check::lane(), [](ulong a, ulong b) { return a | b; })};
}
inline bool simd_all(bool yes, CHECK_SITE) { return simd_ballot(yes, site).all(); }
inline bool simd_any(bool yes, CHECK_SITE) { return simd_ballot(yes, site).any(); }
inline bool simd_is_first() { return check::lane() == 0; }

// Atomics, of int and uint: adding floats in an order that varies would give other bits each time.

template <class T> struct atomic { T value; };
#define CHECK_ATOMIC(SPACE, NAME, BUILTIN) \
	template <class T> inline T NAME(volatile SPACE atomic<T>* a, metal::conditional_t<true, T, T> v, memory_order) { return BUILTIN((T*)(__UINTPTR_TYPE__)a, v, __ATOMIC_RELAXED); }
#define CHECK_ATOMICS(SPACE) \
	template <class T> inline T atomic_load_explicit(const volatile SPACE atomic<T>* a, memory_order) { return __atomic_load_n((T*)(__UINTPTR_TYPE__)a, __ATOMIC_RELAXED); } \
	template <class T> inline void atomic_store_explicit(volatile SPACE atomic<T>* a, metal::conditional_t<true, T, T> v, memory_order) { __atomic_store_n((T*)(__UINTPTR_TYPE__)a, v, __ATOMIC_RELAXED); } \
	template <class T> inline bool atomic_compare_exchange_weak_explicit(volatile SPACE atomic<T>* a, T* expected, metal::conditional_t<true, T, T> v, memory_order, memory_order) { \
		return __atomic_compare_exchange_n((T*)(__UINTPTR_TYPE__)a, expected, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED); } \
	CHECK_ATOMIC(SPACE, atomic_exchange_explicit, __atomic_exchange_n) CHECK_ATOMIC(SPACE, atomic_fetch_add_explicit, __atomic_fetch_add) \
	CHECK_ATOMIC(SPACE, atomic_fetch_sub_explicit, __atomic_fetch_sub) CHECK_ATOMIC(SPACE, atomic_fetch_min_explicit, __atomic_fetch_min) \
	CHECK_ATOMIC(SPACE, atomic_fetch_max_explicit, __atomic_fetch_max) CHECK_ATOMIC(SPACE, atomic_fetch_and_explicit, __atomic_fetch_and) \
	CHECK_ATOMIC(SPACE, atomic_fetch_or_explicit, __atomic_fetch_or) CHECK_ATOMIC(SPACE, atomic_fetch_xor_explicit, __atomic_fetch_xor)
CHECK_ATOMICS(device)
#ifndef CHECK_FLAT
CHECK_ATOMICS(threadgroup)
#endif

// last_to_arrive is that of cuda.h, which Metal does not have. It stops at a count that was not left at 0.
inline bool last_to_arrive(volatile device atomic<unsigned>* count, unsigned of) {
	unsigned* p = (unsigned*)(__UINTPTR_TYPE__)count;
	const unsigned before = __atomic_fetch_add(p, 1u, __ATOMIC_ACQ_REL);
	if (before >= of) __builtin_trap();
	if (before + 1 < of) return false;
	__atomic_store_n(p, 0u, __ATOMIC_RELAXED);
	return true;
}

// simdgroup_matrix: each thread has two neighbours of a row, in the layout that Apple's GPUs use.

template <class T, int R, int C> struct simdgroup_matrix {
	static_assert(R == 8 && C == 8 && is_floating_point_v<T>, "a simdgroup_matrix has 8 rows and 8 columns of a float type");
	vec<T, 2> elements;
	simdgroup_matrix() = default;
	explicit simdgroup_matrix(T diagonal);
	vec<T, 2>& thread_elements() { return elements; }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

inline unsigned matrix_row(unsigned lane) { return (lane / 4 & 4) + lane / 2 % 4; }
inline unsigned matrix_column(unsigned lane) { return (lane / 4 & 2) * 2 + lane % 2 * 2; }
inline unsigned matrix_lane(unsigned row, unsigned column) { return row / 4 * 16 + column / 4 * 8 + row % 4 * 2 + column % 4 / 2; }

template <class T, int R, int C> simdgroup_matrix<T, R, C>::simdgroup_matrix(T diagonal) {
	for (unsigned i = 0; i < 2; i++) elements[i] = matrix_row(check::lane()) == matrix_column(check::lane()) + i ? diagonal : T(0);
}
template <class T, int R, int C> inline simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T v) {
	simdgroup_matrix<T, R, C> m;
	m.elements = v;
	return m;
}
#define CHECK_MATRIX(SPACE) \
	template <class T> inline void simdgroup_load(simdgroup_matrix<T, 8, 8>& m, const SPACE T* from, ulong stride = 8, ulong2 origin = 0, bool transposed = false, CHECK_SITE) { \
		check::wait_simd("simdgroup_load", site, check::no_order); \
		const unsigned r = matrix_row(check::lane()), c = matrix_column(check::lane()); \
		for (unsigned i = 0; i < 2; i++) m.elements[i] = transposed ? from[(origin.y + c + i) * stride + origin.x + r] : from[(origin.y + r) * stride + origin.x + c + i]; \
	} \
	template <class T> inline void simdgroup_store(simdgroup_matrix<T, 8, 8> m, SPACE T* to, ulong stride = 8, ulong2 origin = 0, bool transposed = false, CHECK_SITE) { \
		check::wait_simd("simdgroup_store", site, check::no_order); \
		const unsigned r = matrix_row(check::lane()), c = matrix_column(check::lane()); \
		for (unsigned i = 0; i < 2; i++) (transposed ? to[(origin.y + c + i) * stride + origin.x + r] : to[(origin.y + r) * stride + origin.x + c + i]) = m.elements[i]; \
	}
CHECK_MATRIX(device)
#ifndef CHECK_FLAT
CHECK_MATRIX(threadgroup)
#endif
template <class D, class A, class B, class E> inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<E, 8, 8> c, CHECK_SITE) {
	const float mine[4] = {float(a.elements[0]), float(a.elements[1]), float(b.elements[0]), float(b.elements[1])};
	check::publish("simdgroup_multiply_accumulate", site, mine, sizeof mine);
	struct Pair { float a[2], b[2]; };
	const unsigned row = matrix_row(check::lane()), column = matrix_column(check::lane());
	for (unsigned i = 0; i < 2; i++) {
		float sum = float(c.elements[i]);
		for (unsigned k = 0; k < 8; k++) sum += check::from<Pair>(matrix_lane(row, k)).a[k % 2] * check::from<Pair>(matrix_lane(k, column)).b[i];
		d.elements[i] = D(sum);
	}
}
template <class D, class A, class B> inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b, CHECK_SITE) {
	simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<float, 8, 8>(0.0f), site);
}

namespace fast = precise;

} // namespace metal

typedef metal::atomic<int> atomic_int;
typedef metal::atomic<unsigned> atomic_uint;

// What mma.h is made of, as the PTX manual defines it: g and t are a lane's group of four and its place there.

namespace msl {

MSL_INLINE uint lane() { return check::lane(); }

template <bool transposed, class P> inline void load_matrices(uint (&r)[4], P line, CHECK_SITE) {
	const __UINTPTR_TYPE__ mine = (__UINTPTR_TYPE__)line;
	check::publish("ldmatrix", site, &mine, sizeof mine);
	const uint g = lane() / 4, t = lane() % 4;
	for (uint m = 0; m < 4; m++) {
		r[m] = 0;
		for (uint i = 0; i < 2; i++) {
			const uint row = transposed ? 2 * t + i : g, column = transposed ? g : 2 * t + i;
			ushort bits;
			__builtin_memcpy(&bits, (const char*)check::from<__UINTPTR_TYPE__>(8 * m + row) + 2 * column, 2);
			r[m] |= uint(bits) << (16 * i);
		}
	}
}

// multiply_16 computes a thread's four elements of a sum of 16×8. Elements of the operands lie where the tables of the
// manual say: a(row, k) and b(k, column) take the register and, of two halves in one, the half.
template <class T> inline void multiply_16(const char* what, float* d, const uint* a, const uint* b, check::Site site) {
	struct Fragment { uint a[4], b[2]; };
	const Fragment mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
	check::publish(what, site, &mine, sizeof mine);
	const auto half_of = [](uint word, uint i) { return float(__builtin_bit_cast(T, ushort(word >> (16 * i)))); };
	for (uint e = 0; e < 4; e++) {
		const uint row = lane() / 4 + e / 2 * 8, column = lane() % 4 * 2 + e % 2;
		for (uint k = 0; k < 16; k++) {
			const float x = half_of(check::from<Fragment>(row % 8 * 4 + k % 8 / 2).a[row / 8 + k / 8 * 2], k % 2);
			const float y = half_of(check::from<Fragment>(column * 4 + k % 8 / 2).b[k / 8], k % 2);
			d[e] += x * y;
		}
	}
}
inline void multiply_half(float* d, const uint* a, const uint* b, CHECK_SITE) { multiply_16<half>("mma.f16", d, a, b, site); }
inline void multiply_bfloat(float* d, const uint* a, const uint* b, CHECK_SITE) { multiply_16<bfloat>("mma.bf16", d, a, b, site); }

inline void multiply_tf32(float* d, const uint* a, const uint* b, CHECK_SITE) {
	struct Fragment { uint a[4], b[2]; };
	const Fragment mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
	check::publish("mma.tf32", site, &mine, sizeof mine);
	const auto value = [](uint bits) { return float_of(bits & ~0x1fffu); }; // the machine ignores what is no part of TF32
	for (uint e = 0; e < 4; e++) {
		const uint row = lane() / 4 + e / 2 * 8, column = lane() % 4 * 2 + e % 2;
		for (uint k = 0; k < 8; k++)
			d[e] += value(check::from<Fragment>(row % 8 * 4 + k % 4).a[row / 8 + k / 4 * 2]) * value(check::from<Fragment>(column * 4 + k % 4).b[k / 4]);
	}
}
// tf32_bits rounds to the nearest, and a tie away from zero.
inline uint tf32_bits(float x) {
	const uint u = bits_of(x);
	return (u & 0x7f800000u) == 0x7f800000u ? u & ~0x1fffu : (u + 0x1000u) & ~0x1fffu;
}

inline uint permute(uint low, uint high, uint which) {
	uint r = 0;
	for (uint i = 0; i < 4; i++) {
		const uint n = which >> (4 * i) & 15;
		if (n > 7) __builtin_trap(); // would repeat a sign
		r |= ((n < 4 ? low : high) >> (8 * (n % 4)) & 255) << (8 * i);
	}
	return r;
}

template <class P> inline void store_pair(P to, float x, float y) {
	to[0] = x;
	to[1] = y;
}

} // namespace msl

namespace check {

// A Queue does work in batches, as late as it may: when a thread waits for all but the last n of them.
template <class Work> struct Queue {
	static constexpr int most = 256;
	Work list[most];
	int made = 0, batches = 0, ends[most];
	void add(const Work& w) {
		if (made == most) __builtin_trap();
		list[made++] = w;
	}
	void commit() {
		if (batches == most) __builtin_trap();
		ends[batches++] = made;
	}
	template <int n> void finish() {
		if (batches <= n) return;
		const int done = ends[batches - n - 1];
		for (int i = 0; i < done; i++) list[i].run();
		made -= done;
		for (int i = 0; i < made; i++) list[i] = list[i + done];
		for (int i = 0; i < n; i++) ends[i] = ends[batches - n + i] - done;
		batches = n;
	}
};

struct Copy {
	char* to;
	const char* from;
	int bytes;
	void run() const {
		if ((__UINTPTR_TYPE__)to % 16) __builtin_trap();
		for (int j = 0; j < 16; j++) to[j] = j < bytes ? from[j] : 0;
	}
};

} // namespace check

// queued_copies copies late, so that a thread which does not wait reads what was there before.
struct queued_copies : check::Queue<check::Copy> {
	template <class P, class Q> void take(P to, Q from, int count) {
		const int bytes = count * int(sizeof *from);
		add({(char*)(__UINTPTR_TYPE__)to, (const char*)(__UINTPTR_TYPE__)from, bytes < 0 ? 0 : bytes > 16 ? 16 : bytes});
	}
};

#include "mma.h"

namespace check {

// A Product is what a simdgroup adds of one of a warpgroup's: 16 of its 64 rows.
struct Product {
	metal::sum_fragment* sum;
	int sums;
	__UINTPTR_TYPE__ tile[2]; // the left one's lines are rows, the right one's columns
	int across[2];
	bool turned[2];
	float (*value)(ushort bits);

	// element is that of a line, at k of the inner axis, where the PTX manual's 128-byte swizzle has it: bits 4 to 6 of an address
	// are changed by bits 7 to 9.
	float element(int operand, int line, int k) const {
		const int far = turned[operand] ? line / 64 * 1024 + k / 8 * across[operand] + k % 8 * 128 + line % 64 * 2
		                                : line / 8 * across[operand] + line % 8 * 128 + k * 2;
		__UINTPTR_TYPE__ at = tile[operand] + far;
		at ^= (at >> 7 & 7) << 4;
		ushort bits;
		__builtin_memcpy(&bits, (const char*)at, 2);
		return value(bits);
	}
	void run() const {
		const int of = int(lane()), first = int(self.index / simd_width % 4) * 16;
		float rows[2][16]; // all sums of a thread are of the same two
		for (int k = 0; k < 32; k++) rows[k / 16][k % 16] = element(0, first + of / 4 + k / 16 * 8, k % 16);
		for (int j = 0; j < sums * 4; j++) {
			float* of_column = sum[j / 4].part + j / 2 % 2 * 4 + j % 2;
			for (int k = 0; k < 16; k++) {
				const float right = element(1, 16 * (j / 4) + j / 2 % 2 * 8 + of % 4 * 2 + j % 2, k);
				of_column[0] += rows[0][k] * right;
				of_column[2] += rows[1][k] * right;
			}
		}
	}
};

} // namespace check

// queued_products multiplies late, so that a thread which does not wait, or another one which overwrites a tile, changes the
// sums.
struct queued_products : check::Queue<check::Product> {
	void see() {}
	void begin() {}
	template <int sums, bool left_turned, bool right_turned, class P> void multiply(metal::sum_fragment* sum, P left, int left_across, P right, int right_across) {
		using T = __remove_cvref(decltype(*left));
		add({sum, sums, {(__UINTPTR_TYPE__)left, (__UINTPTR_TYPE__)right}, {left_across, right_across}, {left_turned, right_turned},
			[](ushort bits) { return float(__builtin_bit_cast(T, bits)); }});
	}
};
