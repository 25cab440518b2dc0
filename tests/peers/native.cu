// What an NVIDIA GPU and its library of products can do when C calls them: the ceilings of tests/peers/run cuda, and its
// peer cuBLASLt. peer_native.py loads this as a shared library. Matrices lie row by row. Functions that can fail return
// null, a negative number or something other than 0, and native_error says why.
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

static char error[256];
static int processors;
static cudaStream_t stream;
static cublasLtHandle_t library;
static void *workspace;
static const size_t WORKSPACE = 64 << 20;

static int failed(const char *what, const char *why) {
	snprintf(error, sizeof error, "%s: %s", what, why);
	return -1;
}

#define CUDA(call)                                                                         \
	do {                                                                                   \
		cudaError_t e = (call);                                                            \
		if (e != cudaSuccess) return failed(#call, cudaGetErrorString(e)), decltype(fail)(fail); \
	} while (0)
#define LT(call)                                                                                           \
	do {                                                                                                   \
		cublasStatus_t s = (call);                                                                         \
		if (s != CUBLAS_STATUS_SUCCESS) return failed(#call, cublasLtGetStatusString(s)), decltype(fail)(fail); \
	} while (0)

EXPORT const char *native_error(void) { return error; }

// native_open makes a device ready and describes it.
EXPORT const char *native_open(int device) {
	const char *fail = nullptr;
	static char description[512];
	cudaDeviceProp p;
	int driver = 0;
	CUDA(cudaSetDevice(device));
	CUDA(cudaGetDeviceProperties(&p, device));
	CUDA(cudaDriverGetVersion(&driver));
	CUDA(cudaStreamCreate(&stream));
	CUDA(cudaMalloc(&workspace, WORKSPACE));
	LT(cublasLtCreate(&library));
	processors = p.multiProcessorCount;
	size_t v = cublasLtGetVersion();
	snprintf(description, sizeof description, "%s, CUDA %d.%d, cuBLASLt %zu.%zu.%zu", p.name, driver / 1000, driver % 1000 / 10, v / 10000, v % 10000 / 100, v % 100);
	return description;
}

// native_stream is where all work is queued.
EXPORT void *native_stream(void) { return stream; }

EXPORT void *native_alloc(size_t bytes) {
	void *fail = nullptr, *p;
	CUDA(cudaMalloc(&p, bytes));
	return p;
}

EXPORT void native_free(void *p) { cudaFree(p); }

EXPORT int native_put(void *to, const void *from, size_t bytes) {
	int fail = -1;
	CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
	return 0;
}

EXPORT int native_get(void *to, const void *from, size_t bytes) {
	int fail = -1;
	CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
	return 0;
}

EXPORT double native_memory(void) {
	size_t free = 0, total = 0;
	cudaMemGetInfo(&free, &total);
	return (double)(total - free);
}

// Products.

struct product {
	cublasLtMatmulDesc_t op;
	cublasLtMatrixLayout_t a, b, c;
	cublasLtMatmulAlgo_t algorithm;
};

static int multiply(product *p, const void *a, const void *b, void *c, float alpha, float beta) {
	int fail = -1;
	// The library's matrices lie column by column: so it computes cᵀ = bᵀ·aᵀ.
	LT(cublasLtMatmul(library, p->op, &alpha, b, p->b, a, p->a, &beta, c, p->c, c, p->c, &p->algorithm, workspace, WORKSPACE, stream));
	return 0;
}

// timed is the milliseconds of one run of so many on the device's clock.
template <class F> static float timed(int runs, F run) {
	cudaEvent_t from, to;
	float ms = -1;
	cudaEventCreate(&from), cudaEventCreate(&to);
	cudaEventRecord(from, stream);
	for (int i = 0; i < runs; i++) run();
	cudaEventRecord(to, stream);
	if (cudaEventSynchronize(to) == cudaSuccess) cudaEventElapsedTime(&ms, from, to);
	cudaEventDestroy(from), cudaEventDestroy(to);
	return ms / runs;
}

// choose takes the fastest of the algorithms that the library proposes for a product.
static int choose(product *p, size_t bytes[3]) {
	int fail = -1, found = 0;
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t proposed[8];
	LT(cublasLtMatmulPreferenceCreate(&preference));
	LT(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE, sizeof WORKSPACE));
	LT(cublasLtMatmulAlgoGetHeuristic(library, p->op, p->b, p->a, p->c, p->c, preference, 8, proposed, &found));
	cublasLtMatmulPreferenceDestroy(preference);
	void *m[3];
	for (int i = 0; i < 3; i++) {
		CUDA(cudaMalloc(&m[i], bytes[i]));
		CUDA(cudaMemset(m[i], 0, bytes[i]));
	}
	float best = -1;
	for (int i = 0; i < found; i++) {
		product candidate = *p;
		candidate.algorithm = proposed[i].algo;
		if (multiply(&candidate, m[0], m[1], m[2], 1, 0)) continue;
		float ms = timed(3, [&] { multiply(&candidate, m[0], m[1], m[2], 1, 0); });
		if (ms > 0 && (best < 0 || ms < best)) best = ms, p->algorithm = proposed[i].algo;
	}
	for (int i = 0; i < 3; i++) cudaFree(m[i]);
	return best < 0 ? failed("cublasLtMatmulAlgoGetHeuristic", "no algorithm") : 0;
}

// native_product prepares c [m n] = alpha·a [m k]·b + beta·c, where b is [k n], or [n k] if it is turned. Sums are in f32.
EXPORT void *native_product(const char *type, uint64_t m, uint64_t n, uint64_t k, int turned) {
	void *fail = nullptr;
	cudaDataType_t t = !strcmp(type, "f32") ? CUDA_R_32F : !strcmp(type, "f16") ? CUDA_R_16F : CUDA_R_16BF;
	size_t size = t == CUDA_R_32F ? 4 : 2, bytes[3] = {m * k * size, k * n * size, m * n * size};
	product *p = new product();
	LT(cublasLtMatmulDescCreate(&p->op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	cublasOperation_t transpose = turned ? CUBLAS_OP_T : CUBLAS_OP_N;
	LT(cublasLtMatmulDescSetAttribute(p->op, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose));
	LT(turned ? cublasLtMatrixLayoutCreate(&p->b, t, k, n, k) : cublasLtMatrixLayoutCreate(&p->b, t, n, k, n));
	LT(cublasLtMatrixLayoutCreate(&p->a, t, k, m, k));
	LT(cublasLtMatrixLayoutCreate(&p->c, t, n, m, n));
	if (choose(p, bytes)) return nullptr;
	return p;
}

EXPORT void native_close(void *of) {
	product *p = (product *)of;
	cublasLtMatrixLayoutDestroy(p->a), cublasLtMatrixLayoutDestroy(p->b), cublasLtMatrixLayoutDestroy(p->c);
	cublasLtMatmulDescDestroy(p->op);
	delete p;
}

struct step {
	void *product;
	const void *a, *b;
	void *c;
	float alpha, beta;
};

// native_run does the steps so many times, one behind the other, and waits for the end.
EXPORT int native_run(const step *steps, int count, int times) {
	int fail = -1;
	for (int i = 0; i < times; i++) {
		for (int s = 0; s < count; s++) {
			if (multiply((product *)steps[s].product, steps[s].a, steps[s].b, steps[s].c, steps[s].alpha, steps[s].beta)) return -1;
		}
	}
	CUDA(cudaStreamSynchronize(stream));
	return 0;
}

// Ceilings.

static const int THREADS = 256, STEPS = 2048, CHAINS = 8;

// multiply_add and exponentials work on registers; what they store is never stored.
__global__ void multiply_add(float *out, float a, float b) {
	float s[CHAINS];
	for (int i = 0; i < CHAINS; i++) s[i] = threadIdx.x + i;
	for (int step = 0; step < STEPS; step++) {
#pragma unroll
		for (int i = 0; i < CHAINS; i++) s[i] = fmaf(s[i], a, b);
	}
	float sum = 0;
	for (int i = 0; i < CHAINS; i++) sum += s[i];
	if (sum == 1.2345f) *out = sum;
}

__global__ void exponentials(float *out, float a) {
	float s[CHAINS];
	for (int i = 0; i < CHAINS; i++) s[i] = a * (threadIdx.x + i);
	for (int step = 0; step < STEPS / 4; step++) {
#pragma unroll
		for (int i = 0; i < CHAINS; i++) s[i] = __expf(s[i]);
	}
	float sum = 0;
	for (int i = 0; i < CHAINS; i++) sum += s[i];
	if (sum == 1.2345f) *out = sum;
}

// copy and read pass by the first cache, as data does that a launch touches once.
__global__ void copy(float4 *to, const float4 *from, size_t n, int passes) {
	size_t step = (size_t)gridDim.x * blockDim.x;
	for (int pass = 0; pass < passes; pass++) {
#pragma unroll 4
		for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) __stcg(&to[i], __ldcg(&from[i]));
	}
}

__global__ void read(float4 *out, const float4 *from, size_t n, int passes) {
	size_t step = (size_t)gridDim.x * blockDim.x;
	float s = 0;
	for (int pass = 0; pass < passes; pass++) {
#pragma unroll 8
		for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
			float4 v = __ldcg(&from[i]);
			s += (v.x + v.y) + (v.z + v.w);
		}
	}
	if (s == 1.2345f) out->x = s;
}

// fill makes numbers for the products: zeros would let the GPU run faster than it does on data.
__global__ void fill(uint16_t *x, size_t n, uint16_t one) {
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
		uint32_t h = (uint32_t)i * 0x9E3779B1u;
		h = (h ^ h >> 16) * 0x85EBCA6Bu;
		x[i] = one ^ (h >> 16 & 0x807f);  // around one, of both signs
	}
}

