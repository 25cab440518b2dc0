// A stand-in for cuDNN: it takes graphs that are described as NVIDIA's wants, and computes them, operation by operation, on
// the stand-in for libcuda, which is compiled with it. It looks for no pattern.
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, BAD_PARAM = 2000, UNSUPPORTED = 3000, FAILED = 5000 };
enum { F32 = 0, F16 = 2, I32 = 4, BF16 = 9, BOOL = 11 };
enum { POINTWISE = 0, CONVOLUTION = 1, ENGINE = 2, CONFIG = 3, HEUR = 4, PLAN = 5, OP_CONV = 10, OP_CONV_WEIGHT = 11, OP_CONV_DATA = 12, OP_POINTWISE = 13, GRAPH = 15, PACK = 16, TENSOR = 17, MATMUL = 18, OP_MATMUL = 19, REDUCTION = 21, OP_REDUCTION = 22, OP_RESHAPE = 31 };

int stub_enqueue(void *stream, int (*work)(void *), void *data);
int stub_memory(uint64_t p, size_t n);
void stub_complain(const char *function, const char *text);
void stub_tick(int n);
void *stub_context(void);

typedef struct { int name, type; int64_t count; uint64_t data[64]; } attribute;
typedef struct {
	int kind, live, final, n;
	attribute a[16];
} desc;
typedef struct { int live; void *context, *stream; } handle;

static int lives, refuse, version = 91900;
void stub_dnn_version(int v) { version = v; }
static int interrupt;
void stub_dnn_interrupt(int on) { interrupt = on; } // Ctrl-C is pressed while a plan is made
int stub_dnn_live(void) { return lives; }
void stub_dnn_refuse(int plans) { refuse = plans; } // so many plans fail, and -1 leaves no configuration

// Engines 7, 8, …, of which each mode proposes as many, and the library notes a number of each. A run takes microseconds.
static int engines = 2, notes[8] = {9, 9, 9, 9, 9, 9, 9, 9}, times[8];
void stub_dnn_engines(int n) { engines = n; }
void stub_dnn_notes(int which, int note) { notes[which] = note; }
void stub_dnn_takes(int which, int time) { times[which] = time; } // below 0 it does not run

