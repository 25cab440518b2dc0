#include <metal_stdlib>
using namespace metal;

kernel void functions(device const float* x [[buffer(0)]], device const float* y [[buffer(1)]], device float* r [[buffer(2)]],
                      constant uint& n [[buffer(3)]], constant int& which [[buffer(4)]],
                      uint at [[thread_position_in_grid]], uint all [[threads_per_grid]]) {
  for (uint i = at; i < n; i += all) {
    const float a = x[i], b = y[i];
    switch (which) {
    case 0: r[i] = exp(a); break;
    case 1: r[i] = exp2(a); break;
    case 2: r[i] = exp10(a); break;
    case 3: r[i] = log(a); break;
    case 4: r[i] = log2(a); break;
    case 5: r[i] = log10(a); break;
    case 6: r[i] = sin(a); break;
    case 7: r[i] = cos(a); break;
    case 8: r[i] = tan(a); break;
    case 9: r[i] = asin(a); break;
    case 10: r[i] = acos(a); break;
    case 11: r[i] = atan(a); break;
    case 12: r[i] = sinh(a); break;
    case 13: r[i] = cosh(a); break;
    case 14: r[i] = tanh(a); break;
    case 15: r[i] = rsqrt(a); break;
    case 16: r[i] = pow(a, b); break;
    case 17: r[i] = atan2(a, b); break;
    case 18: r[i] = ldexp(a, int(clamp(b, -300.0f, 300.0f))); break;
    case 19: r[i] = float(ilogb(a)); break;
    case 20: r[i] = round(a); break;
    case 21: r[i] = copysign(a, b); break;
    case 22: r[i] = max(a, b); break;
    case 23: r[i] = min(a, b); break;
    }
  }
}
