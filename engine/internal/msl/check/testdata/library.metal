#include <metal_stdlib>
using namespace metal;

// lanes writes what operations of a simdgroup give in each lane, 32 numbers each.
kernel void lanes(device const int* x [[buffer(0)]], device int* r [[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {
  const int v = x[lane];
  int at = 0;
  r[32 * at++ + lane] = simd_sum(v);
  r[32 * at++ + lane] = simd_max(v);
  r[32 * at++ + lane] = simd_min(v);
  r[32 * at++ + lane] = simd_and(v | 1);
  r[32 * at++ + lane] = simd_or(v);
  r[32 * at++ + lane] = simd_xor(v);
  r[32 * at++ + lane] = simd_product(v % 3 == 0 ? 1 : 2);
  r[32 * at++ + lane] = simd_prefix_inclusive_sum(v);
  r[32 * at++ + lane] = simd_prefix_exclusive_sum(v);
  r[32 * at++ + lane] = simd_shuffle(v, ushort(31 - lane));
  r[32 * at++ + lane] = simd_shuffle_xor(v, 5);
  const int up = simd_shuffle_up(v, 3), down = simd_shuffle_down(v, 3);
  r[32 * at++ + lane] = lane < 3 ? 0 : up;
  r[32 * at++ + lane] = lane > 28 ? 0 : down;
  r[32 * at++ + lane] = simd_shuffle_rotate_down(v, 3);
  r[32 * at++ + lane] = simd_shuffle_and_fill_up(v, 100 + v, 3);
  r[32 * at++ + lane] = simd_shuffle_and_fill_down(v, 100 + v, 3);
  r[32 * at++ + lane] = int(ulong(simd_vote::vote_t(simd_ballot(v > 0))));
  r[32 * at++ + lane] = (simd_all(v > -1000) ? 1 : 0) + (simd_any(v > 1000) ? 2 : 0);
}

// narrow computes with numbers of two bytes.
kernel void narrow(device const half* x [[buffer(0)]], device const bfloat* y [[buffer(1)]], device float* r [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
  const half a = x[i];
  const bfloat b = y[i];
  half c = a * a + 1.0h;
  c += half(float(b));
  r[i] = float(c) + a * 0.5f + float(-b) + float(as_type<ushort>(a) & 1);
}

// swizzles takes vectors apart and puts them together.
kernel void swizzles(device const float4* x [[buffer(0)]], device float4* r [[buffer(1)]], device packed_float3* p [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
  const float4 v = x[i];
  const float3 q = float3(p[i]);
  r[3 * i] = float4(v.yx * 2.0f, float2(v.w, 1));
  r[3 * i + 1] = float4(uint4(v.wzyx)) + 0.5f * vec<float, 4>(1);
  r[3 * i + 2] = fma(v, v, float4(q, dot(v.xy, v.zw)));
}

// counts adds up with atomics of device and of threadgroup memory.
kernel void counts(device atomic_uint* total [[buffer(0)]], device atomic_int* least [[buffer(1)]], uint at [[thread_position_in_grid]],
                   uint tid [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint mine;
  if (tid == 0) atomic_store_explicit(&mine, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&mine, at, memory_order_relaxed);
  atomic_fetch_min_explicit(least, -int(at), memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (tid == 0) atomic_fetch_add_explicit(total, atomic_load_explicit(&mine, memory_order_relaxed), memory_order_relaxed);
}

// product writes a·b + c·I for 8×8 matrices, b read transposed, through threadgroup memory.
template <typename T>
kernel void product(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]], device float* r [[buffer(2)]], constant float& c [[buffer(3)]],
                    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup T tile[64];
  for (uint i = lane; i < 64; i += 32) tile[i] = b[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_matrix<T, 8, 8> x, y;
  simdgroup_matrix<float, 8, 8> sum = simdgroup_matrix<float, 8, 8>(c);
  simdgroup_load(x, a, 8);
  simdgroup_load(y, tile, 8, ulong2(0, 0), true);
  simdgroup_multiply_accumulate(sum, x, y, sum);
  simdgroup_store(sum, r, 8);
}
template [[host_name("product_f32")]] kernel decltype(product<float>) product<float>;
template [[host_name("product_f16")]] kernel decltype(product<half>) product<half>;
template [[host_name("product_bf16")]] kernel decltype(product<bfloat>) product<bfloat>;
