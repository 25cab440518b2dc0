// Measures what the machine can do at most, as another worker of cpu.py: it reads requests, one a line, and answers each
// with a rate.
//
//	THREADS flops f32|bf16|int8 SECONDS   operations a second of multiply-adds on registers; 0: no such instruction
//	THREADS read|copy BYTES SECONDS       bytes a second; copy counts what is read and what is written
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { WIDTH = 64, CHAINS = 24 };
#elif defined(__AVX2__)
enum { WIDTH = 32, CHAINS = 12 };
#else
enum { WIDTH = 16, CHAINS = 24 };
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

enum { STEPS = 20000 };

static double f32_peak(double seconds) {
	vec acc[CHAINS], a, b;
	memset(acc, 0, sizeof acc);
	for (int i = 0; i < WIDTH / 4; i++) a[i] = 0.5f, b[i] = 0.25f;
	double start = now(), took;
	long rounds = 0;
	do {
		for (int s = 0; s < STEPS; s++) {
#pragma GCC unroll 32
			for (int i = 0; i < CHAINS; i++) {
				acc[i] = acc[i] * a + b;
				__asm__ volatile("" : "+x"(acc[i]));
			}
		}
		rounds++;
	} while ((took = now() - start) < seconds);
	return 2.0 * (WIDTH / 4) * CHAINS * STEPS * rounds / took;
}

static double bf16_peak(double seconds) {
#if defined(__AVX512BF16__)
	__m512 acc[CHAINS];
	__m512bh a, b;
	memset(acc, 0, sizeof acc), memset(&a, 0, sizeof a), memset(&b, 0, sizeof b);
	double start = now(), took;
	long rounds = 0;
	do {
		for (int s = 0; s < STEPS; s++) {
#pragma GCC unroll 32
			for (int i = 0; i < CHAINS; i++) {
				acc[i] = _mm512_dpbf16_ps(acc[i], a, b);
				__asm__ volatile("" : "+v"(acc[i]));
			}
		}
		rounds++;
	} while ((took = now() - start) < seconds);
	return 64.0 * CHAINS * STEPS * rounds / took;
#else
	return (void)seconds, 0;
#endif
}

static double int8_peak(double seconds) {
#if defined(__AVX512VNNI__)
	__m512i acc[CHAINS], a, b;
	memset(acc, 0, sizeof acc), memset(&a, 0, sizeof a), memset(&b, 0, sizeof b);
	double start = now(), took;
	long rounds = 0;
	do {
		for (int s = 0; s < STEPS; s++) {
#pragma GCC unroll 32
			for (int i = 0; i < CHAINS; i++) {
				acc[i] = _mm512_dpbusd_epi32(acc[i], a, b);
				__asm__ volatile("" : "+v"(acc[i]));
			}
		}
		rounds++;
	} while ((took = now() - start) < seconds);
	return 128.0 * CHAINS * STEPS * rounds / took;
#else
	return (void)seconds, 0;
#endif
}

static double read_rate(struct job *j) {
	vec sum[8];
	memset(sum, 0, sizeof sum);
	const vec *p = (const vec *)j->from;
	size_t count = j->bytes / WIDTH / 8 * 8;
	double start = now(), took;
	double passes = 0;
	do {
		for (size_t i = 0; i < count; i += 8)
#pragma GCC unroll 8
			for (int k = 0; k < 8; k++) sum[k] += p[i + k];
		__asm__ volatile("" ::: "memory");
		for (int k = 0; k < 8; k++) __asm__ volatile("" : "+x"(sum[k]));
		passes++;
	} while ((took = now() - start) < j->seconds);
	return passes * count * WIDTH / took;
}

static double copy_rate(struct job *j) {
	const vec *p = (const vec *)j->from;
	vec *q = (vec *)j->to;
	size_t count = j->bytes / 2 / WIDTH;
	double start = now(), took;
	double passes = 0;
	do {
		for (size_t i = 0; i < count; i++) {
			q[i] = p[i];
			__asm__ volatile("" ::: "memory");  // or it becomes memcpy, whose stores may pass by the cache
		}
		passes++;
	} while ((took = now() - start) < j->seconds);
	return 2 * passes * count * WIDTH / took;
}

static void *work(void *p) {
	struct job *j = p;
	if (!strcmp(j->what, "f32")) j->rate = f32_peak(j->seconds);
	else if (!strcmp(j->what, "bf16")) j->rate = bf16_peak(j->seconds);
	else if (!strcmp(j->what, "int8")) j->rate = int8_peak(j->seconds);
	else if (!strcmp(j->what, "read")) j->rate = read_rate(j);
	else j->rate = copy_rate(j);
	return NULL;
}

// fill gives a job its part of the memory, and touches it so that it is really there.
static int fill(struct job *j, size_t bytes) {
	j->bytes = bytes < 8 * WIDTH * 2 ? 8 * WIDTH * 2 : bytes;
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
