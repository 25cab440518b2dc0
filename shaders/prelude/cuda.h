// cuda.h: Metal Shading Language as CUDA, for NVRTC and for clang without a CUDA toolkit (-x cuda
// -nocudainc -nocudalib). Package msl writes the CUDA. It needs compute capability 8.0, C++17, and nothing
// else: what is the machine's own is written in PTX, which both compilers take, and NVRTC treats functions
// as the device's with --device-as-default-execution-space.
//
// A simdgroup is a warp. All its threads take part in an operation of it, so a threadgroup has a multiple
// of 32 threads.
#pragma once

#ifdef __CUDACC_RTC__
#define MSL_BEGIN
#define MSL_END
#else
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))
#define __forceinline__ inline __attribute__((always_inline))
#define MSL_BEGIN _Pragma("clang force_cuda_host_device begin")
#define MSL_END _Pragma("clang force_cuda_host_device end")
#endif
#ifdef __clang__ // which has no such word, and copies what an address is taken of
#define MSL_GRID_CONSTANT
#else
#define MSL_GRID_CONSTANT __grid_constant__
#endif
#define MSL_INLINE __device__ __forceinline__
#define MSL_MEMBER __device__
#define MSL_UNROLL _Pragma("unroll")

namespace msl {

#define MSL_PTX_1(NAME, TYPE, PTX, OUT, FROM, IN) MSL_INLINE TYPE NAME(FROM x) { TYPE r; asm(PTX " %0, %1;" : OUT(r) : IN(x)); return r; }
#define MSL_REGISTER(NAME, PTX) MSL_INLINE unsigned NAME() { unsigned r; asm("mov.u32 %0, " PTX ";" : "=r"(r)); return r; }

MSL_PTX_1(float_of, float, "mov.b32", "=f", unsigned, "r")
MSL_PTX_1(bits_of, unsigned, "mov.b32", "=r", float, "f")
MSL_PTX_1(double_of, double, "mov.b64", "=d", unsigned long long, "l")
MSL_PTX_1(sqrt, float, "sqrt.rn.f32", "=f", float, "f")
MSL_PTX_1(rsqrt, float, "rsqrt.approx.f32", "=f", float, "f")
MSL_PTX_1(abs, float, "abs.f32", "=f", float, "f")
MSL_PTX_1(floor, float, "cvt.rmi.f32.f32", "=f", float, "f")
MSL_PTX_1(ceil, float, "cvt.rpi.f32.f32", "=f", float, "f")
MSL_PTX_1(trunc, float, "cvt.rzi.f32.f32", "=f", float, "f")
MSL_PTX_1(rint, float, "cvt.rni.f32.f32", "=f", float, "f")
MSL_PTX_1(popcount, unsigned, "popc.b64", "=r", unsigned long, "l")
MSL_PTX_1(half_bits, unsigned short, "cvt.rn.f16.f32", "=h", float, "f")
MSL_PTX_1(half_value, float, "cvt.f32.f16", "=f", unsigned short, "h")
MSL_PTX_1(bfloat_bits, unsigned short, "cvt.rn.bf16.f32", "=h", float, "f")
MSL_INLINE float bfloat_value(unsigned short bits) { return float_of(unsigned(bits) << 16); }
MSL_INLINE float fma(float x, float y, float z) {
	float r;
	asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(x), "f"(y), "f"(z));
	return r;
}
// power_of_two is 2ˣ, within 2⁻²² of it, or 0 where that is no normal float.
MSL_PTX_1(power_of_two, float, "ex2.approx.ftz.f32", "=f", float, "f")
MSL_INLINE float fmod(float x, float y) { return x - y * trunc(x / y); }
// As IEEE 754-2019 has them: a NaN wins, and 0 is above -0.
#define MSL_PTX_2(NAME, PTX) MSL_INLINE float NAME(float x, float y) { float r; asm(PTX " %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; }
MSL_PTX_2(maximum, "max.NaN.f32")
MSL_PTX_2(minimum, "min.NaN.f32")
#define MSL_MAX msl::maximum
#define MSL_MIN msl::minimum
// As Metal's max and min: a number wins.
MSL_PTX_2(greater, "max.f32")
MSL_PTX_2(lesser, "min.f32")
#define MSL_GREATER msl::greater
#define MSL_LESSER msl::lesser

