// A stand-in for Objective-C and Metal on linux/arm64: a message finds its method by class and name, with all registers as
// they were sent, and the method is a C function with the signature of Apple's documentation. It checks owners, pools,
// threads and the states of encoders and command buffers, and runs the one kernel that it has, on the processor.
//
// Dispatches between two barriers run in reverse order, so that a missing barrier is seen. Objects are never freed, so
// that a message to a dead one is seen.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct object object;
typedef const char *SEL;
typedef uint64_t u64;
typedef struct { u64 x, y, z; } size3;
typedef struct { u64 location, length; } range;

typedef struct op {
	int kind; // 0 dispatch, 1 barrier, 2 copy, 3 fill, 4 wait for an event, 5 signal, 6 read the clock, 7 a product of MPS
	object *a, *b, *pipeline, *buffers[31];
	u64 offsets[31], i, j, n, groups, threads, shared;
	unsigned char bytes[31][64];
	struct op *next;
} op;

struct object {
	const char *kind;
	long refs;
	int is_class;
	object *parent; // of an encoder its command buffer, of that its queue …
	char text[4096];
	object *items[64];
	u64 n, value, code;
	int state;
	double start, end;
	op *first, **last;
	object *error;
	char *memory;
	object *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static object *all;
static char complaint[512], answer[1 << 16], sent[1 << 16];
static size_t sent_;
static int hold, residency = 1, mathmode = 1, macos = 15, family = 1009, clocks = 1, next_error;
static struct { const char *name; int n; } failing;
static u64 allocated, memory = 1 << 20;
static double now = 1;
static object *device_, *capture_;

static void complain(const char *where, const char *text) {
	if (!complaint[0]) snprintf(complaint, sizeof complaint, "%s: %s", where, text);
}
#define WANT(condition) \
	do { \
		if (!(condition)) { complain(name, #condition); return 0; } \
	} while (0)

static object *make(const char *kind) {
	object *o = calloc(1, sizeof *o);
	pthread_mutex_lock(&lock);
	o->kind = kind, o->refs = 1, o->last = &o->first, o->next = all, all = o;
	pthread_mutex_unlock(&lock);
	return o;
}
static int is(object *o, const char *kind) { return o && o->refs > 0 && !strcmp(o->kind, kind); }
static object *owned(object *o) { return o ? (__atomic_add_fetch(&o->refs, 1, __ATOMIC_SEQ_CST), o) : NULL; }
static void drop(object *o) {
	if (!o) return;
	long refs = __atomic_sub_fetch(&o->refs, 1, __ATOMIC_SEQ_CST);
	if (refs < 0) complain(o->kind, "released too often");
	if (refs) return;
	if (!strcmp(o->kind, "NSArray"))
		for (u64 i = 0; i < o->n; i++) drop(o->items[i]);
	if (!strcmp(o->kind, "MPSMatrix")) drop(o->items[0]);
	if (!strcmp(o->kind, "MTLHeap")) allocated -= o->n;
	if (!strcmp(o->kind, "MTLBuffer")) {
		memset(o->memory, 0x5A, o->n);
		if (o->parent) o->parent->value -= o->n, drop(o->parent);
		else allocated -= o->n;
	}
	if (!strcmp(o->kind, "MTLCommandBuffer") && o->state < 2 && o->first) complain(o->kind, "dropped with work that was not committed");
}

// Pools, by thread.
static __thread object *pool[4096];
static __thread int pooled, pools;
void *objc_autoreleasePoolPush(void) { return pools++, (void *)(intptr_t)(pooled + 1); }
void objc_autoreleasePoolPop(void *p) {
	int to = (intptr_t)p - 1;
	if (pools-- == 0 || to > pooled) complain("pool", "popped on another thread");
	while (pooled > to) drop(pool[--pooled]);
}
static object *autorelease(object *o) {
	if (!pools) complain(o->kind, "autoreleased without a pool");
	else pool[pooled++] = o;
	return o;
}
static object *string(const char *s) { object *o = make("NSString"); snprintf(o->text, sizeof o->text, "%s", s); return autorelease(o); }
static object *error(const char *domain, int code, const char *text) {
	object *o = make("NSError");
	snprintf(o->text, sizeof o->text, "%s", text);
	o->code = code, o->items[0] = owned(string(domain));
	return o;
}

// NSObject and Foundation.
static object *m_retain(object *o, SEL name) { return owned(o); }
static u64 m_release(object *o, SEL name) { return drop(o), 0; }
static object *m_new(object *c, SEL name) { WANT(c->is_class); return make(c->kind); }
static object *m_string(object *c, SEL name, const char *s) { WANT(c->is_class); return string(s); }
static const char *m_utf8(object *o, SEL name) { return o->text; }
static object *m_domain(object *o, SEL name) { return o->items[0]; }
static u64 m_code(object *o, SEL name) { return o->code; }
static object *m_described(object *o, SEL name) { return string(o->text); }
static object *m_url(object *c, SEL name, object *path) { WANT(is(path, "NSString")); object *o = make("NSURL"); strcpy(o->text, path->text); return autorelease(o); }
static object *m_array(object *c, SEL name, object *item) { object *o = make("NSArray"); o->n = 1, o->items[0] = owned(item); return autorelease(o); }
static u64 m_count(object *o, SEL name) { return o->n; }
static object *m_at(object *o, SEL name, u64 i) { WANT(i < o->n); return o->items[i]; }
static object *m_process(object *c, SEL name) { return autorelease(make("NSProcessInfo")); }
static object *m_version(object *o, SEL name) { return string("Versione 15.3 (stub)"); } // Italian
static u64 m_atleast(object *o, SEL name, size3 *version) { return 0x7700 | (macos >= version->x); }

// The device.
static object *the_device(void) {
	if (!device_) device_ = make("MTLDevice");
	return device_;
}
object *MTLCopyAllDevices(void) { object *o = make("NSArray"); o->n = 1, o->items[0] = owned(the_device()); return o; }
static object *m_name(object *o, SEL name) { return string("Apple Stub"); }
static u64 m_working(object *o, SEL name) { return memory; }
static u64 m_maxbuffer(object *o, SEL name) { return memory / 2; }
static u64 m_true(object *o, SEL name) { return 0x7700 | 1; } // of a BOOL only the lowest byte counts
static u64 m_family(object *o, SEL name, u64 f) { return 0x7700 | (f <= family); }
static u64 m_threadgroup(object *o, SEL name) { return 32768; }
static u64 m_allocated(object *o, SEL name) { return allocated; }
static object *m_newbuffer(object *o, SEL name, u64 n, u64 options) {
	WANT(options == 0x100 && n > 0);
	if (allocated + n > memory) return NULL;
	object *b = make("MTLBuffer");
	if (posix_memalign((void **)&b->memory, 4096, n)) return NULL;
	memset(b->memory, 0xA5, n), b->n = n, allocated += n;
	return b;
}
static void *m_contents(object *o, SEL name) { return o->memory; }
static u64 m_setsize(object *o, SEL name, u64 n) { WANT(n > 0); return o->n = n, 0; }
static u64 m_setstorage(object *o, SEL name, u64 mode) { WANT(mode == 0); return o->state |= 1, 0; }
static u64 m_settracking(object *o, SEL name, u64 mode) { WANT(mode == 1); return o->state |= 2, 0; }
static object *m_newheap(object *o, SEL name, object *d) {
	WANT(is(d, "MTLHeapDescriptor") && d->state == 3 && d->n > 0);
	if (allocated + d->n > memory) return NULL;
	object *h = make("MTLHeap");
	h->n = d->n, allocated += h->n;
	return h;
}
// A part of a heap begins at a multiple of 256 bytes.
static object *m_part(object *h, SEL name, u64 n, u64 options) {
	WANT(options == 0x100 && n > 0);
	n = (n + 255) / 256 * 256;
	if (h->value + n > h->n) return NULL;
	object *b = make("MTLBuffer");
	if (posix_memalign((void **)&b->memory, 4096, n)) return NULL;
	memset(b->memory, 0xA5, n), b->n = n, b->parent = owned(h), h->value += n;
	return b;
}
static object *m_newset(object *o, SEL name, object *d, object **e) { WANT(is(d, "MTLResidencySetDescriptor")); return make("MTLResidencySet"); }
static u64 m_add(object *o, SEL name, object *b) { WANT((is(b, "MTLBuffer") && !b->parent) || is(b, "MTLHeap")); return o->n++, o->state = 1, 0; }
static u64 m_remove(object *o, SEL name, object *b) { WANT((is(b, "MTLBuffer") || is(b, "MTLHeap")) && o->n > 0); return o->n--, o->state = 1, 0; }
static u64 m_setcommit(object *o, SEL name) { return o->state = 0; }
static u64 m_queueset(object *o, SEL name, object *set) { WANT(is(set, "MTLResidencySet")); return o->items[0] = set, 0; }
static object *m_newqueue(object *o, SEL name, u64 n) { WANT(n == 1024); return make("MTLCommandQueue"); }
static object *m_newfence(object *o, SEL name) { return make("MTLFence"); }
static object *m_newevent(object *o, SEL name) { return make("MTLSharedEvent"); }

// Libraries and pipelines.
static u64 m_mathmode(object *o, SEL name, u64 mode) { WANT(mode == 0 || mode == 2); return o->value = mode, 0; }
static u64 m_fastmath(object *o, SEL name, u64 fast) { WANT(fast < 2); return 0; }
static object *m_library(object *o, SEL name, object *text, object *options, object **e) {
	WANT(is(text, "NSString") && is(options, "MTLCompileOptions"));
	snprintf(answer, sizeof answer, "%s", text->text);
	if (strstr(text->text, "#error")) return *e = autorelease(error("MTLLibraryErrorDomain", 3, "row.metal:7:2: error: no such thing")), NULL;
	return make("MTLLibrary");
}
static object *m_data(object *o, SEL name, object *data, object **e) {
	WANT(is(data, "dispatch_data"));
	if (strcmp(data->text, "MTLB")) return *e = autorelease(error("MTLLibraryErrorDomain", 1, "Invalid library file")), NULL;
	return make("MTLLibrary");
}
object *dispatch_data_create(const char *p, u64 n, void *queue, void *destructor) {
	const char *name = "dispatch_data_create";
	WANT(p && n < 4096 && !queue && !destructor);
	object *o = make("dispatch_data");
	memcpy(o->text, p, n);
	return o;
}
static object *m_function(object *o, SEL name, object *s) {
	WANT(is(s, "NSString"));
	if (strcmp(s->text, "axpy") && strcmp(s->text, "copy_bytes") && strcmp(s->text, "fill_bytes")) return NULL;
	object *f = make("MTLFunction");
	strcpy(f->text, s->text);
	return f;
}
static u64 m_constant(object *o, SEL name, uint32_t *value, u64 type, u64 index) {
	char s[64];
	snprintf(s, sizeof s, "%lu:%lu=%08x ", index, type, *value);
	strcat(o->text, s), strcpy(answer, o->text);
	return 0;
}
static object *m_specialised(object *o, SEL name, object *s, object *values, object **e) {
	WANT(is(values, "MTLFunctionConstantValues"));
	if (strcmp(s->text, "axpy")) return *e = autorelease(error("MTLLibraryErrorDomain", 5, "no such function")), NULL;
	return m_function(o, name, s);
}
static object *m_names(object *o, SEL name) { return m_array(NULL, name, string("axpy")); }
static u64 m_setfunction(object *o, SEL name, object *f) { WANT(is(f, "MTLFunction")); return o->items[0] = f, 0; }
static u64 m_setarchives(object *o, SEL name, object *list) { WANT(is(list, "NSArray")); return o->items[1] = list->items[0], 0; }
static u64 m_seturl(object *o, SEL name, object *url) { return url ? strcpy(o->text, url->text), 0 : (o->text[0] = 0); }
static object *m_archive(object *o, SEL name, object *d, object **e) {
	WANT(is(d, "MTLBinaryArchiveDescriptor"));
	object *a = make("MTLBinaryArchive");
	if (d->text[0]) {
		FILE *f = fopen(d->text, "r");
		if (!f || fscanf(f, "ARCHIVE %4000s", a->text) != 1) return drop(a), NULL;
		fclose(f);
	}
	return a;
}
static u64 m_addfunctions(object *o, SEL name, object *d, object **e) { WANT(is(d->items[0], "MTLFunction")); return strcpy(o->text, d->items[0]->text), 1; }
static u64 m_serialize(object *o, SEL name, object *url, object **e) {
	WANT(is(url, "NSURL") && access(url->text, F_OK));
	FILE *f = fopen(url->text, "w");
	if (!f) return 0;
	fprintf(f, "ARCHIVE %s", o->text), fclose(f);
	return 1;
}
static object *binding(u64 index, u64 type, u64 size) { object *b = make("MTLBinding"); b->n = index, b->code = type, b->value = size; return autorelease(b); }
static object *m_pipeline(object *o, SEL name, object *d, u64 options, object **reflection, object **e) {
	WANT(is(d, "MTLComputePipelineDescriptor") && is(d->items[0], "MTLFunction") && (options & 3) == 3 && reflection && e);
	if (options & 4) {
		WANT(is(d->items[1], "MTLBinaryArchive"));
		if (strcmp(d->items[1]->text, d->items[0]->text)) return *e = autorelease(error("MTLBinaryArchiveDomain", 4, "miss")), NULL;
	}
	object *r = autorelease(make("MTLReflection")), *list = autorelease(make("NSArray")), *p = make("MTLPipeline");
	int bytewise = strcmp(d->items[0]->text, "axpy") != 0;
	list->n = 4, r->items[0] = list;
	list->items[0] = owned(binding(0, 0, bytewise ? 1 : 4)), list->items[1] = owned(binding(1, 0, bytewise ? 1 : 4));
	list->items[2] = owned(binding(2, 0, 4)), list->items[3] = owned(binding(0, 1, 0));
	strcpy(p->text, d->items[0]->text), *reflection = r;
	return p;
}
static u64 m_512(object *o, SEL name) { return 512; }
static u64 m_32(object *o, SEL name) { return 32; }
static u64 m_0(object *o, SEL name) { return 0; }
static object *m_bindings(object *o, SEL name) { return o->items[0]; }
static u64 m_index(object *o, SEL name) { return o->n; }
static u64 m_value(object *o, SEL name) { return o->value; }

// Command buffers and encoders. States of a command buffer: 0 open, 1 an encoder is open, 2 committed, 3 over.
static object *m_command(object *q, SEL name) { object *o = make("MTLCommandBuffer"); o->parent = q; return autorelease(o); }
static op *put(object *cb, int kind) {
	op *p = calloc(1, sizeof *p);
	p->kind = kind, *cb->last = p, cb->last = &p->next, cb->n = kind;
	return p;
}
static object *encoder(object *cb, const char *kind, SEL name) {
	WANT(cb->state == 0);
	object *e = make(kind);
	e->parent = cb, cb->state = 1, e->items[40] = NULL;
	op *scratch = calloc(1, sizeof *scratch);
	e->memory = (char *)scratch;
	return autorelease(e);
}
// Counters. A pass descriptor has the one attachment that there is.
static object *m_sets(object *o, SEL name) {
	static object *sets[2];
	object *list = autorelease(make("NSArray"));
	list->n = 2;
	for (int i = 0; i < 2; i++) {
		if (!sets[i]) sets[i] = make("MTLCounterSet"), strcpy(sets[i]->text, i ? "timestamp" : "statistic");
		list->items[i] = owned(sets[i]);
	}
	return list;
}
static object *m_setname(object *o, SEL name) { return string(o->text); }
static u64 m_sampling(object *o, SEL name, u64 point) { return 0x7700 | (point == 0); }
static u64 m_setset(object *o, SEL name, object *set) { WANT(is(set, "MTLCounterSet") && !strcmp(set->text, "timestamp")); return o->items[0] = set, 0; }
static u64 m_setcount(object *o, SEL name, u64 n) { WANT(n > 0 && n <= 4096); return o->n = n, 0; }
static object *m_newsamples(object *o, SEL name, object *d, object **e) {
	WANT(is(d, "MTLCounterSampleBufferDescriptor") && d->items[0] && d->n > 0 && d->state == 1);
	int n = 0;
	for (object *x = all; x; x = x->next) n += is(x, "MTLCounterSampleBuffer");
	if (n >= 32) return NULL;
	object *s = make("MTLCounterSampleBuffer");
	s->n = d->n, s->memory = calloc(s->n, 8);
	return s;
}
static object *m_pass(object *c, SEL name) {
	WANT(c->is_class);
	object *d = autorelease(make(c->kind));
	d->items[0] = autorelease(make("MTLSampleAttachment"));
	return d;
}
static object *m_attachments(object *o, SEL name) { return o; }
static object *m_subscript(object *o, SEL name, u64 i) { WANT(i == 0); return o->items[0]; }
static u64 m_setsamples(object *o, SEL name, object *s) { WANT(is(s, "MTLCounterSampleBuffer")); return o->items[0] = s, 0; }
static u64 m_setstart(object *o, SEL name, u64 i) { return o->n = i, 0; }
static u64 m_setend(object *o, SEL name, u64 i) { return o->value = i, 0; }
static u64 m_settype(object *o, SEL name, u64 type) { WANT(type == 1); return o->state = 1, 0; }
static u64 sample(object *cb, object *s, u64 i, SEL name) {
	if (i == ~0ul) return 0;
	WANT(i < s->n && !((u64 *)s->memory)[i]);
	op *p = put(cb, 6);
	return p->a = owned(s), p->i = i, 0;
}
static object *sampled(object *cb, const char *kind, object *d, SEL name) {
	object *a = d->items[0], *e;
	if (!(e = encoder(cb, kind, name)) || !a->items[0]) return e;
	sample(cb, a->items[0], a->n, name);
	e->items[1] = a->items[0], e->n = a->value;
	return e;
}
static object *m_computewith(object *cb, SEL name, object *d) { WANT(is(d, "MTLComputePassDescriptor") && d->state == 1); return sampled(cb, "MTLComputeEncoder", d, name); }
static object *m_blitwith(object *cb, SEL name, object *d) { WANT(is(d, "MTLBlitPassDescriptor")); return sampled(cb, "MTLBlitEncoder", d, name); }
static object *m_resolve(object *o, SEL name, range r) {
	WANT(r.location + r.length <= o->n);
	object *data = autorelease(make("NSData"));
	data->memory = o->memory + 8 * r.location, data->n = 8 * r.length;
	return data;
}
static object *m_compute(object *cb, SEL name, u64 type) { WANT(type == 1); return encoder(cb, "MTLComputeEncoder", name); }
static object *m_blit(object *cb, SEL name) { return encoder(cb, "MTLBlitEncoder", name); }
#define OPEN WANT(e->state < 2 && e->parent->state == 1)
static u64 m_waitfence(object *e, SEL name, object *f) { OPEN; WANT(is(f, "MTLFence") && e->value == 0); return e->value = 1, 0; }
static u64 m_updatefence(object *e, SEL name, object *f) { OPEN; WANT(is(f, "MTLFence") && e->value == 1); return e->value = 2, 0; }
static u64 m_end(object *e, SEL name) {
	OPEN;
	WANT(e->value == 2);
	put(e->parent, 1);
	if (e->items[1]) sample(e->parent, e->items[1], e->n, name);
	return e->state = 2, e->parent->state = 0;
}
static u64 m_setpipeline(object *e, SEL name, object *p) { OPEN; WANT(is(p, "MTLPipeline")); return ((op *)e->memory)->pipeline = p, 0; }
static u64 m_setbuffer(object *e, SEL name, object *b, u64 offset, u64 i) {
	OPEN;
	WANT(is(b, "MTLBuffer") && offset < b->n && i < 31);
	return ((op *)e->memory)->buffers[i] = b, ((op *)e->memory)->offsets[i] = offset, 0;
}
static u64 m_setbytes(object *e, SEL name, void *p, u64 n, u64 i) {
	OPEN;
	WANT(p && n > 0 && n <= 4096 && i < 31);
	return memcpy(((op *)e->memory)->bytes[i], p, n < 64 ? n : 64), 0;
}
static u64 m_setmemory(object *e, SEL name, u64 n, u64 i) { OPEN; WANT(n % 16 == 0 && i < 31); return ((op *)e->memory)->shared = n, 0; }
static u64 m_use(object *e, SEL name, object *b, u64 usage) { OPEN; WANT(!residency && is(b, "MTLBuffer") && usage == 3); return 0; }
static u64 m_barrier(object *e, SEL name, u64 scope) { OPEN; WANT(scope == 1); put(e->parent, 1); return 0; }
static u64 m_dispatch(object *e, SEL name, size3 groups, size3 threads) {
	OPEN;
	op *state = (op *)e->memory;
	WANT(state->pipeline && groups.y == 1 && groups.z == 1 && threads.y == 1 && threads.z == 1 && threads.x <= 512 && groups.x > 0);
	op *p = put(e->parent, 0), *next = p->next;
	*p = *state, p->kind = 0, p->next = next, p->groups = groups.x, p->threads = threads.x;
	return 0;
}
static u64 m_copy(object *e, SEL name, object *src, u64 i, object *dst, u64 j, u64 n) {
	OPEN;
	WANT(i % 4 == 0 && j % 4 == 0 && n % 4 == 0 && n > 0);
	WANT(is(src, "MTLBuffer") && is(dst, "MTLBuffer") && i + n <= src->n && j + n <= dst->n);
	op *p = put(e->parent, 2);
	p->a = src, p->b = dst, p->i = i, p->j = j, p->n = n;
	return 0;
}
static u64 m_fill(object *e, SEL name, object *b, range r, uint8_t value) {
	OPEN;
	WANT(r.location % 4 == 0 && r.length % 4 == 0 && r.length > 0);
	WANT(is(b, "MTLBuffer") && r.location + r.length <= b->n);
	op *p = put(e->parent, 3);
	p->a = b, p->i = r.location, p->n = r.length, p->j = value;
	return 0;
}
static u64 m_signal(object *cb, SEL name, object *event, u64 value) { WANT(cb->state == 0 && (is(event, "MTLSharedEvent") || is(event, "MTLEvent"))); op *p = put(cb, 5); return p->a = event, p->n = value, 0; }
static u64 m_await(object *cb, SEL name, object *event, u64 value) { WANT(cb->state == 0 && (is(event, "MTLSharedEvent") || is(event, "MTLEvent"))); op *p = put(cb, 4); return p->a = event, p->n = value, 0; }

// Metal Performance Shaders. MPS encodes between two waits for an event, of which the stub checks the first.
static object *m_event(object *o, SEL name) { return make("MTLEvent"); }
int8_t MPSSupportsMTLDevice(object *d) { return is(d, "MTLDevice"); }
static object *m_initproduct(object *o, SEL name, object *d, int8_t left, int8_t right, u64 rows, u64 columns, u64 inner, double alpha, double beta) {
	WANT(is(d, "MTLDevice") && left >> 1 == 0 && right >> 1 == 0 && alpha == 1 && beta == 0);
	o->state = left | right << 1, o->n = rows, o->value = columns, o->code = inner;
	return o;
}
static object *m_matrixdescriptor(object *c, SEL name, u64 rows, u64 columns, u64 matrices, u64 row, u64 matrix, u64 type) {
	u64 size = type == 0x10000020 ? 4 : 2;
	WANT(c->is_class && (size == 4 || type == 0x10000010) && row >= columns * size && matrix >= rows * row && matrix % row == 0);
	object *d = autorelease(make(c->kind));
	d->n = rows, d->value = columns, d->code = matrices, d->state = size;
	return d;
}
static object *m_initmatrix(object *o, SEL name, object *b, u64 offset, object *d) {
	WANT(is(b, "MTLBuffer") && is(d, "MPSMatrixDescriptor") && offset % d->state == 0 && offset + d->code * d->n * d->value * d->state <= b->n);
	o->items[0] = owned(b), o->start = offset, o->n = d->n, o->value = d->value, o->code = d->code, o->state = d->state;
	return o;
}
static u64 m_encodeproduct(object *o, SEL name, object *cb, object *a, object *b, object *c) {
	WANT(cb->state == 0 && is(a, "MPSMatrix") && is(b, "MPSMatrix") && is(c, "MPSMatrix"));
	WANT(cb->n == 4); // the last thing was a wait
	int left = o->state & 1, right = o->state >> 1;
	WANT((left ? a->value : a->n) == o->n && (left ? a->n : a->value) == o->code && (right ? b->value : b->n) == o->code);
	WANT((right ? b->n : b->value) == o->value && c->n == o->n && c->value == o->value && a->code == c->code && b->code == c->code);
	op *p = put(cb, 7);
	object **list[] = {&p->a, &p->b, &p->pipeline}, *from[] = {a, b, c};
	for (int i = 0; i < 3; i++) *list[i] = from[i]->items[0], p->offsets[i] = from[i]->start;
	p->i = o->n, p->j = o->value, p->n = o->code, p->groups = c->code, p->shared = c->state, p->threads = o->state;
	return 0;
}
static float number(char *p, u64 i, u64 size) { return size == 4 ? ((float *)p)[i] : ((__fp16 *)p)[i]; }
static u64 product(op *p, SEL name) {
	WANT(is(p->a, "MTLBuffer") && is(p->b, "MTLBuffer") && is(p->pipeline, "MTLBuffer"));
	u64 rows = p->i, columns = p->j, inner = p->n, size = p->shared;
	char *a = p->a->memory + p->offsets[0], *b = p->b->memory + p->offsets[1], *c = p->pipeline->memory + p->offsets[2];
	for (u64 m = 0; m < p->groups; m++)
		for (u64 r = 0; r < rows; r++)
			for (u64 i = 0; i < columns; i++) {
				float sum = 0;
				for (u64 k = 0; k < inner; k++)
					sum += number(a, m * rows * inner + (p->threads & 1 ? k * rows + r : r * inner + k), size) *
					       number(b, m * inner * columns + (p->threads & 2 ? i * inner + k : k * columns + i), size);
				u64 at = (m * rows + r) * columns + i;
				if (size == 4) ((float *)c)[at] = sum;
				else ((__fp16 *)c)[at] = sum;
			}
	return 0;
}

static u64 axpy(op *p, SEL name) {
	WANT(is(p->buffers[0], "MTLBuffer") && is(p->buffers[1], "MTLBuffer"));
	u64 n = p->groups * p->threads;
	WANT(p->offsets[0] + 4 * n <= p->buffers[0]->n && p->offsets[1] + 4 * n <= p->buffers[1]->n);
	float *x = (float *)(p->buffers[0]->memory + p->offsets[0]), *y = (float *)(p->buffers[1]->memory + p->offsets[1]), a;
	memcpy(&a, p->bytes[2], 4);
	for (u64 i = 0; i < n; i++) y[i] += a * x[i];
	return 0;
}
static u64 bytewise(op *p, SEL name) {
	uint32_t n;
	memcpy(&n, p->bytes[2], 4);
	WANT(p->groups * p->threads >= n && is(p->buffers[0], "MTLBuffer") && p->offsets[0] + n <= p->buffers[0]->n);
	char *to = p->buffers[0]->memory + p->offsets[0];
	if (!strcmp(p->pipeline->text, "fill_bytes")) return memset(to, p->bytes[1][0], n), 0;
	WANT(is(p->buffers[1], "MTLBuffer") && p->offsets[1] + n <= p->buffers[1]->n);
	return memcpy(to, p->buffers[1]->memory + p->offsets[1], n), 0;
}
static u64 run_op(op *p, SEL name) {
	if (p->kind != 6) now += 3e-6;
	switch (p->kind) {
	case 0: return strcmp(p->pipeline->text, "axpy") ? bytewise(p, name) : axpy(p, name);
	case 2: WANT(is(p->a, "MTLBuffer") && is(p->b, "MTLBuffer")); memcpy(p->b->memory + p->j, p->a->memory + p->i, p->n); break;
	case 3: WANT(is(p->a, "MTLBuffer")); memset(p->a->memory + p->i, p->j, p->n); break;
	case 4: WANT(p->a->value >= p->n); break;
	case 5: p->a->value = p->n; break;
	case 7: return product(p, name);
	case 6: // clocks: 1 in nanoseconds, 2 stands still, 3 in ticks of 24 MHz, 4 fails
		WANT(is(p->a, "MTLCounterSampleBuffer"));
		((u64 *)p->a->memory)[p->i] = clocks == 2 ? 1 : clocks == 3 ? now * 24e6 : clocks == 4 ? ~0ul : now * 1e9;
		drop(p->a);
		break;
	}
	return 0;
}
// Runs from p up to the next barrier, the last first.
static op *run_back(op *p) {
	if (!p || p->kind != 0) return p;
	op *end = run_back(p->next);
	run_op(p, "run");
	return end;
}
static u64 m_commit(object *cb, SEL name) {
	WANT(cb->state == 0);
	WANT(!cb->parent->items[0] || cb->parent->items[0]->state == 0); // changes of the residency set are committed
	cb->state = 2, cb->start = now += 1e-6;
	for (op *p = cb->first; p;)
		if (p->kind == 0) p = run_back(p);
		else run_op(p, "run"), p = p->next;
	cb->end = now += 1e-6;
	if (next_error) {
		cb->error = error("MTLCommandBufferErrorDomain", next_error, "Caused GPU Address Fault Error");
		next_error = 0;
	}
	return 0;
}
static u64 m_status(object *cb, SEL name) { return cb->state < 2 ? cb->state : hold ? 3 : cb->error ? 5 : 4; }
static object *m_error(object *cb, SEL name) { return cb->error; }
static double m_start(object *cb, SEL name) { return cb->start; }
static double m_gpuend(object *cb, SEL name) { return cb->end; }

// Captures.
static object *m_manager(object *c, SEL name) { return capture_ ? capture_ : (capture_ = make("MTLCaptureManager")); }
static u64 m_destination(object *o, SEL name, u64 d) { return d == 2; }
static u64 m_setobject(object *o, SEL name, object *d) { WANT(is(d, "MTLDevice")); return o->items[0] = d, 0; }
static u64 m_setdestination(object *o, SEL name, u64 d) { WANT(d == 2); return o->state = d, 0; }
static u64 m_startcapture(object *o, SEL name, object *d, object **e) {
	WANT(d->items[0] && d->state == 2 && d->text[0]);
	fclose(fopen(d->text, "w"));
	return o->state = 1;
}
static u64 m_stopcapture(object *o, SEL name) { WANT(o->state == 1); return o->state = 0; }
static u64 m_responds(object *o, SEL name, SEL asked);

// What the test of the trampoline sends.
static u64 m_weigh(object *o, SEL name, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h) { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h; }
static double m_half(object *o, SEL name, double x) { return x / 2; }
static u64 m_sizes(object *o, SEL name, u64 w, size3 a, size3 b) { return w * (a.x + 10 * a.y + 100 * a.z + 1000 * b.x + 10000 * b.y + 100000 * b.z); }
static u64 m_range(object *o, SEL name, range r, u64 k) { return r.location + 10 * r.length + 100 * k; }

static struct { const char *kind, *name; void *f; } methods[] = {
	{"", "retain", m_retain}, {"", "release", m_release}, {"", "respondsToSelector:", m_responds}, {"", "new", m_new},
	{"NSString", "stringWithUTF8String:", m_string}, {"NSString", "UTF8String", m_utf8}, {"NSError", "domain", m_domain}, {"NSError", "code", m_code},
	{"NSError", "localizedDescription", m_described}, {"NSURL", "fileURLWithPath:", m_url}, {"NSArray", "arrayWithObject:", m_array},
	{"NSArray", "count", m_count}, {"NSArray", "objectAtIndex:", m_at}, {"NSProcessInfo", "processInfo", m_process},
	{"NSProcessInfo", "operatingSystemVersionString", m_version}, {"NSProcessInfo", "isOperatingSystemAtLeastVersion:", m_atleast}, {"MTLDevice", "name", m_name}, {"MTLDevice", "recommendedMaxWorkingSetSize", m_working},
	{"MTLDevice", "maxBufferLength", m_maxbuffer}, {"MTLDevice", "hasUnifiedMemory", m_true}, {"MTLDevice", "supportsFamily:", m_family},
	{"MTLDevice", "maxThreadgroupMemoryLength", m_threadgroup}, {"MTLDevice", "currentAllocatedSize", m_allocated},
	{"MTLDevice", "newBufferWithLength:options:", m_newbuffer}, {"MTLBuffer", "contents", m_contents}, {"MTLBuffer", "gpuAddress", m_contents},
	{"", "alloc", m_new}, {"MTLDevice", "newEvent", m_event},
	{"MPSMatrixMultiplication", "initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:", m_initproduct},
	{"MPSMatrixDescriptor", "matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:", m_matrixdescriptor},
	{"MPSMatrix", "initWithBuffer:offset:descriptor:", m_initmatrix},
	{"MPSMatrixMultiplication", "encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:", m_encodeproduct},
	{"MTLDevice", "counterSets", m_sets}, {"MTLDevice", "supportsCounterSampling:", m_sampling}, {"MTLCounterSet", "name", m_setname},
	{"MTLCounterSampleBufferDescriptor", "setCounterSet:", m_setset}, {"MTLCounterSampleBufferDescriptor", "setSampleCount:", m_setcount},
	{"MTLCounterSampleBufferDescriptor", "setStorageMode:", m_setstorage}, {"MTLDevice", "newCounterSampleBufferWithDescriptor:error:", m_newsamples},
	{"MTLComputePassDescriptor", "computePassDescriptor", m_pass}, {"MTLBlitPassDescriptor", "blitPassDescriptor", m_pass},
	{"", "sampleBufferAttachments", m_attachments}, {"", "objectAtIndexedSubscript:", m_subscript}, {"MTLComputePassDescriptor", "setDispatchType:", m_settype},
	{"MTLSampleAttachment", "setSampleBuffer:", m_setsamples}, {"MTLSampleAttachment", "setStartOfEncoderSampleIndex:", m_setstart},
	{"MTLSampleAttachment", "setEndOfEncoderSampleIndex:", m_setend}, {"MTLCommandBuffer", "computeCommandEncoderWithDescriptor:", m_computewith},
	{"MTLCommandBuffer", "blitCommandEncoderWithDescriptor:", m_blitwith}, {"MTLCounterSampleBuffer", "resolveCounterRange:", m_resolve},
	{"NSData", "length", m_count}, {"NSData", "bytes", m_contents},
	{"MTLHeapDescriptor", "setSize:", m_setsize}, {"MTLHeapDescriptor", "setStorageMode:", m_setstorage},
	{"MTLHeapDescriptor", "setHazardTrackingMode:", m_settracking}, {"MTLDevice", "newHeapWithDescriptor:", m_newheap},
	{"MTLHeap", "newBufferWithLength:options:", m_part},
	{"MTLDevice", "newResidencySetWithDescriptor:error:", m_newset}, {"MTLResidencySet", "addAllocation:", m_add},
	{"MTLResidencySet", "removeAllocation:", m_remove}, {"MTLResidencySet", "commit", m_setcommit}, {"MTLCommandQueue", "addResidencySet:", m_queueset},
	{"MTLDevice", "newCommandQueueWithMaxCommandBufferCount:", m_newqueue}, {"MTLDevice", "newFence", m_newfence}, {"MTLDevice", "newSharedEvent", m_newevent},
	{"MTLCompileOptions", "setMathMode:", m_mathmode}, {"MTLCompileOptions", "setFastMathEnabled:", m_fastmath},
	{"MTLDevice", "newLibraryWithSource:options:error:", m_library}, {"MTLDevice", "newLibraryWithData:error:", m_data},
	{"MTLLibrary", "newFunctionWithName:", m_function}, {"MTLLibrary", "newFunctionWithName:constantValues:error:", m_specialised},
	{"MTLLibrary", "functionNames", m_names}, {"MTLFunctionConstantValues", "setConstantValue:type:atIndex:", m_constant},
	{"MTLComputePipelineDescriptor", "setComputeFunction:", m_setfunction}, {"MTLComputePipelineDescriptor", "setBinaryArchives:", m_setarchives},
	{"MTLBinaryArchiveDescriptor", "setUrl:", m_seturl}, {"MTLDevice", "newBinaryArchiveWithDescriptor:error:", m_archive},
	{"MTLBinaryArchive", "addComputePipelineFunctionsWithDescriptor:error:", m_addfunctions}, {"MTLBinaryArchive", "serializeToURL:error:", m_serialize},
	{"MTLDevice", "newComputePipelineStateWithDescriptor:options:reflection:error:", m_pipeline},
	{"MTLPipeline", "maxTotalThreadsPerThreadgroup", m_512}, {"MTLPipeline", "threadExecutionWidth", m_32}, {"MTLPipeline", "staticThreadgroupMemoryLength", m_0},
	{"MTLReflection", "bindings", m_bindings}, {"MTLBinding", "index", m_index}, {"MTLBinding", "type", m_code}, {"MTLBinding", "isUsed", m_true},
	{"MTLBinding", "bufferDataSize", m_value}, {"MTLCommandQueue", "commandBuffer", m_command},
	{"MTLCommandBuffer", "computeCommandEncoderWithDispatchType:", m_compute}, {"MTLCommandBuffer", "blitCommandEncoder", m_blit},
	{"MTLComputeEncoder", "waitForFence:", m_waitfence}, {"MTLBlitEncoder", "waitForFence:", m_waitfence}, {"MTLComputeEncoder", "updateFence:", m_updatefence},
	{"MTLBlitEncoder", "updateFence:", m_updatefence}, {"MTLComputeEncoder", "endEncoding", m_end}, {"MTLBlitEncoder", "endEncoding", m_end},
	{"MTLComputeEncoder", "setComputePipelineState:", m_setpipeline}, {"MTLComputeEncoder", "setBuffer:offset:atIndex:", m_setbuffer},
	{"MTLComputeEncoder", "setBytes:length:atIndex:", m_setbytes}, {"MTLComputeEncoder", "setThreadgroupMemoryLength:atIndex:", m_setmemory},
	{"MTLComputeEncoder", "useResource:usage:", m_use}, {"MTLComputeEncoder", "memoryBarrierWithScope:", m_barrier},
	{"MTLComputeEncoder", "dispatchThreadgroups:threadsPerThreadgroup:", m_dispatch},
	{"MTLBlitEncoder", "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", m_copy}, {"MTLBlitEncoder", "fillBuffer:range:value:", m_fill},
	{"MTLCommandBuffer", "encodeSignalEvent:value:", m_signal}, {"MTLCommandBuffer", "encodeWaitForEvent:value:", m_await},
	{"MTLCommandBuffer", "commit", m_commit}, {"MTLCommandBuffer", "status", m_status}, {"MTLCommandBuffer", "error", m_error},
	{"MTLCommandBuffer", "GPUStartTime", m_start}, {"MTLCommandBuffer", "GPUEndTime", m_gpuend}, {"MTLCaptureManager", "sharedCaptureManager", m_manager},
	{"MTLCaptureManager", "supportsDestination:", m_destination}, {"MTLCaptureDescriptor", "setCaptureObject:", m_setobject},
	{"MTLCaptureDescriptor", "setDestination:", m_setdestination}, {"MTLCaptureDescriptor", "setOutputURL:", m_seturl},
	{"MTLCaptureManager", "startCaptureWithDescriptor:error:", m_startcapture}, {"MTLCaptureManager", "stopCapture", m_stopcapture},
	{"Weigher", "weigh:::::::::", m_weigh}, {"Weigher", "half:", m_half}, {"Weigher", "sizes:::", m_sizes}, {"Weigher", "range::", m_range},
};

static void *method(object *o, SEL name) {
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (!strcmp(methods[i].name, name) && (!methods[i].kind[0] || !strcmp(methods[i].kind, o->kind))) {
			if (!residency && !strcmp(name, "newResidencySetWithDescriptor:error:")) return NULL;
			if (!clocks && !strcmp(name, "counterSets")) return NULL;
			if (!mathmode && !strcmp(name, "setMathMode:")) return NULL;
			return methods[i].f;
		}
	return NULL;
}
static u64 m_responds(object *o, SEL name, SEL asked) { return 0x7700 | (method(o, asked) != NULL); }
static u64 nothing(object *o, SEL name) { return 0; }

void *find_method(object *o, SEL name) {
	pthread_mutex_lock(&lock);
	if (failing.name && !strcmp(failing.name, name) && failing.n-- == 0) {
		failing.name = NULL;
		pthread_mutex_unlock(&lock);
		return nothing;
	}
	size_t n = strlen(name);
	if (sent_ + n + 2 < sizeof sent) sent_ += sprintf(sent + sent_, "%s ", name);
	pthread_mutex_unlock(&lock);
	if (o->refs <= 0) return complain(name, "sent to a dead object"), nothing;
	void *f = method(o, name);
	if (!f) complain(o->kind, name), f = nothing;
	return f;
}

// As Apple's: the registers of the arguments are kept over the search, and others are not.
__asm__(".text\n.globl objc_msgSend\n.type objc_msgSend, %function\nobjc_msgSend:\n"
        "cbz x0, 1f\n"
        "stp x29, x30, [sp, #-112]!\nmov x29, sp\n"
        "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\nstp d0, d1, [sp, #80]\nstp d2, d3, [sp, #96]\n"
        "bl find_method\nmov x16, x0\n"
        "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\nldp d0, d1, [sp, #80]\nldp d2, d3, [sp, #96]\n"
        "ldp x29, x30, [sp], #112\nmov x9, #-1\nmov x10, #-1\nmov x17, #-1\nbr x16\n"
        "1: fmov d0, xzr\nret\n");

object *objc_getClass(const char *kind) {
	if (!residency && !strcmp(kind, "MTLResidencySetDescriptor")) return NULL;
	if (!strncmp(kind, "NoSuch", 6)) return NULL;
	object *o = make(strdup(kind));
	o->is_class = 1;
	return o;
}
SEL sel_registerName(const char *name) { return strdup(name); }

// What the tests set and ask.
const char *stub_complaint(void) { return complaint; }
const char *stub_answer(void) { return answer; }
const char *stub_sent(void) { return strcpy(answer, sent), sent[0] = sent_ = 0, answer; }
void stub_hold(int on) { hold = on; }
void stub_residency(int on) { residency = on; }
void stub_macos(int version) { macos = version; }
void stub_family(int newest) { family = newest; }
void stub_clocks(int how) { clocks = how; }
void stub_mathmode(int on) { mathmode = on; }
void stub_error(int code) { next_error = code; }
void stub_fail(const char *name, int n) { failing.name = strdup(name), failing.n = n; }
const char *stub_failing(void) { return failing.name ? failing.name : ""; }
// Objects that live, but for classes, singletons and what they hold: its names are the answer.
const char *stub_live(void) {
	size_t n = answer[0] = 0;
	for (object *o = all; o; o = o->next)
		if (n + 100 < sizeof answer && o->refs > 0 && !o->is_class && o != device_ && o != capture_ && strcmp(o->kind, "NSString") && strcmp(o->kind, "NSError") && strcmp(o->kind, "MTLCounterSet"))
			n += sprintf(answer + n, "%s ", o->kind);
	return answer;
}
