// scalar.metal: the elementwise ops, each for one element.
//
// A function op_NAME is the op NAME of the engine's table (see docs/ops.md). All kernels call these functions, so an op
// rounds in the same way in each of them.
//
// A register holds float for f16, bf16 and f32, bool for bool, and the type itself for an integer; memory.metal has the
// way from and to memory. Integers wrap: arithmetic is done without a sign, because overflow of a signed type is undefined.
// The text wants precise mathematics: fast-math may assume that there is no NaN, and several ops are defined by it.
//
// There is no tile: a thread computes one element, or four, in registers. An op takes 1 operation (add) to some 50 (pow,
// erf), a function such as exp about 20; an element of f32 that is read and written is 8 bytes, in whose time an M-series
// GPU does some 280. So memory is the limit of a chain of ops until it has a dozen functions.

// UNROLL stands before a loop that is written out, so that an array which it indexes can be registers.
#ifdef MSL_UNROLL
#define UNROLL MSL_UNROLL
#else
#define UNROLL _Pragma("clang loop unroll(full)")
#endif

// wrapping names the type in which an integer's arithmetic wraps: at least 32 bits, so that nothing is promoted to int.
template <typename T> struct wrapping { typedef uint type; };
template <> struct wrapping<long> { typedef ulong type; };
template <> struct wrapping<ulong> { typedef ulong type; };

template <typename T> struct is_signed_integer { static constexpr constant bool value = T(-1) < T(0); };

// Arithmetic.

inline float op_neg(float x) { return -x; }
template <typename T> inline T op_neg(T x) { typedef typename wrapping<T>::type W; return T(W(0) - W(x)); }

inline float op_abs(float x) { return fabs(x); }
template <typename T> inline T op_abs(T x) { return is_signed_integer<T>::value && x < T(0) ? op_neg(x) : x; }

inline float op_sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }
template <typename T> inline T op_sign(T x) { return x == T(0) ? T(0) : is_signed_integer<T>::value && x < T(0) ? T(-1) : T(1); }

inline float op_floor(float x) { return floor(x); }
template <typename T> inline T op_floor(T x) { return x; }

inline float op_ceil(float x) { return ceil(x); }
template <typename T> inline T op_ceil(T x) { return x; }

inline float op_round(float x) { return rint(x); }
template <typename T> inline T op_round(T x) { return x; }

inline float op_add(float x, float y) { return x + y; }
template <typename T> inline T op_add(T x, T y) { typedef typename wrapping<T>::type W; return T(W(x) + W(y)); }

inline float op_sub(float x, float y) { return x - y; }
template <typename T> inline T op_sub(T x, T y) { typedef typename wrapping<T>::type W; return T(W(x) - W(y)); }

inline float op_mul(float x, float y) { return x * y; }
template <typename T> inline T op_mul(T x, T y) { typedef typename wrapping<T>::type W; return T(W(x) * W(y)); }

// op_fma is x·y + z; of floats with one rounding.
inline float op_fma(float x, float y, float z) { return fma(x, y, z); }
template <typename T> inline T op_fma(T x, T y, T z) { return op_add(op_mul(x, y), z); }

inline float op_div(float x, float y) { return x / y; }
// op_div rounds integers towards minus infinity; x/0 is 0. The least integer divided by -1 wraps.
template <typename T> inline T op_div(T x, T y) {
	if (y == T(0)) return T(0);
	if (is_signed_integer<T>::value && y == T(-1)) return op_neg(x);
	T q = T(x / y);
	return T(x % y) != T(0) && (x < T(0)) != (y < T(0)) ? T(q - T(1)) : q;
}

// exact_fmod is x − y·trunc(x/y) without rounding: each turn takes y times a power of two away, and
// such a difference is a float. The built-in fmod loses all digits of a large quotient.
inline float exact_fmod(float x, float y) {
	if (isnan(x) || isnan(y) || isinf(x) || y == 0.0f) return NAN;
	float r = fabs(x), d = fabs(y);
	if (isinf(d)) return x;
	while (r >= d) {
		float s = ldexp(d, ilogb(r) - ilogb(d));
		r -= s > r ? 0.5f * s : s;
	}
	return copysign(r, x);
}

// op_mod has the sign of the divisor.
inline float op_mod(float x, float y) {
	float r = exact_fmod(x, y);
	if (r == 0.0f) return copysign(0.0f, y);
	return (r < 0.0f) != (y < 0.0f) ? r + y : r;
}
template <typename T> inline T op_mod(T x, T y) {
	if (y == T(0) || is_signed_integer<T>::value && y == T(-1)) return T(0);
	T r = T(x % y);
	return r != T(0) && (r < T(0)) != (y < T(0)) ? T(r + y) : r;
}

