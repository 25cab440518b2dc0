// Package cctest compiles C libraries for tests: stand-ins for drivers that the machine does not have. A test
// that needs one is skipped, with the reason, where there is no C compiler.
package cctest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// emulated is set in the environment of tests that run under qemu.
const emulated = "MCS_CCTEST_EMULATED"

// compilers are the names to look for.
func compilers() []string {
	if os.Getenv(emulated) != "" {
		return []string{"aarch64-linux-gnu-gcc"}
	}
	return []string{os.Getenv("CC"), "cc", "gcc", "clang"}
}

// Emulated says whether the test runs under qemu, where it can start no program of its own kind.
func Emulated() bool { return os.Getenv(emulated) != "" }

// find returns the first program that is there, or skips the test.
func find(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skipf("none of these is here: %q", names)
	return ""
}

// Library compiles C files to a shared library and returns its path. Each call returns a library of its own:
// the system opens one file once, so tests would share its variables.
func Library(t testing.TB, files ...string) string {
	t.Helper()
	compiler := find(t, compilers()...)
	binary, err := compile(compiler, files)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "library.so")
	if err := os.WriteFile(out, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	return out
}

// compile compiles C files, or finds what they were compiled to before in the user's cache.
func compile(compiler string, files []string) ([]byte, error) {
	flags := []string{"-shared", "-fPIC", "-O1", "-g", "-Wall", "-Werror"}
	h := sha256.New()
	fmt.Fprintln(h, compiler, flags)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		h.Write(text)
	}
	folder := os.TempDir()
	if user, err := os.UserCacheDir(); err == nil {
		folder = filepath.Join(user, "mcs", "cctest")
	}
	kept := filepath.Join(folder, hex.EncodeToString(h.Sum(nil)[:16])+".so")
	if binary, err := os.ReadFile(kept); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	out := fmt.Sprintf("%s.%d", kept, os.Getpid())
	defer os.Remove(out)
	args := append(append(flags, "-o", out), files...)
	if text, err := exec.Command(compiler, append(args, "-lm", "-lpthread")...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %v\n%s", compiler, err, text)
	}
	if err := os.Rename(out, kept); err != nil {
		return nil, err
	}
	return os.ReadFile(kept)
}

// UnderQEMU runs the tests of the package in the working directory, compiled for linux/arm64. It is skipped
// where something is missing that it needs, and on arm64, where the tests run anyway.
func UnderQEMU(t *testing.T) {
	t.Helper()
	if runtime.GOARCH == "arm64" || runtime.GOOS != "linux" {
		t.Skip("the tests beside this one run here")
	}
	qemu := find(t, "qemu-aarch64")       // apt-get install qemu-user
	find(t, "aarch64-linux-gnu-gcc")      // apt-get install gcc-aarch64-linux-gnu
	const root = "/usr/aarch64-linux-gnu" // apt-get install libc6-arm64-cross
	if _, err := os.Stat(root + "/lib/ld-linux-aarch64.so.1"); err != nil {
		t.Skipf("no C library for arm64 is here: %v", err)
	}
	binary := filepath.Join(t.TempDir(), "arm64.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compile the tests for arm64: %v\n%s", err, text)
	}
	run := exec.Command(qemu, "-L", root, binary, "-test.v")
	run.Env = append(os.Environ(), emulated+"=1")
	text, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("under qemu-aarch64: %v\n%s", err, text)
	} else if testing.Verbose() {
		t.Logf("%s", text)
	}
}
