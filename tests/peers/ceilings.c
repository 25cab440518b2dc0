// Measures what the machine can do at most, as another worker of cpu.py: it reads requests, one a line, and answers each
// with a rate.
//
//	THREADS flops f32|bf16|int8 SECONDS   operations a second of multiply-adds on registers; 0: no such instruction
//	THREADS flops exp SECONDS             f32 exponentials a second on registers
//	THREADS read|copy BYTES SECONDS       bytes a second; copy counts what is read and what is written
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

// KEEP makes the compiler believe that a vector changed, and leave it in its register.
#if defined(__AVX512F__)
enum { WIDTH = 64 };
#define KEEP(v) __asm__ volatile("" : "+v"(v))
#elif defined(__AVX__)
enum { WIDTH = 32 };
#define KEEP(v) __asm__ volatile("" : "+x"(v))
#elif defined(__x86_64__)
enum { WIDTH = 16 };
#define KEEP(v) __asm__ volatile("" : "+x"(v))
#else  // arm64
enum { WIDTH = 16 };
#define KEEP(v) __asm__ volatile("" : "+w"(v))
#endif
typedef float vec __attribute__((vector_size(WIDTH), aligned(WIDTH)));

struct job {
	pthread_t thread;
	char what[8];
	double seconds, rate;
	size_t bytes;
	char *from, *to;
};

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

// The peaks time pieces of so many steps, below 0.1 ms, and the best counts: most of them no other process interrupts.
enum { STEPS = 20000 };

// Twelve independent sums hide the latency of two units, and fit in 16 registers. They are variables and not an array,
// which compilers leave in memory.
enum { CHAINS = 12 };
#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)

// PEAK defines a function that returns the operations a second of step, which does ops of them on sum and operands a, b.
#define PEAK(name, type, ops, step)                                         \
	static double name(double seconds) {                                    \
		type a, b, EACH(DECLARE) zero;                                      \
		memset(&zero, 0, sizeof zero), memset(&a, 0, sizeof a), memset(&b, 0, sizeof b); \
		EACH(CLEAR)                                                         \
		double end = now() + seconds, least = 1e9;                          \
		for (double start; (start = now()) < end;) {                        \
			for (int s = 0; s < STEPS; s++) {                               \
				EACH(step)                                                  \
			}                                                               \
			least = fmin(least, now() - start);                             \
		}                                                                   \
		return (double)(ops) * CHAINS * STEPS / least;                      \
	}
#define DECLARE(i) s##i,
#define CLEAR(i) s##i = zero;

#define F32_STEP(i) s##i = s##i * a + b; KEEP(s##i);
PEAK(f32_peak, vec, 2 * WIDTH / 4, F32_STEP)

#if defined(__AVX512BF16__)
// The sums are f32 vectors, the operands bf16.
#define BF16_STEP(i) s##i = (__m512i)_mm512_dpbf16_ps((__m512)s##i, (__m512bh)a, (__m512bh)b); KEEP(s##i);
PEAK(bf16_vectors, __m512i, 64, BF16_STEP)
#else
static double bf16_vectors(double seconds) { return 0 * seconds; }
#endif

// The exponential as vector code does it at the least: x/ln 2 is split into a whole number, which an addition of 1.5·2²³
// leaves in the low bits, and a rest whose power of two a polynomial of degree 5 gives; the whole number goes into the
// exponent. Nothing is done for arguments that overflow, and nothing is loaded or stored.
typedef int32_t ivec __attribute__((vector_size(WIDTH), aligned(WIDTH)));
#define EXP_STEP(i)                                                                     \
	{                                                                                   \
		vec whole = s##i * 1.442695f + 12582912.0f, rest = s##i * 1.442695f - (whole - 12582912.0f); \
		vec p = rest * 1.8775767e-3f + 8.9893397e-3f;                                   \
		p = p * rest + 5.5826318e-2f, p = p * rest + 2.4015361e-1f;                     \
		p = p * rest + 6.9315308e-1f, p = p * rest + 1.0f;                              \
		s##i = (vec)((ivec)p + ((ivec)whole << 23));                                    \
		KEEP(s##i);                                                                     \
		s##i = s##i - b;                                                                \
	}
PEAK(exp_rate, vec, WIDTH / 4, EXP_STEP)

// The matrix unit of some Intel processors multiplies tiles of 16 rows of 64 bytes; the system must be asked for it.
#if defined(__AMX_TILE__) && defined(__linux__)
enum { TILE_ROWS = 16 };
static int tiles_begin(void) {
	enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILEDATA = 18 };
	if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILEDATA)) return 0;
	struct {
		uint8_t palette, start, zero[14];
		uint16_t row_bytes[16];
		uint8_t rows[16];
	} config = {.palette = 1};
	for (int i = 0; i < 8; i++) config.row_bytes[i] = 64, config.rows[i] = TILE_ROWS;
	static const uint8_t zeros[TILE_ROWS * 64];
	_tile_loadconfig(&config);
	_tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
	_tile_loadd(4, zeros, 64); _tile_loadd(5, zeros, 64); _tile_loadd(6, zeros, 64); _tile_loadd(7, zeros, 64);
	return 1;
}