// op_pow: x⁰ is 1 for every x. The built-in function is called with positive bases only, because its results for
// others differ between compilers.
inline float op_pow(float x, float y) {
	if (y == 0.0f || x == 1.0f) return 1.0f;
	if (isnan(x) || isnan(y)) return NAN;
	const bool whole = rint(y) == y;
	const bool odd = whole && fabs(y) < 16777216.0f && rint(0.5f * y) != 0.5f * y;
	if (x == 0.0f || isinf(x)) {
		const float size = (x == 0.0f) == (y > 0.0f) ? 0.0f : INFINITY;
		return odd ? copysign(size, x) : size;
	}
	if (isinf(y)) return fabs(x) == 1.0f ? 1.0f : (fabs(x) > 1.0f) == (y > 0.0f) ? INFINITY : 0.0f;
	if (x < 0.0f && !whole) return NAN;
	const float r = precise::pow(fabs(x), y);
	return x < 0.0f && odd ? -r : r;
}
template <typename T> inline T op_pow(T x, T y) {
	typedef typename wrapping<T>::type W;
	if (is_signed_integer<T>::value && y < T(0)) {
		if (x == T(1)) return T(1);
		if (x == T(-1)) return y % T(2) == T(0) ? T(1) : T(-1);
		return T(0);
	}
	W r = 1, b = W(x);
	for (W n = W(y); n > 0; n >>= 1) {
		if (n & 1) r *= b;
		b *= b;
	}
	return T(r);
}

// op_max and op_min: a NaN wins, and 0 is above -0. A prelude may know an instruction for that, MSL_MAX and MSL_MIN.
#ifdef MSL_MAX
inline float op_max(float x, float y) { return MSL_MAX(x, y); }
inline float op_min(float x, float y) { return MSL_MIN(x, y); }
#else
inline float op_max(float x, float y) {
	if (isnan(x)) return x;
	if (isnan(y)) return y;
	return x > y || (x == y && !signbit(x)) ? x : y;
}
inline float op_min(float x, float y) {
	if (isnan(x)) return x;
	if (isnan(y)) return y;
	return x < y || (x == y && signbit(x)) ? x : y;
}
#endif
template <typename T> inline T op_max(T x, T y) { return x > y ? x : y; }
template <typename T> inline T op_min(T x, T y) { return x < y ? x : y; }

// Functions of floats.

inline float op_exp(float x) { return precise::exp(x); }
// quick_exp is exp for terms of a sum: of x from -20 to 0 it keeps six digits.
inline float quick_exp(float x) { return fast::exp2(x * 1.44269504f); }
inline float op_log(float x) { return precise::log(x); }
inline float op_sqrt(float x) { return precise::sqrt(x); }
inline float op_rsqrt(float x) { return 1.0f / precise::sqrt(x); }
inline float op_recip(float x) { return 1.0f / x; }
inline float op_sin(float x) { return precise::sin(x); }
inline float op_cos(float x) { return precise::cos(x); }
inline float op_atan2(float y, float x) { return precise::atan2(y, x); }

// op_expm1 and op_log1p take the rounding of 1+x out again (Kahan: the error of u−1 and that of log u cancel).
inline float op_expm1(float x) {
	const float u = precise::exp(x);
	if (u == 1.0f) return x;
	if (u - 1.0f == -1.0f || isinf(u) || isnan(u)) return u - 1.0f;
	return (u - 1.0f) * (x / precise::log(u));
}
inline float op_log1p(float x) {
	const float u = 1.0f + x;
	if (u == 1.0f) return x;
	if (isinf(u)) return u > 0.0f ? u : NAN;
	return precise::log(u) * (x / (u - 1.0f));
}

// op_tanh: near 0 the difference of two nearly equal numbers would lose digits, so there it is x + x³·P(x²), P least in its
// largest relative error (3e-9).
inline float op_tanh(float x) {
	const float a = fabs(x);
	if (a < 0.55f) {
		const float u = x * x;
		float p = -0.00589514f;
		p = fma(p, u, 0.02079595f);
		p = fma(p, u, -0.05378382f);
		p = fma(p, u, 0.13331924f);
		p = fma(p, u, -0.333333f);
		return fma(x * u, p, x);
	}
	return copysign(1.0f - 2.0f / (precise::exp(2.0f * a) + 1.0f), x);
}

