#include <metal_stdlib>
using namespace metal;

constant bool squared [[function_constant(0)]];

// total adds up the numbers of a simdgroup in each thread.
template <typename T> inline T total(T x) { return simd_sum(x); }

// sums writes the sum of each row of x, one threadgroup a row.
template <typename T>
kernel void sums(device const T* x [[buffer(0)]], device float* y [[buffer(1)]], constant uint& n [[buffer(2)]],
                 threadgroup float* parts [[threadgroup(0)]], uint row [[threadgroup_position_in_grid]],
                 uint tid [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
  float s = 0.0f;
  for (uint i = tid; i < n; i += threads) {
    const float v = float(x[row * n + i]);
    s += squared ? v * v : v;
  }
  s = total(s);
  if (lane == 0) parts[sg] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  s = total(lane < threads / 32 ? parts[lane] : 0.0f);
  if (tid == 0) y[row] = s;
}
template [[host_name("sums_f32")]] kernel decltype(sums<float>) sums<float>;
template [[host_name("sums_f16")]] kernel decltype(sums<half>) sums<half>;
template [[host_name("sums_bf16")]] kernel decltype(sums<bfloat>) sums<bfloat>;
