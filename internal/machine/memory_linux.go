package machine

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func memory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(info.Totalram) * int64(info.Unit)
	if limit := cgroupLimit(os.DirFS("/")); limit > 0 {
		return min(total, limit)
	}
	return total
}

// cgroupLimit is the smallest limit that a control group sets which this process is in, or one around that; 0
// without any. Root is the root of the file system.
func cgroupLimit(root fs.FS) (limit int64) {
	groups := memoryGroups(root)
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return 0
	}
	for sc := bufio.NewScanner(bytes.NewReader(mounts)); sc.Scan(); {
		// 35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
		mount, device, found := strings.Cut(sc.Text(), " - ")
		at, kind := strings.Fields(mount), strings.Fields(device)
		if !found || len(at) < 5 || len(kind) < 3 {
			continue
		}
		var group string
		var files []string
		switch {
		case kind[0] == "cgroup2":
			group, files = groups.v2, []string{"memory.max", "memory.high"}
		case kind[0] == "cgroup" && strings.Contains(","+kind[2]+",", ",memory,"):
			group, files = groups.v1, []string{"memory.limit_in_bytes"}
		}
		if group == "" {
			continue
		}
		top := strings.TrimPrefix(at[4], "/")
		for dir := path.Join(top, strings.TrimPrefix(group, at[3])); ; dir = path.Dir(dir) {
			for _, file := range files {
				if n := readLimit(root, path.Join(dir, file)); n > 0 && (limit == 0 || n < limit) {
					limit = n
				}
			}
			if dir == top || len(dir) <= len(top) {
				break
			}
		}
	}
	return limit
}

// groups are the control groups of this process, in the hierarchy of version 2, and in version 1's
// hierarchy for memory. "" means that there is none.
type groups struct{ v1, v2 string }

func memoryGroups(root fs.FS) (g groups) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return g
	}
	for line := range strings.Lines(string(text)) {
		// 4:memory:/docker/1, or 0::/user.slice
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(parts) < 3:
		case parts[1] == "":
			g.v2 = parts[2]
		case strings.Contains(","+parts[1]+",", ",memory,"):
			g.v1 = parts[2]
		}
	}
	return g
}

// readLimit returns the number in a file, or 0 if it has none, as for "max".
func readLimit(root fs.FS, name string) int64 {
	n, err := strconv.ParseInt(word(root, name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
