package msl

import (
	"strings"
	"testing"
)

// What is not the head of the kernel keeps its line and its column, so that a compiler's message names them.
func TestGather(t *testing.T) {
	const text = `
template <typename T, int N = 4>
[[max_total_threads_per_threadgroup(N)]] kernel void scale(device const T* x, // read
                  device vec<T, N>* y, constant uint& n,
                  uint i [[thread_position_in_grid]]) { if (i < n) y[i] = oops(x[i]);
  T last = x[n];
}
`
	s, err := Parse("In[3].metal", "#line 7 \"In[3].metal\"\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Gather(s.Kernels[0], "scale_1", map[string]string{"T": "half", "N": "4"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "#include <metal_stdlib>\nusing namespace metal;\n" +
		"struct scale_1_args { device const half * x; device vec < half , 4 > * y; uint n; };\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s first", got, want)
	}
	after, err := Parse("again", got)
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if len(after.Kernels) != 1 || after.Kernels[0].Name != "scale_1" || after.Kernels[0].MaxThreads != 4 || len(after.Kernels[0].Arguments) != 2 {
		t.Errorf("got the kernels %s, want scale_1 of at most 4 threads with the struct and a position", describe(after))
	}
	for _, word := range []string{"oops", "last"} {
		if before, now := placeOf(s, word), placeOf(after, word); now != before {
			t.Errorf("%s: got %v, want %v", word, now, before)
		}
	}
	if problems := Lint(after); len(problems) > 0 {
		t.Errorf("got %v in\n%s", problems, got)
	}
}

func placeOf(s *Source, word string) Pos {
	for i := range s.code {
		if s.text(i) == word {
			return s.pos(i)
		}
	}
	return Pos{}
}
