// A stand-in for NVRTC, and for the versions of cuBLASLt and cuDNN.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { char *text; char log[4096]; } program;

// Each compilation adds a byte to a file: it may be in another process than the test.
static void count(void) {
	FILE *f = fopen(getenv("MCS_STUB_COMPILED"), "a");
	if (f) fputc('.', f), fclose(f);
}

int nvrtcVersion(int *major, int *minor) { return *major = 12, *minor = 8, 0; }
int nvrtcCreateProgram(program **p, const char *text, const char *name, int n, char **headers, char **names) {
	if (n || headers || names) return 3;
	*p = calloc(1, sizeof **p);
	(*p)->text = strdup(text);
	return 0;
}
int nvrtcCompileProgram(program *p, int n, const char **options) {
	count();
	if (strstr(p->text, "#crash")) abort();
	while (strstr(p->text, "#endless")) pause();
	for (int i = 0; i < n; i++) snprintf(p->log + strlen(p->log), sizeof p->log - strlen(p->log), "%s ", options[i]);
	if (strcmp(options[0], "--gpu-architecture=sm_90a")) return 5;
	if (strstr(p->text, "#error")) return strcpy(p->log, "row.metal(7): error: #error no such thing\n"), 6;
	return 0;
}
int nvrtcGetProgramLogSize(program *p, size_t *n) { return *n = strlen(p->log) + 1, 0; }
int nvrtcGetProgramLog(program *p, char *s) { return strcpy(s, p->log), 0; }
// The "cubin" holds the options, so that a test can see them.
int nvrtcGetCUBINSize(program *p, size_t *n) { return *n = strlen(p->log) + 32, 0; }
int nvrtcGetCUBIN(program *p, char *s) { return memset(s, 0, strlen(p->log) + 32), sprintf(s, ".entry axpy %s", p->log), 0; }
int nvrtcGetPTXSize(program *p, size_t *n) { return nvrtcGetCUBINSize(p, n); }
int nvrtcGetPTX(program *p, char *s) { return nvrtcGetCUBIN(p, s); }
static int known[] = {75, 80, 90};
int nvrtcGetNumSupportedArchs(int *n) { return *n = 3, 0; }
int nvrtcGetSupportedArchs(int *list) { return memcpy(list, known, sizeof known), 0; }
int nvrtcDestroyProgram(program **p) { return free((*p)->text), free(*p), *p = NULL, 0; }
const char *nvrtcGetErrorString(int code) { return code == 5 ? "NVRTC_ERROR_INVALID_OPTION" : "NVRTC_ERROR"; }

int cublasLtGetProperty(int part, int *v) { return *v = (int[]){12, 8, 4}[part], 0; }
int cudnnGetProperty(int part, int *v) { return *v = (int[]){9, 5, 1}[part], 0; }
