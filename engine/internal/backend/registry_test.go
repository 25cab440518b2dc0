package backend

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A machine has devices of one kind for a test, and says what was opened and closed.
type machine struct {
	found []Found
	calls []string
	fails error
}

// card is a device of a machine; when gone is set it answers no more.
type card struct {
	counted
	of     *machine
	number int
	gone   bool
}

func (c *card) Info() Info {
	return Info{Detail: fmt.Sprintf("card %d, open", c.number), Hints: Hints{Apart: c.number == 1}}
}

func (c *card) Upload(ir.Buffer, int, []byte) error {
	if c.gone {
		return fmt.Errorf("cards: %w: it fell off the bus", ErrLost)
	}
	return nil
}

func (c *card) Close() error {
	c.of.calls = append(c.of.calls, fmt.Sprintf("close %d", c.number))
	return nil
}

// register makes the devices of m known under that name for a test.
func (m *machine) register(t *testing.T, name string, number Number) {
	t.Helper()
	before := registry.kinds
	registry.kinds = nil
	t.Cleanup(func() { registry.kinds = before; listOpened() })
	Register(Driver{Name: name, Speed: 20, Number: number, Probe: func() []Found { return slices.Clone(m.found) },
		Open: func(n int) (Backend, error) {
			m.calls = append(m.calls, fmt.Sprintf("open %d", n))
			return &card{of: m, number: n}, m.fails
		}})
	Register(Driver{Name: "plain", Speed: 10, Number: Threads, Probe: func() []Found { return []Found{{Name: "plain"}} },
		Open: func(n int) (Backend, error) { return &card{of: m, number: n}, nil }})
}

// What a number behind the colon means depends on the kind of device; a name and the same name in other words
// are one device.
func TestNames(t *testing.T) {
	cards := []Found{{Name: "x:0"}, {Name: "x:1"}}
	for _, c := range []struct {
		number     Number
		found      []Found
		name, want string // the name of the device, or a part of the error
	}{
		{Index, cards, "x", "x:0"}, {Index, cards, "x:0", "x:0"}, {Index, cards, "x:01", "x:1"},
		{Index, cards, "x:2", "device x:2: this machine has 2 of them; there is x:0, x:1, plain, plain:N for N threads"},
		{Index, cards, "x:-1", `got "x:-1", want the number of a device from 0 on after the colon`},
		{Index, cards, "x:", `got "x:", want the number of a device`},
		{Index, []Found{{Name: "x", Missing: "no driver: libx.so is not found"}}, "x:1",
			"device x:1: no driver: libx.so is not found; there is plain, plain:N for N threads"},
		{Index, []Found{{Name: "x", Missing: "no driver"}}, "y", `got "y", want plain, plain:N for N threads; no x: no driver`},
		{Index, []Found{{Name: "x:0"}, {Name: "x:1", Missing: "too old"}}, "x:1", "device x:1: too old; there is x:0, plain"},
		{Unnumbered, []Found{{Name: "x"}}, "x", "x"},
		{Unnumbered, []Found{{Name: "x"}}, "x:0", `got "x:0", but x takes no number`},
		{Threads, []Found{{Name: "x"}}, "x", "x"}, {Threads, []Found{{Name: "x"}}, "x:4", "x:4"},
		{Threads, []Found{{Name: "x"}}, "x:0", "want a number of threads from 1 to 1024"},
	} {
		m := &machine{found: c.found}
		m.register(t, "x", c.number)
		d, err := Open(c.name)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "no driver") > 1 { // a reason is said once
				t.Errorf("Open(%q): got %v, want %s", c.name, err, c.want)
			}
			continue
		}
		if d.String() != c.want {
			t.Errorf("Open(%q) is %v, want %s", c.name, d, c.want)
		}
		if same, err := Open(d.String()); err != nil || same != d || len(m.calls) != 1 {
			t.Errorf("Open(%q): got %v, %v after %v, want the device that is open", d, same, err, m.calls)
		}
	}
}

