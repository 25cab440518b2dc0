package machine

import (
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

func files(pairs ...string) fstest.MapFS {
	root := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		root[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return root
}

func TestModel(t *testing.T) {
	for _, tt := range []struct{ cpuinfo, want string }{
		{"processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\n", "Intel(R) Xeon(R) Processor"},
		{"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n", "arm 0x41/0xd40"},
		{"", ""},
	} {
		if got := modelIn(files("proc/cpuinfo", tt.cpuinfo)); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.cpuinfo, got, tt.want)
		}
	}
}

func TestCaches(t *testing.T) {
	const dir = "sys/devices/system/cpu/cpu0/cache/"
	root := files(dir+"index0/level", "1\n", dir+"index0/type", "Data\n", dir+"index0/size", "48K\n",
		dir+"index1/level", "1\n", dir+"index1/type", "Instruction\n", dir+"index1/size", "32K\n",
		dir+"index2/level", "2\n", dir+"index2/type", "Unified\n", dir+"index2/size", "2M\n", dir+"index2/shared_cpu_list", "0-1,8\n")
	if got := cachesIn(root); !slices.Equal(got, []Cache{{48 << 10, 1}, {2 << 20, 3}}) {
		t.Errorf("got %v, want 48 KiB, and 2 MiB that three processors share", got)
	}
	if got := cachesIn(files()); got != nil {
		t.Errorf("without any: got %v", got)
	}
}

func TestLoad(t *testing.T) {
	for text, want := range map[string]float64{"0.47 0.68 1.65 1/94 18748\n": 0.47, "": -1} {
		if got := loadIn(files("proc/loadavg", text)); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestMHz(t *testing.T) {
	const cpu = "sys/devices/system/cpu/"
	for _, tt := range []struct {
		root fstest.MapFS
		want float64
	}{
		{files(cpu+"cpu0/cpufreq/scaling_cur_freq", "1200000\n", cpu+"cpu1/cpufreq/scaling_cur_freq", "3500000\n"), 3500},
		{files("proc/cpuinfo", "cpu MHz\t\t: 2300.000\n"), 2300},
		{files(), 0},
	} {
		if got := megahertzIn(tt.root); got != tt.want {
			t.Errorf("got %v, want %v", got, tt.want)
		}
	}
}

func TestPower(t *testing.T) {
	const dir = "sys/class/power_supply/"
	for _, tt := range []struct {
		root fstest.MapFS
		want string
	}{
		{files(), ""},
		{files(dir+"AC/type", "Mains\n", dir+"AC/online", "1\n", dir+"BAT0/type", "Battery\n", dir+"BAT0/status", "Charging\n"), "mains"},
		{files(dir+"AC/type", "Mains\n", dir+"AC/online", "0\n", dir+"BAT0/type", "Battery\n", dir+"BAT0/status", "Discharging\n"), "battery"},
	} {
		if got := powerIn(tt.root); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestUsed(t *testing.T) {
	got := usedIn(files("proc/stat", "cpu  100 20 30 400 50 6 7 80 9 9\ncpu0 1 1 1 1\n"))
	want := Usage{Known: true, Busy: 1630 * time.Millisecond, Stolen: 800 * time.Millisecond, Total: 6930 * time.Millisecond}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := usedIn(files("proc/stat", "cpu 1 2\n")); got.Known {
		t.Errorf("a file that is too short: got %+v", got)
	}
}

// On this machine the process has used some of what all have.
func TestUsedHere(t *testing.T) {
	if u := Used(); !u.Known || u.Own <= 0 || u.Busy <= 0 || u.Busy > u.Total {
		t.Errorf("got %+v", u)
	}
}