MSL_REGISTER(tid_x, "%%tid.x") MSL_REGISTER(tid_y, "%%tid.y") MSL_REGISTER(tid_z, "%%tid.z")
MSL_REGISTER(ntid_x, "%%ntid.x") MSL_REGISTER(ntid_y, "%%ntid.y") MSL_REGISTER(ntid_z, "%%ntid.z")
MSL_REGISTER(ctaid_x, "%%ctaid.x") MSL_REGISTER(ctaid_y, "%%ctaid.y") MSL_REGISTER(ctaid_z, "%%ctaid.z")
MSL_REGISTER(nctaid_x, "%%nctaid.x") MSL_REGISTER(nctaid_y, "%%nctaid.y") MSL_REGISTER(nctaid_z, "%%nctaid.z")

} // namespace msl

// Numbers of two bytes. Each operation rounds, as Metal's do; with a float the result is a float.

#define MSL_NARROW(TYPE) \
	struct TYPE { \
		unsigned short bits; \
		TYPE() = default; \
		MSL_MEMBER __forceinline__ TYPE(float x) : bits(msl::TYPE##_bits(x)) {} \
		MSL_MEMBER __forceinline__ operator float() const { return msl::TYPE##_value(bits); } \
		MSL_MEMBER __forceinline__ TYPE& operator+=(float y) { return *this = TYPE(float(*this) + y); } \
		MSL_MEMBER __forceinline__ TYPE& operator-=(float y) { return *this = TYPE(float(*this) - y); } \
		MSL_MEMBER __forceinline__ TYPE& operator*=(float y) { return *this = TYPE(float(*this) * y); } \
		MSL_MEMBER __forceinline__ TYPE& operator/=(float y) { return *this = TYPE(float(*this) / y); } \
	}; \
	template <> struct msl::narrow<TYPE> { typedef TYPE type; }; \
	MSL_INLINE TYPE operator-(TYPE x) { return TYPE(-float(x)); }
namespace msl {
template <class T> struct narrow {};
} // namespace msl
MSL_NARROW(half)
MSL_NARROW(bfloat)
// The operators are templates so that they are no candidates where one side is a float.
#define MSL_OPERATOR(OP) template <class T> MSL_INLINE typename msl::narrow<T>::type operator OP(T x, T y) { return T(float(x) OP float(y)); }
MSL_OPERATOR(+) MSL_OPERATOR(-) MSL_OPERATOR(*) MSL_OPERATOR(/)
#undef MSL_OPERATOR

// Vectors: CUDA's have neither operators nor constructors.

namespace metal {
template <class V, class... S> __device__ V make(S... parts);
template <bool b, class T> struct enable_if;
} // namespace metal
namespace msl {
template <class T, int N> struct parts;
template <class T> struct alignas(2 * sizeof(T)) parts<T, 2> { T x, y; };
template <class T> struct alignas(4 * sizeof(T)) parts<T, 3> { T x, y, z; };
template <class T> struct alignas(4 * sizeof(T)) parts<T, 4> { T x, y, z, w; };
template <class T> struct self { typedef T type; };
template <class T> using same = typename self<T>::type; // takes no part in finding out T
} // namespace msl

template <class T, int N> struct vec : msl::parts<T, N> {
	vec() = default;
	MSL_MEMBER __forceinline__ vec(T all) { for (int i = 0; i < N; i++) (*this)[i] = all; }
	template <class U> MSL_MEMBER __forceinline__ explicit vec(vec<U, N> v) { for (int i = 0; i < N; i++) (*this)[i] = T(v[i]); }
	template <class A, class B, class... S> MSL_MEMBER __forceinline__ vec(A a, B b, S... more) { *this = metal::make<vec>(a, b, more...); }
	MSL_MEMBER __forceinline__ T& operator[](int i) { return (&this->x)[i]; }
	MSL_MEMBER __forceinline__ const T& operator[](int i) const { return (&this->x)[i]; }
	template <int... I> MSL_MEMBER __forceinline__ vec<T, sizeof...(I)> swizzle() const { return vec<T, sizeof...(I)>((*this)[I]...); }
};
#define MSL_OPERATOR(OP) \
	template <class T, int N> MSL_INLINE vec<T, N> operator OP(vec<T, N> x, vec<T, N> y) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = T(x[i] OP y[i]); return r; } \
	template <class T, int N> MSL_INLINE vec<T, N> operator OP(vec<T, N> x, msl::same<T> y) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = T(x[i] OP y); return r; } \
	template <class T, int N> MSL_INLINE vec<T, N> operator OP(msl::same<T> x, vec<T, N> y) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = T(x OP y[i]); return r; } \
	template <class T, int N> MSL_INLINE vec<T, N>& operator OP##=(vec<T, N>& x, vec<T, N> y) { return x = x OP y; } \
	template <class T, int N> MSL_INLINE vec<T, N>& operator OP##=(vec<T, N>& x, msl::same<T> y) { return x = x OP y; }
