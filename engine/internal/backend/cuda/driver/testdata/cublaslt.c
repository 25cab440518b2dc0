// A stand-in for cuBLASLt: it takes products that are described as NVIDIA's wants, and computes them on the stand-in for
// libcuda, which is compiled with it. Handles, descriptions and layouts are never given back to malloc.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 7, UNSUPPORTED = 15 };
enum { F32 = 0, F16 = 2, BF16 = 14 };

int stub_enqueue(void *stream, int (*work)(void *), void *data);
int stub_memory(uint64_t p, size_t n);
void stub_complain(const char *function, const char *text);
void *stub_context(void);
void stub_tick(int n);

typedef struct { const char *kind; int live; void *context; } object;
typedef struct { object o; int compute, scale, ta, tb, epilogue; uint64_t bias; } desc;
typedef struct { object o; int type, batches; uint64_t rows, columns; int64_t ld, apart; } layout;
typedef struct { object o; uint64_t workspace; uint32_t reductions, alignment[4]; } preference;
typedef struct { uint64_t data[8]; } algorithm;
typedef struct { algorithm algo; size_t workspace; int state; float waves; int reserved[4]; } result;
_Static_assert(sizeof(result) == 96, "as in cublasLt.h");

static int lives, refuse, splits = 1, proposals = 1, times[8];
int stub_lt_live(void) { return lives; }
void stub_lt_refuse(int code) { refuse = code; }
void stub_lt_splits(int n) { splits = n; }
void stub_lt_proposes(int n) { proposals = n; }                 // so many algorithms
void stub_lt_takes(int which, int time) { times[which] = time; } // one of them, in microseconds; below 0 it does not run

