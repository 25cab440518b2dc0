package micro

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// emulator runs programs for arm64 on other processors.
const emulator = "qemu-aarch64"

// The kernels for arm64 give the same results as those of this machine, on three processors: without dot
// products, with those of bytes, and with those of bytes and bf16. Tests without kernels, and those that
// take too long under emulation, run only with
//
//	GOARCH=arm64 go test -exec qemu-aarch64 ./engine/internal/backend/cpu/...
func TestEmulated(t *testing.T) {
	long.Only(t, "builds for linux/arm64 and runs kernels under qemu")
	if runtime.GOARCH == "arm64" {
		t.Skip("this processor runs the kernels itself")
	}
	for _, tool := range []string{emulator, "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: %v", tool, err)
		}
	}
	for _, c := range []struct {
		dir, tests string
		processors []string
	}{
		{".", "TestQuant|TestDequantize|TestIndirect|TestTranspose", []string{"cortex-a72", "neoverse-n1"}},
		{"../vec", "TestFuncsAgreeWithPortable|TestHalvesRoundTrip|TestRowFunctions|TestUniform", []string{"cortex-a72"}},
		{"../gemm", "TestMicroKernelsAgree|TestBF16Kernels|FuzzProduct", []string{"cortex-a72", "max"}},
	} {
		binary := filepath.Join(t.TempDir(), "arm64.test")
		build := exec.Command("go", "test", "-c", "-o", binary, c.dir)
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", build, err, out)
		}
		for _, processor := range c.processors {
			run := exec.Command(emulator, "-cpu", processor, binary, "-test.run", c.tests)
			run.Dir = c.dir
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%s on %s: %v\n%s", c.dir, processor, err, out)
			}
		}
	}
}
