package check

import (
	"context"
	"os"

	"github.com/mcs-notebook/mcs/engine/internal/msl"
)

// PTX compiles the kernels of a source for NVIDIA's GPUs from compute capability arch on ("sm_80"). No CUDA
// toolkit is needed, and nothing here checks that a GPU takes it.
func (t *Toolchain) PTX(ctx context.Context, arch string, s *msl.Source) ([]byte, error) {
	return t.ptx(ctx, arch, s)
}

// ptx compiles with more flags. What it compiled is kept, as objects are.
func (t *Toolchain) ptx(ctx context.Context, arch string, s *msl.Source, flags ...string) ([]byte, error) {
	args := append([]string{"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + arch, "-nocudainc", "-nocudalib", "-Xclang", "-target-feature", "-Xclang", "+ptx80",
		"-std=c++17", "-O3", "-Iprelude", "-S"}, flags...)
	text := s.CUDA()
	path, err := t.have(t.keptAs("ptx", "kernels-", ".ptx", append(args, text)...), func(to string) error {
		source := to + ".cu"
		if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
			return err
		}
		return t.run(ctx, append(args, source, "-o", to)...)
	})
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
