package quant_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// TestMutants: a damaged file is refused, and the model stays as it was; or it is taken, and the model works.
func TestMutants(t *testing.T) {
	m := decoder()
	if _, err := quant.Module(m, quant.Config{Bits: 4}, "q_proj"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := quant.Save(path, m); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const header = 8 << 10 // what follows is data, which may be anything
	n := min(header, len(whole))
	other := decoder()
	before := nn.Hash(nn.Params(other))
	mutate.Each(2, 1000, whole[:n], func(i int, mutant []byte) {
		if err := os.WriteFile(path, append(mutant, whole[n:]...), 0o666); err != nil {
			t.Fatal(err)
		}
		err := quant.Load(path, other)
		if err == nil {
			other.Logits(tokens).Size()
			other = decoder()
		} else if i%100 == 0 && nn.Hash(nn.Params(other)) != before {
			t.Errorf("mutant %d: what was refused (%v) changed the model", i, err)
		}
	})
}
