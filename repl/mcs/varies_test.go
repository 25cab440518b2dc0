package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What mcs's own commands measure is another text each time: mcs test -u writes what stands for it, so that
// mcs test passes afterwards, and all that is the same each time stays as it is.
func TestUpdateOfWhatVaries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "t.mcs")
	const cells = `x := tensor.Ones(32, 32).Eval()
func busy(n int) (s int) {
	for i := range n {
		s += i % 3
	}
	return s
}
// %%
%time x.Sum().Item()
// > old
// %%
%timeit -t 20ms busy(100)
// > old
// %%
%bench -t 20ms a := busy(100) ; b := busy(300)
// > old
// %%
%profile -t 20ms busy(10000)
// > old
// %%
%lprof -t 20ms busy busy(10000)
// > old
// %%
%kernels -t x.MatMul(x).Sum().Item()
// > old
// %%
%kernels x.MatMul(x).Sum().Item()
// > old
`
	if err := os.WriteFile(name, []byte(cells), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := mcs(t, dir, "", "test", "-u", "t.mcs"); code != 0 {
		t.Fatalf("-u: %d %s", code, stderr)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "// > 1024 float64\n// > [time][..]\n// > ...\n") || !strings.Contains(string(text), "sum         1  4.0 KiB") || strings.Contains(string(text), "load ") {
		t.Errorf("got\n%s", text)
	}
	for range 2 {
		if stdout, stderr, code := mcs(t, dir, "", "test", "t.mcs"); code != 0 {
			t.Fatalf("afterwards: %d %s %s\n%s", code, stdout, stderr, text)
		}
	}
}
