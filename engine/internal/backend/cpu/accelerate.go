package cpu

import (
	"os"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
)

// accelerateSwitch is the variable that, set to 1, lets Accelerate compute products of float32 with more than
// a few rows. It is off by default: its sums are added in an order that we do not know, so that results may
// change with the number of its threads and with the system's version; and an interrupted product ends some
// 10 ms later.
const accelerateSwitch = "MCS_ACCELERATE"

// accelerate opens Accelerate if it is wanted, once, and says what came of it for the device's details.
var accelerate = sync.OnceValue(func() string {
	if os.Getenv(accelerateSwitch) != "1" {
		return ""
	}
	f, err := openAccelerate()
	if err != nil {
		return ", " + err.Error()
	}
	gemm.UseBLAS(f)
	return ", accelerate"
})
