package lora_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// TestMain is also the process that TestKilledSaves kills: it saves two adapters in turn into one folder.
func TestMain(m *testing.M) {
	if path := os.Getenv("LORA_SAVE"); path != "" {
		var adapters []*lora.Adapter
		for _, alpha := range []float64{2, 4} {
			ad, err := lora.Inject(model(), lora.Config{Rank: 4, Alpha: alpha, Targets: "q_proj"})
			if err != nil {
				panic(err)
			}
			fill(ad, alpha)
			adapters = append(adapters, ad)
		}
		for i := 0; ; i++ {
			if err := adapters[i%2].Save(path); err != nil {
				panic(err)
			}
			if i == 1 {
				fmt.Println("saved")
			}
		}
	}
	devicetest.Main(m)
}

// fill sets all of an adapter's numbers to its alpha, so that a mixture of two can be told.
func fill(ad *lora.Adapter, alpha float64) {
	for _, p := range ad.Params() {
		p.Value().Set(tensor.Full(alpha, p.Value().Shape()...))
	}
}

// checkWhole loads an adapter whose numbers are all its alpha.
func checkWhole(t *testing.T, path, when string) {
	t.Helper()
	ad, err := lora.Load(path, model())
	if err != nil {
		t.Errorf("%s: %v", when, err)
		return
	}
	for _, p := range ad.Params() {
		if low, high := p.Value().Min().Item(), p.Value().Max().Item(); low != ad.Config.Alpha || high != low {
			t.Errorf("%s: alpha %g with weights from %g to %g", when, ad.Config.Alpha, low, high)
		}
	}
}

// TestKilledSaves: whenever a process that saves is killed, the folder holds one adapter, not the weights of
// one and the configuration of another.
func TestKilledSaves(t *testing.T) {
	rounds := 6
	if long.Tests() {
		rounds = 200
	}
	path := filepath.Join(t.TempDir(), "adapter")
	r := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "LORA_SAVE="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 6)) // "saved": both are on the disk, and the saving goes on
		time.Sleep(time.Duration(r.IntN(20_000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		checkWhole(t, path, fmt.Sprintf("round %d", round))
	}
}

// TestSaveFails: where the weights can be written and the configuration cannot, the old adapter stays.
func TestSaveFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "adapter")
	two, four := inject(t, model(), lora.Config{Rank: 4, Alpha: 2}), inject(t, model(), lora.Config{Rank: 4, Alpha: 4})
	fill(two, 2)
	fill(four, 4)
	if err := two.Save(path); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(path, "adapter_config.json")
	aside := config + ".mine"
	if err := os.Rename(config, aside); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(config, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := four.Save(path); err == nil || !strings.Contains(err.Error(), "adapter_config.json is a folder") {
		t.Errorf("got %v, want a refusal of the folder", err)
	}
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, config); err != nil {
		t.Fatal(err)
	}
	checkWhole(t, path, "after the failed save")
}

// TestEndlessConfiguration: a path that does not lead to a regular file is refused at once.
func TestEndlessConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "adapter")
	if err := inject(t, model(), lora.Config{Rank: 4}).Save(path); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(path, "adapter_config.json")
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", config); err != nil {
		t.Skip("no links here:", err)
	}
	if _, err := os.Stat(config); err != nil {
		t.Skip("no /dev/zero here:", err)
	}
	if _, err := lora.Load(path, model()); err == nil || !strings.Contains(err.Error(), "adapter_config.json is a device, want a regular file") {
		t.Errorf("got %v, want a refusal of the device", err)
	}
}

// TestMutants: a damaged adapter is refused, and the model stays as it was; or it is taken.
func TestMutants(t *testing.T) {
	path := filepath.Join(t.TempDir(), "adapter")
	ad := inject(t, model(), lora.Config{Rank: 4, Targets: "q_proj"})
	if err := ad.Save(path); err != nil {
		t.Fatal(err)
	}
	m := model()
	before := nn.Hash(nn.Params(m))
	n := 300
	if long.Tests() {
		n = 5000
	}
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		file := filepath.Join(path, name)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head := min(2<<10, len(whole)) // what follows in the weights is data, which may be anything
		mutate.Each(3, n, whole[:head], func(i int, mutant []byte) {
			if err := os.WriteFile(file, bytes.Join([][]byte{mutant, whole[head:]}, nil), 0o666); err != nil {
				t.Fatal(err)
			}
			if ad, err := lora.Load(path, m); err == nil {
				ad.Remove(m)
			}
			if i%50 == 0 && nn.Hash(nn.Params(m)) != before {
				t.Fatalf("%s, mutant %d: the model is another", name, i)
			}
		})
		if err := os.WriteFile(file, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
