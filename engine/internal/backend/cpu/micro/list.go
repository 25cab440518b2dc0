package micro

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// String names the kernel's functions, one for each width of a panel of columns: "14 × 32: matmul14x16AVX512,
// matmul14x32AVX512".
func (m *Kernel) String() string {
	text := fmt.Sprintf("%d × %d", m.Rows, m.Cols)
	if m.form == tiles {
		return text + ": tiles of the matrix unit"
	}
	names := make([]string, len(m.widths))
	for i, f := range m.widths {
		name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
		names[i] = name[strings.LastIndexByte(name, '.')+1:]
	}
	return text + ": " + strings.Join(names, ", ")
}
