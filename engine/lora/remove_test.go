package lora_test

import (
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// What Save or Load would refuse is refused at once, and the model stays as it was.
func TestConfigIsChecked(t *testing.T) {
	for _, c := range []struct {
		config lora.Config
		want   string
	}{
		{lora.Config{Alpha: -1}, "alpha -1"},
		{lora.Config{Alpha: math.NaN()}, "alpha NaN"},
		{lora.Config{Alpha: math.Inf(1)}, "alpha +Inf"},
		{lora.Config{Rank: -4}, "rank -4"},
		{lora.Config{Dropout: math.NaN()}, "dropout NaN"},
		{lora.Config{Rank: 1 << 40}, "memory"},
		{lora.Config{Targets: "nothing"}, "no linear layer"},
	} {
		m := model()
		before, trainable := nn.Hash(nn.Params(m)), len(nn.Trainable(m))
		ad, err := lora.Inject(m, c.config)
		if ad != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, %v, want an error about %q", c.config, ad, err, c.want)
		}
		if nn.Hash(nn.Params(m)) != before || len(nn.Trainable(m)) != trainable || len(lora.Of(m)) != 0 {
			t.Errorf("%+v: the model is another one", c.config)
		}
	}
	err := tensor.Try(func() { lora.Wrap(nn.NewLinear(4, 4), lora.Config{Alpha: -1}) })
	if err == nil || err.Error() != "lora.Wrap: got alpha -1, want a positive number" {
		t.Errorf("Wrap: got %v", err)
	}
}

// Code that has only the model finds its adapter and takes it out. Removing another adapter is an error.
func TestRemove(t *testing.T) {
	m := model()
	before := nn.Hash(nn.Params(m))
	ad := inject(t, m, lora.Config{Rank: 4, Targets: "q_proj"})
	second := inject(t, m, lora.Config{Rank: 2, Targets: "v_proj"})
	if got := lora.Of(m); len(got) != 2 || got[0] != ad || got[1] != second {
		t.Errorf("Of: got %v", got)
	}
	if _, err := lora.Inject(m, lora.Config{}); err == nil || !strings.Contains(err.Error(), "lora.Remove(model)") || !strings.Contains(err.Error(), "lora.Of(model)") {
		t.Errorf("a second Inject: %v", err)
	}
	if err := new(lora.Adapter).Remove(m); err == nil || !strings.Contains(err.Error(), "has no layers") {
		t.Errorf("an empty adapter: %v", err)
	}
	if err := second.Remove(m); err != nil || len(lora.Of(m)) != 1 {
		t.Errorf("the second one: %v, %d are left", err, len(lora.Of(m)))
	}
	if err := second.Remove(m); err == nil || !strings.Contains(err.Error(), "another adapter") {
		t.Errorf("the second one again: %v", err)
	}
	if err := lora.Remove(m); err != nil || len(lora.Of(m)) != 0 {
		t.Errorf("Remove: %v", err)
	}
	if err := lora.Remove(m); err == nil || err.Error() != "lora: the model has no adapter" {
		t.Errorf("Remove again: %v", err)
	}
	if err := ad.Remove(m); err == nil || !strings.Contains(err.Error(), "not in this model") {
		t.Errorf("the first one, which is out: %v", err)
	}
	if nn.Hash(nn.Params(m)) != before {
		t.Error("the weights are other ones")
	}
	inject(t, m, lora.Config{})
}
