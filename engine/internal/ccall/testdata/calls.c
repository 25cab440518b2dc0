// What the tests of package ccall call.
#include <stdint.h>
#include <string.h>

void nothing(void) {}

// Each argument counts with its position, so that none can stand in another's place.
int64_t weigh16(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h, int64_t i,
                int64_t j, int64_t k, int64_t l, int64_t m, int64_t n, int64_t o, int64_t p) {
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n +
	       15 * o + 16 * p;
}

int64_t sum5(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) { return a + b + c + d + e; }

int64_t sum11(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h, int64_t i,
              int64_t j, int64_t k) {
	return a + b + c + d + e + f + g + h + i + j + k;
}

double mixed(int64_t a, double x, int64_t b, double y, double z, int64_t c, double w) {
	return a + 2 * b + 3 * c + 10 * x + 20 * y + 30 * z + 40 * w;
}

// The bits of a float come back as an integer: a float result is the low half of a double's register.
int32_t half(float x) {
	float y = x / 2;
	int32_t bits;
	memcpy(&bits, &y, 4);
	return bits;
}

// An int result, with the upper half of the register in use.
int64_t untidy(int64_t status) { return (int64_t)0x1234567800000000 | (uint32_t)status; }

// Counts its calls, and fails in call number failing.
int32_t step(int32_t *calls, int32_t failing) { return ++*calls == failing ? 700 : 0; }

typedef struct {
	uint64_t width, height, depth;
} size3;

int64_t volumes(int64_t weight, size3 a, size3 b) {
	return weight * (a.width + 10 * a.height + 100 * a.depth + 1000 * b.width + 10000 * b.height + 100000 * b.depth);
}

// Uses much of the stack that it is called on, and all registers that a callee must save.
int64_t deep(int64_t n) {
	volatile char room[16384];
	for (int i = 0; i < (int)sizeof room; i += 1024) room[i] = (char)n;
	int64_t a = n, b = n + 1, c = n + 2, d = n + 3, e = n + 4, f = n + 5, g = n + 6;
	for (int i = 0; i < 100; i++) a += b, b ^= c, c += d, d ^= e, e += f, f ^= g, g += a;
	return n > 0 ? deep(n - 1) + (a - a) + room[1024] - (char)n + 1 : 0;
}

const char *greeting(void) { return "good day"; }

int32_t answer = 42;