static char why[256];
#define WANT(condition) \
	if (!(condition)) return snprintf(why, sizeof why, "%s: %s", __func__, #condition), stub_complain(__func__, #condition), BAD_PARAM;

int cudnnGetProperty(int part, int *v) { return *v = (int[]){version / 10000, version % 10000 / 100, version % 100}[part], 0; }
size_t cudnnGetCudartVersion(void) { return 12080; }
const char *cudnnGetErrorString(int code) { return code / 1000 == 3 ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS"; }
void cudnnGetLastErrorString(char *s, size_t n) { snprintf(s, n, "%s", why), why[0] = 0; }

int cudnnCreate(handle **h) {
	*h = calloc(1, sizeof **h);
	(*h)->live = 1, (*h)->context = stub_context(), lives++;
	return OK;
}
static int open(handle *h) { return h && h->live && h->context == stub_context(); }
int cudnnDestroy(handle *h) {
	WANT(open(h))
	return h->live = 0, lives--, OK;
}
int cudnnSetStream(handle *h, void *stream) {
	WANT(open(h) && stream)
	return h->stream = stream, OK;
}

int cudnnBackendCreateDescriptor(int kind, desc **d) {
	*d = calloc(1, sizeof **d);
	(*d)->kind = kind, (*d)->live = 1, lives++;
	return OK;
}
int cudnnBackendDestroyDescriptor(desc *d) {
	WANT(d && d->live)
	return d->live = 0, lives--, OK;
}
int cudnnBackendSetAttribute(desc *d, int name, int type, int64_t count, void *data) {
	static const int sizes[] = {8, 4, 1, 8, 4, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 8, 4, 4, 4};
	WANT(d && d->live && !d->final && d->n < 16 && count > 0 && count <= 64 && type >= 0 && type <= 18)
	attribute *a = &d->a[d->n++];
	a->name = name, a->type = type, a->count = count;
	for (int64_t i = 0; i < count; i++) memcpy(&a->data[i], (char *)data + i * sizes[type], sizes[type]);
	return OK;
}
static attribute *get(desc *d, int name, int type) {
	for (int i = 0; i < d->n; i++)
		if (d->a[i].name == name && d->a[i].type == type) return &d->a[i];
	return NULL;
}
static int64_t number(desc *d, int name, int type, int64_t otherwise) {
	attribute *a = get(d, name, type);
	return a ? (int64_t)a->data[0] : otherwise;
}
// What an attribute refers to: a descriptor that was finalised, of some kind.
static desc *to(desc *d, int name, int kind) {
	desc *r = (desc *)number(d, name, 15, 0);
	return r && r->live && r->final && r->kind == kind ? r : NULL;
}

// Tensors. Those that have no memory of their own have floats here, at the places that their strides say.
static int64_t dim(desc *t, int axis) { return get(t, 902, 3)->data[axis]; }
static int64_t stride(desc *t, int axis) { return get(t, 903, 3)->data[axis]; }
static int type(desc *t) { return number(t, 901, 1, -1); }
static int id(desc *t) { return number(t, 906, 3, -1); }
static int64_t reach(desc *t) {
	int64_t n = 1;
	for (int i = 0; i < get(t, 902, 3)->count; i++) n += (dim(t, i) - 1) * stride(t, i);
	return n;
}
static int size(int type) { return type == F16 || type == BF16 ? 2 : 4; }

// Where the attributes of a convolution begin; 0 for another operation.
static int conv(desc *op) { return op->kind == OP_CONV ? 700 : op->kind == OP_CONV_WEIGHT ? 712 : op->kind == OP_CONV_DATA ? 706 : 0; }

int cudnnBackendFinalize(desc *d) {
	WANT(d && d->live && !d->final)
	switch (d->kind) {
	case TENSOR:
		WANT(get(d, 902, 3) && get(d, 902, 3)->count == 4 && get(d, 903, 3) && get(d, 903, 3)->count == 4 && number(d, 900, 3, 0) == 16)
		WANT(type(d) >= 0 && id(d) > 0 && get(d, 907, 2) && get(d, 908, 2) && dim(d, 0) * dim(d, 1) * dim(d, 2) * dim(d, 3) > 0)
		break;
	case POINTWISE: WANT(get(d, 0, 14) && get(d, 1, 1) && (number(d, 0, 14, 0) == 501) == (get(d, 9, 3) != NULL)) break;
	case CONVOLUTION:
		WANT(number(d, 100, 1, -1) == F32 && number(d, 101, 7, -1) == 1 && number(d, 106, 3, 0) == 2)
		for (int i = 102; i < 106; i++) WANT(get(d, i, 3) && get(d, i, 3)->count == 2)
		break;
	case OP_CONV:
	case OP_CONV_WEIGHT:
	case OP_CONV_DATA: {
		int at = conv(d);
		WANT(number(d, at, 4, 0) == 0x3f800000 && number(d, at + 1, 4, -1) == 0 && to(d, at + 2, CONVOLUTION))
		desc *w = to(d, at + 3, TENSOR), *x = to(d, at + 4, TENSOR), *y = to(d, at + 5, TENSOR), *how = to(d, at + 2, CONVOLUTION);
		WANT(x && w && y && dim(x, 0) == dim(y, 0) && dim(w, 0) == dim(y, 1) && dim(x, 1) % dim(w, 1) == 0)
		for (int i = 0; i < 2; i++) {
			int64_t room = dim(x, 2 + i) + get(how, 104, 3)->data[i] + get(how, 105, 3)->data[i] - (dim(w, 2 + i) - 1) * get(how, 102, 3)->data[i] - 1;
			WANT(dim(y, 2 + i) == room / (int64_t)get(how, 103, 3)->data[i] + 1)
		}
		break;
	}
	case MATMUL: WANT(number(d, 1500, 1, -1) == F32) break;
	case REDUCTION: WANT(get(d, 1600, 18) && number(d, 1601, 1, -1) == F32) break;
	case OP_POINTWISE: WANT(to(d, 750, POINTWISE) && to(d, 751, TENSOR) && (to(d, 753, TENSOR) || (to(d, 756, TENSOR) && to(d, 757, TENSOR)))) break;
	case OP_MATMUL: WANT(to(d, 1520, TENSOR) && to(d, 1521, TENSOR) && to(d, 1522, TENSOR) && to(d, 1523, MATMUL)) break;
	case OP_REDUCTION: WANT(to(d, 1610, TENSOR) && to(d, 1611, TENSOR) && to(d, 1612, REDUCTION)) break;
	case OP_RESHAPE: WANT(to(d, 2200, TENSOR) && to(d, 2201, TENSOR)) break;
	case GRAPH: WANT(open((handle *)number(d, 800, 0, 0)) && get(d, 801, 15)) break;
	case HEUR: WANT(to(d, 201, GRAPH) && (number(d, 200, 8, -1) == 2 || number(d, 200, 8, -1) == 3)) break;
	case PLAN:
		WANT(open((handle *)number(d, 400, 0, 0)) && to(d, 401, CONFIG))
		if (interrupt) kill(getpid(), SIGINT);
		if (refuse > 0) return refuse--, snprintf(why, sizeof why, "this engine lacks it"), UNSUPPORTED;
		break;
	case PACK:
		WANT(get(d, 1000, 3) && get(d, 1001, 6) && get(d, 1000, 3)->count == get(d, 1001, 6)->count && get(d, 1003, 6))
		break;
	default: WANT(!"a kind that the stub does not know")
	}
	return d->final = 1, OK;
}

int cudnnBackendGetAttribute(desc *d, int name, int type, int64_t most, int64_t *count, void *data) {
	WANT(d && d->live && d->final)
	if (d->kind == PLAN && name == 402 && type == 3 && most == 1) return *count = 1, *(int64_t *)data = 4096, OK;
	if (d->kind == CONFIG && name == 300) {
		desc *engine = *(desc **)data;
		WANT(type == 15 && most == 1 && engine && engine->live && engine->kind == ENGINE)
		engine->final = 1, engine->n = 1, engine->a[0] = d->a[1];
		return *count = 1, OK;
	}
	if (d->kind == ENGINE) {
		int64_t which = number(d, 1301, 3, 0) - 7;
		WANT(most == (name == 1301 ? 1 : 10) && type == (name == 1301 ? 3 : 11))
		return name == 1301 ? (*(int64_t *)data = which + 7) : (*(int32_t *)data = notes[which]), *count = 1, OK;
	}
	WANT(d->kind == HEUR && name == 202 && type == 15)
	*count = refuse < 0 ? 0 : engines;
	desc **configs = data;
	for (int i = 0; i < most && i < *count; i++) {
		WANT(configs[i] && configs[i]->live && configs[i]->kind == CONFIG)
		configs[i]->final = 1, configs[i]->n = 2;
		configs[i]->a[0] = (attribute){201, 15, 1, {(uint64_t)to(d, 201, GRAPH)}};
		configs[i]->a[1] = (attribute){1301, 3, 1, {7 + i}};
	}
	return OK;
}

// A run is a graph with what the pack has.
typedef struct { desc *graph; uint64_t memory[64], number[64]; float *own[64]; int time; } run;

static float *place(run *r, desc *t) {
	int n = id(t);
	if (!r->own[n]) r->own[n] = calloc(reach(t), sizeof(float));
	return r->own[n];
}
static double load(run *r, desc *t, int64_t *at) {
	int64_t index = 0;
	for (int i = 0; i < 4; i++) index += (dim(t, i) == 1 ? 0 : at[i]) * stride(t, i);
	if (number(t, 908, 2, 0)) { // a number
		float f;
		if (type(t) == I32) return *(int32_t *)&r->number[id(t)];
		return memcpy(&f, &r->number[id(t)], 4), f;
	}
	if (number(t, 907, 2, 0)) return place(r, t)[index];
	uint64_t p = r->memory[id(t)] + index * size(type(t));
	if (type(t) == F32) return *(float *)p;
	if (type(t) == F16) return *(_Float16 *)p;
	uint32_t bits = (uint32_t)*(uint16_t *)p << 16;
	float f;
	return memcpy(&f, &bits, 4), f;
}
static void store(run *r, desc *t, int64_t *at, float v) {
	int64_t index = 0;
	for (int i = 0; i < 4; i++) index += at[i] * stride(t, i);
	if (number(t, 907, 2, 0)) {
		place(r, t)[index] = v;
		return;
	}
	uint64_t p = r->memory[id(t)] + index * size(type(t));
	if (type(t) == F32)
		*(float *)p = v;
	else if (type(t) == F16)
		*(_Float16 *)p = (_Float16)v;
	else {
		uint32_t bits;
		memcpy(&bits, &v, 4);
		*(uint16_t *)p = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	}
}

#define EACH(t, at) \
	for (at[0] = 0; at[0] < dim(t, 0); at[0]++) \
		for (at[1] = 0; at[1] < dim(t, 1); at[1]++) \
			for (at[2] = 0; at[2] < dim(t, 2); at[2]++) \
				for (at[3] = 0; at[3] < dim(t, 3); at[3]++)

static void multiply(run *r, desc *a, desc *b, desc *c) {
	int64_t at[4];
	EACH(c, at) {
		double sum = 0;
		for (int64_t k = 0; k < dim(a, 3); k++) {
			int64_t left[] = {at[0], at[1] * dim(a, 1) / dim(c, 1), at[2], k}, right[] = {at[0], at[1] * dim(b, 1) / dim(c, 1), k, at[3]};
			sum += load(r, a, left) * load(r, b, right);
		}
		store(r, c, at, sum);
	}
}
static void convolve(run *r, desc *op) {
	int begin = conv(op);
	desc *how = to(op, begin + 2, CONVOLUTION), *w = to(op, begin + 3, TENSOR), *x = to(op, begin + 4, TENSOR), *y = to(op, begin + 5, TENSOR);
	desc *result = op->kind == OP_CONV ? y : op->kind == OP_CONV_WEIGHT ? w : x;
	double *sums = calloc(reach(result), sizeof *sums);
	int64_t p[4], tap[4], from[4];
	EACH(y, p) {
		for (tap[1] = 0; tap[1] < dim(w, 1); tap[1]++)
			for (tap[2] = 0; tap[2] < dim(w, 2); tap[2]++)
				for (tap[3] = 0; tap[3] < dim(w, 3); tap[3]++) {
					int64_t groups = dim(x, 1) / dim(w, 1), inside = 1;
					tap[0] = p[1], from[0] = p[0], from[1] = p[1] * groups / dim(y, 1) * dim(w, 1) + tap[1];
					for (int i = 0; i < 2; i++) {
						from[2 + i] = p[2 + i] * get(how, 103, 3)->data[i] - get(how, 105, 3)->data[i] + tap[2 + i] * get(how, 102, 3)->data[i];
						inside = inside && from[2 + i] >= 0 && from[2 + i] < dim(x, 2 + i);
					}
					if (!inside) continue;
					int64_t *at = result == y ? p : result == w ? tap : from, index = 0;
					for (int i = 0; i < 4; i++) index += at[i] * stride(result, i);
					sums[index] += (result == x ? 1 : load(r, x, from)) * (result == w ? 1 : load(r, w, tap)) * (result == y ? 1 : load(r, y, p));
				}
	}
	EACH(result, p) {
		int64_t index = 0;
		for (int i = 0; i < 4; i++) index += p[i] * stride(result, i);
		store(r, result, p, sums[index]);
	}
	free(sums);
}
static int pointwise(run *r, desc *op, int64_t *at, double *v) {
	desc *b = to(op, 752, TENSOR), *t = to(op, 758, TENSOR), *how = to(op, 750, POINTWISE);
	double x = load(r, to(op, 751, TENSOR), at), y = b ? load(r, b, at) : 0;
	switch (number(how, 0, 14, -1)) {
	case 0: return *v = x + y, OK;
	case 1: return *v = x * y, OK;
	case 6: return *v = x / y, OK;
	case 9: return *v = x - y, OK;
	case 13: return *v = exp(x), OK;
	case 15: return *v = log(x), OK;
	case 101: return *v = tanh(x), OK;
	case 201: return *v = load(r, to(op, 757, TENSOR), at) * (1 - tanh(x) * tanh(x)), OK;
	case 302: return *v = x > y, OK;
	case 303: return *v = x >= y, OK;
	case 501: return *v = at[number(how, 9, 3, 0)], OK;
	case 601: return *v = load(r, t, at) != 0 ? x : y, OK;
	}
	return stub_complain("cudnnBackendExecute", "a mode that the stub does not know"), FAILED;
}
static void reduce(run *r, int max, desc *x, desc *y) {
	int64_t at[4], into[4];
	EACH(y, at) store(r, y, at, max ? -INFINITY : 0);
	double *sums = calloc(reach(y), sizeof(double));
	EACH(x, at) {
		int64_t index = 0;
		for (int i = 0; i < 4; i++) into[i] = at[i] * dim(y, i) / dim(x, i), index += into[i] * stride(y, i);
		double v = load(r, x, at), old = max ? load(r, y, into) : sums[index];
		sums[index] = max ? fmax(old, v) : old + v;
		store(r, y, into, sums[index]);
	}
	free(sums);
}

static int compute(void *data) {
	run *r = data;
	stub_tick(r->time);
	attribute *ops = get(r->graph, 801, 15);
	memset(r->own, 0, sizeof r->own);
	for (int64_t i = 0; i < ops->count; i++) {
		desc *op = (desc *)ops->data[i];
		int64_t at[4];
		double v;
		switch (op->kind) {
		case OP_MATMUL: multiply(r, to(op, 1520, TENSOR), to(op, 1521, TENSOR), to(op, 1522, TENSOR)); break;
		case OP_CONV:
		case OP_CONV_WEIGHT:
		case OP_CONV_DATA: convolve(r, op); break;
		case OP_REDUCTION: reduce(r, number(to(op, 1612, REDUCTION), 1600, 18, 0) == 3, to(op, 1610, TENSOR), to(op, 1611, TENSOR)); break;
		case OP_RESHAPE: { // the same memory in another form
			desc *x = to(op, 2200, TENSOR), *y = to(op, 2201, TENSOR);
			if (number(x, 907, 2, 0)) {
				memcpy(place(r, y), place(r, x), reach(x) * sizeof(float));
				break;
			}
			EACH(y, at) {
				int64_t turned[] = {at[0], at[1], at[3], at[2]};
				store(r, y, at, load(r, x, turned));
			}
			break;
		}
		default: {
			desc *y = to(op, 753, TENSOR) ? to(op, 753, TENSOR) : to(op, 756, TENSOR);
			EACH(y, at) {
				if (pointwise(r, op, at, &v)) return FAILED;
				store(r, y, at, v);
			}
		}
		}
	}
	for (int i = 0; i < 64; i++) free(r->own[i]);
	return OK;
}

// What a tensor of an operation needs is in the pack, in memory that is large enough.
static int given(run *r, desc *t) {
	if (!t || number(t, 907, 2, 0)) return 1;
	if (number(t, 908, 2, 0)) return r->number[id(t)] != ~0ull;
	uint64_t p = r->memory[id(t)];
	return p && p % 16 == 0 && stub_memory(p, reach(t) * size(type(t)));
}

int cudnnBackendExecute(handle *h, desc *plan, desc *pack) {
	WANT(open(h) && h->stream && plan->live && plan->final && plan->kind == PLAN && pack->live && pack->final && pack->kind == PACK)
	uint64_t workspace = get(pack, 1003, 6)->data[0];
	WANT(stub_memory(workspace, 4096) && workspace % 256 == 0)
	int time = times[number(to(plan, 401, CONFIG), 1301, 3, 0) - 7];
	if (time < 0) return UNSUPPORTED;
	run *r = calloc(1, sizeof *r); // a graph keeps it
	r->time = time;
	r->graph = (desc *)to(plan, 401, CONFIG)->a[0].data[0];
	attribute *ids = get(pack, 1000, 3), *pointers = get(pack, 1001, 6), *ops = get(r->graph, 801, 15);
	memset(r->number, 0xff, sizeof r->number);
	for (int64_t i = 0; i < ids->count; i++) {
		WANT(ids->data[i] < 64)
		r->memory[ids->data[i]] = pointers->data[i];
		if (pointers->data[i] && !stub_memory(pointers->data[i], 4)) r->number[ids->data[i]] = *(uint32_t *)pointers->data[i];
	}
	static const int names[] = {703, 704, 705, 709, 710, 711, 715, 716, 717, 751, 752, 753, 756, 757, 758, 1520, 1521, 1522, 1610, 1611, 2200, 2201};
	for (int64_t i = 0; i < ops->count; i++)
		for (int n = 0; n < 22; n++) WANT(given(r, to((desc *)ops->data[i], names[n], TENSOR)))
	return stub_enqueue(h->stream, compute, r) ? FAILED : OK;
}
