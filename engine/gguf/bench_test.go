package gguf

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// BenchmarkCodes reports the time for a weight that is read as a code, of a file that the system has in
// memory, and what processors spend on it, beside reading the same bytes by pieces: the best of all times,
// as others may use the machine.
func BenchmarkCodes(b *testing.B) {
	const rows, columns = 512, 4096
	w := tensor.Randn(rows, columns).Eval()
	for _, typ := range []string{"Q8_0", "Q4_0", "Q6_K", "Q5_K", "Q4_K"} {
		path := filepath.Join(b.TempDir(), "a.gguf")
		if err := WriteFile(path, nil, []Entry{{Name: "a", Type: typ, Tensor: w}}); err != nil {
			b.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		piece := make([]byte, 1<<20)
		for what, read := range map[string]func() error{
			"codes": func() error {
				w, err := f.Codes("a", nil)
				if err == nil {
					tensor.Free(w.Codes, w.Scales, w.Extra)
				}
				return err
			},
			"bytes": func() (err error) {
				for info := f.tensors[0]; info.Bytes > 0 && err == nil; info.Bytes -= int64(len(piece)) {
					err = f.read("a", piece[:min(info.Bytes, int64(len(piece)))], info.begin)
				}
				return err
			},
		} {
			b.Run(fmt.Sprint(typ, "/", what), func(b *testing.B) {
				wall, spent := math.Inf(1), math.Inf(1)
				for b.Loop() {
					from := time.Now()
					before, _ := machine.Spent()
					if err := read(); err != nil {
						b.Fatal(err)
					}
					after, _ := machine.Spent()
					wall, spent = min(wall, time.Since(from).Seconds()), min(spent, (after-before).Seconds())
				}
				const each = 1e9 / (rows * columns)
				b.ReportMetric(wall*each, "ns/weight")
				b.ReportMetric(spent*each, "cpu-ns/weight")
				b.ReportMetric(float64(f.tensors[0].Bytes)/wall/1e9, "GB/s")
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