// What tensors hold on a device with memory of its own is in use, but not of the machine's memory.
func TestInUse(t *testing.T) {
	m := &machine{found: []Found{{Name: "x:0"}, {Name: "x:1"}}}
	m.register(t, "x", Index)
	for i, want := range [][2]int64{{256, 256}, {512, 256}} {
		d, err := Open(fmt.Sprintf("x:%d", i))
		if err != nil {
			t.Fatal(err)
		}
		block, err := d.Alloc(256)
		if err != nil {
			t.Fatal(err)
		}
		defer block.Release()
		if all, machine := InUse(); all != want[0] || machine != want[1] {
			t.Errorf("with %d devices %d bytes are in use, %d of the machine's, want %v", i+1, all, machine, want)
		}
	}
}

// Looking at what there is opens nothing; the default is the fastest that is there and opens.
func TestListOpensNothing(t *testing.T) {
	m := &machine{found: []Found{{Name: "x:0", Missing: "it is broken"}, {Name: "x:1", Detail: "card 1", Memory: 7}}}
	m.register(t, "x", Index)
	list := List()
	if bytes, _ := InUse(); len(list) != 3 || list[1] != m.found[1] || len(m.calls) != 0 || len(Opened()) != 0 || bytes != 0 {
		t.Errorf("found %+v, calls %v", list, m.calls)
	}
	before := sharedChoice.dev.Swap(nil)
	defer sharedChoice.dev.Store(before)
	if d := Default(); d.String() != "x:1" || !slices.Equal(m.calls, []string{"open 1"}) {
		t.Errorf("the default is %v after %v, want x:1", d, m.calls)
	}
	if f := List()[1]; !f.Open || f.Detail != "card 1, open" {
		t.Errorf("found %+v, want what the open device says", f)
	}
	sharedChoice.dev.Store(nil)
	m = &machine{found: m.found, fails: errors.New("somebody else has it")}
	m.register(t, "x", Index)
	if d := Default(); d.String() != "plain" {
		t.Errorf("the default is %v, want the next one that opens", d)
	}
}

// A device that was lost, or closed, gives an error that says so for all that lived there, and the next one
// of that name is another device.
func TestLostDevice(t *testing.T) {
	for _, how := range []string{"lost", "closed"} {
		m := &machine{found: []Found{{Name: "x:0"}}}
		m.register(t, "x", Index)
		choice := &Choice{}
		old, err := Open("x")
		if err != nil {
			t.Fatal(err)
		}
		choice.dev.Store(old)
		block, err := old.Alloc(8)
		if err != nil {
			t.Fatal(err)
		}
		want := "x:0: the device was lost: it was closed"
		if how == "lost" {
			old.backend.(*card).gone = true
			want = "x:0: cards: the device was lost: it fell off the bus"
			if err := old.Upload(block, 0, nil); !errors.Is(err, ErrLost) {
				t.Fatalf("got %v", err)
			}
		} else if err := Close(old); err != nil || !slices.Equal(m.calls, []string{"open 0", "close 0"}) {
			t.Fatalf("closed: %v, %v", err, m.calls)
		}
		again := choice.open()
		if again == old || again.Err() != nil || !slices.Equal(m.calls, []string{"open 0", "close 0", "open 0"}) {
			t.Errorf("%s: the default is %v after %v, want a new device", how, again, m.calls)
		}
		if same, err := Open("x:0"); err != nil || same != again {
			t.Errorf("%s: got %v, %v", how, same, err)
		}
		_, full := old.Alloc(8)
		for what, err := range map[string]error{
			"Alloc": full, "Upload": old.Upload(block, 0, nil), "Download": old.Download(t.Context(), nil, &ir.Data{Buf: block}, 0), "Err": old.Err(),
		} {
			if err == nil || err.Error() != want || !errors.Is(err, ErrLost) {
				t.Errorf("%s: %s: got %v, want %s", how, what, err, want)
			}
		}
		block.Release()
		if inUse, _, kept := old.MemoryInUse(); inUse != 0 || kept != 0 || old.backend.(*card).bytes.Load() != 0 {
			t.Errorf("%s: %d bytes are in use and %d kept on a device that is gone", how, inUse, kept)
		}
		if _, err := again.Alloc(8); err != nil {
			t.Errorf("%s: the new device: %v", how, err)
		}
	}
}
