package kernel_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/engine/kernel"
)

var inQuotes = regexp.MustCompile("(?s)`(.*?kernel void (\\w+)\\(.*?)`")

// The kernels of the example and of these tests become CUDA, whose compiler is clang here.
func TestCUDA(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	example, err := os.ReadFile("../../examples/softmax.mcs")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?m)^//.*$").ReplaceAllString(string(example), "") // its text has backquotes, too
	texts := map[string]string{"softmax": softmax, "square": square}
	for _, m := range inQuotes.FindAllStringSubmatch(code, -1) {
		texts[m[2]] = m[1]
	}
	if len(texts) < 7 {
		t.Fatalf("got %d kernels, want the five of the example and two", len(texts))
	}
	for name, text := range texts {
		k := written(t, name, text, kernel.Options{})
		for _, dt := range []string{"float", "half", "bfloat"} {
			whole, err := k.Text(map[string]string{"T": dt})
			if err != nil {
				t.Fatal(err)
			}
			s, err := msl.Parse(name+".metal", whole)
			if err != nil {
				t.Fatal(err)
			}
			if ptx, err := tools.PTX(t.Context(), "sm_80", s); err != nil || !strings.Contains(string(ptx), ".entry "+name+"_") {
				t.Errorf("%s of %s: got %v and %d bytes of PTX", name, dt, err, len(ptx))
			}
			if !strings.Contains(text, "typename T") {
				break
			}
		}
	}
}
