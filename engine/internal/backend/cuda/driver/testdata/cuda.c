// A stand-in for libcuda: it runs everything at once, on the processor, and checks what NVIDIA's driver leaves undefined.
// Each complaint is kept; the test asks for the first. Objects are never given back to malloc, so that a use after
// their end is seen.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int R;
enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NOT_FOUND = 500, NOT_READY = 600, FAULT = 700, CAPTURING = 900 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char complaint[512];
static char calls[1 << 16]; // names of the calls since the last stub_calls
static size_t called, used, limit = 1 << 20, pooled;
static int pools = 1, peers = 1, version = 12080, hold, clock_;
static int faulted; // some kernel of the process has
static struct { const char *name; int n, code; } failing;

typedef struct { const char *kind; int live; void *ctx; } object;
typedef struct { object o; R sticky; int streams; } context;
typedef struct op { void *f; uint64_t a, b; size_t n; int value; unsigned groups, threads; uint64_t x, y; float scale; int (*work)(void *); void *data; struct op *next; } op;
typedef struct { object o; op *first, **last; int capturing; } stream;
typedef struct { object o; op *first; } graph;
typedef struct { object o; int time, recorded, untimed; } event;
typedef struct { object o; char name[64]; int shared; } function;
typedef struct memory { object o; char *p; size_t n; int host, pool; struct pool *from; struct memory *next; } memory;
typedef struct pool { object o; int reader; } pool;

static memory *memories;
static struct { context *ctx; int held; } primaries[2]; // the contexts of the devices
static __thread context *current;

static R complain(R code, const char *name, const char *text) {
	if (!complaint[0]) snprintf(complaint, sizeof complaint, "%s: %s", name, text);
	return code;
}

static void *make(size_t size, const char *kind) {
	object *o = calloc(1, size);
	o->kind = kind, o->live = 1, o->ctx = current;
	return o;
}

// A handle must be alive, of its kind and of the context that is current.
static int is(void *p, const char *kind) {
	object *o = p;
	return o && !strcmp(o->kind, kind) && o->live && (!strcmp(kind, "context") || o->ctx == current);
}

