// A stand-in for NCCL, for two devices of the stand-in for libcuda, which is compiled with it. It moves the bytes when a
// group ends. A group whose partner does not come holds its device until it is aborted. Handles are never given back to
// malloc.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, SYSTEM = 2, INVALID = 4, RANKS = 2, MOST = 8 };

int stub_begin(const char *name);
int stub_memory(uint64_t p, size_t n);
int stub_idle(void *stream);
void stub_complain(const char *function, const char *text);
void *stub_context(void);
void stub_hold(int on);

typedef struct { int live, rank, size, error; void *context; char id[128]; } communicator;
typedef struct { int sends; uint64_t p; size_t n; int peer; communicator *c; void *stream; } part;
typedef struct message { char *bytes; size_t n; struct message *next; } message;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static message *boxes[RANKS][RANKS]; // from, to
static int arrived, meetings, version = 22809, open_groups, multicast = -1;
static __thread int depth, parts;
static __thread part list[MOST];

int stub_nccl_groups(void) { return open_groups; }
int stub_nccl_multicast(void) { return multicast; }
void stub_nccl_version(int v) { version = v; }
void stub_nccl_breaks(communicator *c, int code) { c->error = code; }

#define WANT(condition) \
	if (!(condition)) return stub_complain(__func__, #condition), INVALID;
#define BEGIN(name) \
	int failed = stub_begin(#name); \
	if (failed) return failed;

// Waits for news, but no longer than a moment.
static int moment(struct timespec *until) { return pthread_cond_timedwait(&news, &lock, until) == 0; }
static struct timespec later(long milliseconds) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += milliseconds * 1000000, t.tv_sec += t.tv_nsec / 1000000000, t.tv_nsec %= 1000000000;
	return t;
}

int ncclGetVersion(int *v) { return *v = version, OK; }
const char *ncclGetErrorString(int code) { return code == SYSTEM ? "unhandled system error" : "in words"; }
const char *ncclGetLastError(void *c) { return c ? "a communicator" : "socket: it is closed"; }
int ncclGetUniqueId(char *id) {
	BEGIN(ncclGetUniqueId)
	return memset(id, 0, 128), sprintf(id, "meeting %d", ++meetings), OK;
}
int ncclCommInitRankScalable(communicator **c, int size, int rank, int n, const char *ids, void *config) {
	BEGIN(ncclCommInitRankScalable)
	WANT(size == RANKS && rank >= 0 && rank < size && n == 1 && !config && !strncmp(ids, "meeting ", 8))
	WANT(stub_context())
	const char *set = getenv("NCCL_NVLS_ENABLE");
	multicast = set ? atoi(set) : -1;
	pthread_mutex_lock(&lock);
	int meeting = arrived++ / RANKS;
	struct timespec until = later(5000);
	pthread_cond_broadcast(&news);
	while (arrived < RANKS * (meeting + 1) && moment(&until)) {}
	int come = arrived >= RANKS * (meeting + 1);
	pthread_mutex_unlock(&lock);
	if (!come) return SYSTEM;
	communicator *made = *c = calloc(1, sizeof *made);
	made->live = 1, made->rank = rank, made->size = size, made->context = stub_context();
	return memcpy(made->id, ids, 128), OK;
}
int ncclGroupStart(void) {
	BEGIN(ncclGroupStart)
	WANT(depth == 0)
	return depth++, parts = 0, __sync_add_and_fetch(&open_groups, 1), OK;
}
static int add(part p, int type) {
	WANT(depth == 1 && parts < MOST && type == 0)
	WANT(p.c && p.c->live && p.c->context == stub_context() && p.peer >= 0 && p.peer < p.c->size)
	WANT(stub_idle(p.stream) && stub_memory(p.p, p.n))
	return list[parts++] = p, OK;
}
int ncclSend(uint64_t p, size_t n, int type, int peer, communicator *c, void *stream) {
	BEGIN(ncclSend)
	return add((part){1, p, n, peer, c, stream}, type);
}
int ncclRecv(uint64_t p, size_t n, int type, int peer, communicator *c, void *stream) {
	BEGIN(ncclRecv)
	return add((part){0, p, n, peer, c, stream}, type);
}
int ncclGroupEnd(void) {
	int failed = stub_begin("ncclGroupEnd");
	WANT(depth == 1)
	depth--, __sync_sub_and_fetch(&open_groups, 1);
	if (failed) return failed;
	pthread_mutex_lock(&lock);
	for (part *q = list; q < list + parts; q++) {
		if (!q->sends) continue;
		message *m = calloc(1, sizeof *m), **last = &boxes[q->c->rank][q->peer];
		m->bytes = memcpy(malloc(q->n), (void *)q->p, q->n), m->n = q->n;
		while (*last) last = &(*last)->next;
		*last = m;
	}
	pthread_cond_broadcast(&news);
	struct timespec until = later(2000);
	for (part *q = list; q < list + parts; q++) {
		if (q->sends) continue;
		message **box = &boxes[q->peer][q->c->rank];
		while (!*box && moment(&until)) {}
		if (!*box) { // nobody comes: a kernel that does not end
			stub_hold(1);
			break;
		}
		if ((*box)->n != q->n) stub_complain(__func__, "ranks have other counts");
		else memcpy((void *)q->p, (*box)->bytes, q->n);
		*box = (*box)->next;
	}
	pthread_mutex_unlock(&lock);
	return OK;
}
int ncclCommGetAsyncError(communicator *c, int *error) {
	BEGIN(ncclCommGetAsyncError)
	WANT(c && c->live)
	return *error = c->error, OK;
}
static int end(communicator *c) {
	WANT(c && c->live && c->context == stub_context() && depth == 0)
	return c->live = 0, OK;
}
int ncclCommAbort(communicator *c) {
	BEGIN(ncclCommAbort)
	memset(boxes, 0, sizeof boxes);
	return stub_hold(0), end(c);
}
int ncclCommDestroy(communicator *c) {
	BEGIN(ncclCommDestroy)
	return end(c);
}
