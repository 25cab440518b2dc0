package machine

import (
	"testing"
	"testing/fstest"
)

func TestCgroupLimit(t *testing.T) {
	const v2 = "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"
	const v1 = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	const unlimited = "9223372036854771712" // as version 1 writes it
	for _, c := range []struct {
		name, mounts, cgroup string
		files                map[string]string
		want                 int64
	}{
		{"no control groups", "", "", nil, 0},
		{"version 2", v2, "0::/a\n", map[string]string{"a/memory.max": "1000\n"}, 1000},
		{"version 2 without a limit", v2, "0::/a\n", map[string]string{"a/memory.max": "max\n"}, 0},
		{"version 2, the one around is smaller", v2, "0::/a/b/c\n", map[string]string{"a/memory.max": "500\n", "a/b/c/memory.max": "1000\n"}, 500},
		{"version 2, throttled before", v2, "0::/a\n", map[string]string{"a/memory.max": "1000\n", "a/memory.high": "900\n"}, 900},
		{"version 2, a root of its own", v2, "0::/\n", map[string]string{"memory.max": "700\n"}, 700},
		{"version 1", v1, "4:memory:/a\n0::/\n", map[string]string{"memory/a/memory.limit_in_bytes": "1000\n"}, 1000},
		{"version 1, the one around is smaller", v1, "4:cpu,memory:/a/b\n", map[string]string{
			"memory/a/b/memory.limit_in_bytes": unlimited, "memory/a/memory.limit_in_bytes": "300", "memory/memory.limit_in_bytes": unlimited}, 300},
		{"version 1 in a container", "35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/docker/1\n",
			map[string]string{"memory/memory.limit_in_bytes": "200"}, 200},
	} {
		root := fstest.MapFS{"proc/self/mountinfo": {Data: []byte(c.mounts)}, "proc/self/cgroup": {Data: []byte(c.cgroup)}}
		for name, text := range c.files {
			root["sys/fs/cgroup/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := cgroupLimit(root); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
