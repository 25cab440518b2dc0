// A stand-in for cuSOLVER, cuBLAS and cuFFT: the first two take matrices by columns, as NVIDIA's do. It computes on the
// stand-in for libcuda, which is compiled with it. Handles are never given back to malloc.
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 3, LOWER = 0, UPPER = 1, WORK = 16 };

int stub_enqueue(void *stream, int (*work)(void *), void *data);
int stub_memory(uint64_t p, size_t n);
void stub_complain(const char *function, const char *text);
void *stub_context(void);

typedef struct { const char *kind; int live; void *context, *stream; } object;
static int lives;
int stub_solver_live(void) { return lives; }

#define WANT(condition) \
	if (!(condition)) return stub_complain(__func__, #condition), INVALID;

static int make(object **h, const char *kind) {
	object *o = *h = calloc(1, sizeof *o);
	o->kind = kind, o->live = 1, o->context = stub_context(), lives++;
	return OK;
}
static int is(object *o, const char *kind) { return o && !strcmp(o->kind, kind) && o->live && o->context == stub_context(); }
static int end(object *o, const char *kind) {
	WANT(is(o, kind))
	return o->live = 0, lives--, OK;
}
static int streams(object *o, const char *kind, void *s) {
	WANT(is(o, kind) && s)
	return o->stream = s, OK;
}
int cusolverGetProperty(int part, int *v) { return *v = (int[]){11, 7, 5}[part], OK; }
int cublasGetProperty(int part, int *v) { return *v = (int[]){12, 8, 4}[part], OK; }
int cufftGetProperty(int part, int *v) { return *v = (int[]){11, 4, 1}[part], OK; }
int cusolverDnCreate(object **h) { return make(h, "solver"); }
int cusolverDnDestroy(object *h) { return end(h, "solver"); }
int cusolverDnSetStream(object *h, void *s) { return streams(h, "solver", s); }
int cusolverDnCreateGesvdjInfo(object **h) { return make(h, "jacobi"); }
int cusolverDnDestroyGesvdjInfo(object *h) { return end(h, "jacobi"); }
int cusolverDnCreateSyevjInfo(object **h) { return make(h, "cyclic"); }
int cusolverDnDestroySyevjInfo(object *h) { return end(h, "cyclic"); }
int cublasCreate_v2(object **h) { return make(h, "blas"); }
int cublasDestroy_v2(object *h) { return end(h, "blas"); }
int cublasSetStream_v2(object *h, void *s) { return streams(h, "blas", s); }

// A job is a call whose turn comes in the stream.
typedef struct {
	int m, n, k, full, vectors, ul, trans, unit;
	float alpha, *a, *b, *tau, *s, *u, *v;
	int *pivots, *info;
} job;
static int later(object *h, int (*work)(void *), job j) { return stub_enqueue(h->stream, work, memcpy(malloc(sizeof j), &j, sizeof j)); }
static int has(void *p, size_t n) { return stub_memory((uint64_t)p, 4 * n); }
#define A(i, j) a[(i) + (size_t)(j) * m]

static int potrf(void *data) {
	job q = *(job *)data;
	int m = q.n;
	float *a = q.a;
	*q.info = 0;
	for (int j = 0; j < m; j++)
		for (int i = j; i < m; i++) { // a = l·lᵀ
			double s = A(i, j);
			for (int k = 0; k < j; k++) s -= (double)A(i, k) * A(j, k);
			if (i > j) A(i, j) = s / A(j, j);
			else if (s > 0) A(j, j) = sqrt(s);
			else return *q.info = j + 1, OK;
		}
	return OK;
}
int cusolverDnSpotrf_bufferSize(object *h, int ul, int n, float *a, int ld, int *work) {
	WANT(is(h, "solver") && ul == LOWER && n > 0 && ld == n)
	return *work = WORK, OK;
}
int cusolverDnSpotrf(object *h, int ul, int n, float *a, int ld, float *work, int lwork, int *info) {
	WANT(is(h, "solver") && ul == LOWER && ld == n && lwork == WORK && has(a, n * n) && has(work, WORK) && has(info, 1))
	return later(h, potrf, (job){.n = n, .a = a, .info = info});
}

static int getrf(void *data) {
	job q = *(job *)data;
	int m = q.m, n = q.n, least = m < n ? m : n;
	float *a = q.a;
	*q.info = 0;
	for (int j = 0; j < least; j++) {
		int p = j;
		for (int i = j; i < m; i++)
			if (fabsf(A(i, j)) > fabsf(A(p, j))) p = i;
		q.pivots[j] = p + 1;
		for (int k = 0; k < n; k++) {
			float x = A(j, k);
			A(j, k) = A(p, k), A(p, k) = x;
		}
		if (!A(j, j)) {
			if (!*q.info) *q.info = j + 1;
			continue;
		}
		for (int i = j + 1; i < m; i++) {
			A(i, j) /= A(j, j);
			for (int k = j + 1; k < n; k++) A(i, k) -= A(i, j) * A(j, k);
		}
	}
	return OK;
}
int cusolverDnSgetrf_bufferSize(object *h, int m, int n, float *a, int ld, int *work) {
	WANT(is(h, "solver") && m > 0 && n > 0 && ld == m)
	return *work = WORK, OK;
}
int cusolverDnSgetrf(object *h, int m, int n, float *a, int ld, float *work, int *pivots, int *info) {
	WANT(is(h, "solver") && ld == m && has(a, m * n) && has(work, WORK) && has(pivots, m < n ? m : n) && has(info, 1))
	return later(h, getrf, (job){.m = m, .n = n, .a = a, .pivots = pivots, .info = info});
}

// reflect applies 1 − tau·v·vᵀ to column c of x, where v is below the diagonal of column j of a.
static void reflect(int m, float *a, int j, float tau, float *x, int c) {
	double s = x[j + (size_t)c * m];
	for (int i = j + 1; i < m; i++) s += (double)A(i, j) * x[i + (size_t)c * m];
	x[j + (size_t)c * m] -= tau * s;
	for (int i = j + 1; i < m; i++) x[i + (size_t)c * m] -= tau * s * A(i, j);
}
static int geqrf(void *data) {
	job q = *(job *)data;
	int m = q.m, n = q.n;
	float *a = q.a;
	*q.info = 0;
	for (int j = 0; j < (m < n ? m : n); j++) {
		double below = 0;
		for (int i = j + 1; i < m; i++) below += (double)A(i, j) * A(i, j);
		q.tau[j] = 0;
		if (!below) continue;
		double alpha = A(j, j), beta = -copysign(sqrt(alpha * alpha + below), alpha);
		q.tau[j] = (beta - alpha) / beta;
		for (int i = j + 1; i < m; i++) A(i, j) /= alpha - beta;
		for (int c = j + 1; c < n; c++) reflect(m, a, j, q.tau[j], a, c);
		A(j, j) = beta;
	}
	return OK;
}
int cusolverDnSgeqrf_bufferSize(object *h, int m, int n, float *a, int ld, int *work) {
	WANT(is(h, "solver") && m > 0 && n > 0 && ld == m)
	return *work = WORK, OK;
}
int cusolverDnSgeqrf(object *h, int m, int n, float *a, int ld, float *tau, float *work, int lwork, int *info) {
	WANT(is(h, "solver") && ld == m && lwork == WORK && has(a, m * n) && has(tau, m < n ? m : n) && has(work, WORK) && has(info, 1))
	return later(h, geqrf, (job){.m = m, .n = n, .a = a, .tau = tau, .info = info});
}
static int orgqr(void *data) {
	job q = *(job *)data;
	int m = q.m;
	size_t bytes = 4 * (size_t)m * q.n;
	float *x = calloc(1, bytes);
	for (int c = 0; c < q.n; c++) x[c + (size_t)c * m] = 1;
	for (int j = q.k - 1; j >= 0; j--)
		for (int c = 0; c < q.n; c++) reflect(m, q.a, j, q.tau[j], x, c);
	memcpy(q.a, x, bytes), free(x);
	return *q.info = 0, OK;
}
int cusolverDnSorgqr_bufferSize(object *h, int m, int n, int k, float *a, int ld, float *tau, int *work) {
	WANT(is(h, "solver") && m >= n && n >= k && k > 0 && ld == m)
	return *work = 2 * WORK, OK;
}
int cusolverDnSorgqr(object *h, int m, int n, int k, float *a, int ld, float *tau, float *work, int lwork, int *info) {
	WANT(is(h, "solver") && m >= n && n >= k && ld == m && lwork == 2 * WORK && has(a, m * n) && has(tau, k) && has(work, 2 * WORK) && has(info, 1))
	return later(h, orgqr, (job){.m = m, .n = n, .k = k, .a = a, .tau = tau, .info = info});
}

// turn makes columns p and q of a [m n] orthogonal, and turns those of v [n n] as well.
static double turn(int m, int n, double *a, double *v, int p, int q) {
	double x = 0, y = 0, z = 0;
	for (int i = 0; i < m; i++) x += A(i, p) * A(i, p), y += A(i, q) * A(i, q), z += A(i, p) * A(i, q);
	if (!z) return 0;
	double t = (y - x) / (2 * z);
	t = copysign(1, t) / (fabs(t) + sqrt(1 + t * t));
	double c = 1 / sqrt(1 + t * t), s = c * t;
	for (int i = 0; i < m; i++) {
		double f = A(i, p), g = A(i, q);
		A(i, p) = c * f - s * g, A(i, q) = s * f + c * g;
	}
	for (int i = 0; i < n; i++) {
		double f = v[i + p * n], g = v[i + q * n];
		v[i + p * n] = c * f - s * g, v[i + q * n] = s * f + c * g;
	}
	return fabs(z);
}
// jacobi makes a [m n] u·diag(s), and v; the columns are in the order of falling s.
static void jacobi(int m, int n, double *a, double *v, double *s, int *order) {
	for (int i = 0; i < n * n; i++) v[i] = i % n == i / n;
	for (int sweep = 0; sweep < 60; sweep++)
		for (int p = 0; p < n; p++)
			for (int q = p + 1; q < n; q++) turn(m, n, a, v, p, q);
	for (int j = 0; j < n; j++) {
		s[j] = 0, order[j] = j;
		for (int i = 0; i < m; i++) s[j] += A(i, j) * A(i, j);
		s[j] = sqrt(s[j]);
	}
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			if (s[order[j]] > s[order[i]]) {
				int k = order[i];
				order[i] = order[j], order[j] = k;
			}
}
static int gesvdj(void *data) {
	job q = *(job *)data;
	int m = q.m, n = q.n, order[n];
	double a[m * n], v[n * n], s[n];
	for (int i = 0; i < m * n; i++) a[i] = q.a[i], q.a[i] = NAN;
	jacobi(m, n, a, v, s, order);
	for (int j = 0; j < n; j++) {
		q.s[j] = s[order[j]];
		for (int i = 0; i < m && q.vectors; i++) q.u[i + j * m] = A(i, order[j]) / s[order[j]];
		for (int i = 0; i < n && q.vectors; i++) q.v[i + j * n] = v[i + order[j] * n];
	}
	return *q.info = 0, OK;
}
int cusolverDnSgesvdj_bufferSize(object *h, int mode, int econ, int m, int n, float *a, int ld, float *s, float *u, int ldu, float *v, int ldv, int *work, object *o) {
	WANT(is(h, "solver") && is(o, "jacobi") && (mode | 1) == 1 && (econ | 1) == 1 && m >= n && ld == m && ldu == m && ldv == n)
	return *work = WORK + mode, OK;
}
int cusolverDnSgesvdj(object *h, int mode, int econ, int m, int n, float *a, int ld, float *s, float *u, int ldu, float *v, int ldv, float *work, int lwork, int *info, object *o) {
	WANT(is(h, "solver") && is(o, "jacobi") && m >= n && ld == m && ldu == m && ldv == n && lwork == WORK + mode && has(a, m * n) && has(s, n))
	WANT(has(u, m * (econ ? n : m)) && has(v, n * n) && has(work, lwork) && has(info, 1))
	return later(h, gesvdj, (job){.m = m, .n = n, .a = a, .s = s, .u = u, .v = v, .full = !econ, .vectors = mode, .info = info});
}
static int syevd(void *data) { // of a positive definite matrix: its singular values
	job q = *(job *)data;
	int m = q.n, n = m, order[n];
	double a[m * n], v[n * n], s[n];
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) a[i + j * n] = i < j ? q.a[i + j * n] : q.a[j + i * n];
	jacobi(n, n, a, v, s, order);
	for (int j = 0; j < n; j++) {
		q.s[n - 1 - j] = s[order[j]];
		for (int i = 0; i < n && q.vectors; i++) q.a[i + (n - 1 - j) * n] = v[i + order[j] * n];
	}
	return *q.info = 0, OK;
}
int cusolverDnSsyevd_bufferSize(object *h, int mode, int ul, int n, float *a, int ld, float *w, int *work) {
	WANT(is(h, "solver") && (mode | 1) == 1 && ul == UPPER && n > 0 && ld == n)
	return *work = WORK + mode, OK;
}
int cusolverDnSsyevd(object *h, int mode, int ul, int n, float *a, int ld, float *w, float *work, int lwork, int *info) {
	WANT(is(h, "solver") && ul == UPPER && ld == n && lwork == WORK + mode && has(a, n * n) && has(w, n) && has(work, lwork) && has(info, 1))
	return later(h, syevd, (job){.n = n, .a = a, .s = w, .vectors = mode, .info = info});
}

