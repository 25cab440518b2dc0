// Stands in for an MPI library of one process, with the handles of MPICH. Like MPICH's since 4.2 it tells
// mpiexec that the process is done when C's exit handlers run, if MPI has ended before.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { world = 0x44000000, bytes = 0x4c00010d };

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

int MPI_Allgather(const void *src, int n, int type, void *dst, int m, int other, int comm) {
	memcpy(dst, src, n);
	return n != m || type != bytes || other != bytes || comm != world || !pthread_equal(thread, pthread_self());
}

int MPI_Alltoall(const void *src, int n, int type, void *dst, int m, int other, int comm) {
	return MPI_Allgather(src, n, type, dst, m, other, comm);
}

int MPI_Finalize(void) {
	ended = pthread_equal(thread, pthread_self());
	return !ended;
}
