package lora_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// CONTRIBUTING.md lists the places of a kind of adapter; this says which one a switch of Config does not
// have: what a layer computes with it comes back from files, or they refuse it, and is merged, or kept apart.
func TestPlacesOfAKind(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[lora.Config]()) {
		if f.Type.Kind() != reflect.Bool || f.Name == "Full" {
			continue
		}
		c := lora.Config{Rank: 4, Targets: "q_proj"}
		if f.Name == "OnlyInput" {
			c.Targets = "q_proj embed_tokens"
		}
		reflect.ValueOf(&c).Elem().FieldByIndex(f.Index).SetBool(true)
		m, dir := model(), t.TempDir()
		ad := inject(t, m, c)
		move(ad)
		want := m.Logits(ids).Eval()
		limit := 1e-5 * want.Abs().Max().Item()
		same := func(place string, got tensor.Tensor) {
			if d := tensor.MaxAbsDiff(want, got); !(d <= limit) {
				t.Errorf("%s: %s: scores differ by %g", f.Name, place, d)
			}
		}
		for place, save := range map[string]func(string) error{"peft.go": ad.Save, "mlx.go": ad.SaveMLX} {
			path, fresh := filepath.Join(dir, place), model()
			if err := save(path); err != nil {
				if place == "peft.go" {
					t.Errorf("%s: %v", f.Name, err)
				}
				continue
			}
			if _, err := lora.Load(path, fresh); err != nil {
				t.Errorf("%s: %s: %v", f.Name, place, err)
				continue
			}
			same(place, fresh.Logits(ids))
		}
		if _, err := ad.Merge(); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		same("merge.go", m.Logits(ids))
	}
}