static int trsm(void *data) { // x·op(a) = alpha·b, b [m n]
	job q = *(job *)data;
	int m = q.m, n = q.n;
	for (int step = 0; step < n; step++) {
		int forward = (q.ul == UPPER) != q.trans, j = forward ? step : n - 1 - step;
		for (int i = 0; i < m; i++) {
			double s = q.alpha * q.b[i + j * m];
			for (int k = forward ? 0 : j + 1; k < (forward ? j : n); k++) s -= (double)q.b[i + k * m] * (q.trans ? q.a[j + k * n] : q.a[k + j * n]);
			q.b[i + j * m] = q.unit ? s : s / q.a[j + j * n];
		}
	}
	return OK;
}
int cublasStrsm_v2(object *h, int side, int ul, int trans, int unit, int m, int n, float *alpha, float *a, int lda, float *b, int ldb) {
	WANT(is(h, "blas") && side == 1 && (ul | 1) == 1 && (trans | 1) == 1 && (unit | 1) == 1 && *alpha == 1 && lda == n && ldb == m && has(a, n * n) && has(b, m * n))
	return later(h, trsm, (job){.m = m, .n = n, .a = a, .b = b, .ul = ul, .trans = trans, .unit = unit, .alpha = *alpha});
}

// Many matrices: their addresses are in tables, which are read when their turn comes, or they lie side by side.
typedef struct {
	job j;
	int (*work)(void *);
	float **a, **b;
	int count;
} many;
static int each(void *data) {
	many q = *(many *)data;
	for (int i = 0; i < q.count; i++) {
		job j = q.j;
		size_t square = (size_t)i * j.n * j.n;
		j.a = q.a ? q.a[i] : j.a + square;
		WANT(has(j.a, j.n * j.n))
		if (q.b) {
			j.b = q.b[i];
			WANT(has(j.b, j.m * j.n))
		}
		if (j.pivots) j.pivots += i * j.n;
		if (j.info) j.info += i;
		if (j.s) j.s += i * j.n;
		if (j.u) j.u += square, j.v += square;
		q.work(&j);
	}
	return OK;
}
static int table(void *p, int count) { return has(p, 2 * count) && !((uint64_t)p % 8); }
static int all(object *h, many q) { return stub_enqueue(h->stream, each, memcpy(malloc(sizeof q), &q, sizeof q)); }
int cusolverDnSpotrfBatched(object *h, int ul, int n, float **a, int ld, int *info, int count) {
	WANT(is(h, "solver") && ul == LOWER && ld == n && table(a, count) && has(info, count))
	return all(h, (many){.j = {.n = n, .info = info}, .work = potrf, .a = a, .count = count});
}
int cublasSgetrfBatched(object *h, int n, float **a, int ld, int *pivots, int *info, int count) {
	WANT(is(h, "blas") && n > 0 && ld == n && table(a, count) && has(pivots, n * count) && has(info, count))
	return all(h, (many){.j = {.m = n, .n = n, .pivots = pivots, .info = info}, .work = getrf, .a = a, .count = count});
}
int cublasStrsmBatched(object *h, int side, int ul, int trans, int unit, int m, int n, float *alpha, float **a, int lda, float **b, int ldb, int count) {
	WANT(is(h, "blas") && side == 1 && (ul | 1) == 1 && (trans | 1) == 1 && (unit | 1) == 1 && *alpha == 1 && lda == n && ldb == m && table(a, count) && table(b, count))
	return all(h, (many){.j = {.m = m, .n = n, .ul = ul, .trans = trans, .unit = unit, .alpha = *alpha}, .work = trsm, .a = a, .b = b, .count = count});
}
int cusolverDnSsyevjBatched_bufferSize(object *h, int mode, int ul, int n, float *a, int ld, float *w, int *work, object *o, int count) {
	WANT(is(h, "solver") && is(o, "cyclic") && (mode | 1) == 1 && ul == UPPER && n > 0 && n <= 32 && ld == n)
	return *work = WORK * count, OK;
}
int cusolverDnSsyevjBatched(object *h, int mode, int ul, int n, float *a, int ld, float *w, float *work, int lwork, int *info, object *o, int count) {
	WANT(is(h, "solver") && is(o, "cyclic") && ul == UPPER && ld == n && lwork == WORK * count)
	WANT(has(a, n * n * count) && has(w, n * count) && has(work, lwork) && has(info, count))
	return all(h, (many){.j = {.n = n, .a = a, .s = w, .vectors = mode, .info = info}, .work = syevd, .count = count});
}
int cusolverDnSgesvdjBatched_bufferSize(object *h, int mode, int m, int n, float *a, int ld, float *s, float *u, int ldu, float *v, int ldv, int *work, object *o, int count) {
	WANT(is(h, "solver") && is(o, "jacobi") && (mode | 1) == 1 && m == n && n <= 32 && ld == m && ldu == m && ldv == n)
	return *work = WORK * count, OK;
}
int cusolverDnSgesvdjBatched(object *h, int mode, int m, int n, float *a, int ld, float *s, float *u, int ldu, float *v, int ldv, float *work, int lwork, int *info, object *o, int count) {
	WANT(is(h, "solver") && is(o, "jacobi") && m == n && ld == m && ldu == m && ldv == n && lwork == WORK * count && has(a, m * n * count) && has(s, n * count))
	WANT(has(u, m * m * count) && has(v, n * n * count) && has(work, lwork) && has(info, count))
	return all(h, (many){.j = {.m = m, .n = n, .a = a, .s = s, .u = u, .v = v, .vectors = mode, .info = info}, .work = gesvdj, .count = count});
}

