package kernel

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// keptTrials are rows that are longer than registers hold, with threadgroup memory for so many turns: for
// all, for a part, or for a ring alone.
func keptTrials() (list []trial) {
	for _, c := range []struct {
		dt       dtype.Type
		n, turns int
	}{{dtype.BF16, 4104, 12}, {dtype.F16, 6000, 7}, {dtype.F32, 2180, 20}, {dtype.F32, 3000, 5}} {
		for _, tr := range rowTrials(c.dt, 2, c.n) {
			tr.limits = Limits{Threads: 64, SIMDWidth: simdWidth, Family: NVIDIA, Memory: 4*mostFolds*4 + 16*64*c.turns}
			tr.name += fmt.Sprintf(", memory for %d turns", c.turns)
			list = append(list, tr)
		}
	}
	return list
}

// TestKeptRows: what threadgroup memory has of a row changes no bit of the results.
func TestKeptRows(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	trials := some(keptTrials())
	var kernels [][2]*Kernel
	texts := map[string]string{}
	for _, tr := range trials {
		var both [2]*Kernel
		for i := range both {
			if both[i], err = Render(tr.group, tr.limits); err != nil {
				t.Fatalf("%s: %v", tr.name, err)
			}
			for _, d := range both[i].Dispatches {
				texts[d.Function] = d.Text
			}
			tr.limits.Memory = 0
		}
		kernels = append(kernels, both)
	}
	d, err := tools.Start(context.Background(), check.Modes[0], sourcesOf(t, texts)...)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	kept := 0
	for i, tr := range trials {
		kept += kernels[i][0].Dispatches[0].Threadgroup
		data, _ := tr.expected(t)
		var results [2][]byte
		for n, k := range kernels[i] {
			outputs, err := tr.run(d, k, check.Modes[0], 0, data)
			if err != nil {
				t.Fatalf("%s: %v", tr.name, err)
			}
			results[n] = bytes.Join(outputs, nil)
		}
		if !bytes.Equal(results[0], results[1]) {
			t.Errorf("%s: got other bits than without", tr.name)
		}
	}
	if kept == 0 {
		t.Error("no row was kept")
	}
}