// bandwidth is the best rate of copies or reads over the same bytes. What is small is passed over several times in a launch.
static double bandwidth(bool copies, size_t bytes) {
	double fail = 0;
	size_t each = (copies ? bytes / 2 : bytes) / 16 * 16;
	if (each == 0) return failed("native_rate", "no bytes"), 0;
	char *from, *to;
	CUDA(cudaMalloc(&from, each));
	CUDA(cudaMalloc(&to, copies ? each : 16));
	CUDA(cudaMemset(from, 0, each));
	int passes = each < (64 << 20) ? (int)((256 << 20) / each + 1) : 1;
	if (passes > 4096) passes = 4096;
	double best = 0;
	for (int blocks = 2; blocks <= 32; blocks *= 2) {
		for (int again = 0; again < 3; again++) {
			float ms = timed(4, [&] {
				if (copies) copy<<<processors * blocks, THREADS, 0, stream>>>((float4 *)to, (const float4 *)from, each / 16, passes);
				else read<<<processors * blocks, THREADS, 0, stream>>>((float4 *)to, (const float4 *)from, each / 16, passes);
			});
			double rate = (copies ? 2.0 : 1.0) * each * passes / (ms * 1e-3);
			if (ms > 0 && rate > best) best = rate;
		}
	}
	if (copies && passes == 1) {
		float ms = timed(4, [&] { cudaMemcpyAsync(to, from, each, cudaMemcpyDeviceToDevice, stream); });
		if (ms > 0 && 2.0 * each / (ms * 1e-3) > best) best = 2.0 * each / (ms * 1e-3);
	}
	cudaFree(from), cudaFree(to);
	return best;
}

