package device

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

func TestDevices(t *testing.T) {
	names := func() (list []string) {
		for _, f := range List() {
			list = append(list, f.Name)
		}
		return list
	}
	list := names()
	if !slices.Contains(list, "cpu") || !slices.Contains(list, "ref") {
		t.Fatalf("devices: %v, want cpu and ref among them", list)
	}
	if list[len(list)-1] != "ref" {
		t.Errorf("devices: %v, want the one for checking last", list)
	}
	fastest := slices.IndexFunc(List(), func(f Found) bool { return f.Missing == "" })
	if got := Default().String(); got != list[fastest] {
		t.Errorf("the default is %s, want the fastest, %s", got, list[fastest])
	}
	if i := CPU().Info(); i.Name != "cpu" || i.Threads < 1 || !slices.Contains(i.DTypes, dtype.F32) {
		t.Errorf("info: %+v", i)
	}
	if f := List()[slices.Index(list, "cpu")]; !f.Open || f.Detail != CPU().Info().Detail || f.Missing != "" {
		t.Errorf("cpu is open: found %+v, want what its info says", f)
	}
}

func TestUse(t *testing.T) {
	before := Default()
	defer Use(before.String())
	if err := Use("ref"); err != nil || Default().String() != "ref" {
		t.Errorf("after Use: %v, %v", Default(), err)
	}
	err := Use("abacus")
	if err == nil || !strings.Contains(err.Error(), `"abacus"`) || !strings.Contains(err.Error(), "cpu") {
		t.Errorf("got %v, want an error with the name and those that there are", err)
	}
	if Default().String() != "ref" {
		t.Error("a name that is not there changed the default")
	}
}

// threads is how many Go may use when the processor is opened, once: -test.cpu changes the number later.
var threads = func() int { CPU(); return runtime.GOMAXPROCS(0) }()

func TestThreads(t *testing.T) {
	for _, c := range []struct {
		got     Device
		name    string
		threads int
	}{
		{CPU(), "cpu", threads}, {CPU(0), "cpu", threads},
		{CPU(1), "cpu:1", 1}, {CPU(3), "cpu:3", 3}, {CPU(-2), "cpu:1", 1},
	} {
		if i := c.got.Info(); c.got.String() != c.name || i.Name != c.name || i.Threads != c.threads {
			t.Errorf("got %v: %+v, want %s with %d threads", c.got, i, c.name, c.threads)
		}
		if same, err := Lookup(c.name); err != nil || same != c.got {
			t.Errorf("Lookup(%q): %v, %v, want the same device as from CPU", c.name, same, err)
		}
	}
	if padded, err := Lookup("cpu:03"); err != nil || padded != CPU(3) {
		t.Errorf("got %v, %v for cpu:03, want cpu:3", padded, err)
	}
	var names []string
	for _, f := range List() {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(" "+got, " cpu cpu:3 cpu:1 ") || names[len(names)-1] != "ref" {
		t.Errorf("the list is %s, want the opened ones behind their backend", got)
	}
	for name, want := range map[string]string{
		"cpu:":      "want a number of threads from 1 to 1024",
		"cpu:0":     "want a number of threads from 1 to 1024",
		"cpu:two":   "want a number of threads from 1 to 1024",
		"cpu:99999": "want a number of threads from 1 to 1024",
		"ref:2":     `got "ref:2", but ref takes no number`,
		"abacus:2":  `got "abacus:2", want cpu, cpu:N for N threads, `,
	} {
		if _, err := Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Lookup(%q): got %v, want an error with %q", name, err, want)
		}
	}
}

func TestMemory(t *testing.T) {
	ref, err := Lookup("ref")
	if err != nil {
		t.Fatal(err)
	}
	d := Device{backend.NewDevice("counted", ref.dev.Backend())} // nobody else's blocks come back meanwhile
	block, err := d.dev.Alloc(5 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if m := d.Memory(); m.InUse != 5<<20 || m.Peak != m.InUse {
		t.Errorf("with 5 MiB: %+v", m)
	}
	if block.Bytes() != 5<<20 || block.Device() != d.dev {
		t.Errorf("the block has %d bytes on %v", block.Bytes(), block.Device())
	}
	var none Device
	if none.String() != "no device" || none.Info().Name != "" || none.Sync() != nil || none.Memory() != (Memory{}) {
		t.Error("the zero Device is not harmless")
	}
}
