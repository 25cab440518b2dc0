// library.h: the part of Metal's standard library that is the same for checking and for CUDA. Before it
// stand the types (half, bfloat, vec<T, N>) and, in namespace msl, what a machine has its own instructions
// for.
#pragma once

typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef unsigned long ulong;
typedef decltype(sizeof(0)) size_t;
typedef decltype((char*)0 - (char*)0) ptrdiff_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;

#include "functions.h"

template <class T, int N> struct packed;

#undef INFINITY
#undef NAN
#define INFINITY (msl::float_of(0x7f800000u))
#define NAN (msl::float_of(0x7fc00000u))
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.1920928955e-7f
#define HALF_MAX (half(65504.0f))
#define MAXFLOAT FLT_MAX
#define M_PI_F 3.14159265358979323846f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LN2_F 0.693147180559945309417f
#define M_SQRT2_F 1.41421356237309504880f
#define METAL_FUNC MSL_INLINE

namespace metal {

// Traits.

template <class T, T v> struct integral_constant { static constexpr T value = v; };
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool b> using bool_constant = integral_constant<bool, b>;
template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;
template <bool b, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;
template <bool b, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool b, class T, class F> using conditional_t = typename conditional<b, T, F>::type;
template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> using remove_const_t = typename remove_const<T>::type;

template <class T> constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, half> || is_same_v<T, bfloat>;
template <class T> constexpr bool is_signed_integer_v = is_same_v<T, char> || is_same_v<T, signed char> || is_same_v<T, short> || is_same_v<T, int> || is_same_v<T, long>;
template <class T> constexpr bool is_unsigned_integer_v = is_same_v<T, bool> || is_same_v<T, uchar> || is_same_v<T, ushort> || is_same_v<T, uint> || is_same_v<T, ulong>;
template <class T> constexpr bool is_integral_v = is_signed_integer_v<T> || is_unsigned_integer_v<T>;
template <class T> struct is_floating_point : bool_constant<is_floating_point_v<T>> {};
template <class T> struct is_integral : bool_constant<is_integral_v<T>> {};
template <class T> using if_float = enable_if_t<is_floating_point_v<T>, T>;
template <class T> using if_integer = enable_if_t<is_integral_v<T>, T>;
template <class T> using if_number = enable_if_t<is_integral_v<T> || is_floating_point_v<T>, T>;

// Bits.

template <class T, class U> MSL_INLINE T bits_as(U u) {
	static_assert(sizeof(T) == sizeof(U), "as_type needs types of one size");
	union Both {
		U from;
		T to;
		MSL_MEMBER Both(U u) : from(u) {}
	};
	return Both(u).to;
}

// Limits.

template <class T> struct numeric_limits {
	static_assert(is_integral_v<T>, "numeric_limits of a type that is no number");
	static constexpr int digits = int(8 * sizeof(T)) - (T(-1) < T(0));
	MSL_MEMBER static constexpr T max() { return T(~0ull >> (64 - digits)); }
	MSL_MEMBER static constexpr T lowest() { return T(-1) < T(0) ? T(-max() - 1) : T(0); }
	MSL_MEMBER static constexpr T min() { return lowest(); }
};
template <> struct numeric_limits<bool> {
	MSL_MEMBER static constexpr bool max() { return true; }
	MSL_MEMBER static constexpr bool lowest() { return false; }
	MSL_MEMBER static constexpr bool min() { return false; }
};
#define MSL_LIMITS(T, U, MAX, LOWEST, MIN, INF, NOT, EPS) \
	template <> struct numeric_limits<T> { \
		MSL_MEMBER static T max() { return bits_as<T>(U(MAX)); } \
		MSL_MEMBER static T lowest() { return bits_as<T>(U(LOWEST)); } \
		MSL_MEMBER static T min() { return bits_as<T>(U(MIN)); } \
		MSL_MEMBER static T infinity() { return bits_as<T>(U(INF)); } \
		MSL_MEMBER static T quiet_NaN() { return bits_as<T>(U(NOT)); } \
		MSL_MEMBER static T epsilon() { return bits_as<T>(U(EPS)); } \
	};
MSL_LIMITS(float, uint, 0x7f7fffff, 0xff7fffff, 0x00800000, 0x7f800000, 0x7fc00000, 0x34000000)
MSL_LIMITS(half, ushort, 0x7bff, 0xfbff, 0x0400, 0x7c00, 0x7e00, 0x1400)
MSL_LIMITS(bfloat, ushort, 0x7f7f, 0xff7f, 0x0080, 0x7f80, 0x7fc0, 0x3c00)

// Construction of vectors: parts are numbers and vectors, one number stands for all elements.

template <class V> struct shape { typedef V element; static constexpr int size = 1; };
template <class T, int N> struct shape<vec<T, N>> { typedef T element; static constexpr int size = N; };
template <class T, int N> struct shape<packed<T, N>> { typedef T element; static constexpr int size = N; };

template <class E, class S> MSL_INLINE void fill(E* to, int& n, S s) {
	if constexpr (shape<S>::size == 1) {
		to[n++] = E(s);
	} else {
		for (int i = 0; i < shape<S>::size; i++) to[n++] = E(s[i]);
	}
}
template <class V, class... S> MSL_INLINE V make(S... parts) {
	if constexpr (sizeof...(S) == 0) {
		return V(0);
	} else if constexpr (shape<V>::size == 1) {
		return V(parts...);
	} else {
		typedef typename shape<V>::element E;
		static_assert(((shape<S>::size == 1 ? 1 : shape<S>::size) + ... + 0) == shape<V>::size || sizeof...(S) == 1, "a vector is made of as many numbers as it has, or of one");
		E list[(shape<S>::size + ... + 0)];
		int n = 0;
		(fill(list, n, parts), ...);
		V v;
		for (int i = 0; i < shape<V>::size; i++) v[i] = list[n == 1 ? 0 : i];
		return v;
	}
}

// Functions of floats. A half and a bfloat are computed as float; vectors element by element.

#define MSL_EACH_1(NAME) \
	template <class T, int N> MSL_INLINE vec<T, N> NAME(vec<T, N> x) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = NAME(T(x[i])); return r; }
