package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/script"
)

func TestFmt(t *testing.T) {
	t.Parallel()
	const before = "// %% [markdown]\n// Text\n\n// %%  a title\nx:=tensor.Ones(2,3)\n%time   x\ny:=2*x[:,0]+1 ;\n// > [..]\n\n// %%\nfor x in y:\n// > ...\n// > [..]x in[..]\n// > ...\n"
	const after = "// %% [markdown]\n// Text\n\n// %%  a title\nx := tensor.Ones(2, 3)\n%time   x\ny := 2*x[:,0] + 1\n// > [..]\n\n// %%\nfor x in y:\n// > ...\n// > [..]x in[..]\n// > ...\n"
	dir := writeFiles(t, map[string]string{"a.mcs": before, "b.mcs": after, "crlf.mcs": "x := 1\r\n", "p.go": "package main\nfunc  main( ) { }\n", "bad.go": "package", "tensors.mcs": "x := tensor.Ones(2, 3)\ny := 2*x[:, 0] + 1\ny\n"})
	const left = "a.mcs:11: this cell is left as it is: [..]"
	for _, tt := range []struct {
		args, stdin, stdout, stderr string
		code                        int
	}{
		{"fmt -l a.mcs b.mcs p.go", "", "a.mcs\np.go", "a.mcs:11: this cell is left as it is: [..]\nb.mcs:11: this cell is left as it is: [..]", 1},
		{"fmt a.mcs p.go", "", "a.mcs\np.go", left, 0},
		{"fmt -l a.mcs p.go", "", "", left, 0},
		{"fmt crlf.mcs", "", "crlf.mcs", "", 0},
		{"fmt -", "x:=1\nx ;\n", "x := 1\nx;", "", 0},
		{"fmt -go tensors.mcs", "", "package main\n...\n[..]\ty := x.Index(tensor.All, tensor.At(0)).Mul(2).Add(1)\n...", "", 0},
		{"fmt bad.go", "", "", "mcs: fmt: bad.go:[..]", 2},
		{"fmt none.mcs", "", "", "mcs: fmt: [..]none.mcs[..]", 2},
		{"fmt", "", "", "mcs: fmt: got no files", 2},
	} {
		stdout, stderr, code := mcs(t, dir, tt.stdin, strings.Fields(tt.args)...)
		if diff := script.Diff(wantLines(tt.stdout), stdout) + script.Diff(wantLines(tt.stderr), stderr); diff != "" || code != tt.code {
			t.Errorf("%s: exit code %d, want %d (- want, + got)\n%s", tt.args, code, tt.code, diff)
		}
	}
	for name, want := range map[string]string{"a.mcs": after, "b.mcs": after, "crlf.mcs": "x := 1\n", "p.go": "package main\n\nfunc main() {}\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}