MSL_OPERATOR(+) MSL_OPERATOR(-) MSL_OPERATOR(*) MSL_OPERATOR(/) MSL_OPERATOR(%)
MSL_OPERATOR(&) MSL_OPERATOR(|) MSL_OPERATOR(^) MSL_OPERATOR(<<) MSL_OPERATOR(>>)
template <class T, int N> MSL_INLINE vec<T, N> operator-(vec<T, N> x) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = T(-x[i]); return r; }

#include "library.h"

// NVRTC declares functions of these names outside of any namespace. In a text ours hide them, so that what was
// checked is what runs.
#define MSL_OURS \
	using metal::exp; using metal::exp2; using metal::exp10; using metal::log; using metal::log2; using metal::log10; using metal::sin; \
	using metal::cos; using metal::tan; using metal::asin; using metal::acos; using metal::atan; using metal::atan2; using metal::sinh; \
	using metal::cosh; using metal::tanh; using metal::sqrt; using metal::rsqrt; using metal::pow; using metal::floor; using metal::ceil; \
	using metal::trunc; using metal::rint; using metal::round; using metal::fabs; using metal::fmod; using metal::copysign; \
	using metal::fmax; using metal::fmin; using metal::fma; using metal::isnan; using metal::isinf; using metal::isfinite; \
	using metal::signbit; using metal::ilogb; using metal::ldexp; using metal::max; using metal::min; using metal::abs;

// NVRTC knows types of these names that are not ours, so they are macros.
#define float2 vec<float, 2>
#define float3 vec<float, 3>
#define float4 vec<float, 4>
#define half2 vec<half, 2>
#define half3 vec<half, 3>
#define half4 vec<half, 4>
#define bfloat2 vec<bfloat, 2>
#define bfloat3 vec<bfloat, 3>
#define bfloat4 vec<bfloat, 4>
#define char2 vec<char, 2>
#define char3 vec<char, 3>
#define char4 vec<char, 4>
#define short2 vec<short, 2>
#define short3 vec<short, 3>
#define short4 vec<short, 4>
#define int2 vec<int, 2>
#define int3 vec<int, 3>
#define int4 vec<int, 4>
#define long2 vec<long, 2>
#define long3 vec<long, 3>
#define long4 vec<long, 4>
#define uchar2 vec<uchar, 2>
#define uchar3 vec<uchar, 3>
#define uchar4 vec<uchar, 4>
#define ushort2 vec<ushort, 2>
#define ushort3 vec<ushort, 3>
#define ushort4 vec<ushort, 4>
#define uint2 vec<uint, 2>
#define uint3 vec<uint, 3>
#define uint4 vec<uint, 4>
#define ulong2 vec<ulong, 2>
#define ulong3 vec<ulong, 3>
#define ulong4 vec<ulong, 4>