// TILES defines a function like PEAK's, for an instruction that multiplies tiles with so many numbers in a row.
#define TILES(name, multiply, numbers)                                                            \
	static double name(double seconds) {                                                          \
		if (!tiles_begin()) return 0;                                                             \
		double end = now() + seconds, least = 1e9;                                                \
		for (double start; (start = now()) < end;) {                                              \
			for (int s = 0; s < STEPS / 4; s++) {                                                 \
				multiply(0, 4, 6); multiply(1, 4, 7); multiply(2, 5, 6); multiply(3, 5, 7);       \
			}                                                                                     \
			least = fmin(least, now() - start);                                                   \
		}                                                                                         \
		_tile_release();                                                                          \
		return 2.0 * TILE_ROWS * TILE_ROWS * (numbers) * STEPS / least;                           \
	}
#else
#define TILES(name, multiply, numbers) \
	static double name(double seconds) { return 0 * seconds; }
#endif
#if defined(__AMX_BF16__)
TILES(bf16_tiles, _tile_dpbf16ps, 32)
#else
static double bf16_tiles(double seconds) { return 0 * seconds; }
#endif
#if defined(__AMX_INT8__)
TILES(int8_tiles, _tile_dpbusd, 64)
#else
static double int8_tiles(double seconds) { return 0 * seconds; }
#endif

#if defined(__AVX512VNNI__)
#define INT8_STEP(i) s##i = _mm512_dpbusd_epi32(s##i, a, b); KEEP(s##i);
PEAK(int8_vectors, __m512i, 128, INT8_STEP)
#else
static double int8_vectors(double seconds) { return 0 * seconds; }
#endif

// Of two instructions for the same work the faster one counts.
static double bf16_peak(double seconds) { return fmax(bf16_vectors(seconds / 2), bf16_tiles(seconds / 2)); }
static double int8_peak(double seconds) { return fmax(int8_vectors(seconds / 2), int8_tiles(seconds / 2)); }

// bandwidth passes over a job's memory until its time is up and returns its rate. What fits into a core's own cache is
// timed in pieces of about 0.1 ms, of which the best counts, as for the peaks. What is shared is an average: a piece
// during which another thread is held up would have all of it.
static double bandwidth(struct job *j, void (*pass)(struct job *)) {
	enum { OWN = 1 << 20, PIECE = 8 << 20 };
	int own = j->bytes <= OWN, passes = own ? PIECE / j->bytes : 1;
	double start = now(), end = start + j->seconds, least = 1e9, count = 0, t;
	for (t = start; t < end; count++) {
		double piece = t;
		for (int i = 0; i < passes; i++) pass(j);
		t = now();
		least = fmin(least, t - piece);
	}
	return own ? (double)passes * j->bytes / least : count * j->bytes / (t - start);
}

static void read_pass(struct job *j) {
	vec s0 = {0}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
	const vec *p = (const vec *)j->from, *end = p + j->bytes / WIDTH;
	for (; p < end; p += 8) {
		s0 += p[0], s1 += p[1], s2 += p[2], s3 += p[3], s4 += p[4], s5 += p[5], s6 += p[6], s7 += p[7];
	}
	s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7;
	KEEP(s0);
	__asm__ volatile("" ::: "memory");
}

static void copy_pass(struct job *j) {
	const vec *p = (const vec *)j->from;
	vec *q = (vec *)j->to;
	for (size_t i = 0; i < j->bytes / 2 / WIDTH; i++) {
		q[i] = p[i];
		__asm__ volatile("" ::: "memory");  // or it becomes memcpy, whose stores may pass by the cache
	}
}

static void *work(void *p) {
	struct job *j = p;
	if (!strcmp(j->what, "f32")) j->rate = f32_peak(j->seconds);
	else if (!strcmp(j->what, "bf16")) j->rate = bf16_peak(j->seconds);
	else if (!strcmp(j->what, "int8")) j->rate = int8_peak(j->seconds);
	else if (!strcmp(j->what, "exp")) j->rate = exp_rate(j->seconds);
	else if (!strcmp(j->what, "read")) j->rate = bandwidth(j, read_pass);
	else j->rate = bandwidth(j, copy_pass);
	return NULL;
}

// fill gives a job its part of the memory, and touches it so that it is really there.
static int fill(struct job *j, size_t bytes) {
	size_t unit = 16 * WIDTH;  // whole vectors, eight for each half
	j->bytes = (bytes + unit - 1) / unit * unit;
	size_t room = (j->bytes + 4095) / 4096 * 4096;
	j->from = aligned_alloc(4096, room), j->to = aligned_alloc(4096, room);
	if (!j->from || !j->to) return 0;
	memset(j->from, 0, room), memset(j->to, 0, room);
	return 1;
}

int main(void) {
	int threads;
	char kind[8], arg[24];
	double seconds;
	while (scanf("%d %7s %23s %lf", &threads, kind, arg, &seconds) == 4) {
		struct job *jobs = calloc(threads, sizeof *jobs);
		double rate = 0;
		for (int i = 0; i < threads; i++) {
			jobs[i].seconds = seconds;
			snprintf(jobs[i].what, sizeof jobs[i].what, "%.7s", strcmp(kind, "flops") ? kind : arg);
			if (strcmp(kind, "flops") && !fill(&jobs[i], strtoull(arg, NULL, 10) / threads)) return 1;
		}
		for (int i = 0; i < threads; i++) pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
		for (int i = 0; i < threads; i++) {
			pthread_join(jobs[i].thread, NULL);
			rate += jobs[i].rate;
			free(jobs[i].from), free(jobs[i].to);
		}
		free(jobs);
		printf("%g\n", rate);
		fflush(stdout);
	}
	return 0;
}
