package bench

import (
	"runtime"

	"github.com/mcs-notebook/mcs/engine/device"
)

// A Machine says where something was measured and what else the machine did meanwhile.
type Machine struct {
	CPU     string  // the model's name
	Cores   int     // processors that the system has
	Threads int     // GOMAXPROCS
	OS      string  // "linux/amd64"
	Go      string  // "go1.26.1"
	Device  string  // "cpu: 2 threads, avx512"
	Load    float64 // runnable threads of all processes, the mean of a minute; below 0: not known
	Steal   float64 // share of the processors' time that a hypervisor gave to others, while it was measured; below 0: not known
	Others  float64 // processors that other processes kept busy, while it was measured; below 0: not known
	MHz     float64 // the clock of the processor; 0: not known
	Power   string  // "mains", "battery", ""
}

func thisMachine(d device.Device) Machine {
	return Machine{Cores: runtime.NumCPU(), Threads: runtime.GOMAXPROCS(0), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Device: d.String() + ": " + d.Info().Detail, Load: -1, Steal: -1, Others: -1}
}
