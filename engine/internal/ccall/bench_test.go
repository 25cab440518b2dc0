//go:build ((linux && (amd64 || arm64)) || (darwin && arm64)) && !mcs_static

package ccall

import (
	"testing"

	"github.com/ebitengine/purego"
)

// What a call of C costs, by the way that is taken.
func BenchmarkCall(b *testing.B) {
	l := library(b)
	nothing, sum5, sum11 := l.must(b, "nothing"), l.must(b, "sum5"), l.must(b, "sum11")
	eleven := [16]uintptr{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	run := func(name string, f func(n int)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			f(b.N)
		})
	}
	run("Do/0", func(n int) {
		for range n {
			c := Call{Func: nothing}
			c.Do()
		}
	})
	run("Do/11", func(n int) {
		for range n {
			c := Call{Func: sum11, Args: eleven}
			c.Do()
		}
	})
	run("Call/5", func(n int) {
		for range n {
			sum5.Call(1, 2, 3, 4, 5)
		}
	})
	run("Run of 100/11", func(n int) {
		calls := make([]Call, 100)
		for i := range calls {
			calls[i] = Call{Func: sum11, Args: eleven, Check: Never}
		}
		for i := 0; i < n; i += len(calls) {
			Run(calls)
		}
	})
	run("purego.SyscallN/0", func(n int) {
		for range n {
			purego.SyscallN(uintptr(nothing))
		}
	})
	run("purego.SyscallN/11", func(n int) {
		for range n {
			purego.SyscallN(uintptr(sum11), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		}
	})
	run("purego.RegisterFunc/5", func(n int) {
		var f func(a, b, c, d, e int64) int64
		purego.RegisterFunc(&f, uintptr(sum5))
		for range n {
			f(1, 2, 3, 4, 5)
		}
	})
}
