package llm

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// How many launches a layer adds to the step of a token on a GPU: a step of two layers of the 0.5 B shape,
// less one of a single layer. They are counted where kernels are written, and computed on the processor.
func TestLaunchesALayerOfDecode(t *testing.T) {
	devicetest.Emulated(t)
	launches := func(layers int, weights dtype.Type) (map[string]int, []string) {
		m := New(Config{Vocab: 512, Layers: layers, Width: 896, Heads: 14, KVHeads: 2, Hidden: 4864, DType: weights})
		d, err := device.Lookup("rehearsal")
		if err != nil {
			t.Fatal(err)
		}
		m.To(d)
		count, names := map[string]int{}, []string{}
		last := func(ctx context.Context, tokens int) {
			r := profile.Record(ctx, func(ctx context.Context) {
				if _, err := m.GenerateTokens(ctx, []int{1}, Sampling{Tokens: tokens}); err != nil {
					t.Fatal(err)
				}
			})
			for _, k := range r.Kernels {
				if count[k.Name] == 0 {
					names = append(names, k.Name)
				}
				count[k.Name] = k.Launches - count[k.Name]
			}
		}
		last(t.Context(), 2)
		last(t.Context(), 3)
		return count, names
	}
	for _, c := range []struct {
		weights dtype.Type
		most    int
	}{{dtype.BF16, 7}, {dtype.F32, 7}} {
		if c.weights == dtype.F32 && !long.Tests() {
			continue // weights in bf16 need casts that could come on top of these
		}
		one, _ := launches(1, c.weights)
		two, names := launches(2, c.weights)
		total, list := 0, []string{}
		for _, name := range names {
			if n := two[name] - one[name]; n != 0 {
				total, list = total+n, append(list, fmt.Sprintf("%s %d", name, n))
			}
		}
		t.Logf("%v: %d launches a layer: %s", c.weights, total, strings.Join(list, ", "))
		if total > c.most || total == 0 {
			t.Errorf("%v: %d launches a layer, want at most %d", c.weights, total, c.most)
		}
	}
}
