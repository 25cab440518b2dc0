package micro

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// String names the kernel's function: "6 × 64: matmul6x64AVX512, and narrower ones for the last columns".
func (m *Kernel) String() string {
	text := fmt.Sprintf("%d × %d: ", m.Rows, m.Cols)
	if m.form == tiles {
		return text + "tiles of the matrix unit"
	}
	name := runtime.FuncForPC(reflect.ValueOf(m.widths[len(m.widths)-1]).Pointer()).Name()
	text += name[strings.LastIndexByte(name, '.')+1:]
	if len(m.widths) > 1 {
		text += ", and narrower ones for the last columns"
	}
	return text
}
