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

// compilers are the names to look for, by the architecture to compile for.
var compilers = map[string][]string{
	"amd64": {"x86_64-linux-gnu-gcc"},
	"arm64": {"aarch64-linux-gnu-gcc"},
}

// Library compiles C files to a shared library for this machine and returns its path.
func Library(t testing.TB, files ...string) string {
	t.Helper()
	return LibraryFor(t, runtime.GOARCH, files...)
}

// LibraryFor compiles C files to a shared library for another architecture of this system.
func LibraryFor(t testing.TB, arch string, files ...string) string {
	t.Helper()
	names := compilers[arch]
	if arch == runtime.GOARCH {
		names = append([]string{os.Getenv("CC"), "cc", "gcc", "clang"}, names...)
	}
	var compiler string
	for _, name := range names {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			compiler = path
			break
		}
	}
	if compiler == "" {
		t.Skipf("no C compiler for %s is here: looked for %q", arch, names)
	}
	binary, err := compile(compiler, files)
	if err != nil {
		t.Fatal(err)
	}
	// A file of its own: the system opens one file once, so tests would share the library's variables.
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

// UnderQEMU runs the tests of the package in the working directory whose names match, compiled for
// linux/arm64, with the environment's additions. It is skipped where qemu-aarch64 or the C library for arm64
// is missing.
func UnderQEMU(t *testing.T, match string, environment ...string) {
	t.Helper()
	qemu, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip("qemu-aarch64 is not here (apt-get install qemu-user)")
	}
	const root = "/usr/aarch64-linux-gnu"
	if _, err := os.Stat(root + "/lib/ld-linux-aarch64.so.1"); err != nil {
		t.Skip("no C library for arm64 is here (apt-get install libc6-arm64-cross)")
	}
	binary := filepath.Join(t.TempDir(), "arm64.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compile the tests for arm64: %v\n%s", err, text)
	}
	run := exec.Command(qemu, "-L", root, binary, "-test.v", "-test.run", match)
	run.Env = append(os.Environ(), environment...)
	text, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("under qemu-aarch64: %v\n%s", err, text)
	} else if testing.Verbose() {
		t.Logf("%s", text)
	}
}