#define WANT(condition) \
	if (!(condition)) return stub_complain(__func__, #condition), INVALID;

static void *make(size_t size, const char *kind) {
	object *o = calloc(1, size);
	o->kind = kind, o->live = 1, o->context = stub_context(), lives++;
	return o;
}
static int is(void *p, const char *kind) {
	object *o = p;
	return o && !strcmp(o->kind, kind) && o->live && o->context == stub_context();
}
static int end(void *p, const char *kind) {
	if (!is(p, kind)) return stub_complain(kind, "was destroyed before, or belongs to another context"), INVALID;
	((object *)p)->live = 0, lives--;
	return OK;
}
static size_t size(int type) { return type == F32 ? 4 : 2; }

int cublasLtGetProperty(int part, int *v) { return *v = (int[]){12, 8, 4}[part], 0; }
const char *cublasLtGetStatusString(int code) { return code == UNSUPPORTED ? "the functionality is not supported" : "in words"; }
int cublasLtCreate(void **h) { return *h = make(sizeof(object), "handle"), OK; }
int cublasLtDestroy(void *h) { return end(h, "handle"); }

int cublasLtMatmulDescCreate(desc **d, int compute, int scale) {
	WANT((compute == 68 || compute == 77) && scale == F32)
	*d = make(sizeof **d, "desc");
	(*d)->compute = compute, (*d)->epilogue = 1;
	return OK;
}
int cublasLtMatmulDescDestroy(desc *d) { return end(d, "desc"); }
int cublasLtMatmulDescSetAttribute(desc *d, int attribute, void *value, size_t n) {
	WANT(is(d, "desc"))
	if (attribute == 8) {
		WANT(n == 8)
		return d->bias = *(uint64_t *)value, OK;
	}
	WANT(n == 4)
	switch (attribute) {
	case 3: return d->ta = *(int *)value, OK;
	case 4: return d->tb = *(int *)value, OK;
	case 7: return d->epilogue = *(int *)value, OK;
	}
	return stub_complain(__func__, "an attribute that the stub does not know"), INVALID;
}

int cublasLtMatrixLayoutCreate(layout **l, int type, uint64_t rows, uint64_t columns, int64_t ld) {
	WANT((type == F32 || type == F16 || type == BF16) && rows && columns && ld >= (int64_t)rows)
	*l = make(sizeof **l, "layout");
	(*l)->type = type, (*l)->rows = rows, (*l)->columns = columns, (*l)->ld = ld, (*l)->batches = 1;
	return OK;
}
int cublasLtMatrixLayoutDestroy(layout *l) { return end(l, "layout"); }
int cublasLtMatrixLayoutSetAttribute(layout *l, int attribute, void *value, size_t n) {
	WANT(is(l, "layout") && ((attribute == 5 && n == 4) || (attribute == 6 && n == 8)))
	if (attribute == 5) return l->batches = *(int *)value, OK;
	return l->apart = *(int64_t *)value, OK;
}

int cublasLtMatmulPreferenceCreate(preference **p) { return *p = make(sizeof **p, "preference"), OK; }
int cublasLtMatmulPreferenceDestroy(preference *p) { return end(p, "preference"); }
int cublasLtMatmulPreferenceSetAttribute(preference *p, int attribute, void *value, size_t n) {
	WANT(is(p, "preference"))
	if (attribute == 1 && n == 8) return p->workspace = *(uint64_t *)value, OK;
	if (attribute == 3 && n == 4) return p->reductions = *(uint32_t *)value, OK;
	WANT(attribute >= 5 && attribute <= 8 && n == 4)
	return p->alignment[attribute - 5] = *(uint32_t *)value, OK;
}

// The rows and columns of a layout as the product sees it.
static uint64_t rows(layout *l, int t) { return t ? l->columns : l->rows; }
static uint64_t columns(layout *l, int t) { return t ? l->rows : l->columns; }

static int fits(desc *o, layout *a, layout *b, layout *c, layout *d) {
	return is(o, "desc") && is(a, "layout") && is(b, "layout") && is(c, "layout") && is(d, "layout") &&
	       rows(a, o->ta) == d->rows && columns(b, o->tb) == d->columns && columns(a, o->ta) == rows(b, o->tb) && c->rows == d->rows &&
	       c->columns == d->columns && a->type == b->type && c->type == d->type && (d->type == F32 || d->type == a->type) &&
	       a->batches == d->batches && b->batches == d->batches && c->batches == d->batches && (o->compute == 68 || a->type == F32) &&
	       (o->epilogue == 1 || o->epilogue == 4 || o->epilogue == 32 || o->epilogue == 36) && (!(o->epilogue & 4) || o->bias);
}

int cublasLtMatmulAlgoGetHeuristic(object *h, desc *o, layout *a, layout *b, layout *c, layout *d, preference *p, int n, result *r, int *found) {
	WANT(is(h, "handle") && is(p, "preference") && n == 8 && fits(o, a, b, c, d))
	WANT(p->workspace == 32 << 20 && p->reductions == 2)
	uint32_t *least = p->alignment;
	WANT(least[0] == least[1] && least[2] == least[3] && least[0] >= size(a->type) && least[2] >= size(d->type))
	if (refuse) return *found = 0, refuse;
	for (int i = 0; i < proposals; i++, r++) r->state = OK, r->workspace = 4096, r->algo = (algorithm){{66 + i, 20, splits, least[0], least[2]}};
	*found = proposals;
	return OK;
}
int cublasLtMatmulAlgoConfigGetAttribute(algorithm *g, int attribute, void *value, size_t n, size_t *written) {
	WANT(attribute >= 0 && attribute <= 3 && n == 4)
	*(uint32_t *)value = attribute == 3 ? (g->data[2] > 1 ? 2 : 0) : g->data[attribute], *written = 4;
	return OK;
}

static float element(layout *l, uint64_t memory, int64_t batch, uint64_t row, uint64_t column) {
	uint64_t at = memory + size(l->type) * (batch * l->apart + row + column * l->ld);
	if (l->type == F32) return *(float *)at;
	uint16_t h = *(uint16_t *)at;
	if (l->type == F16) return *(_Float16 *)at;
	uint32_t bits = (uint32_t)h << 16;
	float f;
	return memcpy(&f, &bits, 4), f;
}
static void store(int type, uint64_t at, float v) {
	if (type == F32)
		*(float *)at = v;
	else if (type == F16)
		*(_Float16 *)at = (_Float16)v;
	else {
		uint32_t bits;
		memcpy(&bits, &v, 4);
		*(uint16_t *)at = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	}
}

typedef struct { desc o; layout a, b, c, d; uint64_t pa, pb, pc, pd; float alpha, beta; int time; } product;

static int run(void *data) {
	product *p = data;
	stub_tick(p->time);
	layout bias = {.type = p->d.type};
	for (int n = 0; n < p->d.batches; n++)
		for (uint64_t j = 0; j < p->d.columns; j++)
			for (uint64_t i = 0; i < p->d.rows; i++) {
				float sum = 0;
				for (uint64_t k = 0; k < columns(&p->a, p->o.ta); k++)
					sum += (p->o.ta ? element(&p->a, p->pa, n, k, i) : element(&p->a, p->pa, n, i, k)) *
					       (p->o.tb ? element(&p->b, p->pb, n, j, k) : element(&p->b, p->pb, n, k, j));
				sum *= p->alpha;
				if (p->beta) sum += p->beta * element(&p->c, p->pc, n, i, j);
				if (p->o.epilogue & 4) sum += element(&bias, p->o.bias, 0, i, 0);
				if (p->o.epilogue & 32) sum = sum / 2 * (1 + tanhf(0.7978845608f * (sum + 0.044715f * sum * sum * sum)));
				store(p->d.type, p->pd + size(p->d.type) * (n * p->d.apart + i + j * p->d.ld), sum);
			}
	return OK;
}

static int within(layout *l, uint64_t p) {
	return stub_memory(p, size(l->type) * ((l->batches - 1) * l->apart + l->rows + (l->columns - 1) * l->ld));
}

int cublasLtMatmul(object *h, desc *o, float *alpha, uint64_t a, layout *la, uint64_t b, layout *lb, float *beta, uint64_t c, layout *lc, uint64_t d,
                   layout *ld, algorithm *g, uint64_t workspace, size_t n, void *stream) {
	WANT(is(h, "handle") && fits(o, la, lb, lc, ld) && g->data[0] - 66 < 8 && (*alpha == 1 || *alpha == .5f) && (*beta == 0 || *beta == 1))
	WANT(within(la, a) && within(lb, b) && within(lc, c) && within(ld, d))
	WANT(n == 4096 && stub_memory(workspace, n) && workspace % 256 == 0)
	WANT(!(o->epilogue & 4) || stub_memory(o->bias, size(ld->type) * ld->rows))
	WANT(a % g->data[3] == 0 && b % g->data[3] == 0 && c % g->data[4] == 0 && d % g->data[4] == 0)
	int time = times[g->data[0] - 66];
	if (time < 0) return UNSUPPORTED;
	product *p = malloc(sizeof *p); // a graph keeps it
	*p = (product){*o, *la, *lb, *lc, *ld, a, b, c, d, *alpha, *beta, time};
	return stub_enqueue(stream, run, p) ? INVALID : OK;
}
