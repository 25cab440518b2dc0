package lora_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// Files of all kinds that are damaged in 500 ways each: an error that names the file, and the model stays as
// it was; or an adapter, which comes out again and leaves the model as it was. Nothing takes much more memory
// than the files.
func TestDamagedFiles(t *testing.T) {
	n := 500
	if long.Tests() {
		n = 5000
	}
	for _, c := range []struct{ variant, weights string }{
		{"own-dora", "adapter_model.safetensors"},
		{"own-patterns", "adapter_model.safetensors"},
		{"own-modules", "adapter_model.safetensors"},
		{"tied-tokens", "adapter_model.safetensors"},
		{"own-mlx_dora", "adapters.safetensors"},
		{"own-mlx_full", "adapters.safetensors"},
	} {
		t.Run(c.variant, func(t *testing.T) {
			m := base(t, c.variant)
			before := nn.Hash(nn.Params(m))
			dir := t.TempDir()
			whole := map[string][]byte{}
			for _, name := range []string{"adapter_config.json", c.weights} {
				text, err := os.ReadFile(filepath.Join(variantFiles, c.variant, name))
				if err != nil {
					t.Fatal(err)
				}
				whole[name] = text
			}
			write := func(name string, text []byte) {
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range whole {
				for name, text := range whole {
					write(name, text)
				}
				head := min(1<<10, len(text)) // what follows in the weights is data, which may be anything
				refused := 0
				n := mutate.Each(7, n, text[:head], func(i int, mutant []byte) {
					write(name, bytes.Join([][]byte{mutant, text[head:]}, nil))
					var from, to runtime.MemStats
					runtime.ReadMemStats(&from)
					ad, err := lora.Load(dir, m)
					runtime.ReadMemStats(&to)
					if got := to.TotalAlloc - from.TotalAlloc; got > uint64(runtime.NumCPU())<<21 { // each thread has scratch
						t.Errorf("%s, mutant %d: %d bytes for files of %d", name, i, got, len(text))
					}
					if err == nil {
						if err := ad.Remove(m); err != nil {
							t.Fatal(err)
						}
					} else if refused++; !strings.Contains(err.Error(), dir) && !strings.Contains(err.Error(), c.weights) {
						t.Errorf("%s, mutant %d: %v does not name the file", name, i, err)
					}
					if i%50 == 0 && nn.Hash(nn.Params(m)) != before {
						t.Fatalf("%s, mutant %d: the model is another", name, i)
					}
				})
				if refused < n/4 {
					t.Errorf("%s: only %d of %d mutants were refused", name, refused, n)
				}
			}
		})
	}
}
