package gguf

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// BenchmarkCodes reports the weights that are read as codes in a second, of a file that the system has in
// memory, and what processors spend on it, beside the bytes of the same file as they are.
func BenchmarkCodes(b *testing.B) {
	w := tensor.Randn(4096, 4096).Eval()
	for _, typ := range []string{"Q8_0", "Q4_0", "Q6_K", "Q4_K"} {
		path := filepath.Join(b.TempDir(), "a.gguf")
		if err := WriteFile(path, nil, []Entry{{Name: "a", Type: typ, Tensor: w}}); err != nil {
			b.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		for what, read := range map[string]func() error{
			"codes": func() error {
				w, err := f.Codes("a", nil)
				if err == nil {
					w.Codes.Free()
					w.Scales.Free()
				}
				return err
			},
			"bytes": func() error { _, err := f.Bytes("a"); return err },
		} {
			b.Run(fmt.Sprint(typ, "/", what), func(b *testing.B) {
				before, _ := machine.Spent()
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
				each := 1e9 / float64(b.N) / (4096 * 4096)
				b.ReportMetric(b.Elapsed().Seconds()*each, "ns/weight")
				after, _ := machine.Spent()
				b.ReportMetric((after-before).Seconds()*each, "cpu-ns/weight")
			})
		}
	}
}

// BenchmarkQuantise reports the time for a weight that is quantised.
func BenchmarkQuantise(b *testing.B) {
	values := tensor.Randn(256, 4096).Eval().Floats()
	for _, k := range kinds {
		if k.encode == nil {
			continue
		}
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := k.fromF32(values); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(values)), "ns/weight")
		})
	}
}
