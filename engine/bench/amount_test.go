package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// What runs did is counted in those that are timed, not only in the one that is looked at.
func TestUnevenRuns(t *testing.T) {
	x := tensor.Randn(64, 64).Eval()
	calls := 0
	var memo tensor.Tensor
	for _, tt := range []struct {
		name   string
		run    func()
		uneven bool
		notes  []string // parts of them; no others are of this kind
	}{
		{"all the same", func() { _ = x.Add(1) }, false, nil},
		{"evaluated", func() { _ = x.Add(1).Sum().Item() }, false, nil},
		{"each other one", func() {
			if calls++; calls%2 == 0 {
				x.Add(1).Eval().Free()
			}
		}, true, []string{"made 0.5 launches of 2.05 kFLOP and 16.4 kB in the mean, and one before them 1 launch of 4.10 kFLOP and 32.8 kB"}},
		{"a part is remembered", func() {
			if memo.IsNone() {
				memo = x.Exp().Eval()
			}
			_ = memo.Add(1)
		}, false, []string{"the very first run, which is not timed, made 2 launches of"}},
		{"less from the tenth call on", func() {
			if calls++; calls < 10 {
				x.Add(1).Eval()
			}
			x.Sum().Eval()
		}, true, []string{"the runs did not all do the same"}},
	} {
		calls = 0
		r, err := bench.Measure(t.Context(), func(n int) error {
			for range n {
				tt.run()
			}
			return nil
		}, bench.Options{Time: 20 * time.Millisecond, Samples: 40})
		if err != nil || r.Refused != "" {
			t.Errorf("%s: got %v, %v", tt.name, r, err)
			continue
		}
		text := strings.Join(r.Notes, "\n")
		if r.Uneven != tt.uneven || tt.notes == nil && (strings.Contains(text, "very first run") || strings.Contains(text, "all do the same")) {
			t.Errorf("%s: got uneven %v, want %v, with the notes\n%s", tt.name, r.Uneven, tt.uneven, text)
		}
		for _, want := range tt.notes {
			if !strings.Contains(text, want) {
				t.Errorf("%s: want %q in\n%s", tt.name, want, text)
			}
		}
	}
}
