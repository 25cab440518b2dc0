// functions.h: functions of a float in plain C++, for CUDA without its library of functions and for
// checking, so that what is checked is what runs. Each is within 2 units in the last place of the true
// value, for all floats.
#pragma once

namespace msl {

// exp is 2ʳ·2ⁿ, where n is a whole number near x·log₂e of which there is a normal float 2ⁿ, and r is what is left: at most
// ½ unless the result is 0, infinite, or nearly so. The sum of n and 1.5·2²³ + 127 has n's exponent as its last bits.
MSL_INLINE float exp(float x) {
	const float most = 127.0f, least = -126.0f, shift = 12583039.0f, log2e = 1.44269502f;
	float n = x * log2e;
	n = n < most ? n : most;
	n = n > least ? n : least;
	const float sum = n + shift;
	float r = fma(x, log2e, shift - sum);
	r = fma(x, 1.92596303e-8f, r);
	return power_of_two(r) * float_of(bits_of(sum) << 23);
}

// split takes a positive float apart: the result is in [√½, √2), and x = result·2ⁿ.
MSL_INLINE float split(float x, int& n) {
	n = 0;
	if (x < 1.17549435e-38f) {
		x *= 8388608.0f;
		n = -23;
	}
	const unsigned bits = bits_of(x) - 0x3f3504f3u; // of √½
	n += int(bits) >> 23;
	return float_of((bits & 0x7fffffu) + 0x3f3504f3u);
}

MSL_INLINE float log(float x) {
	if (!(x > 0.0f)) return x == 0.0f ? -float_of(0x7f800000u) : float_of(0x7fc00000u);
	if (x > 3.40282347e38f) return x;
	int n;
	const float f = split(x, n) - 1.0f, e = float(n);
	float p = 7.0376836292e-2f;
	p = fma(p, f, -1.1514610310e-1f);
	p = fma(p, f, 1.1676998740e-1f);
	p = fma(p, f, -1.2420140846e-1f);
	p = fma(p, f, 1.4249322787e-1f);
	p = fma(p, f, -1.6668057665e-1f);
	p = fma(p, f, 2.0000714765e-1f);
	p = fma(p, f, -2.4999993993e-1f);
	p = fma(p, f, 3.3333331174e-1f);
	const float z = f * f;
	float y = fma(p * f, z, e * -2.12194440e-4f);
	y = fma(-0.5f, z, y);
	return (f + y) + e * 0.693359375f;
}

// log_precise is the logarithm of a positive float, with 40 bits.
MSL_INLINE double log_precise(float x) {
	int n;
	const double m = split(x, n), s = (m - 1.0) / (m + 1.0), z = s * s;
	double p = 1.0 / 17.0;
	for (int k = 15; k > 0; k -= 2) p = p * z + 1.0 / k;
	return 2.0 * s * p + n * 0.6931471805599453;
}

// exp_precise rounds eˣ once.
MSL_INLINE float exp_precise(double x) {
	if (!(x < 90.0)) return x != x ? float_of(0x7fc00000u) : float_of(0x7f800000u);
	if (x < -105.0) return 0.0f;
	const int n = int(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
	const double r = x - n * 0.6931471805599453;
	double p = 1.0;
	for (int k = 11; k > 0; k--) p = p * r / k + 1.0;
	return float(p * double_of((unsigned long long)(n + 1023) << 52));
}

MSL_INLINE float exp2(float x) { return exp_precise(x * 0.6931471805599453); }
MSL_INLINE float exp10(float x) { return exp_precise(x * 2.302585092994046); }
MSL_INLINE float log2(float x) { return x > 0.0f && x <= 3.40282347e38f ? float(log_precise(x) * 1.4426950408889634) : log(x); }
MSL_INLINE float log10(float x) { return x > 0.0f && x <= 3.40282347e38f ? float(log_precise(x) * 0.4342944819032518) : log(x); }

MSL_INLINE float pow(float x, float y) {
	if (y == 0.0f || x == 1.0f) return 1.0f;
	if (x != x || y != y) return float_of(0x7fc00000u);
	const bool whole = rint(y) == y, odd = whole && abs(y) < 16777216.0f && rint(0.5f * y) != 0.5f * y;
	const float a = abs(x), infinite = float_of(0x7f800000u);
	float r;
	if (a == 0.0f || a == infinite) {
		r = (a == 0.0f) == (y > 0.0f) ? 0.0f : infinite;
	} else if (abs(y) == infinite) {
		return a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? infinite : 0.0f;
	} else {
		if (x < 0.0f && !whole) return float_of(0x7fc00000u);
		r = exp_precise(y * log_precise(a));
	}
	return odd && (bits_of(x) >> 31) ? -r : r;
}

// quarter is x modulo π/2, nearest to 0; n says how many of them were taken away, modulo 4.
MSL_INLINE double quarter(float x, int& n) {
	if (abs(x) < 1.0e6f) {
		const double q = double(x) * 0.6366197723675814;
		const long long whole = (long long)(q + (q < 0 ? -0.5 : 0.5));
		n = int(whole & 3);
		return double(x) - whole * 1.5707963267341256 - whole * 6.077100506506192e-11;
	}
	// Payne and Hanek: only those bits of 2/π count whose product with x is not a multiple of 4.
	const unsigned digits[] = {0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u};
	const unsigned bits = bits_of(x);
	int e = int(bits >> 23 & 0xff) - 126;
	const unsigned m = bits << 8 | 0x80000000u;
	const int i = e >> 5;
	e &= 31;
	unsigned hi = i ? digits[i - 1] : 0, mid = digits[i], lo = digits[i + 1];
	if (e) {
		hi = hi << e | mid >> (32 - e);
		mid = mid << e | lo >> (32 - e);
		lo = lo << e | digits[i + 2] >> (32 - e);
	}
	unsigned long long p = (unsigned long long)m * lo;
	p = (unsigned long long)m * mid + (p >> 32);
	p = ((unsigned long long)(m * hi) << 32) + p;
	n = int(p >> 62);
	long long rest = (long long)(p & 0x3fffffffffffffffull);
	if (rest & 0x2000000000000000ll) {
		rest -= 0x4000000000000000ll;
		n++;
	}
	double r = double(rest) * 3.4061215800304505e-19; // π/2·2⁻⁶²
	if (bits >> 31) {
		r = -r;
		n = -n;
	}
	n &= 3;
	return r;
}

// wave is the sine of x + n·π/2.
MSL_INLINE float wave(float x, int n) {
	if (!(abs(x) < float_of(0x7f800000u))) return float_of(0x7fc00000u);
	int k;
	const double r = quarter(x, k), z = r * r;
	k += n;
	double y;
	if (k & 1) {
		y = 1.0 + z * (-0.5 + z * (4.1666666666666664e-2 + z * (-1.388888888888889e-3 + z * (2.48015873015873e-5 - z * 2.755731922398589e-7))));
	} else {
		y = r + r * z * (-0.16666666666666666 + z * (8.333333333333333e-3 + z * (-1.984126984126984e-4 + z * (2.7557319223985893e-6 - z * 2.505210838544172e-8))));
	}
	return float(k & 2 ? -y : y);
}

MSL_INLINE float sin(float x) { return x == 0.0f ? x : wave(x, 0); }
MSL_INLINE float cos(float x) { return wave(x, 1); }
MSL_INLINE float tan(float x) { return x == 0.0f ? x : wave(x, 0) / wave(x, 1); }

// arc is the arc tangent of x, 0 ≤ x ≤ 1.
MSL_INLINE float arc(float x) {
	const float s = x * x;
	float p = 2.78569828e-3f;
	p = fma(p, s, -1.58660226e-2f);
	p = fma(p, s, 4.24722321e-2f);
	p = fma(p, s, -7.49753043e-2f);
	p = fma(p, s, 1.06448799e-1f);
	p = fma(p, s, -1.42070308e-1f);
	p = fma(p, s, 1.99934542e-1f);
	p = fma(p, s, -3.33331466e-1f);
	return fma(p * s, x, x);
}

MSL_INLINE float atan2(float y, float x) {
	if (x != x || y != y) return float_of(0x7fc00000u);
	const float a = abs(x), b = abs(y);
	float r;
	if (b > a) {
		r = 1.57079637f - (arc(a / b) + 4.37113883e-8f);
	} else {
		r = a == 0.0f ? 0.0f : arc(a == b ? 1.0f : b / a);
	}
	if (bits_of(x) >> 31) r = 3.14159274f - (r + 8.74227766e-8f);
	return float_of(bits_of(r) | (bits_of(y) & 0x80000000u));
}
MSL_INLINE float atan(float x) { return atan2(x, 1.0f); }
MSL_INLINE float asin(float x) { return atan2(x, sqrt((1.0f - x) * (1.0f + x))); }
MSL_INLINE float acos(float x) { return atan2(sqrt((1.0f - x) * (1.0f + x)), x); }

MSL_INLINE float sinh(float x) {
	const float a = abs(x);
	if (a < 1.0f) {
		const float z = x * x;
		return fma(x * z, fma(z, fma(z, fma(z, 2.75573192e-6f, 1.98412698e-4f), 8.33333333e-3f), 0.166666667f), x);
	}
	const float h = exp(0.5f * a), r = 0.5f * h * h - 0.5f / h / h;
	return x < 0.0f ? -r : r;
}
MSL_INLINE float cosh(float x) {
	const float h = exp(0.5f * abs(x));
	return 0.5f * h * h + 0.5f / h / h;
}
MSL_INLINE float tanh(float x) {
	const float a = abs(x);
	if (a > 10.0f) return x < 0.0f ? -1.0f : 1.0f;
	if (a < 0.5f) return sinh(x) / cosh(x);
	const float r = 1.0f - 2.0f / (exp(2.0f * a) + 1.0f);
	return x < 0.0f ? -r : r;
}

} // namespace msl
