package lora_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A list of adapters is a table, as a session shows it.
func TestTable(t *testing.T) {
	m, ad := three(t)
	if got := lora.Of(model()).String(); got != "no adapters" {
		t.Errorf("without adapters: got %q", got)
	}
	ad[0].Enable()
	ad[0].Merge()
	ad[1].Weigh(-0.5)
	want := `adapter  rank  scale  layers  parameters    memory  device       state
a           4      2      14       3,712  14.5 KiB     cpu  on, merged
b           2      3      14       1,856   7.2 KiB     cpu  off × -0.5
c           8      2       4       2,304   9.0 KiB     cpu          on`
	if got := lora.Of(m).Text(80); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if a, err := lora.Of(m).Named("b"); err != nil || a != ad[1] {
		t.Errorf("by name: got %v, %v", a, err)
	}
	if _, err := lora.Of(m).Named("d"); errorText(err) != `lora: got adapter "d", want one of "a", "b", "c"` {
		t.Errorf("by a name that there is not: %v", err)
	}
}

// An adapter may wait on another device, and is the same when it comes back.
func TestAdapterElsewhere(t *testing.T) {
	m, ad := three(t)
	other, err := device.Lookup("ref")
	if err != nil {
		t.Fatal(err)
	}
	if err := lora.Use(m, "a"); err != nil {
		t.Fatal(err)
	}
	want, home := m.Logits(ids).Eval(), ad[0].Device()
	ad[0].Unfreeze()
	ad[1].To(other) // which is off
	if d := tensor.MaxAbsDiff(m.Logits(ids), want); d != 0 || ad[1].Device() != other {
		t.Errorf("with the other one on %v the logits differ by %g", ad[1].Device(), d)
	}
	ad[0].To(other)
	if err := tensor.Try(func() { m.Logits(ids).Eval() }); err == nil {
		t.Error("an adapter that is on and elsewhere: no error")
	}
	ad[0].To(home)
	if d := tensor.MaxAbsDiff(m.Logits(ids), want); d != 0 || !ad[0].Params()[0].Trainable() {
		t.Errorf("back on %v the logits differ by %g", home, d)
	}
}

// So may weights that an adapter trains whole: they wait where it is, and come back with it.
func TestWholeWeightsElsewhere(t *testing.T) {
	m := model()
	ad := inject(t, m, lora.Config{Rank: 2, Train: "model.norm"})
	norm := m.Norm.(*nn.RMSNorm).Weight
	norm.Set(norm.Mul(2).Detach())
	want := m.Logits(ids).Eval()
	other, err := device.Lookup("ref")
	if err != nil {
		t.Fatal(err)
	}
	home := ad.Device()
	ad.Disable()
	before := other.Memory().InUse
	ad.To(other)
	if grown := other.Memory().InUse - before; grown < int64(4*norm.Size()) {
		t.Errorf("%v holds %d bytes more", other, grown)
	}
	const away = `adapter "default" is on ref, want it where the model is: To moves it to cpu`
	if err := tensor.Try(ad.Enable); errorText(err) != "lora.Enable: "+away || ad.On() {
		t.Errorf("enabled while it is elsewhere: got %v", err)
	}
	if err := lora.Use(m, "default"); errorText(err) != "lora: "+away || ad.On() {
		t.Errorf("used while it is elsewhere: got %v", err)
	}
	ad.To(home)
	ad.Enable()
	if d := tensor.MaxAbsDiff(m.Logits(ids), want); d != 0 {
		t.Errorf("back on %v the logits differ by %g", home, d)
	}
}

// What was taken out releases its memory.
func TestRemovedAdaptersReleaseMemory(t *testing.T) {
	m := llm.New(llm.Config{Vocab: 64, Layers: 1, Width: 512, Heads: 4, Hidden: 512})
	used := func() int64 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
		runtime.GC()
		return device.Default().Memory().InUse
	}
	m.Logits(ids).Eval()
	before := used()
	for range 3 {
		ad := inject(t, m, lora.Config{Rank: 64}) // 4 · 7 · 64 · 1024 bytes, and merged 4 · 7 · 512² more
		ad.Merge()
		if grown := used() - before; grown < 8<<20 {
			t.Fatalf("an adapter took %d bytes", grown)
		}
		ad.Unmerge()
		if err := ad.Remove(m); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if used()-before < 1<<20 {
			return
		}
	}
	t.Errorf("%d bytes more than before", used()-before)
}
