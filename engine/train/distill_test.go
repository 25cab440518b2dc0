package train

import (
	"context"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A student becomes like its teacher, whose weights stay; without a teacher the model without its adapters is
// it, from which nothing is apart at first.
func TestDistill(t *testing.T) {
	c := llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 48, Seed: 1, HeadScale: 5}
	teacher := llm.New(c)
	c.Seed = 2
	m := llm.New(c)
	d := data.Windows(strings.Repeat("the cat sat on the mat. ", 20), 16, 4)
	loss := Distill{Model: m, Teacher: teacher}
	h, err := Run(context.Background(), loss, d, Options{Steps: 60, LR: optim.Constant(1e-2), Compile: true})
	if err != nil {
		t.Fatal(err)
	}
	if first, last := h.Loss[0], h.Loss[len(h.Loss)-1]; !(last < first/3) {
		t.Errorf("the divergence went from %g to %g", first, last)
	}
	b, err := d.Batch(0)
	if err != nil {
		t.Fatal(err)
	}
	self := Distill{Model: m}
	if err := tensor.Try(func() { self.Loss(b.Inputs, b.Targets) }); err == nil || !strings.Contains(err.Error(), "no adapter") {
		t.Errorf("without a teacher and an adapter: got %v", err)
	}
	tuned, err := LoRA(context.Background(), Distill{Model: m, Teacher: teacher, Hard: 1}, d, Options{Steps: 5, LR: optim.Constant(1e-2)})
	if err != nil {
		t.Fatal(err)
	}
	if got := self.Loss(b.Inputs, b.Targets).Item(); !(got > 1e-6) {
		t.Errorf("from itself before it was trained: got %g", got)
	}
	if err := tuned.Adapter.Remove(m); err != nil {
		t.Fatal(err)
	}
	c.Vocab = 300
	for want, d := range map[string]Distill{
		"want one vocabulary": {Model: m, Teacher: llm.New(c)},
		"got beta 2":          {Model: m, Teacher: teacher, Beta: 2},
		"got a share of -1":   {Model: m, Teacher: teacher, Hard: -1},
	} {
		if err := tensor.Try(func() { d.Loss(b.Inputs, b.Targets) }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
