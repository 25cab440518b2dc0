package ranks

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
)

func TestPlaced(t *testing.T) {
	const missing = "no driver"
	one := []device.Found{{Name: "cuda"}, {Name: "cpu"}, {Name: "metal", Missing: missing}}
	four := []device.Found{{Name: "cuda:0"}, {Name: "cuda:1"}, {Name: "cuda:2"}, {Name: "cuda:3"}, {Name: "cpu"}}
	none := []device.Found{{Name: "cuda", Missing: missing}, {Name: "cpu"}, {Name: "ref"}}
	for _, c := range []struct {
		name        string
		found       []device.Found
		local, here int
		want        string
	}{
		{"", four, 0, 4, "cuda:0"},
		{"", four, 3, 4, "cuda:3"},
		{"cuda", four, 2, 4, "cuda:2"},
		{"cpu", four, 2, 4, "cpu:2"},
		{"", one, 1, 2, "cuda"},
		{"", none, 1, 2, "cpu:4"},
		{"", none, 15, 16, "cpu:1"},
		{"cuda", none, 1, 2, "cuda"},
		{"ref", none, 1, 2, "ref"},
	} {
		if got, err := placed(c.name, c.found, c.local, c.here, 8, true); got != c.want || err != nil {
			t.Errorf("%q, rank %d of %d: got %q, %v, want %q", c.name, c.local, c.here, got, err, c.want)
		}
	}
	for found, want := range map[*[]device.Found]string{&four: "got 5 ranks on this machine, want at most one for each of its 4 devices cuda", &one: "got 5 ranks on this machine, want at most one for each of its 1 devices cuda"} {
		if _, err := placed("", *found, 4, 5, 8, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Devices of helpers are others than that of the session, of the same kind.
func TestBeside(t *testing.T) {
	four := []device.Found{{Name: "cuda:0"}, {Name: "cuda:1"}, {Name: "cuda:2"}, {Name: "cuda:3", Missing: "lost"}, {Name: "cpu"}, {Name: "ref"}}
	one := []device.Found{{Name: "cuda"}, {Name: "cpu"}}
	for _, c := range []struct {
		name  string
		n     int
		found []device.Found
		want  string
	}{
		{"cuda:0", 3, four, "cuda:1 cuda:2"},
		{"cuda:1", 2, four, "cuda:0"},
		{"cuda", 2, four, "cuda:1"},
		{"cuda", 4, four, "ranks: got 4 ranks, want at most one for each of the 3 devices cuda"},
		{"cuda", 2, one, "ranks: got 2 ranks, want at most one for each of the 1 devices cuda"},
		{"cpu", 3, four, "cpu:2 cpu:2"},
		{"cpu:5", 3, four, "cpu:5 cpu:5"},
		{"ref", 2, four, "ref"},
		{"cuda:0", 1, four, ""},
	} {
		names, err := beside(c.name, c.n, c.found, 8)
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d beside %s: got %s, want %s", c.n, c.name, got, c.want)
		}
	}
}