static R begin(const char *name, int needs_context) {
	if (called + strlen(name) + 2 < sizeof calls) called += sprintf(calls + called, "%s ", name);
	if (failing.name && !strcmp(failing.name, name) && failing.n-- == 0) return failing.name = NULL, failing.code;
	if (!needs_context) return OK;
	if (!is(current, "context")) return complain(201, name, "no live context is current on this thread");
	return current->sticky;
}
#define BEGIN(name, context) \
	pthread_mutex_lock(&lock); \
	__attribute__((cleanup(unlock))) int unlocked = 0; \
	(void)unlocked; \
	R r = begin(#name, context); \
	if (r) return r;
#define WANT(condition) \
	if (!(condition)) return complain(INVALID, __func__, #condition);
static void unlock(int *i) { pthread_mutex_unlock(&lock); }

// What the tests set and ask.
const char *stub_complaint(void) { return complaint; }
void stub_reset(void) {
	faulted = 0, complaint[0] = calls[0] = called = 0, hold = 0, pools = peers = 1, version = 12080, limit = 1 << 20, failing.name = NULL;
	for (memory *m = memories; m; m = m->next) m->o.live = 0;
	used = pooled = 0, primaries[0].held = primaries[1].held = 0;
}
static char answer[1 << 16];
const char *stub_calls(void) { return strcpy(answer, calls), calls[0] = called = 0, answer; }
void stub_fail(const char *name, int n, int code) { failing.name = strdup(name), failing.n = n, failing.code = code; }
void stub_hold(int on) { hold = on; }
void stub_pools(int on) { pools = on; }
void stub_peers(int on) { peers = on; }
void stub_version(int v) { version = v; }
int stub_live(void) {
	int n = 0;
	for (memory *m = memories; m; m = m->next) n += m->o.live;
	return n;
}

R cuInit(unsigned flags) { BEGIN(cuInit, 0) WANT(flags == 0) return OK; }
R cuDriverGetVersion(int *v) { BEGIN(cuDriverGetVersion, 0) *v = version; return OK; }
R cuGetErrorName(R code, const char **s) { *s = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR"; return OK; }
R cuGetErrorString(R code, const char **s) { *s = code == 999 ? NULL : "in words"; return code == 999; }
R cuDeviceGetCount(int *n) { BEGIN(cuDeviceGetCount, 0) *n = 2; return OK; }
R cuDeviceGet(int *d, int i) { BEGIN(cuDeviceGet, 0) WANT(i >= 0 && i < 2) *d = 10 + i; return OK; }
R cuDeviceGetName(char *s, int n, int d) { BEGIN(cuDeviceGetName, 0) WANT(d == 10 || d == 11) snprintf(s, n, "NVIDIA Stub %d", d - 10); return OK; }
R cuDeviceTotalMem_v2(size_t *n, int d) { BEGIN(cuDeviceTotalMem_v2, 0) WANT(d == 10 || d == 11) *n = limit; return OK; }
R cuDeviceGetAttribute(int *v, int a, int d) {
	BEGIN(cuDeviceGetAttribute, 0)
	WANT(d == 10 || d == 11)
	switch (a) {
	case 1: *v = 1024; break;
	case 5: *v = 2147483647; break;
	case 6: case 7: *v = 65535; break;
	case 10: *v = 32; break;
	case 16: *v = 132; break;
	case 75: *v = 9; break;
	case 76: *v = 0; break;
	case 97: *v = 232448; break;
	case 102: case 103: *v = 1; break;
	case 115: *v = pools; break;
	default: return complain(INVALID, __func__, "an attribute that the stub does not know");
	}
	return OK;
}

R cuDevicePrimaryCtxRetain(void **c, int d) {
	BEGIN(cuDevicePrimaryCtxRetain, 0)
	WANT(d == 10 || d == 11)
	if (faulted) return FAULT; // as NVIDIA's: no context after a fault, until the process ends
	if (primaries[d - 10].held++ == 0) primaries[d - 10].ctx = make(sizeof(context), "context");
	*c = primaries[d - 10].ctx;
	return OK;
}
R cuDevicePrimaryCtxRelease_v2(int d) {
	BEGIN(cuDevicePrimaryCtxRelease_v2, 0)
	WANT((d == 10 || d == 11) && primaries[d - 10].held > 0)
	context *c = primaries[d - 10].ctx;
	if (--primaries[d - 10].held > 0) return OK;
	for (memory *m = memories; m; m = m->next)
		if (m->o.ctx == c && m->o.live) m->o.live = 0, used -= m->host ? 0 : m->n;
	c->o.live = 0;
	return OK;
}
R cuCtxSetCurrent(void *c) { BEGIN(cuCtxSetCurrent, 0) WANT(is(c, "context")) current = c; return OK; }

static R take(uint64_t *p, size_t n, int host, int pool) {
	if (n == 0) return INVALID;
	if (!host && n > limit - used) return NO_MEMORY;
	memory *m = make(sizeof *m, "memory");
	if (posix_memalign((void **)&m->p, 256, n)) return NO_MEMORY;
	memset(m->p, 0xA5, n);
	m->n = n, m->host = host, m->pool = pool, m->next = memories, memories = m, *p = (uint64_t)m->p;
	if (!host) used += n;
	return OK;
}
static memory *find(uint64_t p, size_t n) {
	for (memory *m = memories; m; m = m->next)
		if (m->o.live && m->o.ctx == current && p >= (uint64_t)m->p && p + n <= (uint64_t)m->p + m->n) return m;
	return NULL;
}
static R give(uint64_t p, int host, int pool, const char *name) {
	memory *m = find(p, 1);
	if (!m || (uint64_t)m->p != p) return complain(INVALID, name, "memory that was freed, or was not allocated");
	if (m->host != host || m->pool != pool) return complain(INVALID, name, "memory of another allocator");
	m->o.live = 0;
	memset(m->p, 0x5A, m->n);
	if (!host) used -= m->n;
	return OK;
}

R cuMemGetInfo_v2(size_t *f, size_t *t) { BEGIN(cuMemGetInfo_v2, 1) *f = limit - used, *t = limit; return OK; }
R cuMemAlloc_v2(uint64_t *p, size_t n) { BEGIN(cuMemAlloc_v2, 1) return take(p, n, 0, 0); }
R cuMemFree_v2(uint64_t p) { BEGIN(cuMemFree_v2, 1) return give(p, 0, 0, __func__); }
R cuMemHostAlloc(uint64_t *p, size_t n, unsigned flags) { BEGIN(cuMemHostAlloc, 1) WANT(flags == 3) return take(p, n, 1, 0); }
R cuMemFreeHost(uint64_t p) { BEGIN(cuMemFreeHost, 1) return give(p, 1, 0, __func__); }
R cuMemHostGetDevicePointer_v2(uint64_t *d, uint64_t p, unsigned flags) {
	BEGIN(cuMemHostGetDevicePointer_v2, 1)
	WANT(flags == 0 && find(p, 1) && find(p, 1)->host)
	*d = p;
	return OK;
}

typedef struct { int allocation, handles, kind, id; void *security; size_t most; uint16_t usage; unsigned char zero[54]; } properties;
R cuMemPoolCreate(void **p, properties *q) {
	BEGIN(cuMemPoolCreate, 1)
	WANT(sizeof *q == 88 && q->allocation == 1 && q->handles == 0 && q->kind == 1 && q->id >= 10 && q->id < 12)
	WANT(q->security == NULL && q->most == 0)
	for (int i = 0; i < 54; i++) WANT(q->zero[i] == 0)
	*p = make(sizeof(pool), "pool");
	return OK;
}
R cuMemPoolDestroy(void *p) { BEGIN(cuMemPoolDestroy, 1) WANT(is(p, "pool")) ((object *)p)->live = 0; return OK; }
R cuMemPoolSetAttribute(void *p, int a, void *v) {
	BEGIN(cuMemPoolSetAttribute, 1)
	WANT(is(p, "pool") && ((a == 4 && *(uint64_t *)v == ~0ull) || (a == 3 && *(int *)v == 0)))
	return OK;
}
R cuMemPoolGetAttribute(void *p, int a, uint64_t *v) {
	BEGIN(cuMemPoolGetAttribute, 1)
	WANT(is(p, "pool") && (a == 5 || a == 7))
	*v = a == 5 ? pooled + 4096 : pooled;
	return OK;
}
R cuMemPoolTrimTo(void *p, size_t n) { BEGIN(cuMemPoolTrimTo, 1) WANT(is(p, "pool") && n == 0) return OK; }
typedef struct { int kind, id, flags; } reader;
R cuMemPoolSetAccess(pool *p, reader *a, size_t n) {
	BEGIN(cuMemPoolSetAccess, 1)
	WANT(is(p, "pool") && n == 1 && a->kind == 1 && a->id >= 10 && a->id < 12 && a->flags == 3)
	p->reader = a->id;
	return OK;
}
R cuDeviceCanAccessPeer(int *can, int d, int of) {
	BEGIN(cuDeviceCanAccessPeer, 0)
	WANT(d != of && d >= 10 && d < 12 && of >= 10 && of < 12)
	*can = peers;
	return OK;
}
R cuMemAllocFromPoolAsync(uint64_t *p, size_t n, pool *from, stream *s) {
	BEGIN(cuMemAllocFromPoolAsync, 1)
	WANT(is(from, "pool") && is(s, "stream") && !s->capturing)
	r = take(p, n, 0, 1);
	if (r == OK) memories->from = from;
	return r;
}
R cuMemFreeAsync(uint64_t p, stream *s) {
	BEGIN(cuMemFreeAsync, 1)
	WANT(is(s, "stream") && !s->capturing)
	return give(p, 0, 1, __func__);
}

// Memory apart from addresses: a handle is a file in memory.
typedef struct { int type, handles, location, device; void *none; char rest[8]; } part_properties;
typedef struct { object o; int fd; size_t n; } part;
enum { GRAIN = 4096 };
static int parts_live, mapped_live;
static int is_part(const part_properties *q) { return q->type == 1 && q->handles == 1 && q->location == 1 && q->device >= 10 && q->device < 12 && !q->none; }
static part *new_part(int fd, size_t n) {
	part *h = make(sizeof *h, "part");
	h->fd = fd, h->n = n, parts_live++;
	return h;
}
R cuMemGetAllocationGranularity(size_t *n, part_properties *q, int option) {
	BEGIN(cuMemGetAllocationGranularity, 1)
	WANT(is_part(q) && option == 0)
	*n = GRAIN;
	return OK;
}
R cuMemCreate(part **h, size_t n, part_properties *q, uint64_t flags) {
	BEGIN(cuMemCreate, 1)
	WANT(is_part(q) && n && n % GRAIN == 0 && flags == 0)
	int fd = memfd_create("part", 0);
	if (fd < 0 || ftruncate(fd, n)) return NO_MEMORY;
	*h = new_part(fd, n);
	return OK;
}
R cuMemRelease(part *h) {
	BEGIN(cuMemRelease, 1)
	WANT(is(h, "part"))
	h->o.live = 0, parts_live--, close(h->fd);
	return OK;
}
R cuMemExportToShareableHandle(int *fd, part *h, int kind, uint64_t flags) {
	BEGIN(cuMemExportToShareableHandle, 1)
	WANT(is(h, "part") && kind == 1 && flags == 0)
	*fd = dup(h->fd);
	return OK;
}
R cuMemImportFromShareableHandle(part **h, void *fd, int kind) {
	BEGIN(cuMemImportFromShareableHandle, 1)
	off_t n = lseek((int)(size_t)fd, 0, SEEK_END);
	WANT(n > 0 && kind == 1)
	*h = new_part(dup((int)(size_t)fd), n);
	return OK;
}
R cuMemAddressReserve(uint64_t *p, size_t n, size_t align, uint64_t at, uint64_t flags) {
	BEGIN(cuMemAddressReserve, 1)
	WANT(n && n % GRAIN == 0 && align == 0 && at == 0 && flags == 0)
	*p = (uint64_t)mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return OK;
}
R cuMemAddressFree(uint64_t p, size_t n) {
	BEGIN(cuMemAddressFree, 1)
	for (memory *m = memories; m; m = m->next)
		if ((uint64_t)m->p == p && m->n == n) m->o.live = 0;
	munmap((void *)p, n);
	return OK;
}
R cuMemMap(uint64_t p, size_t n, size_t offset, part *h, uint64_t flags) {
	BEGIN(cuMemMap, 1)
	WANT(is(h, "part") && n == h->n && offset == 0 && flags == 0)
	mapped_live++;
	return mmap((void *)p, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, h->fd, 0) == (void *)p ? OK : INVALID;
}
R cuMemUnmap(uint64_t p, size_t n) { BEGIN(cuMemUnmap, 1) mapped_live--; return OK; }
R cuMemSetAccess(uint64_t p, size_t n, reader *a, size_t count) {
	BEGIN(cuMemSetAccess, 1)
	WANT(count == 1 && a->kind == 1 && a->id >= 10 && a->id < 12 && a->flags == 3)
	memory *m = make(sizeof *m, "memory");
	m->p = (char *)p, m->n = n, m->next = memories, memories = m;
	return OK;
}
int stub_parts(void) { return parts_live + mapped_live; }

R cuModuleLoadDataEx(void **m, const char *image, unsigned n, int *options, void **values) {
	BEGIN(cuModuleLoadDataEx, 1)
	WANT(n == 2 && options[0] == 5 && options[1] == 6 && (size_t)values[1] == 8192)
	if (!strstr(image, ".entry axpy")) return strcpy(values[0], "ptxas application ptx input, line 7; fatal : Parsing error near 'axp'"), 218;
	*m = make(sizeof(object), "module");
	return OK;
}
R cuModuleUnload(void *m) { BEGIN(cuModuleUnload, 1) WANT(is(m, "module")) ((object *)m)->live = 0; return OK; }
R cuModuleGetFunction(void **f, void *m, const char *name) {
	BEGIN(cuModuleGetFunction, 1)
	WANT(is(m, "module"))
	if (strcmp(name, "axpy") && strcmp(name, "fault")) return NOT_FOUND;
	function *g = make(sizeof *g, "function");
	strcpy(g->name, name);
	*f = g;
	return OK;
}
R cuFuncGetAttribute(int *v, int a, void *f) {
	BEGIN(cuFuncGetAttribute, 1)
	WANT(is(f, "function"))
	*v = a == 0 ? 512 : a == 1 ? 1024 : a == 3 ? 0 : a == 4 ? 24 : -1;
	WANT(*v >= 0)
	return OK;
}
R cuFuncSetAttribute(function *f, int a, int v) {
	BEGIN(cuFuncSetAttribute, 1)
	WANT(is(f, "function") && a == 8 && v == 232448 - 1024)
	f->shared = v;
	return OK;
}
R cuFuncGetParamInfo(void *f, size_t i, size_t *offset, size_t *size) {
	BEGIN(cuFuncGetParamInfo, 1)
	WANT(is(f, "function"))
	if (i > 2) return INVALID;
	*offset = 8 * i, *size = i < 2 ? 8 : 4;
	return OK;
}

R cuStreamCreate(void **s, unsigned flags) { BEGIN(cuStreamCreate, 1) WANT(flags == 1) *s = make(sizeof(stream), "stream"); return OK; }
R cuStreamDestroy_v2(stream *s) { BEGIN(cuStreamDestroy_v2, 1) WANT(is(s, "stream") && !s->capturing) s->o.live = 0; return OK; }
R cuStreamQuery(stream *s) { BEGIN(cuStreamQuery, 1) WANT(is(s, "stream") && !s->capturing) return hold ? NOT_READY : OK; }
R cuStreamSynchronize(stream *s) { BEGIN(cuStreamSynchronize, 1) WANT(is(s, "stream") && !s->capturing && !hold) return OK; }
R cuStreamWaitEvent(stream *s, event *e, unsigned flags) {
	BEGIN(cuStreamWaitEvent, 1)
	WANT(is(s, "stream") && is(e, "event") && flags == 0 && e->recorded)
	return OK;
}

static R run(op *o) {
	clock_ += 3;
	if (o->work) return o->work(o->data);
	if (o->f) {
		for (size_t i = 0; i < (size_t)o->groups * o->threads; i++) {
			if (!find(o->x + 4 * i, 4) || !find(o->y + 4 * i, 4)) return faulted = 1, current->sticky = FAULT;
			((float *)o->y)[i] += o->scale * ((float *)o->x)[i];
		}
		if (!strcmp(((function *)o->f)->name, "fault")) return faulted = 1, current->sticky = FAULT;
		return OK;
	}
	if (!find(o->a, o->n) || (o->b && !find(o->b, o->n))) return faulted = 1, current->sticky = FAULT;
	if (o->b)
		memcpy((void *)o->a, (void *)o->b, o->n);
	else
		memset((void *)o->a, o->value, o->n);
	return OK;
}
static R put(stream *s, op o) {
	if (!s->capturing) return run(&o), OK; // a fault is found later
	op *copy = malloc(sizeof o);
	*copy = o, copy->next = NULL, *s->last = copy, s->last = &copy->next;
	return OK;
}

R cuMemcpyAsync(uint64_t d, uint64_t p, size_t n, stream *s) {
	BEGIN(cuMemcpyAsync, 1)
	WANT(is(s, "stream") && find(d, n) && find(p, n))
	return put(s, (op){.a = d, .b = p, .n = n});
}
R cuMemcpyPeerAsync(uint64_t d, context *to, uint64_t p, context *of, size_t n, stream *s) {
	BEGIN(cuMemcpyPeerAsync, 1)
	WANT(to == current && of != current && is(of, "context") && is(s, "stream") && !s->capturing && find(d, n))
	current = of;
	memory *m = find(p, n);
	current = to;
	WANT(m && (!m->pool || m->from->reader))
	memcpy((void *)d, (void *)p, n);
	return OK;
}
R cuMemsetD8Async(uint64_t d, unsigned char v, size_t n, stream *s) {
	BEGIN(cuMemsetD8Async, 1)
	WANT(is(s, "stream") && find(d, n))
	return put(s, (op){.a = d, .n = n, .value = v});
}
R cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                 stream *s, void **params, void **extra) {
	BEGIN(cuLaunchKernel, 1)
	WANT(is(f, "function") && is(s, "stream") && extra == NULL && params != NULL)
	WANT(gx && gy == 1 && gz == 1 && bx && by == 1 && bz == 1 && bx <= 512 && (int)shared <= f->shared)
	return put(s, (op){.f = f, .groups = gx, .threads = bx, .x = *(uint64_t *)params[0], .y = *(uint64_t *)params[1], .scale = *(float *)params[2]});
}

typedef struct { unsigned grid[3], block[3], shared; stream *s; struct { int id, pad, value, rest[15]; } *attrs; unsigned n; } config;
R cuLaunchKernelEx(config *c, function *f, void **params, void **extra) {
	BEGIN(cuLaunchKernelEx, 1)
	WANT(c && c->n == 1 && c->attrs->id == 6 && c->attrs->value == 1 && is(f, "function") && is(c->s, "stream") && extra == NULL && params != NULL)
	unsigned *g = c->grid, *b = c->block;
	WANT(g[0] && g[1] == 1 && g[2] == 1 && b[0] && b[1] == 1 && b[2] == 1 && b[0] <= 512 && (int)c->shared <= f->shared)
	return put(c->s, (op){.f = f, .groups = g[0], .threads = b[0], .x = *(uint64_t *)params[0], .y = *(uint64_t *)params[1], .scale = *(float *)params[2]});
}

// What a stand-in for another library needs: work for a stream, and the checks of this one.
R stub_enqueue(stream *s, R (*work)(void *), void *data) {
	BEGIN(stub_enqueue, 1)
	WANT(is(s, "stream"))
	return put(s, (op){.work = work, .data = data});
}
int stub_memory(uint64_t p, size_t n) { return find(p, n) != NULL; }
void stub_complain(const char *function, const char *text) { complain(INVALID, function, text); }
void *stub_context(void) { return is(current, "context") ? current : NULL; }
R stub_begin(const char *name) {
	BEGIN(stub_begin, 1)
	return begin(name, 1);
}
int stub_idle(stream *s) { return is(s, "stream") && !s->capturing; }

R cuStreamBeginCapture_v2(stream *s, int mode) {
	BEGIN(cuStreamBeginCapture_v2, 1)
	WANT(is(s, "stream") && !s->capturing && mode == 2)
	s->capturing = 1, s->first = NULL, s->last = &s->first;
	return OK;
}
R cuStreamEndCapture(stream *s, void **g) {
	int was = s->capturing;
	s->capturing = 0; // even when it fails
	BEGIN(cuStreamEndCapture, 1)
	WANT(is(s, "stream") && was)
	graph *h = make(sizeof *h, "graph");
	h->first = s->first, *g = h;
	return OK;
}
R cuGraphGetNodes(graph *g, op **nodes, size_t *n) {
	BEGIN(cuGraphGetNodes, 1)
	WANT(is(g, "graph"))
	*n = 0;
	for (op *o = g->first; o; o = o->next, ++*n)
		if (nodes) nodes[*n] = o;
	return OK;
}
R cuGraphNodeGetType(op *o, int *type) { BEGIN(cuGraphNodeGetType, 1) *type = o->f ? 0 : 1; return OK; }
typedef struct { void *f; unsigned groups[3], threads[3], shared; void **params, **extra; } node;
R cuGraphKernelNodeGetParams(op *o, node *p) {
	BEGIN(cuGraphKernelNodeGetParams, 1)
	WANT(o->f)
	void **params = malloc(3 * sizeof(void *));
	params[0] = &o->x, params[1] = &o->y, params[2] = &o->scale;
	*p = (node){.f = o->f, .groups = {o->groups, 1, 1}, .threads = {o->threads, 1, 1}, .params = params};
	return OK;
}
R cuGraphExecKernelNodeSetParams(graph *g, op *o, node *p) {
	BEGIN(cuGraphExecKernelNodeSetParams, 1)
	WANT(is(g, "exec") && p->f == o->f && p->groups[0] == o->groups && p->threads[0] == o->threads)
	o->x = *(uint64_t *)p->params[0], o->y = *(uint64_t *)p->params[1], o->scale = *(float *)p->params[2];
	return OK;
}
R cuGraphInstantiateWithFlags(void **e, graph *g, unsigned long long flags) {
	BEGIN(cuGraphInstantiateWithFlags, 1)
	WANT(is(g, "graph") && flags == 0)
	graph *h = make(sizeof *h, "exec");
	h->first = g->first, *e = h;
	return OK;
}
R cuGraphLaunch(graph *g, stream *s) {
	BEGIN(cuGraphLaunch, 1)
	WANT(is(g, "exec") && is(s, "stream") && !s->capturing)
	for (op *o = g->first; o; o = o->next) run(o);
	return OK;
}
R cuGraphExecDestroy(graph *g) { BEGIN(cuGraphExecDestroy, 1) WANT(is(g, "exec")) g->o.live = 0; return OK; }
R cuGraphDestroy(graph *g) { BEGIN(cuGraphDestroy, 1) WANT(is(g, "graph")) g->o.live = 0; return OK; }

R cuEventCreate(void **e, unsigned flags) { BEGIN(cuEventCreate, 1) WANT(flags == 0 || flags == 2) *e = make(sizeof(event), "event"); (*(event **)e)->untimed = flags == 2; return OK; }
R cuEventDestroy_v2(event *e) { BEGIN(cuEventDestroy_v2, 1) WANT(is(e, "event")) e->o.live = 0; return OK; }
void stub_tick(int n) { clock_ += n; } // work takes time
R cuEventRecord(event *e, stream *s) {
	BEGIN(cuEventRecord, 1)
	WANT(is(e, "event") && is(s, "stream") && !s->capturing)
	e->time = ++clock_, e->recorded = 1;
	return OK;
}
R cuEventQuery(event *e) { BEGIN(cuEventQuery, 1) WANT(is(e, "event") && e->recorded) return hold ? NOT_READY : OK; }
R cuEventElapsedTime(float *ms, event *a, event *b) {
	BEGIN(cuEventElapsedTime, 1)
	WANT(is(a, "event") && is(b, "event") && a->recorded && b->recorded && !a->untimed && !b->untimed)
	*ms = (b->time - a->time) / 1000.f;
	return OK;
}
