package mesh

import (
	"errors"
	"fmt"
	"testing"
)

// Exchange and Gather of so many bytes a rank, as the sum of a step makes them. The ranks are goroutines.
func BenchmarkSum(b *testing.B) {
	for _, size := range []int{2, 4} {
		for _, n := range []int{1 << 10, 32 << 20} {
			b.Run(fmt.Sprintf("%d ranks, %d bytes", size, n), func(b *testing.B) {
				links, errs := meetings(b, size, nil)
				if err := errors.Join(errs...); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(n))
				b.ResetTimer()
				errs = each(links, func(l *Link) error {
					src, dst := make([]byte, n), make([]byte, n)
					for range b.N {
						if err := errors.Join(l.Exchange(dst, src), l.Gather(dst, src[:n/size])); err != nil {
							return err
						}
					}
					return l.Close()
				})
				if err := errors.Join(errs...); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
