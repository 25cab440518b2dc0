package check

import (
	"context"
	"os/exec"
	"runtime"
	"testing"
)

// TestArm64 runs kernels as arm64 code in an emulator: the switch between threads is written in assembly.
func TestArm64(t *testing.T) {
	tools := tools(t)
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("the other tests run natively here, or there is no emulator")
	}
	for _, name := range []string{"qemu-aarch64", "aarch64-linux-gnu-g++"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%v: install qemu-user and g++-aarch64-linux-gnu", err)
		}
	}
	arm := *tools
	arm.dir, arm.target, arm.emulator = tools.dir+"-arm64", "aarch64-linux-gnu", []string{"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"}
	if err := arm.writePrelude(); err != nil {
		t.Fatal(err)
	}
	d, err := arm.Start(context.Background(), Plain, read(t, "testdata/sum.metal", same))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for seed := range uint32(3) {
		if got, err := sums(t, d, "sums_f32", 50, 96, upTo(100), seed); err != nil || got[0] != 1275 || got[1] != 3775 {
			t.Errorf("seed %d: got %v, %v, want [1275 3775]", seed, got, err)
		}
	}
}