enum { R2C = 0x2a, C2R = 0x2c, C2C = 0x29 };
typedef struct { object *o; int rank, m, n, type, batch, manual; size_t work; void *area; } plan;
static plan plans[1024];
static int made;
int stub_plans(void) { return made; }
static plan *planned(int h) { return h > 0 && h <= made && is(plans[h].o, "plan") ? plans + h : 0; }
int cufftCreate(int *h) { return *h = ++made, make(&plans[made].o, "plan"); }
int cufftDestroy(int h) {
	WANT(planned(h))
	return end(plans[h].o, "plan");
}
int cufftSetAutoAllocation(int h, int on) {
	WANT(planned(h) && !on && !plans[h].rank)
	return plans[h].manual = 1, OK;
}
int cufftMakePlanMany(int h, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride, int odist, int type, int batch, size_t *work) {
	plan *p = planned(h);
	WANT(p && p->manual && !p->rank && (rank == 1 || rank == 2) && !inembed && !onembed && batch > 0)
	WANT((type == R2C || type == C2C || (type == C2R && rank == 1)) && n[0] > 0 && n[rank - 1] > 0)
	p->rank = rank, p->m = rank == 2 ? n[0] : 1, p->n = n[rank - 1], p->type = type, p->batch = batch;
	return *work = p->work = p->n & (p->n - 1) ? 64 * batch : 0, OK;
}
int cufftSetStream(int h, void *s) {
	WANT(planned(h))
	return streams(plans[h].o, "plan", s);
}
int cufftSetWorkArea(int h, void *area) {
	WANT(planned(h) && stub_memory((uint64_t)area, plans[h].work) && !((uint64_t)area % 256))
	return plans[h].area = area, OK;
}

