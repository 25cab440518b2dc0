package access_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/testing/together"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Each process reads its part of a matrix alone, and all have the whole.
func TestWithParts(t *testing.T) {
	const rows, columns = 100, 300
	want := make([]byte, rows*columns)
	for i := range want {
		want[i] = byte(i * 7 / 3)
	}
	for _, size := range []int{2, 3} {
		var read atomic.Int64
		for rank, err := range together.Run(size, func(g *ranks.Group) error {
			parts, err := g.Parts(context.Background())
			if err != nil {
				return err
			}
			defer parts.Close()
			var m tensor.Tensor
			tensor.Within(access.WithParts(context.Background(), parts), func() {
				m, err = access.Filled(dtype.U8, []int{rows, columns}, func(at int, to []byte) error {
					read.Add(int64(len(to)))
					copy(to, want[at:])
					return nil
				})
			})
			if err != nil {
				return err
			}
			if _, err := g.Texts("filled"); err != nil {
				return err
			}
			if !access.InParts(m) || !slices.Equal(m.Bytes(), want) {
				return fmt.Errorf("got another matrix, in parts: %v", access.InParts(m))
			}
			return nil
		}) {
			if err != nil {
				t.Errorf("rank %d of %d: %v", rank, size, err)
			}
		}
		if read.Load() != rows*columns {
			t.Errorf("%d ranks read %d bytes, want %d in all", size, read.Load(), rows*columns)
		}
	}
}
