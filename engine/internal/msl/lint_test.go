package msl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/shaders"
)

// body is a kernel with some statements, which begin in line 2 column 1.
func body(statements string) string {
	return "kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {\n" + statements + "\n}"
}

func TestLint(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // line:column: text
	}{
		// Words.
		{body("x[i] = 1.0f; // new double goto"), nil},
		{body("double d = 1;"), []string{"2:1: got double: Metal has no double: write float"}},
		{body("double2 d;"), []string{"2:1: got double2: Metal has no double: write float"}},
		{body("float v = *new float[2];"), []string{"2:12: got new: Metal has no memory to allocate: declare an array"}},
		{body("long long n = 1;"), []string{"2:1: got long: Metal has no long long: write long, which has 64 bits"}},
		{body("goto end; end: ;"), []string{"2:1: got goto: Metal has no goto: write a loop or an if"}},
		{body("try { throw 1; } catch (int) {}"), []string{
			"2:1: got try: Metal has no exceptions: write the error to a buffer", "2:7: got throw: Metal has no exceptions: write the error to a buffer",
			"2:18: got catch: Metal has no exceptions: write the error to a buffer"}},
		{body("static int n = 0;"), []string{"2:1: Metal has no static variables in functions: write constant constexpr outside of it"}},
		{body("x[0] = quad_sum(x[0]);"), []string{"2:8: got quad_sum: CUDA has no quadgroups: write the simd_ function"}},
		{"kernel void k(texture2d<float> t [[texture(0)]]) {}", []string{
			"1:15: got texture2d: kernels here read buffers only: write a device pointer",
			"1:32: argument t: got [[texture]], want one of " + strings.Join(sortedAttributes(), ", ")}},
		{"kernel void k(device atomic_float* s [[buffer(0)]]) {}", []string{
			"1:22: got atomic_float: adding floats in an order that varies gives other bits each time: write partial sums and add them in order"}},
		// Constructs.
		{body("float (*f)(float) = 0;"), []string{"2:8: Metal has no function pointers: write a template"}},
		{body("auto f = [](float v) { return v; };"), []string{"2:10: Metal has no lambda expressions: write a struct with an operator()"}},
		{body("float4 v = (float4)x[0];"), []string{"2:13: got a cast in the style of C: write float4(…)"}},
		{body("float4 v; v.xy = v.zw; v.x = 1;"), []string{"2:13: got an assignment to .xy: assign its elements one by one"}},
		{"float f(float x) { return x > 0 ? f(x - 1) : 0; }", []string{"1:7: f calls itself, which Metal refuses: write a loop"}},
		{"int g(int);\nint f(int x) { return g(x); }\nint g(int x) { return f(x); }", []string{
			"2:5: f calls itself, which Metal refuses: write a loop", "3:5: g calls itself, which Metal refuses: write a loop"}},
		{"int f(int x) { return x; }\nfloat f(float x) { return f(int(x)); }", nil},
		{"#include \"a.h\"\n", []string{"1:1: Metal compiles a text without files: put the included text in its place"}},
		{"#define K kernel void k() {}\n", []string{"1:11: got kernel in a macro: the head of a kernel stands in the text"}},
		{"float table[2] = {1, 2};\nconstant float good[1] = {1};\nconstant constexpr int n = 2;", []string{
			"1:7: a variable outside of functions is constant: write constant before its type"}},
		// Address spaces.
		{"float f(float* x) { return *x; }", []string{"1:14: got a pointer without an address space: write device, constant, threadgroup or thread before its type"}},
		{"float f(thread float& x, device const float* y) { return x; }", nil},
		{"struct S { float* x; device float* y; };", []string{"1:17: got a pointer without an address space: write device, constant, threadgroup or thread before its type"}},
		{body("float* p = 0; device float* q = x; float a = 2 * i * lane;"), []string{
			"2:6: got a pointer without an address space: write device, constant, threadgroup or thread before its type"}},
		// Heads of kernels.
		{"kernel int k(device float* x [[buffer(0)]]) { return 0; }", []string{"1:12: kernel k returns a value: write kernel void, and a buffer for the result"}},
		{"kernel void k(device float* x, constant int& n [[buffer(0)]], device int* y [[buffer(0)]], device int* z [[buffer(31)]]) {}", []string{
			"1:29: argument x: has no index: write [[buffer(n)]]", "1:75: argument y: got index 0, which n has: write another", "1:104: argument z: got index 31, want 0 to 30"}},
		{"kernel void k(float* x [[buffer(0)]], thread float* y [[buffer(1)]], threadgroup float* s) {}", []string{
			"1:22: argument x: got float* without an address space: write device, constant or threadgroup before its type",
			"1:53: argument y: got thread memory, which a host does not have: write device or constant", "1:89: argument s: has no index: write [[threadgroup(n)]]"}},
		{"kernel void k(uint n [[buffer(0)]], uint m, int i [[thread_position_in_grid]], uint2 l [[thread_index_in_simdgroup]], uint q [[position]]) {}", []string{
			"1:20: argument n: got [[buffer(n)]] on a value: write constant uint& n",
			"1:42: argument m: has no attribute: write [[thread_position_in_grid]] or another, or constant uint& m [[buffer(n)]]",
			"1:49: argument i: got type int for [[thread_position_in_grid]], want uint or ushort, uint2, uint3, ushort2 or ushort3",
			"1:86: argument l: got type uint2 for [[thread_index_in_simdgroup]], want uint or ushort",
			"1:124: argument q: got [[position]], want one of " + strings.Join(sortedAttributes(), ", ")}},
		{"kernel void k(uint2 a [[thread_position_in_grid]], uint b [[threads_per_grid]]) {}", []string{
			"1:57: k: got positions of different numbers of elements: write uint, uint2 or uint3 for all of them"}},
		{"[[max_total_threads_per_threadgroup(2048)]] kernel void k() {}", []string{"1:57: kernel k: got 2048 threads in a threadgroup, want 1 to 1024"}},
		{"template <typename T> kernel void k(device T* x [[buffer(0)]]) {}", []string{
			`1:35: template k has no instance: write template [[host_name("…")]] kernel decltype(k<…>) k<…>;`}},
		{"kernel void k() {}\nkernel void l() { k(); }", []string{"2:19: kernel k is called: write a function that both call"}},
		// Threadgroup memory.
		{body("threadgroup float4 s[2048]; threadgroup half t[1];"), []string{"1:13: kernel k declares 32770 bytes of threadgroup memory, want at most 32768"}},
		{"constant constexpr int N = 64;\ntemplate <typename T, int M> kernel void k() { threadgroup vec<T, 4> s[N * (M + 1)]; }\n" +
			"template [[host_name(\"a\")]] kernel decltype(k<float, 31>) k<float, 31>;\ntemplate [[host_name(\"b\")]] kernel decltype(k<half, 63>) k<half, 63>;\n" +
			"template [[host_name(\"c\")]] kernel decltype(k<half, 64>) k<half, 64>;", []string{"2:42: kernel c declares 33280 bytes of threadgroup memory, want at most 32768"}},
		{body("threadgroup float s = 1;\nif (i > 0) { threadgroup float t, u; }"), []string{
			"2:21: threadgroup memory has no initial value: let a thread write it before a barrier",
			"3:14: threadgroup memory is declared in the outermost block of a kernel", "3:33: got two names in a declaration of threadgroup memory: write two declarations"}},
		{"float f() { threadgroup float s[2]; return s[0]; }", []string{"1:13: threadgroup memory is declared in kernels: give f a threadgroup pointer"}},
		// Where threads meet.
		{body("if (i > 9) return;\nx[0] = simd_sum(x[i]);"), []string{
			"2:12: got a return before simd_sum in line 3, where all threads meet: let every thread go there, or say why all return in a comment // uniform: …"}},
		{body("if (i > 9) return; // uniform: i is the same in all threads\nx[0] = simd_sum(x[i]);"), nil},
		{body("x[0] = simd_sum(x[i]);\nif (i > 9) return;\nx[1] = 0;"), nil},
		{"float f(float v) { return simd_sum(v); }\n" + body("if (i > 9) return;\nx[0] = f(x[i]);"), []string{
			"3:12: got a return before f in line 4, where all threads meet: let every thread go there, or say why all return in a comment // uniform: …"}},
	} {
		s, err := Parse("a.metal", c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var got []string
		for _, p := range Lint(s) {
			got = append(got, strings.TrimPrefix(p.Error(), "a.metal:"))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s\ngot\n\t%s\nwant\n\t%s", c.text, strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
		}
	}
}

// TestLintRendered: the blocks of package shaders, and kernels that package kernel has rendered, are as
// Metal wants them.
func TestLintRendered(t *testing.T) {
	files, err := filepath.Glob("../kernel/testdata/*.metal")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, %v, want rendered kernels", files, err)
	}
	text := shaders.Blocks()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text += "#line 1 \"" + filepath.Base(f) + "\"\n" + string(b)
	}
	s, err := Parse("blocks", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Lint(s) {
		t.Error(p)
	}
}
