package kernel

import (
	"context"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/shaders"
)

// TestPlanted plants mistakes in a kernel that is shipped, the softmax of long rows: each is found.
func TestPlanted(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	tr := trial{name: "softmax", group: oneOp(backend.Row, ir.Softmax, ir.Attr{}, []ir.Type{typeOf(dtype.F32, 3, 3000)}, typeOf(dtype.F32, 3, 3000)), limits: Limits{Threads: 64, SIMDWidth: 32}}
	k, err := Render(tr.group, tr.limits)
	if err != nil || len(k.Dispatches) != 1 {
		t.Fatalf("got %v, %v, want one dispatch", k, err)
	}
	data, want := tr.expected(t)
	text := shaders.Blocks() + k.Dispatches[0].Text
	const barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
	for _, c := range []struct {
		name     string
		mode     check.Mode
		old, new string
		nth      int    // which old one, from 0
		want     string // in the error
		long     bool
	}{
		{"nothing", check.Plain, "", "", 0, "", false},
		{"no barrier between a write and a read", check.Thread, barrier, "", 4, "data race, fold.metal", false},
		{"two folds with the same memory", check.Thread, "space + 4", "space + 0", 0, "data race, fold.metal", true},
		{"a barrier that a part of the threads reaches", check.Plain, barrier, "if (lane < 16) " + barrier, 4, "threadgroup_barrier in fold.metal", false},
		{"an operation of a simdgroup that a part of the threads reaches", check.Plain, "const float all = group_value(", "float all = 0; if (lane < 16) all = group_value(", 0, "simd_shuffle_xor in fold.metal", true},
		{"a read behind the end", check.Plain, "i0 < a.n0;", "i0 < a.n0 + 4096;", 0, "touched memory that is not its own", false},
		{"a read behind the end, to the line", check.Address, "i0 < a.n0;", "i0 < a.n0 + 4;", 0, "buffer-overflow, memory.metal", true},
		{"a write behind the end", check.Plain, "store4(a.y0 + (i0", "store4(a.y0 + (4096 + i0", 0, "touched memory that is not its own", false},
		{"a pointer into the wrong address space", check.Plain, "const bool inside = mine", "device float* wrong = space; const bool inside = mine", 0, "kernels.metal", false},
		{"a write to a constant", check.Plain, "const bool inside = mine", "a.n0 = 3; const bool inside = mine", 0, "kernels.metal", false},
		{"a race between groups", check.Thread, "const int i1 = row;", "const int i1 = 0 * row;", 0, "data race, memory.metal", true},
		{"memory of the group that is never written", check.Plain, "if (lane == 0) f.put(folds + simd);", "", 0, "want", false},
		{"an overflow", check.Undefined, "const int i1 = row;", "const int i1 = row + ((1 << 30) - 1 + a.rows) * 3 * 0;", 0, "signed integer overflow", true},
	} {
		if c.long && !long.Tests() {
			continue
		}
		t.Run(c.mode.String()+"/"+c.name, func(t *testing.T) {
			parts := strings.Split(text, c.old)
			changed := text
			if c.old != "" {
				if len(parts) < c.nth+2 {
					t.Fatalf("got %d times %q, want %d", len(parts)-1, c.old, c.nth+1)
				}
				changed = strings.Join(parts[:c.nth+1], c.old) + c.new + strings.Join(parts[c.nth+1:], c.old)
			}
			s, err := msl.Parse("kernels.metal", changed)
			if err != nil {
				t.Fatal(err)
			}
			d, err := tools.Start(context.Background(), c.mode, s)
			if err == nil {
				defer d.Close()
				err = tr.compare(d, k, c.mode, 0, data, want)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}
