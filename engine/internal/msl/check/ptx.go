package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcs-notebook/mcs/engine/internal/msl"
)

// PTX compiles the kernels of a source for NVIDIA's GPUs from compute capability arch on ("sm_80"). No CUDA
// toolkit is needed, and nothing here checks that a GPU takes it.
func (t *Toolchain) PTX(ctx context.Context, arch string, s *msl.Source) ([]byte, error) {
	return t.ptx(ctx, arch, s)
}

// ptx compiles with more flags.
func (t *Toolchain) ptx(ctx context.Context, arch string, s *msl.Source, flags ...string) (out []byte, err error) {
	dir, err := os.MkdirTemp("", "mcs-ptx-")
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source, to := filepath.Join(dir, "kernels.cu"), filepath.Join(dir, "kernels.ptx")
	if err := os.WriteFile(source, []byte(s.CUDA()), 0o666); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	args := []string{"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + arch, "-nocudainc", "-nocudalib", "-Xclang", "-target-feature", "-Xclang", "+ptx80",
		"-std=c++17", "-O3", "-Iprelude", "-S", source, "-o", to}
	if err := t.run(ctx, append(args, flags...)...); err != nil {
		return nil, err
	}
	out, err = os.ReadFile(to)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	return out, nil
}