// library_rate is that of a product of 8192 by 8192 in a type: matrix units have no other way to be fast.
static double library_rate(const char *type) {
	double fail = 0;
	const uint64_t n = 8192;
	uint16_t *m[3];
	product *p = (product *)native_product(type, n, n, n, 0);
	if (!p) return 0;
	for (int i = 0; i < 3; i++) {
		CUDA(cudaMalloc(&m[i], n * n * 2));
		fill<<<processors * 8, THREADS, 0, stream>>>(m[i], n * n, !strcmp(type, "f16") ? 0x3800 : 0x3f00);
	}
	double best = 0;
	for (int again = 0; again < 3; again++) {
		float ms = timed(4, [&] { multiply(p, m[0], m[1], m[2], 1, 0); });
		if (ms > 0 && 2.0 * n * n * n / (ms * 1e-3) > best) best = 2.0 * n * n * n / (ms * 1e-3);
	}
	for (int i = 0; i < 3; i++) cudaFree(m[i]);
	native_close(p);
	return best;
}

__global__ void nothing(float *out) {
	if (!out) asm volatile("trap;");
}

// launch_rate is how many kernels a graph begins in a second where each waits for the one before and has nothing to do.
static double launch_rate() {
	double fail = 0;
	const int launches = 1000;
	cudaGraph_t graph;
	cudaGraphExec_t ready;
	CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	for (int i = 0; i < launches; i++) nothing<<<processors, THREADS, 0, stream>>>((float *)workspace);
	CUDA(cudaStreamEndCapture(stream, &graph));
	CUDA(cudaGraphInstantiate(&ready, graph, 0));
	double best = 0;
	for (int again = 0; again < 5; again++) {
		float ms = timed(4, [&] { cudaGraphLaunch(ready, stream); });
		if (ms > 0 && launches / (ms * 1e-3) > best) best = launches / (ms * 1e-3);
	}
	cudaGraphExecDestroy(ready), cudaGraphDestroy(graph);
	return best;
}

// native_rate is a ceiling: "copy" and "read" over so many bytes in bytes a second, "f32", "f16", "bf16" in operations, "exp"
// in exponentials and "launch" in launches of a graph a second; 0 if the device has no such.
EXPORT double native_rate(const char *what, size_t bytes) {
	double fail = 0;
	if (!strcmp(what, "launch")) return launch_rate();
	if (!strcmp(what, "copy") || !strcmp(what, "read")) return bandwidth(!strcmp(what, "copy"), bytes);
	if (!strcmp(what, "f16") || !strcmp(what, "bf16")) return library_rate(what);
	bool exps = !strcmp(what, "exp");
	if (!exps && strcmp(what, "f32")) return 0;
	float *out;
	CUDA(cudaMalloc(&out, 4));
	int blocks = processors * 16;
	double best = 0, work = (double)blocks * THREADS * CHAINS * (exps ? STEPS / 4 : 2.0 * STEPS);
	for (int again = 0; again < 5; again++) {
		float ms = timed(4, [&] {
			if (exps) exponentials<<<blocks, THREADS, 0, stream>>>(out, -1e-3f);
			else multiply_add<<<blocks, THREADS, 0, stream>>>(out, 0.5f, 1.0f);
		});
		if (ms > 0 && work / (ms * 1e-3) > best) best = work / (ms * 1e-3);
	}
	cudaFree(out);
	return best;
}
