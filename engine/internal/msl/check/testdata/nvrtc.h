// What NVRTC knows before a text begins, for clang: with it clang reads what NVRTC will read.
#define __CUDACC_RTC__
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))
#define __forceinline__ inline __attribute__((always_inline))
#pragma clang force_cuda_host_device begin
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
struct uint3 { unsigned x, y, z; };
struct uint4 { unsigned x, y, z, w; };
typedef unsigned long size_t;
float exp(float);
double exp(double);
float fabs(float);
float floor(float);
float fma(float, float, float);
float sqrt(float);
float pow(float, float);
bool isnan(float);
bool isinf(float);
int abs(int);
float abs(float);
int min(int, int);
unsigned max(unsigned, unsigned);
float max(float, float);
#define INFINITY (__builtin_inff())