#define MSL_EACH_2(NAME) \
	template <class T, int N> MSL_INLINE vec<T, N> NAME(vec<T, N> x, vec<T, N> y) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = NAME(T(x[i]), T(y[i])); return r; }
#define MSL_EACH_3(NAME) \
	template <class T, int N> MSL_INLINE vec<T, N> NAME(vec<T, N> x, vec<T, N> y, vec<T, N> z) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = NAME(T(x[i]), T(y[i]), T(z[i])); return r; }
#define MSL_FLOAT_1(NAME, VALUE) template <class T> MSL_INLINE if_float<T> NAME(T number) { const float x = float(number); return T(VALUE); } MSL_EACH_1(NAME)
#define MSL_FLOAT_2(NAME, VALUE) template <class T> MSL_INLINE if_float<T> NAME(T one, T two) { const float x = float(one), y = float(two); return T(VALUE); } MSL_EACH_2(NAME)
#define MSL_FLOAT_3(NAME, VALUE) template <class T> MSL_INLINE if_float<T> NAME(T one, T two, T three) { const float x = float(one), y = float(two), z = float(three); return T(VALUE); } MSL_EACH_3(NAME)

#define MSL_FUNCTIONS(IN) \
	MSL_FLOAT_1(exp, IN::exp(x)) MSL_FLOAT_1(exp2, IN::exp2(x)) MSL_FLOAT_1(exp10, IN::exp10(x)) \
	MSL_FLOAT_1(log, IN::log(x)) MSL_FLOAT_1(log2, IN::log2(x)) MSL_FLOAT_1(log10, IN::log10(x)) \
	MSL_FLOAT_1(sin, IN::sin(x)) MSL_FLOAT_1(cos, IN::cos(x)) MSL_FLOAT_1(tan, IN::tan(x)) \
	MSL_FLOAT_1(asin, IN::asin(x)) MSL_FLOAT_1(acos, IN::acos(x)) MSL_FLOAT_1(atan, IN::atan(x)) \
	MSL_FLOAT_1(sinh, IN::sinh(x)) MSL_FLOAT_1(cosh, IN::cosh(x)) MSL_FLOAT_1(tanh, IN::tanh(x)) \
	MSL_FLOAT_1(sqrt, IN::sqrt(x)) MSL_FLOAT_1(rsqrt, IN::rsqrt(x)) MSL_FLOAT_2(pow, IN::pow(x, y)) MSL_FLOAT_2(powr, IN::pow(x, y)) \
	MSL_FLOAT_2(atan2, IN::atan2(x, y))
MSL_FUNCTIONS(msl)
MSL_FLOAT_1(floor, msl::floor(x))
MSL_FLOAT_1(ceil, msl::ceil(x))
MSL_FLOAT_1(trunc, msl::trunc(x))
MSL_FLOAT_1(rint, msl::rint(x))
MSL_FLOAT_1(round, msl::trunc(x + (x < 0.0f ? -0.49999997f : 0.49999997f)))
MSL_FLOAT_1(fract, x - msl::floor(x) < 1.0f ? x - msl::floor(x) : 0.99999994f)
MSL_FLOAT_1(fabs, msl::abs(x))
MSL_FLOAT_1(saturate, x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f)
MSL_FLOAT_1(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? x : 0.0f)
MSL_FLOAT_2(fmod, msl::fmod(x, y))
MSL_FLOAT_2(copysign, msl::float_of((msl::bits_of(x) & 0x7fffffffu) | (msl::bits_of(y) & 0x80000000u)))
MSL_FLOAT_2(fmax, x != x || x < y ? y : x)
MSL_FLOAT_2(fmin, x != x || y < x ? y : x)
MSL_FLOAT_2(step, y < x ? 0.0f : 1.0f)
MSL_FLOAT_3(mix, msl::fma(y - x, z, x))

