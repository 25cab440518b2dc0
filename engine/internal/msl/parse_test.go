package msl

import (
	"fmt"
	"strings"
	"testing"
)

// describe writes a source's kernels down, a line each.
func describe(s *Source) string {
	var out strings.Builder
	for _, k := range s.Kernels {
		fmt.Fprintf(&out, "%s", k.Name)
		for _, a := range k.Arguments {
			fmt.Fprintf(&out, " | %v %s: %s", a.Kind, a.Name, a.Type)
			switch {
			case a.Attribute != "":
				fmt.Fprintf(&out, " = %s", a.Attribute)
			case a.Written:
				fmt.Fprintf(&out, " @%d written", a.Index)
			default:
				fmt.Fprintf(&out, " @%d", a.Index)
			}
		}
		for _, in := range k.Instances {
			fmt.Fprintf(&out, " | as %s<%s>", in.Name, strings.Join(in.Args, ";"))
		}
		if k.MaxThreads > 0 {
			fmt.Fprintf(&out, " | at most %d threads", k.MaxThreads)
		}
		out.WriteString("\n")
	}
	for _, c := range s.Constants {
		fmt.Fprintf(&out, "%s: %s @%d\n", c.Name, c.Type, c.Index)
	}
	return out.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"the kinds of arguments",
			"kernel void f(device const float* x [[buffer(0)]], device float4 *y [[buffer(1)]], constant uint& n [[buffer(2)]],\n" +
				"  constant int* table [[buffer(3)]], threadgroup half* t [[threadgroup(0)]], uint2 at [[thread_position_in_grid]]) {}",
			"f | buffer x: device const float* @0 | buffer y: device float4* @1 written | constant n: constant uint& @2 | " +
				"buffer table: constant int* @3 | threadgroup t: threadgroup half* @0 | attribute at: uint2 = thread_position_in_grid | as f<>\n"},
		{"const behind the pointer does not protect what it leads to",
			"kernel void f(device float* const x [[buffer(0)]]) {}",
			"f | buffer x: device float* const @0 written | as f<>\n"},
		{"a template with instances, a default and a constant",
			"constant constexpr int W = 4;\ntemplate <typename T, int N = 2 * W>\n[[kernel]] void g(device vec<T, 4>* x [[buffer(W - 3)]]) { if (N < 3) {} }\n" +
				"template [[host_name(\"g_f16\")]] [[kernel]] decltype(g<half>) g<half>;\n" +
				"template [[host_name(\"g_f32\")]] kernel void g<float, (1 < 2)>(device vec<float, 4>*);",
			"g | buffer x: device vec<T, 4>* @1 written | as g_f16<half;2* W> | as g_f32<float;(1<2)>\n"},
		{"the most threads",
			"[[max_total_threads_per_threadgroup(8 * 32)]] kernel void f(device int* x [[buffer(0)]]) {}",
			"f | buffer x: device int* @0 written | as f<> | at most 256 threads\n"},
		{"function constants",
			"constant bool bias [[function_constant(3)]];\nkernel void f(device int* x [[buffer(0)]]) { if (bias) x[0] = 1; }",
			"f | buffer x: device int* @0 written | as f<>\nbias: bool @3\n"},
		{"what is no kernel",
			"// kernel void a() {}\n/* kernel void b() {} */\n#define X kernel void c() {}\nstruct S { int f() { return 1; } };\n" +
				"inline float kernels(float x) { return x; }\nnamespace n { kernel void d(constant S& s [[buffer(0)]]) {} }",
			"d | constant s: constant S& @0 | as d<>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse("a.metal", c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(s); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"kernel void f() {", `a.metal:1:17: "{" is never closed`},
		{"int x[3);", `a.metal:1:8: got ")", want "]" for the "[" in line 1`},
		{"\n  }", `a.metal:2:3: "}" closes nothing`},
		{"/* a", `a.metal:1:1: the comment has no end: write */`},
		{"char c = 'a\n;", `a.metal:1:10: the ' has no end on its line`},
		{"int a = 3 ? 4 : 5 @ 6;", `a.metal:1:19: '@' is no character of the language outside of comments`},
		{"#line 40 \"b.metal\"\nint x = $;", `b.metal:40:9: '$' is no character of the language outside of comments`},
		{"template [[host_name(\"h\")]] kernel decltype(g<half>) g<half>;", "a.metal:1:45: there is no kernel g above"},
		{"template <typename T, int N> kernel void g() {}\ntemplate [[host_name(\"h\")]] kernel decltype(g<half>) g<half>;",
			"a.metal:2:45: g: got 1 template arguments, want 2"},
		{"kernel void f(float) {}", `a.metal:1:15: got the parameter "float", want a type, a name and an attribute`},
		{"kernel void f(int a [[buffer(0)]]) {}\nkernel void f(int b [[buffer(0)]]) {}", "a.metal:2:13: there is a kernel f in line 1 already"},
	} {
		if _, err := Parse("a.metal", c.text); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// Of the rewritten text only the lines of the source are compared: what stands around them is the
// compiler's business, and package check's tests run it.
func TestRewrite(t *testing.T) {
	for _, c := range []struct{ name, text, check, cuda string }{
		{"a kernel keeps its lines",
			"#include <metal_stdlib>\nkernel void f(device float* x [[buffer(0)]],\n  uint i [[thread_position_in_grid]]) {\n  x[i] = 1.5h; // device\n}",
			" \n void f(device float* x ,\n  uint i ) {\n  x[i] = half(1.5f); // device\n}",
			" \nMSL_INLINE void f_body( float* x ,\n  uint i ) {\n  x[i] = half(1.5f); // device\n}"},
		{"threadgroup memory",
			"void f(threadgroup float* p) {\n  threadgroup float s[2][32];\n  threadgroup vec<half, 4> v;\n  threadgroup float* q = p;\n}",
			"void f(threadgroup float* p) {\n  auto& s = check::local< float [2][32], 9>();\n  auto& v = check::local< vec<half, 4> , 19>();\n  threadgroup float* q = p;\n}",
			"void f( float* p) {\n  __shared__ float s[2][32];\n  __shared__ vec<half, 4> v;\n   float* q = p;\n}"},
		{"vectors are made, and take themselves apart",
			"float4 f(float2 a) { float4 b = float4(a.yx, a); return vec<float, 4>(b.w); }",
			"float4 f(float2 a) { float4 b = metal::make<float4>(a.yx, a); return metal::make<vec<float, 4>>(b.w); }",
			"float4 f(float2 a) { float4 b = float4(a.template swizzle<1, 0>(), a); return vec<float, 4>(b.w); }"},
		{"a type of a template may be a vector",
			"template <typename T> T f(thread T (&x)[2]) { return T(x[0]); }",
			"template <typename T> T f(thread T (&x)[2]) { return metal::make<T>(x[0]); }",
			"template <typename T> T f( T (&x)[2]) { return T(x[0]); }"},
		{"members are no elements",
			"struct S { float bar, x0; };\nfloat f(S s, float2 v) { return s.bar + s.x0 + v.xx.y + v.x; }",
			"struct S { float bar, x0; };\nfloat f(S s, float2 v) { return s.bar + s.x0 + v.xx.y + v.x; }",
			"struct S { float bar, x0; };\nfloat f(S s, float2 v) { return s.bar + s.x0 + v.template swizzle<0, 0>().y + v.x; }"},
		{"constants",
			"constant int t[2] = {1, 2};\nconstant constexpr int n = 3;\nconstant uint c [[function_constant(1)]];",
			"constant int t[2] = {1, 2};\nconstant constexpr int n = 3;\n  static const check::Constant<uint, 1> c; ",
			"static __constant__ const int t[2] = {1, 2};\nstatic constexpr  int n = 3;\n   "},
		{"macros",
			"#define LOAD(p) (*(device float*)(p)) + 1.0h\nfloat f(device float* p) { return LOAD(p); }",
			"#define LOAD(p) (*(device float*)(p)) + half(1.0f)\nfloat f(device float* p) { return LOAD(p); }",
			"#define LOAD(p) (*( float*)(p)) + half(1.0f)\nfloat f( float* p) { return LOAD(p); }"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse("a.metal", c.text)
			if err != nil {
				t.Fatal(err)
			}
			for dialect, x := range map[string][2]string{"check": {s.Check(), c.check}, "cuda": {s.CUDA(), c.cuda}} {
				_, lines, _ := strings.Cut(x[0], "#line 1 \"a.metal\"\n")
				lines, _, _ = strings.Cut(lines, "\n#line 1 \"kernels of")
				if lines != x[1] {
					t.Errorf("%s: got\n%q, want\n%q", dialect, lines, x[1])
				}
			}
		})
	}
}

// TestCUDALaunch shows what a host launches.
func TestCUDALaunch(t *testing.T) {
	const text = "struct A { int n; };\ntemplate <typename T> [[max_total_threads_per_threadgroup(64)]] kernel void f(device const T* x [[buffer(0)]], constant A& a [[buffer(1)]],\n" +
		"  threadgroup T* s [[threadgroup(0)]], threadgroup float* t [[threadgroup(1)]], uint i [[thread_position_in_grid]]) {}\n" +
		"template [[host_name(\"f_half\")]] kernel decltype(f<half>) f<half>;"
	s, err := Parse("a.metal", text)
	if err != nil {
		t.Fatal(err)
	}
	const want = `extern "C" __global__ void __launch_bounds__(64) f_half(const half* x, const A a, unsigned t_offset) { ` +
		`metal::let_next_begin(); metal::wait_for_previous(); half* s = (half*)(msl::shared + 0); float* t = (float*)(msl::shared + t_offset); ` +
		`f_body<half>(x, a, s, t, msl::attribute<uint>(msl::thread_position_in_grid())); }`
	if got := s.CUDA(); !strings.Contains(got, want) {
		t.Errorf("got %s\nwant in it %s", got, want)
	}
}

// FuzzParse: no text makes the package panic, and what it rewrites has as many lines as it had.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"kernel void f(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { threadgroup float s[4]; x[i] = s[0]; }",
		"template <typename T, int N = 3> kernel void g(constant T& x [[buffer(N)]]) {}\ntemplate [[host_name(\"h\")]] kernel decltype(g<half>) g<half>;",
		"#define A(x) \\\n x.xy\nconstant int n = sizeof(float4) * 2; namespace a { struct S { int f() { return float2(1, 2).yx.x; } }; }",
		"constant uint c [[function_constant(0)]];\nvec<float, 4> f() { return vec<float, 4>(1.0h, 1bf, 0x1h, .5f); }",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("a.metal", text)
		if err != nil {
			return
		}
		Lint(s)
		for _, out := range []string{s.Check(), s.CUDA()} {
			_, lines, _ := strings.Cut(out, "#line 1 \"a.metal\"\n")
			lines, _, found := strings.Cut(lines, "\n#line 1 \"kernels of a.metal\"\n")
			if found && strings.Count(lines, "\n") != strings.Count(text, "\n") {
				t.Errorf("%q: got %d lines, want %d: %q", text, strings.Count(lines, "\n"), strings.Count(text, "\n"), lines)
			}
		}
	})
}
