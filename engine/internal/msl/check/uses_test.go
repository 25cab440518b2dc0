package check

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/msl"
)

// TestUses: a kernel that reaches memory through an address in a table touches what the launch names, and a
// launch that names nothing any memory.
func TestUses(t *testing.T) {
	const text = `#include <metal_stdlib>
using namespace metal;
struct table { device float* x; };
kernel void reach(constant table& a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a.x[i] = 1.0f; }
`
	source, err := msl.Parse("reach.metal", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		uses  func(x, other Pointer) []Pointer
		fault string
	}{
		{"named", func(x, other Pointer) []Pointer { return []Pointer{other, x} }, ""},
		{"another is named", func(x, other Pointer) []Pointer { return []Pointer{other} }, "it lies in a block of 16 bytes that the launch does not name"},
		{"none is named", func(x, other Pointer) []Pointer { return []Pointer{} }, "it lies in a block of 16 bytes that the launch does not name"},
		{"any", func(x, other Pointer) []Pointer { return nil }, ""},
	} {
		d := start(t, Plain, source)
		x, other := put(t, d, make([]float32, 4)), put(t, d, make([]float32, 4))
		err := d.Run(context.Background(), Launch{
			Kernel: "reach", Groups: [3]int{1, 1, 1}, Threads: [3]int{4, 1, 1},
			Bytes: map[int][]byte{0: binary.LittleEndian.AppendUint64(nil, uint64(x))}, Uses: c.uses(x, other),
		})
		switch {
		case c.fault == "" && (err != nil || get(t, d, x, 4)[3] != 1):
			t.Errorf("%s: got %v, want 1 in x", c.name, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.fault)
		}
	}
}