// op_erf: x·P(x²) up to 1 and 1 − exp(−x·Q(x)) beyond, P and Q least in their largest relative error (2e-7 in all).
inline float op_erf(float x) {
	const float a = min(fabs(x), 4.0f);
	if (isnan(x)) return x;
	if (a <= 1.0f) {
		const float u = a * a;
		float p = 7.85385345807299e-05f;
		p = fma(p, u, -0.000801019137725234f);
		p = fma(p, u, 0.00518832728266716f);
		p = fma(p, u, -0.026853810995817184f);
		p = fma(p, u, 0.1128358542919159f);
		p = fma(p, u, -0.3761262595653534f);
		p = fma(p, u, 1.1283791065216064f);
		return x * p;
	}
	float q = -1.860707811829343e-06f;
	q = fma(q, a, 3.0197714295354672e-05f);
	q = fma(q, a, -0.00019180556409992278f);
	q = fma(q, a, 0.0004218769317958504f);
	q = fma(q, a, 0.0020040394738316536f);
	q = fma(q, a, -0.021539006382226944f);
	q = fma(q, a, 0.10441471636295319f);
	q = fma(q, a, 0.6359783411026001f);
	q = fma(q, a, 1.1284890174865723f);
	return copysign(1.0f - precise::exp(-a * q), x);
}

inline float op_sigmoid(float x) { return 1.0f / (1.0f + precise::exp(-x)); }
inline float op_silu(float x) { return x * op_sigmoid(x); }
inline float op_gelu(float x) { return 0.5f * x * (1.0f + op_erf(0.7071067811865476f * x)); }
inline float op_gelu_tanh(float x) { return 0.5f * x * (1.0f + op_tanh(0.7978845608028654f * (x + 0.044715f * x * x * x))); }

// Comparisons and bits.

inline bool op_is_nan(float x) { return isnan(x); }
template <typename T> inline bool op_eq(T x, T y) { return x == y; }
template <typename T> inline bool op_ne(T x, T y) { return x != y; }
template <typename T> inline bool op_lt(T x, T y) { return x < y; }
template <typename T> inline bool op_le(T x, T y) { return x <= y; }
template <typename T> inline bool op_gt(T x, T y) { return x > y; }
template <typename T> inline bool op_ge(T x, T y) { return x >= y; }

inline bool op_not(bool x) { return !x; }
template <typename T> inline T op_not(T x) { return T(~x); }
template <typename T> inline T op_and(T x, T y) { return T(x & y); }
template <typename T> inline T op_or(T x, T y) { return T(x | y); }
template <typename T> inline T op_xor(T x, T y) { return T(x ^ y); }

// op_shl and op_shr: a count below 0 or beyond the type moves all bits out.
template <typename T> inline T op_shl(T x, T y) {
	typedef typename wrapping<T>::type W;
	return y < T(0) || W(y) >= W(8 * sizeof(T)) ? T(0) : T(W(x) << W(y));
}
template <typename T> inline T op_shr(T x, T y) {
	typedef typename wrapping<T>::type W;
	if (y < T(0) || W(y) >= W(8 * sizeof(T))) return is_signed_integer<T>::value && x < T(0) ? T(-1) : T(0);
	return T(x >> y);
}

template <typename T> inline T op_where(bool c, T x, T y) { return c ? x : y; }

// Conversions. convert<T>::from(x) is x as a register of T. A float becomes an integer by rounding towards zero; beyond
// the range it becomes the nearest end of it, and NaN becomes 0. round_half and round_bfloat round to f16 and bf16, and
// their results stay floats.
template <typename T> struct convert {
	static inline T from(float x) {
		if (isnan(x)) return T(0);
		if (x <= float(numeric_limits<T>::lowest())) return numeric_limits<T>::lowest();
		if (x >= float(numeric_limits<T>::max())) return numeric_limits<T>::max();
		return T(x);
	}
	static inline T from(bool x) { return x ? T(1) : T(0); }
	template <typename F> static inline T from(F x) { return T(x); }
};
template <> struct convert<float> {
	static inline float from(float x) { return x; }
	static inline float from(bool x) { return x ? 1.0f : 0.0f; }
	template <typename F> static inline float from(F x) { return float(x); }
};
template <> struct convert<bool> {
	static inline bool from(bool x) { return x; }
	static inline bool from(float x) { return x != 0.0f; }
	template <typename F> static inline bool from(F x) { return x != F(0); }
};
inline float round_half(float x) { return float(half(x)); }
inline float round_bfloat(float x) { return float(bfloat(x)); }
