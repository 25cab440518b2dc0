//go:build linux && (amd64 || arm64)

package ticks

import (
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/machine"
)

// counter reads the processor's counter: TSC or CNTVCT_EL0.
func counter() int64

// kept is what Linux calls the counter, where it keeps time by it.
var kept = map[string]string{"amd64": "tsc", "arm64": "arch_sys_counter"}[runtime.GOARCH]

func usable() bool {
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && strings.TrimSpace(string(source)) == kept && cheaper()
}

// cheaper says whether the counter takes less than three quarters of the time that the machine's clock takes.
func cheaper() bool {
	const tries, reads = 8, 16
	count, real := time.Duration(1<<62), time.Duration(1<<62)
	for range tries {
		start := machine.Now()
		for range reads {
			counter()
		}
		between := machine.Now()
		for range reads {
			machine.Now()
		}
		count, real = min(count, between-start), min(real, machine.Now()-between)
	}
	return 4*count < 3*real
}