template <class T, int N> struct packed {
	T element[N];
	packed() = default;
	MSL_MEMBER T operator[](int i) const { return element[i]; }
	MSL_MEMBER packed(vec<T, N> v) { for (int i = 0; i < N; i++) element[i] = v[i]; }
	MSL_MEMBER operator vec<T, N>() const { vec<T, N> v; for (int i = 0; i < N; i++) v[i] = element[i]; return v; }
};
#define MSL_PACKED(T) typedef packed<T, 2> packed_##T##2; typedef packed<T, 3> packed_##T##3; typedef packed<T, 4> packed_##T##4;
MSL_PACKED(float) MSL_PACKED(half) MSL_PACKED(int) MSL_PACKED(uint) MSL_PACKED(short) MSL_PACKED(ushort) MSL_PACKED(char) MSL_PACKED(uchar)

namespace msl {

// What a kernel can ask for.

extern __shared__ __attribute__((aligned(1024))) char shared[]; // paved tiles lie from there on

template <class P> struct Value { MSL_MEMBER static P of(uint x, uint, uint) { return P(x); } };
template <class T> struct Value<vec<T, 2>> { MSL_MEMBER static vec<T, 2> of(uint x, uint y, uint) { return vec<T, 2>(T(x), T(y)); } };
template <class T> struct Value<vec<T, 3>> { MSL_MEMBER static vec<T, 3> of(uint x, uint y, uint z) { return vec<T, 3>(T(x), T(y), T(z)); } };
template <class P> MSL_INLINE P attribute(uint3 v) { return Value<P>::of(v.x, v.y, v.z); }

MSL_INLINE uint index() { return tid_x() + ntid_x() * (tid_y() + ntid_y() * tid_z()); }
MSL_INLINE uint3 thread_position_in_grid() { return uint3(ctaid_x() * ntid_x() + tid_x(), ctaid_y() * ntid_y() + tid_y(), ctaid_z() * ntid_z() + tid_z()); }
MSL_INLINE uint3 threads_per_grid() { return uint3(nctaid_x() * ntid_x(), nctaid_y() * ntid_y(), nctaid_z() * ntid_z()); }
MSL_INLINE uint3 threadgroup_position_in_grid() { return uint3(ctaid_x(), ctaid_y(), ctaid_z()); }
MSL_INLINE uint3 threadgroups_per_grid() { return uint3(nctaid_x(), nctaid_y(), nctaid_z()); }
MSL_INLINE uint3 thread_position_in_threadgroup() { return uint3(tid_x(), tid_y(), tid_z()); }
MSL_INLINE uint3 threads_per_threadgroup() { return uint3(ntid_x(), ntid_y(), ntid_z()); }
MSL_INLINE uint3 thread_index_in_threadgroup() { return uint3(index()); }
MSL_INLINE uint3 thread_index_in_simdgroup() { return uint3(index() & 31); }
MSL_INLINE uint3 simdgroup_index_in_threadgroup() { return uint3(index() >> 5); }
MSL_INLINE uint3 simdgroups_per_threadgroup() { return uint3((ntid_x() * ntid_y() * ntid_z() + 31) >> 5); }
MSL_INLINE uint3 threads_per_simdgroup() { return uint3(32); }

// Values go from lane to lane as words of four bytes.

template <class T> union words {
	T value;
	uint word[(sizeof(T) + 3) / 4];
	MSL_MEMBER words() {}
};
#define MSL_SHUFFLE(NAME, MODE, CLAMP) \
	template <class T> MSL_INLINE T NAME(T v, uint n) { \
		words<T> w; \
		w.word[(sizeof(T) + 3) / 4 - 1] = 0; \
		w.value = v; \
		for (int i = 0; i < int((sizeof(T) + 3) / 4); i++) asm volatile("shfl.sync." MODE ".b32 %0, %1, %2, " CLAMP ", 0xffffffff;" : "=r"(w.word[i]) : "r"(w.word[i]), "r"(n)); \
		return w.value; \
	}
MSL_SHUFFLE(shuffle, "idx", "31")
MSL_SHUFFLE(shuffle_xor, "bfly", "31")
MSL_SHUFFLE(shuffle_up, "up", "0")
MSL_SHUFFLE(shuffle_down, "down", "31")

MSL_INLINE uint lane() { return index() & 31; }
MSL_INLINE uint ballot(bool yes) {
	uint r;
	asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(r) : "r"(uint(yes)));
	return r;
}

