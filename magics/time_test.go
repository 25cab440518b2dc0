package magics

import (
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
)

// A run of %time that would be faster than the machine can be has no time.
func TestTimeIsBelieved(t *testing.T) {
	r := &profile.Recording{Launches: 1, Kernels: []profile.Kernel{{Name: "matmul", Launches: 1, Flops: 1e12, Bytes: 1e6}}, DType: dtype.F32}
	for _, tt := range []struct {
		wall   time.Duration
		prefix string
	}{
		{time.Microsecond, "no time: "},
		{time.Hour, "1 h"},
	} {
		if got := (&oneRun{Recording: r, wall: tt.wall}).line(t.Context()).Text(80); !strings.HasPrefix(got, tt.prefix) {
			t.Errorf("10¹² operations in %v: got %q", tt.wall, got)
		}
	}
}
