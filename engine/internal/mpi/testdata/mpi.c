// Stands in for an MPI library of one process, with the handles of MPICH. Like MPICH's since 4.2 it tells
// mpiexec that the process is done when C's exit handlers run, if MPI has ended before.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { world = 0x44000000, bytes = 0x4c00010d, null = 0x2c000000, begun = 0x6c000001 };

static pthread_t thread;
static int ended;

static void at_exit(void) {
	if (ended)
		puts("mpiexec is told");
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided) {
	thread = pthread_self();
	*provided = wanted;
	return wanted != 1 || atexit(at_exit);
}

int MPI_Comm_rank(int comm, int *rank) {
	*rank = 0;
	return comm != world;
}

int MPI_Comm_size(int comm, int *size) {
	*size = 1;
	return comm != world;
}

// What has begun is done after 40 ms. A process that has computed for half of them has waited without pauses.
static struct {
	const void *src;
	void *dst;
	int n, running;
	double began, computed;
} pending;

static double now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int MPI_Iallgather(const void *src, int n, int type, void *dst, int m, int other, int comm, int *request) {
	if (pending.running || n != m || type != bytes || other != bytes || comm != world || !pthread_equal(thread, pthread_self()))
		return 1;
	pending.src = src, pending.dst = dst, pending.n = n, pending.running = 1;
	pending.began = now(CLOCK_MONOTONIC), pending.computed = now(CLOCK_THREAD_CPUTIME_ID);
	*request = begun;
	return 0;
}

int MPI_Ialltoall(const void *src, int n, int type, void *dst, int m, int other, int comm, int *request) {
	return MPI_Iallgather(src, n, type, dst, m, other, comm, request);
}

int MPI_Test(int *request, int *done, int status[5]) {
	if (*request != begun || !pthread_equal(thread, pthread_self()))
		return 1;
	if (now(CLOCK_MONOTONIC) < pending.began + 0.04)
		return *done = 0;
	memcpy(pending.dst, pending.src, pending.n);
	memset(status, 0, 5 * sizeof *status);
	*done = 1, *request = null, pending.running = 0;
	return now(CLOCK_THREAD_CPUTIME_ID) > pending.computed + 0.02 ? 2 : 0;
}

int MPI_Finalize(void) {
	ended = pthread_equal(thread, pthread_self());
	return !ended;
}
