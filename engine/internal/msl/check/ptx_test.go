package check

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/shaders"
)

// sources are all texts with kernels that are here: those of these tests, and rendered ones behind the
// blocks of package shaders.
func sources(t *testing.T) []*msl.Source {
	t.Helper()
	list := []*msl.Source{read(t, "testdata/sum.metal", same), read(t, "testdata/functions.metal", same), read(t, "testdata/library.metal", same)}
	files, err := filepath.Glob("../../kernel/testdata/*.metal")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, %v, want rendered kernels", files, err)
	}
	text := shaders.Blocks()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	s, err := msl.Parse("blocks.metal", text)
	if err != nil {
		t.Fatal(err)
	}
	return append(list, s)
}

// TestPTX: clang makes PTX of every kernel, also as NVRTC would read it, and the PTX needs nothing from
// elsewhere.
func TestPTX(t *testing.T) {
	tools := tools(t)
	stub, err := filepath.Abs("testdata/nvrtc.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources(t) {
		for dialect, flags := range map[string][]string{"clang": nil, "nvrtc": {"-include", stub}} {
			ptx, err := tools.ptx(context.Background(), "sm_80", s, flags...)
			if err != nil {
				t.Errorf("%s, %s: %v", s.Name, dialect, err)
				continue
			}
			for _, k := range s.Kernels {
				for _, in := range k.Instances {
					if !strings.Contains(string(ptx), ".entry "+in.Name+"(") {
						t.Errorf("%s, %s: there is no kernel %s in the PTX", s.Name, dialect, in.Name)
					}
				}
			}
			for _, line := range strings.Split(string(ptx), "\n") {
				if strings.HasPrefix(line, ".extern .func") && dialect == "clang" {
					t.Errorf("%s: the PTX calls %s", s.Name, line)
				}
			}
		}
	}
}