// quick functions have the machine's own precision: about 2⁻²¹ for exp and log in the middle of their range.
namespace quick {
MSL_INLINE float exp2(float x) { return power_of_two(x); }
MSL_PTX_1(log2, float, "lg2.approx.f32", "=f", float, "f")
MSL_PTX_1(sin, float, "sin.approx.f32", "=f", float, "f")
MSL_PTX_1(cos, float, "cos.approx.f32", "=f", float, "f")
MSL_PTX_1(tanh, float, "tanh.approx.f32", "=f", float, "f")
MSL_INLINE float exp(float x) { return exp2(x * 1.4426950408889634f); }
MSL_INLINE float log(float x) { return log2(x) * 0.6931471805599453f; }
MSL_INLINE float pow(float x, float y) { return exp2(y * log2(x)); }
using msl::acos;
using msl::asin;
using msl::atan;
using msl::atan2;
using msl::cosh;
using msl::exp10;
using msl::log10;
using msl::rsqrt;
using msl::sinh;
using msl::sqrt;
using msl::tan;
} // namespace quick

} // namespace msl

namespace metal {

namespace fast {
MSL_FUNCTIONS(msl::quick)
using metal::fma;
using metal::fmax;
using metal::fmin;
using metal::fmod;
} // namespace fast

// From compute capability 9.0 on a kernel may begin while the one before ends. let_next_begin lets the one after it do so.
#define MSL_OVERLAPS
#if __CUDA_ARCH__ >= 900
MSL_INLINE void let_next_begin() { asm volatile("griddepcontrol.launch_dependents;"); }
MSL_INLINE void wait_for_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
MSL_INLINE void let_next_begin() {}
MSL_INLINE void wait_for_previous() {}
#endif

MSL_INLINE void threadgroup_barrier(mem_flags) { asm volatile("bar.sync 0;" ::: "memory"); }
MSL_INLINE void simdgroup_barrier(mem_flags) { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

#define MSL_FOLD(NAME, VALUE) template <class T> MSL_INLINE T NAME(T a) { for (uint d = 16; d > 0; d /= 2) { const T b = msl::shuffle_xor(a, d); a = T(VALUE); } return a; }
MSL_FOLD(simd_sum, a + b)
MSL_FOLD(simd_product, a * b)
MSL_FOLD(simd_max, metal::max(a, b))
MSL_FOLD(simd_min, metal::min(a, b))
MSL_FOLD(simd_and, a & b)
MSL_FOLD(simd_or, a | b)
MSL_FOLD(simd_xor, a ^ b)
template <class T> MSL_INLINE T simd_prefix_inclusive_sum(T a) { for (uint d = 1; d < 32; d *= 2) { const T b = msl::shuffle_up(a, d); if (msl::lane() >= d) a = T(b + a); } return a; }
template <class T> MSL_INLINE T simd_prefix_inclusive_product(T a) { for (uint d = 1; d < 32; d *= 2) { const T b = msl::shuffle_up(a, d); if (msl::lane() >= d) a = T(b * a); } return a; }
template <class T> MSL_INLINE T simd_prefix_exclusive_sum(T a) { const T b = msl::shuffle_up(simd_prefix_inclusive_sum(a), 1); return msl::lane() == 0 ? T(0) : b; }
template <class T> MSL_INLINE T simd_prefix_exclusive_product(T a) { const T b = msl::shuffle_up(simd_prefix_inclusive_product(a), 1); return msl::lane() == 0 ? T(1) : b; }
template <class T> MSL_INLINE T simd_shuffle(T v, ushort n) { return msl::shuffle(v, n); }
template <class T> MSL_INLINE T simd_broadcast(T v, ushort n) { return msl::shuffle(v, n); }
template <class T> MSL_INLINE T simd_broadcast_first(T v) { return msl::shuffle(v, 0); }
template <class T> MSL_INLINE T simd_shuffle_xor(T v, ushort n) { return msl::shuffle_xor(v, n); }
template <class T> MSL_INLINE T simd_shuffle_up(T v, ushort n) { return msl::shuffle_up(v, n); }
template <class T> MSL_INLINE T simd_shuffle_down(T v, ushort n) { return msl::shuffle_down(v, n); }
template <class T> MSL_INLINE T simd_shuffle_rotate_up(T v, ushort n) { return msl::shuffle(v, (msl::lane() - n) & 31); }
template <class T> MSL_INLINE T simd_shuffle_rotate_down(T v, ushort n) { return msl::shuffle(v, (msl::lane() + n) & 31); }
template <class T> MSL_INLINE T simd_shuffle_and_fill_up(T v, T other, ushort n) {
	const T a = simd_shuffle_rotate_up(v, n), b = simd_shuffle_rotate_up(other, n);
	return msl::lane() < n ? b : a;
}
template <class T> MSL_INLINE T simd_shuffle_and_fill_down(T v, T other, ushort n) {
	const T a = simd_shuffle_rotate_down(v, n), b = simd_shuffle_rotate_down(other, n);
	return msl::lane() + n < 32 ? a : b;
}
struct simd_vote {
	typedef ulong vote_t;
	vote_t bits;
	MSL_MEMBER explicit operator vote_t() const { return bits; }
	MSL_MEMBER bool all() const { return bits == 0xffffffffu; }
	MSL_MEMBER bool any() const { return bits != 0; }
};
MSL_INLINE simd_vote simd_ballot(bool yes) { return {msl::ballot(yes)}; }
MSL_INLINE bool simd_all(bool yes) { return msl::ballot(yes) == 0xffffffffu; }
MSL_INLINE bool simd_any(bool yes) { return msl::ballot(yes) != 0; }
MSL_INLINE bool simd_is_first() { return msl::lane() == 0; }

// Atomics of int and uint.

template <class T> struct atomic { T value; };
#define MSL_ATOMIC(T, NAME, PTX) \
	MSL_INLINE T atomic_##NAME##_explicit(volatile atomic<T>* a, T v, memory_order) { \
		T r; \
		asm volatile("atom." PTX " %0, [%1], %2;" : "=r"(r) : "l"(&a->value), "r"(v) : "memory"); \
		return r; \
	}
#define MSL_ATOMICS(T, SIGNED) \
	MSL_INLINE T atomic_load_explicit(const volatile atomic<T>* a, memory_order) { return a->value; } \
	MSL_INLINE void atomic_store_explicit(volatile atomic<T>* a, T v, memory_order) { a->value = v; } \
	MSL_ATOMIC(T, exchange, "exch.b32") MSL_ATOMIC(T, fetch_add, "add.u32") MSL_ATOMIC(T, fetch_min, "min." SIGNED) MSL_ATOMIC(T, fetch_max, "max." SIGNED) \
	MSL_ATOMIC(T, fetch_and, "and.b32") MSL_ATOMIC(T, fetch_or, "or.b32") MSL_ATOMIC(T, fetch_xor, "xor.b32") \
	MSL_INLINE T atomic_fetch_sub_explicit(volatile atomic<T>* a, T v, memory_order o) { return atomic_fetch_add_explicit(a, T(0u - uint(v)), o); } \
	MSL_INLINE bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* a, T* expected, T v, memory_order, memory_order) { \
		T old; \
		asm volatile("atom.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(&a->value), "r"(*expected), "r"(v) : "memory"); \
		const bool same = old == *expected; \
		*expected = old; \
		return same; \
	}
MSL_ATOMICS(int, "s32")
MSL_ATOMICS(uint, "u32")

// last_to_arrive counts threadgroups, of which one thread asks, and says whether this is the last of so many: what the others
// wrote before a barrier is then there for it to read. It leaves the count at 0.
MSL_INLINE bool last_to_arrive(volatile atomic<uint>* count, uint of) {
	uint before;
	asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(&count->value), "r"(of - 1) : "memory");
	return before == of - 1;
}

// simdgroup_matrix: each thread has two neighbours of a row, where Apple's GPUs have them.

template <class T, int R, int C> struct simdgroup_matrix {
	static_assert(R == 8 && C == 8 && is_floating_point_v<T>, "a simdgroup_matrix has 8 rows and 8 columns of a float type");
	vec<T, 2> elements;
	simdgroup_matrix() = default;
	MSL_MEMBER explicit simdgroup_matrix(T diagonal);
	MSL_MEMBER vec<T, 2>& thread_elements() { return elements; }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

MSL_INLINE uint matrix_row() { return (msl::lane() / 4 & 4) + msl::lane() / 2 % 4; }
MSL_INLINE uint matrix_column() { return (msl::lane() / 4 & 2) * 2 + msl::lane() % 2 * 2; }
MSL_INLINE uint matrix_lane(uint row, uint column) { return (column >> 1 & 1) | (row & 3) << 1 | (column >> 2 & 1) << 3 | (row >> 2 & 1) << 4; }

template <class T, int R, int C> MSL_MEMBER simdgroup_matrix<T, R, C>::simdgroup_matrix(T diagonal) {
	for (uint i = 0; i < 2; i++) elements[i] = matrix_row() == matrix_column() + i ? diagonal : T(0);
}
template <class T, int R, int C> MSL_INLINE simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T v) {
	simdgroup_matrix<T, R, C> m;
	m.elements = vec<T, 2>(v);
	return m;
}
template <class T> MSL_INLINE void simdgroup_load(simdgroup_matrix<T, 8, 8>& m, const T* from, ulong stride = 8, ulong2 origin = ulong2(0), bool transposed = false) {
	const uint r = matrix_row(), c = matrix_column();
	for (uint i = 0; i < 2; i++) m.elements[i] = transposed ? from[(origin.y + c + i) * stride + origin.x + r] : from[(origin.y + r) * stride + origin.x + c + i];
}
template <class T> MSL_INLINE void simdgroup_store(simdgroup_matrix<T, 8, 8> m, T* to, ulong stride = 8, ulong2 origin = ulong2(0), bool transposed = false) {
	const uint r = matrix_row(), c = matrix_column();
	for (uint i = 0; i < 2; i++) to[transposed ? (origin.y + c + i) * stride + origin.x + r : (origin.y + r) * stride + origin.x + c + i] = m.elements[i];
}
template <class D, class A, class B, class E> MSL_INLINE void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<E, 8, 8> c) {
	const uint row = matrix_row(), column = matrix_column();
	float sum[2] = {float(c.elements[0]), float(c.elements[1])};
	for (uint k = 0; k < 8; k++) {
		const float x = float(msl::shuffle(A(a.elements[k & 1]), matrix_lane(row, k & 6)));
		const vec<B, 2> y = msl::shuffle(b.elements, matrix_lane(k, column));
		for (uint i = 0; i < 2; i++) sum[i] = msl::fma(x, float(y[i]), sum[i]);
	}
	d.elements = vec<D, 2>(D(sum[0]), D(sum[1]));
}
template <class D, class A, class B> MSL_INLINE void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
	simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<float, 8, 8>(0.0f));
}

} // namespace metal

