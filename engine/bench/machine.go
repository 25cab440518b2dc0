package bench

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/machine"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Machine says where something was measured and what else the machine did meanwhile.
type Machine struct {
	CPU     string  // the model's name, "" if it is not known
	Cores   int     // processors that the system has
	Threads int     // GOMAXPROCS
	OS      string  // "linux/amd64"
	Go      string  // "go1.26.1"
	Engine  string  // the version of mcs, and of the commit where that is known
	Device  string  // "cpu: 2 threads, avx512"
	MHz     float64 // the clock of the fastest processor; 0: not known
	Power   string  // "mains", "battery", or "" if it is not known
	Load    float64 // threads of all processes that could run, the mean of a minute; below 0: not known
	Steal   float64 // share of the time of all processors that a hypervisor gave to others meanwhile; below 0: not known
	Others  float64 // processors that other processes kept busy meanwhile; below 0: not known
	Beside  float64 // processors that other work of this process kept busy in pauses of what was measured; 0: none, or not known

	used machine.Usage
}

const (
	noisySteal  = 0.03
	noisyOthers = 0.3
	// Processors are counted in ticks of 10 ms: over a shorter time, a share of them says little.
	leastUsage = 150 * time.Millisecond
)

// thisMachine describes the machine and the devices with these names, the default one without any.
func thisMachine(names ...string) Machine {
	var devices []string
	if list, err := devicesOf(names); err == nil { // else a device was lost meanwhile
		for _, d := range list {
			devices = append(devices, d.String()+": "+d.Info().Detail)
		}
	}
	return Machine{CPU: machine.CPU(), Cores: runtime.NumCPU(), Threads: runtime.GOMAXPROCS(0), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Engine: engineVersion(), Device: strings.Join(devices, " and "), MHz: machine.MHz(), Power: machine.Power(), Load: machine.Load(),
		Steal: -1, Others: -1, used: machine.Used()}
}

// since says what the machine did since before.
func (m Machine) since(before Machine) Machine {
	total := m.used.Total - before.used.Total
	if !m.used.Known || !before.used.Known || total < leastUsage || m.Cores < 1 {
		return m
	}
	own := m.used.Own - before.used.Own
	m.Steal = float64(m.used.Stolen-before.used.Stolen) / float64(total)
	m.Others = max(0, float64(m.used.Busy-before.used.Busy-own)/float64(total)*float64(m.Cores))
	return m
}

// notQuiet begins the note of a measurement with what disturbed it.
const notQuiet = "the machine was not quiet: "

// Noise says what disturbs measurements on the machine; nothing if it is quiet, as far as that is known.
func (m Machine) Noise() (reasons []string) {
	if m.Others > noisyOthers {
		reasons = append(reasons, fmt.Sprintf("other processes keep %.1f of %s busy", m.Others, units.Plural(int64(m.Cores), "processor")))
	}
	if m.Beside > noisyOthers {
		reasons = append(reasons, fmt.Sprintf("other work of this process keeps %.1f of %s busy", m.Beside, units.Plural(int64(m.Cores), "processor")))
	}
	if m.Steal > noisySteal {
		reasons = append(reasons, units.Percent(m.Steal)+" of the processors' time is given to other machines")
	}
	if m.Power == "battery" {
		reasons = append(reasons, "it runs on battery")
	}
	return reasons
}

// String is one line: what the machine is, and what disturbs it.
func (m Machine) String() string {
	var parts []string
	for _, p := range []string{m.CPU, units.Plural(int64(m.Cores), "processor"), m.Device, m.OS, m.Go} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if m.MHz > 0 {
		parts = append(parts, fmt.Sprintf("%.0f MHz", m.MHz))
	}
	if m.Load >= 0 {
		parts = append(parts, fmt.Sprintf("load %.1f", m.Load))
	}
	return strings.Join(append(parts, m.Noise()...), " · ")
}

// Brief is what the machine did meanwhile, in a few words: "2 processors at 2900 MHz · load 0.4 · 0.1 of them
// busy with other work · steal 0 %". What is not known is left out.
func (m Machine) Brief() string {
	text := units.Plural(int64(m.Cores), "processor")
	if m.MHz > 0 {
		text += fmt.Sprintf(" at %.0f MHz", m.MHz)
	}
	if m.Load >= 0 {
		text += fmt.Sprintf(" · load %.1f", m.Load)
	}
	if m.Others >= 0 {
		text += fmt.Sprintf(" · %.1f of them busy with other work", m.Others)
	}
	if m.Beside >= 0.1 {
		text += fmt.Sprintf(" · %.1f with other work of this process", m.Beside)
	}
	if m.Steal >= 0 {
		text += " · steal " + percent(math.Round(100*m.Steal)/100)
	}
	if m.Power == "battery" {
		text += " · on battery"
	}
	return text
}

// differs says in what the machine is another than the one of other figures.
func (m Machine) differs(from Machine) (list []string) {
	for _, each := range []struct{ what, now, then string }{
		{"processor", m.CPU, from.CPU},
		{"processors", fmt.Sprint(m.Cores), fmt.Sprint(from.Cores)},
		{"threads", fmt.Sprint(m.Threads), fmt.Sprint(from.Threads)},
		{"system", m.OS, from.OS},
		{"Go", m.Go, from.Go},
		{"mcs", m.Engine, from.Engine},
		{"device", m.Device, from.Device},
		{"power", m.Power, from.Power},
	} {
		if each.now != each.then {
			list = append(list, fmt.Sprintf("%s: %s, then %s", each.what, each.now, each.then))
		}
	}
	return list
}