template <class T> MSL_INLINE if_float<T> fma(T x, T y, T z) { return T(msl::fma(float(x), float(y), float(z))); }
MSL_EACH_3(fma)

template <class T, class = if_float<T>> MSL_INLINE bool isnan(T x) { return x != x; }
template <class T, class = if_float<T>> MSL_INLINE bool isinf(T x) { return msl::abs(float(x)) == INFINITY; }
template <class T, class = if_float<T>> MSL_INLINE bool isfinite(T x) { return msl::abs(float(x)) < INFINITY; }
template <class T, class = if_float<T>> MSL_INLINE bool signbit(T x) { return msl::bits_of(float(x)) >> 31; }

// ilogb is the exponent of x; ldexp is x·2ⁿ, rounded once.
MSL_INLINE int ilogb(float x) {
	const float a = msl::abs(x);
	if (a == 0.0f || a != a) return -2147483647 - 1;
	if (a == INFINITY) return 2147483647;
	return a < FLT_MIN ? int(msl::bits_of(a * 8388608.0f) >> 23) - 150 : int(msl::bits_of(a) >> 23) - 127;
}
MSL_INLINE float ldexp(float x, int n) {
	for (; n > 126; n -= 126) x *= 8.50705917e37f; // 2¹²⁶
	if (n >= -125) return x * msl::float_of(uint(n + 127) << 23);
	double d = x;
	for (; n < -126 && n > -2000; n += 126) d *= 1.1754943508222875e-38;
	return n < -126 ? float(d * 0.0) : float(d * double(msl::float_of(uint(n + 127) << 23)));
}

// Numbers of any type.

template <class T> MSL_INLINE if_number<T> max(T x, T y) { return x < y || x != x ? y : x; }
template <class T> MSL_INLINE if_number<T> min(T x, T y) { return y < x || x != x ? y : x; }
#ifdef MSL_GREATER // one instruction, not three
MSL_INLINE float max(float x, float y) { return MSL_GREATER(x, y); }
MSL_INLINE float min(float x, float y) { return MSL_LESSER(x, y); }
#endif
MSL_EACH_2(max)
MSL_EACH_2(min)
template <class T> MSL_INLINE if_number<T> clamp(T x, T low, T high) { return min(max(x, low), high); }
MSL_EACH_3(clamp)
template <class T> MSL_INLINE if_number<T> abs(T x) {
	if constexpr (is_floating_point_v<T>) return T(msl::abs(float(x)));
	else if constexpr (is_unsigned_integer_v<T>) return x;
	else return x < 0 ? T(0 - ulong(x)) : x;
}
MSL_EACH_1(abs)
template <class T> MSL_INLINE if_number<T> select(T no, T yes, bool c) { return c ? yes : no; }
template <class T> MSL_INLINE if_integer<T> popcount(T x) { return T(msl::popcount(ulong(x) & (~0ull >> (64 - 8 * sizeof(T))))); }
template <class T> MSL_INLINE if_integer<T> clz(T x) {
	int n = 0;
	for (int bit = int(8 * sizeof(T)) - 1; bit >= 0 && !(ulong(x) >> bit & 1); bit--) n++;
	return T(n);
}
template <class T> MSL_INLINE if_integer<T> ctz(T x) {
	int n = 0;
	for (; n < int(8 * sizeof(T)) && !(ulong(x) >> n & 1); n++) {}
	return T(n);
}
MSL_INLINE uint mulhi(uint x, uint y) { return uint(ulong(x) * y >> 32); }
MSL_INLINE int mulhi(int x, int y) { return int(long(x) * y >> 32); }
template <class T> MSL_INLINE if_integer<T> rotate(T x, T n) {
	const uint bits = 8 * sizeof(T), k = uint(n) & (bits - 1);
	const ulong u = ulong(x) & (~0ull >> (64 - bits));
	return T(u << k | u >> ((bits - k) & (bits - 1)));
}

template <class T, int N> MSL_INLINE T dot(vec<T, N> x, vec<T, N> y) {
	T sum = T(x[0]) * T(y[0]);
	for (int i = 1; i < N; i++) sum = T(sum + T(x[i]) * T(y[i]));
	return sum;
}

namespace precise {
MSL_FUNCTIONS(msl)
using metal::fma;
using metal::fmin;
using metal::fmax;
using metal::fmod;
} // namespace precise

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_device_and_threadgroup = 3 };
MSL_INLINE constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
enum memory_order { memory_order_relaxed };

} // namespace metal

template <class T, class U> MSL_INLINE T as_type(U u) { return metal::bits_as<T>(u); }