typedef metal::atomic<int> atomic_int;
typedef metal::atomic<unsigned> atomic_uint;

// What mma.h is made of.

namespace msl {

MSL_INLINE uint shared_address(const void* p) {
#ifdef __clang__ // either way a compiler knows what this is, and computes with 32 bits before
	return (uint)(__UINTPTR_TYPE__)(__attribute__((address_space(3))) const void*)p;
#else
	return uint(__cvta_generic_to_shared(p));
#endif
}

// load_matrices loads four matrices of 8×8 numbers of two bytes. Lane 8·m + i has the address of line i of matrix m.
template <bool transposed> MSL_INLINE void load_matrices(uint (&r)[4], const void* line) {
	if constexpr (transposed)
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(line)));
	else
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(line)));
}

#define MSL_MULTIPLY(NAME, TYPE) \
	MSL_INLINE void NAME(float* d, const uint* a, const uint* b) { \
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
			: "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
	}
MSL_MULTIPLY(multiply_half, "f16")
MSL_MULTIPLY(multiply_bfloat, "bf16")
MSL_INLINE void multiply_tf32(float* d, const uint* a, const uint* b) {
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		: "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
MSL_PTX_1(tf32_bits, uint, "cvt.rna.tf32.f32", "=r", float, "f")

// permute picks four of the eight bytes of low and high by the numbers in the last four halves of bytes of `which`, 0 to 7.
MSL_INLINE uint permute(uint low, uint high, uint which) {
	uint r;
	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(which));
	return r;
}

