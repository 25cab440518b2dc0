// The kernels of the tests that run on a GPU. kernels.ptx is this file, compiled without a CUDA toolkit by
// clang-19 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_52 -O2 -S -Xclang -target-feature -Xclang +ptx70 -o kernels.ptx kernels.cu
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

extern "C" __global__ void axpy(const float *x, float *y, float a) {
	unsigned i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
	y[i] += a * x[i];
}

// Runs until the host, or a copy, changes the flag.
extern "C" __global__ void endless(volatile int *flag) {
	while (*flag == 0) {
	}
}