typedef struct { plan p; float *x, *y; int sign; } transform;
static void dft(int n, double complex *z, size_t apart, int sign) {
	double complex y[n];
	for (int k = 0; k < n; k++) {
		y[k] = 0;
		for (int t = 0; t < n; t++) y[k] += z[t * apart] * cexp(2 * M_PI * I * sign * ((long)k * t % n) / n);
	}
	for (int k = 0; k < n; k++) z[k * apart] = y[k];
}
static int execute(void *data) {
	transform q = *(transform *)data;
	int m = q.p.m, n = q.p.n, half = n / 2 + 1, from = q.p.type == C2R ? half : n, to = q.p.type == R2C ? half : n;
	if (q.p.work) memset(q.p.area, 0xff, q.p.work);
	for (int b = 0; b < q.p.batch; b++) {
		double complex z[m * n];
		for (int i = 0; i < m; i++)
			for (int k = 0; k < from; k++, q.x += q.p.type == R2C ? 1 : 2) {
				double complex v = q.p.type == R2C ? q.x[0] : q.x[0] + I * q.x[1];
				z[i * n + k] = v;
				if (q.p.type != C2R) continue;
				if (k) z[i * n + n - k] = k == n - k ? creal(v) : conj(v);
				q.x[0] = q.x[1] = NAN; // it may write over its input
			}
		for (int i = 0; i < m; i++) dft(n, z + i * n, 1, q.sign);
		for (int k = 0; k < n && m > 1; k++) dft(m, z + k, n, q.sign);
		for (int i = 0; i < m; i++)
			for (int k = 0; k < to; k++) {
				*q.y++ = creal(z[i * n + k]);
				if (q.p.type != C2R) *q.y++ = cimag(z[i * n + k]);
			}
	}
	return OK;
}
static int transforms(int h, int type, float *x, float *y, int sign) {
	plan *p = planned(h);
	size_t half = p ? 2 * (p->n / 2 + 1) : 0;
	WANT(p && p->type == type && p->o->stream && (!p->work || p->area) && !((uint64_t)x % 8) && !((uint64_t)y % 8) && (sign == 1 || sign == -1))
	WANT(has(x, (size_t)p->batch * p->m * (type == C2R ? half : type == R2C ? p->n : 2 * p->n)))
	WANT(has(y, (size_t)p->batch * p->m * (type == R2C ? half : type == C2R ? p->n : 2 * p->n)))
	transform t = {*p, x, y, sign};
	return stub_enqueue(p->o->stream, execute, memcpy(malloc(sizeof t), &t, sizeof t));
}
int cufftExecC2C(int h, float *x, float *y, int sign) { return transforms(h, C2C, x, y, sign); }
int cufftExecR2C(int h, float *x, float *y) { return transforms(h, R2C, x, y, -1); }
int cufftExecC2R(int h, float *x, float *y) { return transforms(h, C2R, x, y, 1); }