MSL_INLINE void store_pair(float* to, float x, float y) { *(vec<float, 2>*)to = vec<float, 2>(x, y); }

} // namespace msl

// queued_copies is plain_copies of matrix.metal, done by the machine while the threads go on.
struct queued_copies {
	template <class T> MSL_MEMBER __forceinline__ void take(T* to, const T* from, int count) {
		const int bytes = count * int(sizeof(T));
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(msl::shared_address(to)), "l"(from), "r"(bytes < 0 ? 0 : bytes > 16 ? 16 : bytes) : "memory");
	}
	MSL_MEMBER __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
	template <int n> MSL_MEMBER __forceinline__ void finish() { asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory"); }
};

#include "mma.h"

// queued_products are those of warpgroups, of compute capability 9.0: four warps multiply tiles in threadgroup memory while the
// threads go on. A tile lies there as `paved` says, from a multiple of 1024 bytes on. `across` is how far eight lines lie from the
// next eight, in bytes; lines go along the inner axis unless an operand is turned.
struct queued_products {
	// see lets the matrix units see what the thread has written, or copied and finished.
	MSL_MEMBER __forceinline__ void see() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
	MSL_MEMBER __forceinline__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
	MSL_MEMBER __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
	template <int n> MSL_MEMBER __forceinline__ void finish() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory"); }
	static MSL_MEMBER __forceinline__ ulong tile(const void* p, int across) {
		return ulong((msl::shared_address(p) & 0x3ffff) >> 4) | ulong(1024 >> 4) << 16 | ulong(across >> 4) << 32 | ulong(1) << 62;
	}
#define MSL_SUM(J) "+f"(sum[J].part[0]), "+f"(sum[J].part[1]), "+f"(sum[J].part[2]), "+f"(sum[J].part[3]), "+f"(sum[J].part[4]), "+f"(sum[J].part[5]), "+f"(sum[J].part[6]), "+f"(sum[J].part[7])
#define MSL_SUMS(J) MSL_SUM(J), MSL_SUM(J + 1), MSL_SUM(J + 2), MSL_SUM(J + 3), MSL_SUM(J + 4), MSL_SUM(J + 5), MSL_SUM(J + 6), MSL_SUM(J + 7)
#define MSL_LOW "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31" ", " "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MSL_HIGH ", " "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" ", " "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define MSL_NONE
#define MSL_GROUP(COLUMNS, TYPE, MORE, AFTER, ...) \
	asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n" COLUMNS "k16.f32." TYPE "." TYPE " {" MSL_LOW MORE "}, " AFTER "; }" \
		: __VA_ARGS__ : "l"(tile(left, left_across)), "l"(tile(right, right_across)), "n"(int(left_turned)), "n"(int(right_turned)) : "memory");
#define MSL_GROUPS(T, TYPE) \
	template <int sums, bool left_turned, bool right_turned> MSL_MEMBER __forceinline__ void multiply(metal::sum_fragment* sum, const T* left, int left_across, const T* right, int right_across) { \
		static_assert(sums == 8 || sums == 16, "a warpgroup multiplies by 128 or 256 columns"); \
		if constexpr (sums == 8) MSL_GROUP("128", TYPE, MSL_NONE, "%64, %65, p, 1, 1, %66, %67", MSL_SUMS(0)) \
		else MSL_GROUP("256", TYPE, MSL_HIGH, "%128, %129, p, 1, 1, %130, %131", MSL_SUMS(0), MSL_SUMS(8)) \
	}
	MSL_GROUPS(half, "f16")
	MSL_GROUPS(bfloat, "bf16")
};
