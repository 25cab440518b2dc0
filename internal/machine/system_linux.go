package machine

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// The functions of this file read the files of root "/"; tests give another one.

func cpuModel() string    { return modelIn(os.DirFS("/")) }
func cachesHere() []Cache { return cachesIn(os.DirFS("/")) }
func load() float64       { return loadIn(os.DirFS("/")) }
func megahertz() float64  { return megahertzIn(os.DirFS("/")) }
func power() string       { return powerIn(os.DirFS("/")) }

func used() Usage {
	u := usedIn(os.DirFS("/"))
	own, ok := spent()
	if !ok {
		return Usage{}
	}
	u.Own = own
	return u
}

// field is the value of the first line "name : value" of a file.
func field(root fs.FS, file string, names ...string) string {
	text, _ := fs.ReadFile(root, file)
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		name, value, ok := strings.Cut(sc.Text(), ":")
		for _, wanted := range names {
			if ok && strings.TrimSpace(name) == wanted {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

func word(root fs.FS, file string) string {
	text, _ := fs.ReadFile(root, file)
	return strings.TrimSpace(string(text))
}

// modelIn reads the name of the model. A processor of arm64 has only numbers.
func modelIn(root fs.FS) string {
	if name := field(root, "proc/cpuinfo", "model name", "Model", "Hardware"); name != "" {
		return name
	}
	if part := field(root, "proc/cpuinfo", "CPU part"); part != "" {
		return fmt.Sprintf("arm %s/%s", field(root, "proc/cpuinfo", "CPU implementer"), part)
	}
	return ""
}

func cachesIn(root fs.FS) (list []Cache) {
	const dir = "sys/devices/system/cpu/cpu0/cache"
	entries, _ := fs.ReadDir(root, dir)
	for level := 1; level <= 4; level++ {
		for _, e := range entries {
			at := path.Join(dir, e.Name())
			if word(root, at+"/level") != strconv.Itoa(level) || word(root, at+"/type") == "Instruction" {
				continue
			}
			size := word(root, at+"/size")
			n, err := strconv.ParseInt(strings.TrimRight(size, "KMG"), 10, 64)
			if err == nil && n > 0 {
				shift := map[byte]uint{'K': 10, 'M': 20, 'G': 30}[size[len(size)-1]]
				list = append(list, Cache{n << shift, max(1, countList(word(root, at+"/shared_cpu_list")))})
				break
			}
		}
	}
	return list
}

// countList counts what a list such as "0-3,8" has.
func countList(text string) (n int) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || last < first {
			return 0
		}
		n += last - first + 1
	}
	return n
}

func loadIn(root fs.FS) float64 {
	text, _, _ := strings.Cut(word(root, "proc/loadavg"), " ")
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return -1
	}
	return x
}

func megahertzIn(root fs.FS) (fastest float64) {
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq")
	for _, f := range files {
		if khz, err := strconv.ParseFloat(word(root, f), 64); err == nil {
			fastest = max(fastest, khz/1000)
		}
	}
	if fastest == 0 {
		fastest, _ = strconv.ParseFloat(field(root, "proc/cpuinfo", "cpu MHz"), 64)
	}
	return fastest
}

func powerIn(root fs.FS) string {
	supplies, _ := fs.ReadDir(root, "sys/class/power_supply")
	on := ""
	for _, s := range supplies {
		at := "sys/class/power_supply/" + s.Name()
		switch word(root, at+"/type") {
		case "Mains", "USB":
			if word(root, at+"/online") == "1" {
				return "mains"
			}
		case "Battery":
			if word(root, at+"/status") == "Discharging" {
				on = "battery"
			}
		}
	}
	return on
}

// tick is the unit of /proc/stat: USER_HZ, which is 100 for every program on every machine that Go runs on.
const tick = 10 * time.Millisecond

// usedIn reads the time that all processors spent: user, nice, system, idle, waiting for devices, two
// kinds of interrupts, stolen. Time of this machine's guests is part of the first two.
func usedIn(root fs.FS) Usage {
	text, _ := fs.ReadFile(root, "proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	parts := strings.Fields(line)
	if len(parts) < 9 || parts[0] != "cpu" {
		return Usage{}
	}
	u := Usage{Known: true}
	for i, p := range parts[1:9] {
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return Usage{}
		}
		took := time.Duration(n) * tick
		u.Total += took
		switch i {
		case 3, 4:
		case 7:
			u.Stolen = took
		default:
			u.Busy += took
		}
	}
	return u
}
